"""The hook in a separate process: its requests, its output, and no effect of errors on the agent."""

import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path

import pytest

from hivelore.core.values import replace
from hivelore.hooks import fallback
from hivelore.hooks.client import LONGEST
from hivelore.hooks.install import MODULES, PACKAGES, copy_to
from hivelore.local import launcher
from hivelore.local.endpoint import TAKEN
from hivelore.local.lock import read_owner
from interfaces.test_git_project import git
from support.fake_secrets import scramble
from support.fences import fenced
from support.hooks import NOTHING, PATIENCE, Hook, lost, spool
from support.odd_service import Exchange, OddService
from support.ports import free_url
from support.service import Service, environment
from support.waiting import until

TOO_HEAVY = {
    "re",
    "json",
    "typing",
    "collections",
    "enum",
    "pathlib",
    "socket",
    "signal",
    "ssl",
    "subprocess",
    "datetime",
}
PROXY = "Port 8443 is taken by the proxy."
ASKED = "Which port is taken by the proxy?"
SUMMARY = "The parser was moved to Rust because the old one was slow."
AWS = "AKIA" + scramble(16, "ABCDEFGHIJKLMNOP234567")
REMOTE = "http://192.0.2.1"
"""URL of a service that a hook does not start."""
ALARM_IN = (
    "import os, _signal, {module} as module; real = module.{name}; module.{name} = lambda *given, **named: "
    "(setattr(module, '{name}', real), os.kill(os.getpid(), _signal.SIGALRM), real(*given, **named))[2]"
)
"""Code that lets the time limit pass when a function is first called."""


@pytest.fixture
def hook(service: Service, tmp_path: Path) -> Hook:
    return Hook(copy_to(service.home), service.home, tmp_path)


@pytest.fixture
def alone(tmp_path: Path) -> Generator[Hook]:
    """A hook whose home has no service. A service that it starts ends with the test."""
    home = tmp_path / "home ’with\n'quotes\""
    yield Hook(copy_to(home), home, tmp_path)
    owner = read_owner(home)
    if owner is not None and owner.pid:
        os.kill(owner.pid, signal.SIGTERM)
        until(lambda: read_owner(home) is None)


def remember(service: Service, content: str) -> None:
    body = {"content": content, "name": content[:20], "scope": "agent", "source": "manual"}
    service.client(service.agent_key).call("POST", "/api/memory/index", body=body)


def kept(service: Service, content: str) -> int:
    """Returns how many memories contain the text."""
    page = service.client(service.agent_key).call("GET", "/api/memory", query={"limit": 500})
    return sum(memory["content"] == content for memory in page["memories"])


def test_the_answer_of_the_service_is_printed(service: Service, hook: Hook) -> None:
    remember(service, PROXY)
    assert PROXY in hook("SessionStart", session_id="said", source="startup").context
    remember(service, "Bob has the key to the cellar.")
    said = hook("UserPromptSubmit", session_id="said", prompt="Who has the key to the cellar?")
    assert "Bob" in said.context
    assert (said.code, said.err) == (0, b"")
    assert hook("UserPromptSubmit", session_id="said", prompt="Who has the key to the cellar?") == NOTHING
    assert hook("Stop", session_id="said", last_assistant_message="Bob has it.") == NOTHING
    assert spool(service.home) == []


@pytest.mark.parametrize("command", [[str(Path(sys.executable).with_name("hivelore")), "hook"], []])
def test_it_sends_project_and_task(service: Service, hook: Hook, command: list[str]) -> None:
    task = hook.cwd / "task.json"
    task.write_text('{"id": "T-7", "task": "Fix \\"it\\""}')
    with OddService(lambda exchange: exchange.reply(200, b'{"said": "\xc3\xa4"}', **dict([TAKEN]))) as odd:
        done = subprocess.run(
            [*(command or hook.command), "--agent=codex", "--event", 'a "b"\n'],
            input=b'{"session_id": "s1"}',
            env=environment(
                hook.home,
                HIVELORE_URL=odd.url,
                HIVELORE_TASK_FILE=str(task),
                HIVELORE_TASK_ID="T-1",
                HIVELORE_HOOK_WAIT=hook.wait,
            ),
            cwd=hook.cwd,
            capture_output=True,
            check=True,
        )
        (exchange,) = odd.heard
    heard = exchange.message
    assert done.stdout.decode() == '{"said": "ä"}'
    assert len(heard.pop("id")) == 32
    assert heard.pop("at").endswith("Z")
    assert heard == {
        "event": 'a "b"\n',
        "project": str(hook.cwd),
        "taskId": "T-1",
        "taskFile": task.read_text(),
        "payload": {"session_id": "s1"},
    }
    assert exchange.headers["authorization"] == f"Bearer {service.agent_key}"


