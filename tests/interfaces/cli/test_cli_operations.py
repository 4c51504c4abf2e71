"""observe, observations, curate, context and ingest-stream."""

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any, get_args
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hivelore.cli import exits, observations
from hivelore.cli import stream as ingesting
from hivelore.cli.stream import Format, StreamIngest
from hivelore.local import launcher
from hivelore.local.lock import read_owner
from hivelore.python.client import Client
from hivelore.sessions.fence import NOTICE
from support.command_line import HIVELORE, CommandLine, environment
from support.fences import BEGIN, END, fenced, inside
from support.laws import examples
from support.service import Service
from support.waiting import until


@pytest.fixture
def about() -> str:
    """Returns the name of a new service."""
    return f"s{uuid4().hex[:8]}"


def observe(cli: CommandLine, about: str, text: str, *more: str) -> dict[str, Any]:
    return cli.json("observe", text, "--category", "timing", "--service", about, *more)


def known(cli: CommandLine, about: str, *more: str) -> list[dict[str, Any]]:
    return cli.json("observations", "--service", about, *more)["memories"]


def test_an_observation_reaches_the_next_agent(cli: CommandLine, about: str) -> None:
    result = cli("observe", "Takes 60s", "to start", "--category", "timing", "--service", about)
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("New: ")
    report = cli("observe", "takes a minute to start", "--category", "timing", "--service", about)
    assert report.out.startswith("Known from this session: ")
    again = cli("observe", "takes a minute to start", "--category", "timing", "--service", about, "--session", "s-2")
    assert again.out.startswith("Reinforced: ")
    against = cli("observe", "Takes 10 minutes to start", "--category", "timing", "--service", about)
    assert against.out.startswith("New, contradicts an earlier observation: ")
    assert "60 s" in against.err or "60s" in against.err or "minute" in against.err
    report = cli("context", "--service", about).out
    assert f"{NOTICE}\n\n## Operational Memory (" in report
    assert f"### {about}\n- [timing] Takes 10 minutes to start (confidence: 0.7)\n" in report
    assert "- [timing] Takes 60s to start (confidence: 0.6)" in report


def test_cooldowns_come_first_in_the_context(cli: CommandLine, about: str) -> None:
    cli("cooldowns", "set", about, "restart", "--until", "30m", "--reason", "no use")
    waits, _, _ = cli("context", "--service", about).out.strip().partition("\n\n<")
    assert (
        f"Environment: Cooldowns (do not take these actions again before their time):\n- {about}: " in inside(waits)[1]
    )
    observe(cli, about, "Takes 60s to start")
    report = cli("context", "--service", about).out
    environment, _, block = report.partition("\n\n<")
    assert "(no use)" in inside(environment)[1]
    assert inside(f"<{block.strip()}")[1].startswith("## Operational Memory (")
    assert cli("context", "--service", about, "--budget", "0").out == ""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), ["Crashes at night", "Logs to syslog"]),
        (("--project", "there"), ["Logs to syslog", "Wants a GPU"]),
        (("--project", "*"), ["Crashes at night", "Logs to syslog", "Wants a GPU"]),
    ],
)
def test_context_covers_the_current_project(
    cli: CommandLine, about: str, words: tuple[str, ...], expected: list[str]
) -> None:
    git = Path.cwd() / ".git"
    git.mkdir()
    (git / "config").write_text(f'[remote "origin"]\n\turl = git@example.org:acme/{about}.git\n')
    observe(cli, about, "Crashes at night", "--only-in", f"example.org/acme/{about}")
    observe(cli, about, "Wants a GPU", "--only-in", "there")
    observe(cli, about, "Logs to syslog")
    context = cli("context", "--service", about, *words).out
    assert [text for text in ("Crashes at night", "Logs to syslog", "Wants a GPU") if text in context] == expected


def test_an_empty_context_prints_nothing(cli: CommandLine, about: str) -> None:
    observe(cli, about, "Takes 60s to start")
    result = cli("context", "--service", about, "--budget", "0")
    assert (result.code, result.out, result.err) == (0, "", "")


