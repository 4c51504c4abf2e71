"""observe, observations, curate, context and ingest-stream."""

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from hivelore import launch
from hivelore.cli import exits, operations
from hivelore.lock import read_owner
from support.command_line import HIVELORE, CommandLine, environment
from support.service import Service
from support.waiting import until


@pytest.fixture
def about() -> str:
    """A service that nobody has heard of."""
    return f"s{uuid4().hex[:8]}"


def observe(cli: CommandLine, about: str, text: str, *more: str) -> dict[str, Any]:
    return cli.json("observe", text, "--category", "timing", "--service", about, *more)


def known(cli: CommandLine, about: str, *more: str) -> list[dict[str, Any]]:
    return cli.json("observations", "--service", about, *more)["memories"]


def test_what_was_seen_is_told_to_the_next_agent(cli: CommandLine, about: str) -> None:
    result = cli("observe", "Takes 60s", "to start", "--category", "timing", "--service", about)
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("New: ")
    again = cli("observe", "takes a minute to start", "--category", "timing", "--service", about)
    assert again.out.startswith("Seen again: ")
    against = cli("observe", "Takes 10 minutes to start", "--category", "timing", "--service", about)
    assert against.out.startswith("New, and against what was known: ")
    assert "60 s" in against.err or "60s" in against.err or "minute" in against.err
    told = cli("context", "--service", about).out
    assert told.startswith("## Operational Memory (")
    assert f"### {about}\n- [timing] Takes 10 minutes to start (confidence: 0.7)\n" in told
    assert "- [timing] Takes 60s to start (confidence: 0.6)" in told


def test_nothing_is_printed_where_nothing_is_known_or_to_be_told(cli: CommandLine, about: str) -> None:
    observe(cli, about, "Takes 60s to start")
    result = cli("context", "--service", about, "--budget", "0")
    assert (result.code, result.out, result.err) == (0, "", "")


def test_its_life_is_a_table(cli: CommandLine, about: str, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = observe(cli, about, "Takes 60s to start", "--session", "run-1")["memory"]["id"]
    observe(cli, about, "takes a minute to start")
    cli("curate", memory, "--inactive", "--reason", "Obsolete.")
    lines = cli("observations", "--of", memory).out.splitlines()
    assert lines[0].split() == ["at", "kind", "confidence", "session", "text"]
    assert [line.split()[1] for line in lines[1:]] == ["created", "reinforced", "switched_off"]
    assert lines[3].endswith("Obsolete.")
    told = cli.json("observations", "--of", memory)
    assert len(told["timeline"]) == 3
    monkeypatch.setattr(operations, "_PAGE", 1)
    again = cli.json("observations", "--of", memory)
    assert again["observations"] == told["observations"]
    assert again["timeline"][:2] == told["timeline"][:2]
    assert {one["id"] for one in cli.json("observations", "--service", about)["memories"]} == {memory}


def test_an_operator_changes_everything(cli: CommandLine, about: str) -> None:
    memory = observe(cli, about, "Takes 60s to start")["memory"]["id"]
    done = cli.json("curate", memory, "--confidence", "0.9", "--persistent", "yes", "--text", "Takes 61s to start")
    assert (done["confidence"], done["persistent"], done["observation"]) == (0.9, True, "Takes 61s to start")
    assert cli("curate", memory, "--inactive").out.startswith("inactive, 0.9: ")
    assert known(cli, about, "--status", "active") == []
    assert cli("curate", memory, "--active", "--category", "behavior").out.startswith("active, 0.9: [behavior:")
    assert cli("curate", memory, "--delete").out == "Deleted.\n"
    assert known(cli, about) == []


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("observe", "x"), exits.USAGE, "--category"),
        (("observe", " ", "--category", "timing"), exits.USAGE, "empty"),
        (("observe", "x", "--category", "timing", "--tier", "9"), exits.USAGE, "tier"),
        (("observe", "x", "--category", "timing", "--at", "soon"), exits.USAGE, "no time"),
        (("curate", "ID"), exits.USAGE, "Say what to change"),
        (("curate", "ID", "--delete", "--active"), exits.USAGE, "Say what to change"),
        (("curate", "ID", "--inactive", "--active"), exits.USAGE, "not both"),
        (("curate", "nowhere", "--active"), 3, "No memory"),
        (("curate", "", "--active"), exits.USAGE, "empty"),
        (("curate", "../../api/status", "--active"), 3, ""),
        (("observations", "--of", "nowhere"), 3, "No memory"),
        (("context", "--budget", "-1"), exits.USAGE, "budget"),
    ],
)
def test_what_is_wrong_says_what_to_do(cli: CommandLine, words: tuple[str, ...], code: int, says: str) -> None:
    result = cli(*words)
    assert (result.code, result.out) == (code, "")
    assert says in result.err


# streams