def test_an_undelivered_event_is_spooled_without_secrets_and_delivered_once(alone: Hook) -> None:
    said = alone("PostCompact", compact_summary=f"{SUMMARY}\n{fenced('old ' * 9)}", custom={"key": [AWS]})
    assert said == NOTHING
    until(lambda: len(spool(alone.home)) == 1)
    (file,) = (alone.home / "spool").glob("*.json")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    result = spool(alone.home)[0]
    assert result["payload"]["compact_summary"] == SUMMARY
    assert AWS not in file.read_text()
    assert result["program"] == "claude-code"
    assert alone("UserPromptSubmit", prompt=ASKED) == NOTHING
    until(lambda: len(spool(alone.home)) == 2)
    shutil.copy(file, file.with_name(f"9{file.name}"))  # As if it had been handed over all the same.
    with Service(alone.home) as service:
        until(lambda: not spool(alone.home))
        assert kept(service, SUMMARY) == 1
        assert lost(alone.home) == 0
        status = service.client(service.agent_key).call("GET", "/api/status")
        assert (status["hookEventsWaiting"], status["hookEventsLost"]) == (0, 0)
        assert status["missedAnswers"] == [{"program": "claude-code", "late": 0, "down": 1, "refused": 0}]
        head = f"Host: 127.0.0.1\r\nConnection: close\r\nAuthorization: Bearer {service.operator_key}"
        metrics = service.raw(f"GET /metrics HTTP/1.1\r\n{head}\r\n\r\n".encode())[1].decode()
        assert 'hivelore_hook_answers_missed{program="claude-code",reason="down"} 1.0' in metrics


def test_the_start_of_a_session_starts_the_service_and_its_first_prompt_gets_memories(alone: Hook) -> None:
    url = free_url()
    assert alone("SessionStart", source="startup", environ={"HIVELORE_URL": url}) == NOTHING
    until(lambda: launcher.running(alone.home) is not None and launcher.is_alive(launcher.running(alone.home) or ""))
    until(lambda: not spool(alone.home))


def hang(exchange: Exchange) -> None:
    exchange._odd.over.wait(PATIENCE)


ANSWERS: dict[str, tuple[Callable[[Exchange], None], bool]] = {
    "hangs": (hang, True),
    "says next to nothing": (lambda exchange: _mutter(exchange), True),
    "hangs up": (Exchange.drop, True),
    "fails": (lambda exchange: exchange.problem(500, "no"), True),
    "has too much to do": (lambda exchange: exchange.problem(503, "later"), True),
    "is held up": (lambda exchange: exchange.problem(409, "busy"), True),
    "does not know the key": (lambda exchange: exchange.problem(401, "who"), True),
    "does not know the program": (lambda exchange: exchange.problem(404, "what"), False),
    "is something else": (lambda exchange: exchange.reply(200, b"<html>", "text/html"), True),
    "is something else that speaks JSON": (lambda exchange: exchange.reply(200, b'{"decision": "block"}'), True),
    "is something else that says nothing": (lambda exchange: exchange.reply(204, b""), True),
    "is another program without this page": (lambda exchange: exchange.reply(404, b"{}"), True),
    "is cut off": (lambda exchange: _cut_off(exchange), True),
    "speaks no HTTP": (lambda exchange: _babble(exchange), True),
}


