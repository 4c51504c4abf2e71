"""serve, start, stop and status, also without a service."""

import os
import pty
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hivelore.cli.connection import call
from hivelore.links.comparer import Comparer
from hivelore.links.progress import ComparisonProgress
from hivelore.local import launcher
from hivelore.local.lock import EMBEDDED, Lock, Owner, read_owner
from support.command_line import HIVELORE, CommandLine, environment, hivelore
from support.pair_readers import TableReader
from support.ports import free_url
from support.service import Service


def test_a_service_runs_from_start_to_stop_and_loses_nothing(alone: CommandLine, elsewhere: Path) -> None:
    env = environment(elsewhere)
    try:
        assert hivelore("start", env=env).out.startswith("Hivelore answers at http://127.0.0.1:")
        assert "Ctrl-C" not in (elsewhere / "service.log").read_text(encoding="utf-8")
        memory = alone.json("remember", "Kept.")["memory"]["id"]
        alone("get", memory)
        # That it was read is written once a second, and when the service ends.
        assert alone("stop").out == "Hivelore has stopped.\n"
        assert read_owner(elsewhere) is None
        again = hivelore("get", memory, "--json", env=env).json
        assert (again["content"], again["accessCount"]) == ("Kept.", 1)
    finally:
        launcher.stop(elsewhere)


def test_serve_on_a_terminal_explains_next_steps_and_ends_with_ctrl_c(elsewhere: Path) -> None:
    terminal, inside = pty.openpty()
    words = [HIVELORE, "serve", "--host", "127.0.0.1", "--port", "0"]
    env = environment(elsewhere, NO_COLOR="1")
    process = subprocess.Popen(words, env=env, stdout=inside, stderr=subprocess.PIPE, start_new_session=True)
    os.close(inside)
    shown = ""
    while "Ctrl-C stops it." not in shown:
        shown += os.read(terminal, 4_096).decode()
    owner = read_owner(elsewhere)
    assert owner is not None
    assert f"answers at {owner.url}" in shown
    assert "hivelore setup claude-code" in shown
    os.kill(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=150)
    os.close(terminal)
    assert (process.returncode, errors.decode().splitlines()[-1]) == (0, "Hivelore has stopped.")
    assert read_owner(elsewhere) is None