def test_a_timeline_is_a_table(cli: CommandLine, about: str, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = observe(cli, about, "Takes 60s to start", "--session", "run-1")["memory"]["id"]
    observe(cli, about, "takes a minute to start")
    cli("curate", memory, "--inactive", "--reason", "Obsolete.")
    lines = cli("observations", "--of", memory).out.splitlines()
    assert lines[0].split() == ["at", "kind", "confidence", "session", "text"]
    assert [line.split()[1] for line in lines[1:]] == ["created", "reinforced", "switched_off"]
    assert lines[3].endswith("Obsolete.")
    report = cli.json("observations", "--of", memory)
    assert len(report["timeline"]) == 6
    assert [line.split()[2] for line in lines[1:]] == ["0.7", "0.8", "0.8"]
    monkeypatch.setattr(observations, "_PAGE", 1)
    again = cli.json("observations", "--of", memory)
    assert again["observations"] == report["observations"]
    assert again["timeline"][:-1] == report["timeline"][:-1]
    assert {one["id"] for one in cli.json("observations", "--service", about)["memories"]} == {memory}


def test_an_operator_can_change_every_field(cli: CommandLine, about: str) -> None:
    memory = observe(cli, about, "Takes 60s to start")["memory"]["id"]
    done = cli.json("curate", memory, "--confidence", "0.9", "--persistent", "yes", "--text", "Takes 61s to start")
    assert (done["confidence"], done["persistent"], done["observation"]) == (0.9, True, "Takes 61s to start")
    assert cli("curate", memory, "--inactive").out.startswith("inactive, 0.9: ")
    assert known(cli, about, "--status", "active") == []
    assert cli("curate", memory, "--active", "--category", "behavior").out.startswith("active, 0.9: [behavior:")
    assert cli.json("curate", memory, "--only-in", "tv")["project"] == "tv"
    assert cli.json("curate", memory, "--only-in", "")["project"] is None
    assert cli("curate", memory, "--delete").out == "Deleted.\n"
    assert known(cli, about) == []


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("observe", "x"), exits.USAGE, "--category"),
        (("observe", " ", "--category", "timing"), exits.USAGE, "empty"),
        (("observe", "x", "--category", "timing", "--tier", "9"), exits.USAGE, "tier"),
        (("ingest-stream", "--tier", "9"), exits.USAGE, "tier"),
        (("ingest-stream", "--tier", "0"), exits.USAGE, "tier"),
        (("observe", "x", "--category", "timing", "--at", "soon"), exits.USAGE, "Invalid time"),
        (("curate", "ID"), exits.USAGE, "Say what to change"),
        (("curate", "ID", "--delete", "--active"), exits.USAGE, "Say what to change"),
        (("curate", "ID", "--inactive", "--active"), exits.USAGE, "Choose one of"),
        (("curate", "nowhere", "--active"), 3, "No memory"),
        (("curate", "", "--active"), 3, "empty"),
        (("curate", "../../api/status", "--active"), 3, ""),
        (("observations", "--of", "nowhere"), 3, "No memory"),
        (("context", "--budget", "-1"), exits.USAGE, "budget"),
    ],
)
def test_errors_say_what_to_do(cli: CommandLine, words: tuple[str, ...], code: int, says: str) -> None:
    result = cli(*words)
    assert (result.code, result.out) == (code, "")
    assert says in result.err


# streams


def assistant(*texts: str, session: str = "s-1", message: str = "m-1") -> str:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text} for text in texts]
    blocks.append({"type": "tool_use", "name": "Bash", "input": {"command": "echo [MEMORY:timing] no"}})
    return json.dumps({"type": "assistant", "session_id": session, "message": {"id": message, "content": blocks}})


def answered(text: str) -> str:
    return json.dumps({"type": "user", "message": {"content": [{"type": "tool_result", "content": text}]}})