def _cut_off(exchange: Exchange) -> None:
    exchange.wfile.write(
        b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\nHivelore: taken\r\n\r\n{"a'
    )
    exchange.drop()


def _mutter(exchange: Exchange) -> None:
    exchange.wfile.write(b"HTTP/1.1\r\n\r\n")
    exchange.drop()


def _babble(exchange: Exchange) -> None:
    exchange.wfile.write(b"220 mail.example ESMTP\r\n")
    exchange.drop()


@pytest.mark.parametrize("fault", ANSWERS)
def test_an_unhealthy_service_does_not_affect_the_agent(service: Service, hook: Hook, fault: str) -> None:
    answer, comes_back = ANSWERS[fault]
    home = hook.cwd / "home"
    shutil.copytree(service.home / "bin", home / "bin")
    shutil.copy(service.home / "agent.key", home)
    ill = Hook(home / "bin" / hook.file.name, home, hook.cwd, wait="0.2" if fault == "hangs" else hook.wait)
    with OddService(answer) as odd:
        assert ill("UserPromptSubmit", prompt=ASKED, environ={"HIVELORE_URL": odd.url}) == NOTHING
        until(lambda: bool(spool(home)) if comes_back else lost(home) == 1)
    if comes_back:
        assert spool(home)[0]["url"] == odd.url


@pytest.mark.parametrize(
    "stdin", [b"", b"{", b"\xff\xfe", b"[]", b"null", b'{"a": ' + b"[" * 100_000, b" " * 9_000_000]
)
def test_an_invalid_event_is_counted_as_lost(service: Service, hook: Hook, stdin: bytes) -> None:
    before = lost(service.home)
    assert hook.given(stdin, "--agent", "claude-code") == NOTHING
    until(lambda: lost(service.home) == before + 1)
    assert spool(service.home) == []


@pytest.mark.parametrize("late", [b'"s1"}', b'"s'], ids=["whole", "cut off"])
def test_a_slow_event_is_read_to_its_end_in_the_background(alone: Hook, late: bytes) -> None:
    command = [*alone.command, "--agent", "codex", "--event", "Stop"]
    waiting = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(alone.home), cwd=alone.cwd
    )
    with waiting:
        assert waiting.stdin is not None
        waiting.stdin.write(b'{"session_id": ')
        waiting.stdin.flush()
        assert waiting.wait(PATIENCE) == 0
        assert waiting.stdout is not None
        assert waiting.stdout.read() == b""
        waiting.stdin.write(late)
        waiting.stdin.close()
        alone.finish()
    if late.endswith(b"}"):
        (result,) = spool(alone.home)
        assert (result["payload"], result["event"], len(result["id"])) == ({"session_id": "s1"}, "Stop", 32)
        assert result["project"] == str(alone.cwd)
    else:
        assert (spool(alone.home), lost(alone.home)) == ([], 1)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "read"),
        ("time", "strftime"),
        ("os", "access"),
        ("os", "pipe"),
        ("os", "posix_spawnp"),
        ("select", "select"),
        ("os", "waitpid"),
        ("_socket", "socket"),
    ],
)
def test_the_start_of_a_session_is_spooled_whenever_the_time_limit_passes(alone: Hook, module: str, name: str) -> None:
    git(alone.cwd, "init", "-qb", "main")
    slow = alone.cwd / "slow" / "git"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nexec sleep 60\n", encoding="utf-8")
    slow.chmod(0o755)
    late = replace(alone, first=ALARM_IN.format(module=module, name=name))
    path = f"{slow.parent}{os.pathsep}{os.environ['PATH']}"
    environ = {"HIVELORE_URL": REMOTE, "HIVELORE_KEY": "hl_1_0123456789_0", "PATH": path}
    assert late("SessionStart", environ=environ) == NOTHING
    alone.finish()
    (result,) = spool(alone.home)
    assert (len(result["id"]), result["project"], result["branch"]) == (32, str(alone.cwd), "main")
    assert (result["url"], result["missed"], lost(alone.home)) == (REMOTE, "late", 0)


@pytest.mark.parametrize(("module", "name"), [("time", "strftime"), ("select", "select")])
def test_an_error_while_an_event_is_described_loses_neither_id_nor_service(alone: Hook, module: str, name: str) -> None:
    git(alone.cwd, "init", "-qb", "main")
    failing = replace(alone, first=f"import {module}; {module}.{name} = lambda *_: [][0]")
    assert failing("SessionStart", environ={"HIVELORE_URL": REMOTE}) == NOTHING
    alone.finish()
    (result,) = spool(alone.home)
    assert (len(result["id"]), result["url"], result["missed"]) == (32, REMOTE, "down")
    assert result.get("project") == (str(alone.cwd) if name == "select" else None)