def test_the_status_says_how_many_memories_wait_to_be_compared(
    cli: CommandLine, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "\nlinks " not in cli("status").out
    app, comparer = service.app, Comparer(TableReader())
    monkeypatch.setattr(app, "comparisons", ComparisonProgress(app.store, comparer, app.clock))
    cli.json("remember", "We use npm")
    waiting = cli.json("status")["pendingComparisons"]
    assert waiting > 0
    assert f"\nlinks               {waiting:,} waiting to be compared\n" in cli("status").out


def test_a_running_service_is_not_started_again(cli: CommandLine) -> None:
    assert "already running" in cli("start").out
    started = cli.json("start")
    assert (started["started"], started["pid"]) == (False, os.getpid())


def test_the_status_is_that_of_the_service(cli: CommandLine) -> None:
    status = cli.json("status")
    assert (status["running"], status["pid"], status["pendingEmbeddings"]) == (True, os.getpid(), 0)
    assert status["pendingComparisons"] is None
    assert status["uptimeSeconds"] >= 0
    assert f"url                 {status['url']}\n" in cli("status").out


def test_the_status_shows_both_troubles_of_the_embedder(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    troubles = {"embeddingTrouble": "401 from it", "embeddingOutage": "no answer in 5 s"}
    facts = cli.json("status") | troubles

    def ask_status(_url: str, _home: Path) -> Any:
        return facts

    monkeypatch.setattr("hivelore.cli.service._ask_status", ask_status)
    shown = cli("status").out
    assert all(trouble in shown for trouble in troubles.values()), shown


def test_status_reports_that_no_service_runs_and_starts_none(alone: CommandLine, elsewhere: Path) -> None:
    result = alone("status")
    assert (result.code, result.out) == (6, f"No service answers on {elsewhere}. 'hivelore start' starts one.\n")
    assert alone("status", "--json").json == {"running": False, "home": str(elsewhere)}
    assert not elsewhere.exists()


def test_a_service_elsewhere_is_not_started_here(alone: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVELORE_URL", "http://127.0.0.2:1")
    monkeypatch.setenv("HIVELORE_KEY", "hl_1_x")
    assert "is another machine" in alone("start").err
    assert alone("status").code == 6


def test_no_service_is_started_for_the_key_of_another_one(
    alone: CommandLine, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIVELORE_URL", free_url())
    monkeypatch.setenv("HIVELORE_KEY", "hl_1_x")
    result = alone("stats")
    assert (result.code, "None is started" in result.err) == (6, True)
    assert [one.name for one in elsewhere.iterdir()] == ["starting.lock"]


def test_stopping_without_a_service_succeeds(alone: CommandLine) -> None:
    assert alone("stop").out == "No service was running.\n"
    assert alone.json("stop") == {"stopped": False}


@pytest.mark.parametrize("words", [("stats",), ("start",), ("stop",), ("remember", "x"), ("serve",)])
def test_a_process_that_holds_the_data_is_named(alone: CommandLine, elsewhere: Path, words: tuple[str, ...]) -> None:
    elsewhere.mkdir()
    lock = Lock(elsewhere, Owner(pid=4242, kind=EMBEDDED, url=None, started_at="2026-01-01T00:00:00+00:00"))
    try:
        result = alone(*words)
    finally:
        lock.release()
    assert (result.code, result.out) == (5, "")
    assert "4242" in result.err


def test_a_port_in_use_is_an_error_with_a_remedy(alone: CommandLine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = alone("serve", "--port", str(port))
    assert result.code == 5
    assert f"hivelore: Port {port} " in result.err


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--port", "70000"), "A port is 0 to 65535"),
        (("--port", "-1"), "A port is 0 to 65535"),
        (("--port", "web"), "--port"),
        (("--host", "no.such.host.invalid", "--port", "0"), "Cannot listen on"),
        (("--host", "x" * 300, "--port", "0"), "Cannot listen on"),
        (("--host", "", "--port", "0"), "--host"),
    ],
)
def test_an_unusable_address_is_refused(alone: CommandLine, words: tuple[str, ...], reason: str) -> None:
    result = alone("serve", *words)
    assert (result.code, result.out) == (2, "")
    assert reason in result.err


def test_an_invalid_setting_is_named(alone: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVELORE_EMBEDDER", "psychic")
    result = alone("serve")
    assert (result.code, "HIVELORE_EMBEDDER" in result.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "code"),
    [(("serve",), 2), (("move", "--to", "new"), 2), (("doctor",), 1), (("remember", "x"), 6), (("start",), 6)],
)
def test_an_unknown_database_kind_is_refused_without_its_password(
    alone: CommandLine, elsewhere: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], code: int
) -> None:
    monkeypatch.setenv("HIVELORE_DATABASE", "postgresql+psycopg://ada:hunter2@127.0.0.1:1/hive")
    result = alone(*words)
    said = result.out + result.err
    assert (result.code, "hunter2" in said) == (code, False)
    assert "HIVELORE_DATABASE: postgresql+psycopg://... is neither" in " ".join(said.split())
    assert list(Path.cwd().iterdir()) == []


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("nonsense", 2),
        ("ftp://127.0.0.1", 2),
        ("http://127.0.0.1:port", 2),
        ("http://[::1", 2),
        ("http://127.0.0.2:1", 6),
    ],
)
def test_an_unreachable_url_is_reported(
    cli: CommandLine, elsewhere: Path, monkeypatch: pytest.MonkeyPatch, url: str, code: int
) -> None:
    monkeypatch.setenv("HIVELORE_URL", url)
    monkeypatch.setenv("HIVELORE_HOME", str(elsewhere))
    monkeypatch.setenv("HIVELORE_KEY", "hl_1_x")
    result = cli("stats")
    assert (result.code, result.out) == (code, "")
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("operator", [False, True], ids=["agent", "operator"])
def test_a_call_is_made_in_the_given_project(cli: CommandLine, operator: bool) -> None:
    assert cli("status").code == 0
    found = call("POST", "/api/memory/search", operator=operator, project="shop", body={"query": "anything"})
    assert "Project unknown" not in found["message"]