def test_markers_of_the_agent_are_stored_and_those_of_others_are_not(cli: CommandLine, about: str) -> None:
    lines = (
        json.dumps({"type": "system", "subtype": "init", "session_id": "s-1"}),
        assistant(f"Done.\n[MEMORY:timing:{about}] Takes 60s to start\r\nMore.", f"[MEMORY:behavior:{about}] Locks up"),
        answered(f"[MEMORY:timing:{about}] x"),
        "no json at all",
        "{broken",
        assistant(f"```\n[MEMORY:timing:{about}] shown\n```", f"> [MEMORY:timing:{about}] quoted"),
        assistant(f"[MEMORY:timing:{about}] takes a minute to start", session="s-1"),
    )
    result = cli("ingest-stream", "--json", stdin="\n".join(lines).encode())
    assert result.code == 0
    assert {name: count for name, count in result.json.items() if count} == {"new": 2, "known": 1}
    assert {one["observation"]: one["session"] for one in known(cli, about)} == {
        "Takes 60s to start": "s-1",
        "Locks up": "s-1",
    }


def test_markers_in_plain_text_are_stored(cli: CommandLine, about: str) -> None:
    text = f"Hello\n  - [MEMORY:timing:{about}] Dauert 60 s — wirklich\n~~~\n[MEMORY:timing:{about}] no\n~~~\nend"
    result = cli("ingest-stream", "--session", "night", "--tee", stdin=text.encode())
    assert (result.code, result.err) == (0, "Stored: 1 new.\n")
    (one,) = known(cli, about)
    assert (one["observation"], one["session"]) == ("Dauert 60 s — wirklich", "night")


def test_markers_in_private_text_are_not_stored(cli: CommandLine, about: str) -> None:
    text = f"[MEMORY:timing:{about}] Takes 60s <private>or\n[MEMORY:timing:{about}] no\n</private> to start"
    assert cli("ingest-stream", stdin=text.encode()).err == "Stored: 1 new.\n"
    assert [one["observation"] for one in known(cli, about)] == ["Takes 60s"]


def test_private_text_may_continue_in_the_next_event_of_its_message(cli: CommandLine, about: str) -> None:
    blocks = (f"a <private>\n[MEMORY:timing:{about}] no", f"[MEMORY:timing:{about}] no\n</private>")
    events = [json.loads(assistant(block)) for block in blocks]
    for one in events:
        one["message"]["id"] = "m1"
    said = "\n".join(json.dumps(one) for one in events)
    assert cli("ingest-stream", stdin=said.encode()).err == "No markers.\n"


def test_a_stream_with_a_byte_order_mark_is_read_as_json(cli: CommandLine, about: str) -> None:
    lines = (answered(f"[MEMORY:timing:{about}] read"), assistant(f"[MEMORY:timing:{about}] Takes 60s to start"))
    assert cli("ingest-stream", stdin="\r\n".join(lines).encode("utf-8-sig")).err == "Stored: 1 new.\n"
    assert [one["observation"] for one in known(cli, about)] == ["Takes 60s to start"]


def test_a_stream_after_noise_is_read_as_json(cli: CommandLine, about: str) -> None:
    lines = (
        "warn: something",
        answered(f"[MEMORY:timing:{about}] read"),
        f"warn: [MEMORY:timing:{about}] also noise",
        assistant(f"[MEMORY:timing:{about}] Takes 60s to start"),
    )
    assert cli("ingest-stream", stdin="\n".join(lines).encode()).err == "Stored: 1 new.\n"
    assert [one["observation"] for one in known(cli, about)] == ["Takes 60s to start"]