def test_an_event_that_is_not_read_to_its_end_in_time_is_counted_as_lost(alone: Hook) -> None:
    soon = (
        "import _signal; real = _signal.setitimer; _signal.setitimer = lambda which, seconds: real(which, seconds) "
        f"if seconds < {LONGEST} else (setattr(_signal, 'setitimer', real), real(which, 0.1))[1]"
    )
    command = [*replace(alone, first=soon).command, "--agent", "codex"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment(alone.home), cwd=alone.cwd) as waiting:
        assert waiting.stdin is not None
        waiting.stdin.write(b'{"session_id": ')
        waiting.stdin.flush()
        assert waiting.wait(PATIENCE) == 0
        alone.finish()
        assert (spool(alone.home), lost(alone.home)) == ([], 1)


@pytest.mark.parametrize("url", ["http://127.0.0.1:99999", "http://127.0.0.1:-1", "http://[::1", "nonsense", "http://"])
def test_an_invalid_url_loses_no_event(alone: Hook, url: str) -> None:
    assert alone("PostCompact", compact_summary=SUMMARY, environ={"HIVELORE_URL": url}) == NOTHING
    alone.finish()
    assert [result["url"] for result in spool(alone.home)] == [url]


def test_a_disabled_hook_does_nothing(service: Service, hook: Hook) -> None:
    remember(service, PROXY)
    off = {"HIVELORE_HOOK_DISABLED": "1"}
    assert hook("SessionStart", session_id="off", environ=off) == NOTHING
    assert hook("SessionStart", session_id="off", environ={"HIVELORE_HOOK_DISABLED": "0"}) != NOTHING


@pytest.mark.parametrize("arguments", [(), ("--agent",), ("--agent", "te tris\r\n"), ("--loud", "--agent", "tetris")])
def test_invalid_arguments_do_not_affect_the_agent(hook: Hook, arguments: tuple[str, ...]) -> None:
    assert hook.given(b'{"session_id": "s"}', *arguments) == NOTHING


def test_a_wrong_key_is_spooled_without_its_secret(alone: Hook) -> None:
    secret = scramble(64, "0123456789abcdef")
    key = f"hl_1_0123456789_{secret}"
    assert alone("PostCompact", compact_summary=SUMMARY, environ={"HIVELORE_KEY": key}) == NOTHING
    until(lambda: len(spool(alone.home)) == 1)
    assert spool(alone.home)[0]["key"] == "hl_1_0123456789"
    with Service(alone.home) as service:
        until(lambda: not spool(alone.home))
        assert kept(service, SUMMARY) == 0
    (file,) = (alone.home / "spool").glob("*.unreadable")
    assert secret not in file.read_text()


def test_a_mistyped_key_is_never_taken_for_no_key(alone: Hook) -> None:
    key = f"hl-1-{scramble(64, '0123456789abcdef')}"
    assert alone("PostCompact", compact_summary=SUMMARY, environ={"HIVELORE_KEY": key}) == NOTHING
    assert alone("UserPromptSubmit", prompt=ASKED, environ={"HIVELORE_KEY": key}) == NOTHING
    until(lambda: len(spool(alone.home)) == 2)
    assert {event["key"] for event in spool(alone.home)} == {""}
    with Service(alone.home) as service:
        until(lambda: not spool(alone.home))
        assert kept(service, SUMMARY) == 0
        status = service.client(service.agent_key).call("GET", "/api/status")
        assert status["missedAnswers"] == [{"program": "claude-code", "late": 0, "down": 1, "refused": 0}]
    files = list((alone.home / "spool").glob("*.unreadable"))
    assert len(files) == 2
    assert not any(key in file.read_text() for file in files)


def test_an_unwritable_home_does_not_affect_the_agent(alone: Hook) -> None:
    (alone.home / "spool").write_text("no folder")
    assert alone("PostCompact", compact_summary=SUMMARY) == NOTHING
    nowhere = {"HIVELORE_HOME": "/proc/1/nowhere"}
    assert alone("SessionStart", environ=nowhere) == NOTHING


def test_the_folder_in_the_payload_overrides_the_current_one(alone: Hook) -> None:
    works = alone.cwd / "wo\nrk ☃"
    works.mkdir()
    variables = {"CURSOR_PROJECT_DIR": str(works)}
    for agent in ("cursor", "codex"):
        assert (
            alone("beforeSubmitPrompt", agent=agent, environ=variables, conversation_id="s1", prompt=ASKED) == NOTHING
        )
    until(lambda: len(spool(alone.home)) == 2)
    assert {one["program"]: one["project"] for one in spool(alone.home)} == {
        "cursor": str(works),
        "codex": str(alone.cwd),
    }