def assistant(*texts: str, session: str = "s-1") -> str:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text} for text in texts]
    blocks.append({"type": "tool_use", "name": "Bash", "input": {"command": "echo [MEMORY:timing] no"}})
    return json.dumps({"type": "assistant", "session_id": session, "message": {"content": blocks}})


def test_markers_of_a_stream_are_kept_and_nothing_that_others_said(cli: CommandLine, about: str) -> None:
    lines = (
        json.dumps({"type": "system", "subtype": "init", "session_id": "s-1"}),
        assistant(f"Done.\n[MEMORY:timing:{about}] Takes 60s to start\r\nMore.", f"[MEMORY:behavior:{about}] Locks up"),
        json.dumps(
            {"type": "user", "message": {"content": [{"type": "tool_result", "content": f"[MEMORY:timing:{about}] x"}]}}
        ),
        "no json at all",
        "{broken",
        assistant(f"```\n[MEMORY:timing:{about}] shown\n```", f"> [MEMORY:timing:{about}] quoted"),
        assistant(f"[MEMORY:timing:{about}] takes a minute to start", session="s-1"),
    )
    result = cli("ingest-stream", "--json", stdin="\n".join(lines).encode())
    assert result.code == 0
    assert {name: count for name, count in result.json.items() if count} == {"new": 2, "reinforced": 1}
    assert {one["observation"]: one["session"] for one in known(cli, about)} == {
        "Takes 60s to start": "s-1",
        "Locks up": "s-1",
    }


def test_plain_text_is_read_likewise(cli: CommandLine, about: str) -> None:
    text = f"Hello\n  - [MEMORY:timing:{about}] Dauert 60 s — wirklich\n~~~\n[MEMORY:timing:{about}] no\n~~~\nend"
    result = cli("ingest-stream", "--session", "night", "--tee", stdin=text.encode())
    assert (result.code, result.err) == (0, "Kept: 1 new.\n")
    (one,) = known(cli, about)
    assert (one["observation"], one["session"]) == ("Dauert 60 s — wirklich", "night")


def test_what_is_meant_as_a_marker_and_is_none_is_said(cli: CommandLine, about: str) -> None:
    text = f"[MEMORY:weather:{about}] Rain\n[MEMORY:timing:{about}]\n"
    result = cli("ingest-stream", stdin=text.encode())
    assert result.code == 0
    assert "There is no category weather" in result.err
    assert result.err.endswith("Kept: 2 wrong.\n")
    assert known(cli, about) == []


@pytest.mark.parametrize("stdin", [b"", b"\n\n", b"\xff\xfe\x00[MEMORY", b"x" * 100_000, b"{}\n{}\n", b"[]\n"])
def test_a_stream_without_any_keeps_nothing(cli: CommandLine, stdin: bytes) -> None:
    result = cli("ingest-stream", stdin=stdin)
    assert (result.code, result.err) == (0, "No markers.\n")


def test_what_cannot_be_kept_is_told_and_the_rest_goes_on(cli: CommandLine, about: str) -> None:
    text = f"[MEMORY:timing:{about}] \0 bytes\n[MEMORY:timing:{about}] Takes 60s to start\n"
    result = cli("ingest-stream", "--json", stdin=text.encode())
    assert result.code == exits.LEFT_OUT
    assert (result.json["new"], result.json["lost"]) == (1, 1)
    assert "not kept" in result.err


def test_it_is_kept_while_the_agent_still_speaks(
    service: Service, cli: CommandLine, about: str, tmp_path: Path
) -> None:
    env = environment(service.home, HIVELORE_URL=service.url)
    command = [HIVELORE, "ingest-stream", "--tee", "--session", "run"]
    with subprocess.Popen(
        command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as run:
        assert run.stdin is not None
        assert run.stdout is not None
        for text in ("Takes 60s to start", "Listens on port 8096"):
            run.stdin.write(f"[MEMORY:timing:{about}] {text}\n".encode())
            run.stdin.flush()
            run.stdout.readline()
        while len(known(cli, about)) < 2:
            pass
        run.kill()
    assert len(known(cli, about)) == 2


def test_a_service_that_dies_meanwhile_is_started_again(alone: CommandLine, elsewhere: Path) -> None:
    command, env = [HIVELORE, "ingest-stream", "--tee", "--session", "run"], environment(elsewhere)
    try:
        with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
            assert run.stdin is not None
            assert run.stdout is not None
            run.stdin.write(b"[MEMORY:timing:jellyfin] Takes 60s to start\n")
            run.stdin.flush()
            run.stdout.readline()
            until(lambda: read_owner(elsewhere) is not None and len(known(alone, "jellyfin")) == 1)
            owner = read_owner(elsewhere)
            assert owner is not None
            assert owner.pid
            os.kill(owner.pid, signal.SIGKILL)
            run.communicate(b"[MEMORY:behavior:jellyfin] Locks up while it scans\n", timeout=120)
        assert run.returncode == 0
        assert len(known(alone, "jellyfin")) == 2
    finally:
        launch.stop(elsewhere)