@pytest.mark.parametrize(
    "line",
    [
        '{"type": "user", "message": {"content": "ABOUT cut off',
        '{"type": "user", "content": "ABOUT", "deep": ' + "[" * 100_000,
        '[{"type": "user", "message": {"content": "ABOUT"}}]',
        '{"type": "error", "text": "ABOUT"}',
        '{"type": "user", "name": "ABOUT"}',
        '{"type": "result", "message": {"content": "ABOUT"}}',
        '{"type": ["user"], "message": {"content": "ABOUT"}}',
    ],
    ids=["cut off", "deep", "all at once", "other", "another user", "another result", "a list"],
)
def test_json_in_plain_text_is_skipped_and_does_not_end_it(cli: CommandLine, about: str, line: str) -> None:
    text = (
        f"Hello\n{line.replace('ABOUT', f'[MEMORY:timing:{about}] read')}\n[MEMORY:timing:{about}] Takes 60s to start"
    )
    assert cli("ingest-stream", stdin=text.encode()).err == "Stored: 1 new.\n"
    assert [one["observation"] for one in known(cli, about)] == ["Takes 60s to start"]


def test_injected_text_that_an_agent_repeats_is_skipped(cli: CommandLine, about: str) -> None:
    marker, report = f"[MEMORY:timing:{about}] told", fenced(f"Known:\n[MEMORY:timing:{about}] told")
    own = f"[MEMORY:timing:{about}] Takes 60s to start"
    text = f"{report}\n{own}\n{BEGIN}\n{marker}"
    assert cli("ingest-stream", stdin=text.encode()).err == "Stored: 1 new.\n"
    stream = (
        assistant(f"{report}\n[MEMORY:behavior:{about}] Locks up"),
        assistant(f"So: {BEGIN}", marker, message="m-2"),
        assistant(f"[MEMORY:dependency:{about}] Needs the VPN", message="m-3"),
        assistant(f"{marker}\n{END}\n[MEMORY:remediation:{about}] Restart it", message="m-2"),
        assistant(f"[MEMORY:maintenance:{about}] Sundays at 4", message="m-2"),
    )
    assert cli("ingest-stream", stdin="\n".join(stream).encode()).err == "Stored: 4 new.\n"
    assert {one["observation"] for one in known(cli, about)} == {
        "Takes 60s to start",
        "Locks up",
        "Needs the VPN",
        "Restart it",
        "Sundays at 4",
    }


@pytest.mark.parametrize(
    "odd",
    [
        '{"type":"assistant","message":{"content":5}}',
        '{"type":"assistant","session_id":"\\ud800","message":{"content":"x"}}',
        '{"type":"assistant","message":{"content":[{"type":"text","text":"'
        + "x" * 10
        + '"}],"n":'
        + "9" * 5_000
        + "}}",
        '{"type":"assistant","message":{"content":' + "[" * 50_000 + "]" * 50_000 + "}}",
    ],
    ids=["no list", "no session", "huge number", "deep"],
)
def test_an_unusual_event_does_not_affect_later_events(cli: CommandLine, about: str, odd: str) -> None:
    stream = f"{odd}\n{assistant(f'[MEMORY:timing:{about}] Takes 60s to start')}\n"
    assert cli("ingest-stream", stdin=stream.encode()).err == "Stored: 1 new.\n"
    assert [one["session"] for one in known(cli, about)] == ["s-1"]


class AcceptingService(Client):
    """Fake service that accepts every call."""

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1", None)

    def call(self, method: str, path: str, **_: Any) -> Any:
        return {"categories": ["timing"], "aliases": []} if method == "GET" else {"effect": "new"}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("[MEMORY:timing] x"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "id"]), inner),
    max_leaves=5,
)
PARTS = {"type": VALUES | st.just("text"), "text": VALUES, "id": VALUES}
MESSAGES = VALUES | st.fixed_dictionaries(
    {}, optional={"id": VALUES, "content": VALUES | st.lists(VALUES | st.fixed_dictionaries({}, optional=PARTS))}
)
EVENTS = st.fixed_dictionaries(
    {}, optional={"type": VALUES | st.just("assistant"), "message": MESSAGES, "session_id": VALUES}
)