def test_a_deleted_folder_does_not_affect_the_agent(service: Service, hook: Hook) -> None:
    gone = hook.cwd / "gone"
    gone.mkdir()
    script = 'rmdir "$PWD" && exec "$@"'
    done = subprocess.run(
        ["/bin/sh", "-c", script, "sh", *hook.command, "--agent", "claude-code"],
        input=json.dumps({"hook_event_name": "Stop", "session_id": "s"}).encode(),
        env=environment(hook.home),
        cwd=gone,
        capture_output=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == (b"", b"")


def test_new_folders_are_private(tmp_path: Path) -> None:
    fallback.spool(tmp_path / "new" / "spool", {"number": 1})
    assert [stat.S_IMODE(each.stat().st_mode) for each in (tmp_path / "new").rglob("*")] == [0o700, 0o600]
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_the_oldest_spooled_events_are_deleted_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fallback, "MOST_FILES", 3)
    for number in range(5):
        fallback.spool(tmp_path / "spool", {"number": number})
    assert [result["number"] for result in spool(tmp_path)] == [2, 3, 4]
    assert lost(tmp_path) == 2
    monkeypatch.setattr(fallback, "MOST_BYTES", 30)
    fallback.spool(tmp_path / "spool", {"number": 5})
    assert [result["number"] for result in spool(tmp_path)] == [4, 5]


def test_other_files_in_the_spool_are_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fallback, "MOST_FILES", 3)
    folder = tmp_path / "spool"
    (folder / "0.json").mkdir(parents=True)
    (folder / "00.json").symlink_to("nowhere")
    for number in range(5):
        fallback.spool(folder, {"number": number})
    (folder / "0.json").rmdir()
    assert [result["number"] for result in spool(tmp_path)] == [2, 3, 4]


def test_on_a_full_disk_nothing_is_left_behind(alone: Hook) -> None:
    full = replace(alone, before=partial(resource.setrlimit, resource.RLIMIT_FSIZE, (0, 0)))
    assert full("PostCompact", compact_summary=SUMMARY) == NOTHING
    full.finish()
    assert [file.name for file in (alone.home / "spool").iterdir()] == ["lost"]
    assert lost(alone.home) == 0


def test_at_a_session_start_it_sends_the_branch_and_the_changed_files(service: Service, hook: Hook) -> None:
    git(hook.cwd, "init", "-qb", "fix/parser")
    (hook.cwd / "parser.py").write_text("1", encoding="utf-8")
    git(hook.cwd, "add", "parser.py")
    git(hook.cwd, "commit", "-qm", "Begin")
    with OddService(lambda exchange: exchange.reply(204, b"", **dict([TAKEN]))) as odd:
        for name in ("SessionStart", "UserPromptSubmit"):
            hook(name, environ={"HIVELORE_URL": odd.url}, prompt='Add "SessionStart" to it.')
        start, prompt = (exchange.message for exchange in odd.heard)
    assert start["branch"] == "fix/parser"
    assert start.get("changedFiles", "parser.py") == "parser.py"  # Git may be too slow on a busy machine.
    assert "branch" not in prompt
    assert "changedFiles" not in prompt


def test_it_imports_little_before_delivery(service: Service, hook: Hook) -> None:
    command = [sys.executable, "-X", "importtime", *hook.command[1:], "--agent", "claude-code"]
    payload = b'{"hook_event_name": "Stop", "session_id": "s"}'
    done = subprocess.run(command, input=payload, env=environment(hook.home), capture_output=True, check=True)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}
    assert "hivelore.hooks.client" in loaded
    assert not loaded & TOO_HEAVY


def test_copying_again_changes_nothing_and_removes_older_copies(tmp_path: Path) -> None:
    file = copy_to(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "bin").rglob("*") if path.is_file()}
    older = tmp_path / "bin" / "lib-older"
    older.mkdir()
    assert copy_to(tmp_path) == file
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "bin").rglob("*") if path.is_file()} == before
    assert not older.exists()
    copied = [path for path in before if path.suffix in (".py", ".bin") and path.parent != tmp_path / "bin"]
    assert len(copied) == len(MODULES) + len(PACKAGES)


def test_a_damaged_copy_does_not_affect_the_agent(tmp_path: Path) -> None:
    file = copy_to(tmp_path)
    for module in (tmp_path / "bin").rglob("lock.*py*"):
        module.unlink()
    assert Hook(file, tmp_path, tmp_path)("SessionStart") == NOTHING