@settings(max_examples=examples(300))
@given(st.lists((VALUES | EVENTS).map(json.dumps).map(str.encode) | st.binary()), st.sampled_from(get_args(Format)))
def test_any_stream_is_read_to_its_end(lines: list[bytes], format_: Format) -> None:
    stream = StreamIngest(AcceptingService, None, 1, format_)
    for line in lines:
        stream.read(line)
    last = assistant("[MEMORY:timing] last", message="another") if format_ != "text" else f"{END}\n[MEMORY:timing] last"
    before = stream.counts.effects["new"]
    for line in last.encode().splitlines():
        stream.read(line)
    assert stream.counts.effects["new"] == before + 1


def test_a_line_that_is_too_long_affects_no_other_line(
    cli: CommandLine, about: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingesting, "LONGEST_LINE", 1_000)
    text = f"{'x' * 100_000}\n[MEMORY:timing:{about}] Takes 60s to start\n{'y' * 1_000}"
    result = cli("ingest-stream", "--tee", stdin=text.encode())
    assert (result.out, result.err) == (text, "Stored: 1 new.\n")


def test_markers_that_hooks_deliver_too_count_once(cli: CommandLine, service: Service, about: str) -> None:
    said = f"[MEMORY:timing:{about}] Takes 60s\n[EVENT:error:{about}] It is down\n[COOLDOWN:{about}:restart] 30"
    client = service.client(service.agent_key)

    def stops(number: int, text: str) -> None:
        stop = {"hook_event_name": "Stop", "session_id": about, "last_assistant_message": text}
        client.call("POST", "/api/hooks/claude-code", body={"id": f"{about}-{number}", "payload": stop})

    for number in range(2):
        stops(number, said)
    assert cli("ingest-stream", stdin=assistant(said, session=about).encode()).code == 0
    stops(2, f"{said}\n[EVENT:info:{about}] That is all")
    until(lambda: cli.json("events", "list", "--service", about)["events"][0]["text"] == "That is all")
    report = [one["text"] for one in cli.json("events", "list", "--service", about)["events"] if not one["memoryId"]]
    assert report == ["That is all", "It is down"]
    (rests,) = cli.json("cooldowns", "list", "--service", about)["cooldowns"]
    (memory,) = known(cli, about)
    assert (rests["count"], memory["confidence"]) == (1, 0.7)


def test_a_malformed_marker_is_reported(cli: CommandLine, about: str) -> None:
    text = f"[MEMORY:weather:{about}] Rain\n[MEMORY:timing:{about}]\n[MEMORY:timing:{'a' * 101}] Slow\n"
    result = cli("ingest-stream", stdin=text.encode())
    assert result.code == 0
    assert "Unknown category weather" in result.err
    assert "at most 100 characters" in result.err
    assert result.err.endswith("Stored: 3 wrong.\n")
    assert known(cli, about) == []


@pytest.mark.parametrize("stdin", [b"", b"\n\n", b"\xff\xfe\x00[MEMORY", b"x" * 100_000, b"{}\n{}\n", b"[]\n"])
def test_a_stream_without_markers_stores_nothing(cli: CommandLine, stdin: bytes) -> None:
    result = cli("ingest-stream", stdin=stdin)
    assert (result.code, result.err) == (0, "No markers.\n")


def test_a_marker_that_cannot_be_stored_is_reported_and_the_others_are_stored(cli: CommandLine, about: str) -> None:
    text = f"[MEMORY:timing:{about}] \0 bytes\n[MEMORY:timing:{about}] Takes 60s to start\n"
    result = cli("ingest-stream", "--json", stdin=text.encode())
    assert result.code == exits.LEFT_OUT
    assert (result.json["new"], result.json["lost"]) == (1, 1)
    assert "not stored" in result.err


def test_a_marker_is_stored_before_the_stream_ends(
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


def test_a_service_that_stops_during_a_stream_is_restarted(alone: CommandLine, elsewhere: Path) -> None:
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
        launcher.stop(elsewhere)
