"""The nudge through the hook: at the end of a turn, in the form of each program, and never in a headless run."""

import json
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from hivelore.hooks.install import copy_to, nudges
from hivelore.local.endpoint import TAKEN
from hivelore.sessions.nudge import QUESTION
from support.hooks import NOTHING, Hook, Said
from support.odd_service import Exchange, OddService
from support.ports import free_url
from support.service import Service
from support.sessions import FOLDER, ClaudeSession, CodexSession, a_fix

ON = {"HIVELORE_NUDGE": "evidence", "CLAUDE_CODE_ENTRYPOINT": "cli"}
ASKS = Said(0, json.dumps({"decision": "block", "reason": QUESTION}, separators=(",", ":")).encode(), b"")


def a_codex_fix() -> CodexSession:
    return (
        CodexSession()
        .user("The checkout test fails, please have a look.")
        .runs("pytest tests/test_checkout.py -q", "E   KeyError: 'currency'\n1 failed", 1)
        .says("The root cause is that carts from before March have no currency field.")
        .patches("*** Begin Patch\n*** Update File: shop/cart.py\n+a\n*** End Patch")
        .user("No, use the currency of the customer instead of EUR.")
        .runs("pytest tests/test_checkout.py -q", "1 passed in 0.31s")
        .says("Old carts now take the currency of their customer. The checkout test passes.")
    )


FIXES: Mapping[str, Callable[[], ClaudeSession | CodexSession]] = {"claude-code": a_fix, "codex": a_codex_fix}


def hang(_: Exchange) -> None:
    Event().wait(1)


class Program:
    """An agent program in one session that teaches something. When a turn has ended, lessons are drawn in the
    background; with a lesson it is not asked any more."""

    def __init__(self, hook: Hook, transcripts: Path, program: str, session: str) -> None:
        self._hook, self._folder, self._program, self._session = hook, transcripts, program, session
        self._transcript = transcripts / f"{session}.jsonl"
        self._transcript.write_text("\n".join(FIXES[program]().lines) + "\n", encoding="utf-8")

    def send(self, event: str, environ: Mapping[str, str] = ON, **more: Any) -> Said:
        payload = {"session_id": self._session, "transcript_path": str(self._transcript), "cwd": FOLDER, **more}
        return self._hook(event, agent=self._program, environ=environ, **payload)

    def in_new_session(self) -> "Program":
        new = Program(self._hook, self._folder, self._program, f"{self._session}-again")
        new.send("SessionStart", source="startup")
        return new

    def stop(self, environ: Mapping[str, str] = ON, **more: Any) -> Said:
        payload = {"stop_hook_active": False, "permission_mode": "default", "last_assistant_message": "Done.", **more}
        return self.send("Stop", environ, **payload)


@pytest.fixture(scope="module")
def transcripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("transcripts")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, transcripts: Path) -> Generator[Service]:
    with Service(tmp_path_factory.mktemp("home"), transcripts=(transcripts,)) as running:
        yield running


@pytest.fixture
def program(request: pytest.FixtureRequest, service: Service, tmp_path: Path, transcripts: Path) -> Program:
    name = request.param
    session = f"{name}-{tmp_path.name}"
    started = Program(Hook(copy_to(service.home), service.home, tmp_path), transcripts, name, session)
    started.send("SessionStart", source="startup")
    return started


EACH = pytest.mark.parametrize("program", FIXES, indirect=True)


@EACH
def test_the_agent_is_asked_once(program: Program) -> None:
    assert program.stop() == ASKS
    assert program.stop() == NOTHING


@EACH
def test_the_agent_is_not_asked_while_the_setting_is_off(program: Program) -> None:
    for value in ("off", "", "yes"):
        assert program.stop({**ON, "HIVELORE_NUDGE": value}) == NOTHING
        program = program.in_new_session()
    assert program.stop({"CLAUDE_CODE_ENTRYPOINT": "cli"}) == NOTHING


@EACH
def test_an_agent_that_already_continues_is_not_asked(program: Program) -> None:
    assert program.stop(stop_hook_active=True) == NOTHING


@EACH
def test_an_agent_that_only_plans_is_not_asked(program: Program) -> None:
    assert program.stop(permission_mode="plan") == NOTHING


@EACH
def test_other_events_are_answered_as_before(program: Program) -> None:
    for event in ("SubagentStop", "PreCompact", "SessionEnd"):
        assert program.send(event, agent_id="a1", agent_type="Explore") == NOTHING


@pytest.mark.parametrize("program", ["claude-code"], indirect=True)
def test_print_mode_of_claude_code_is_not_asked(program: Program) -> None:
    for environ in ({**ON, "CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}, {"HIVELORE_NUDGE": "evidence"}, {**ON, "CI": "true"}):
        assert program.stop(environ) == NOTHING
        program = program.in_new_session()
    assert program.stop(permission_mode="bypassPermissions") == ASKS


@pytest.mark.parametrize("program", ["codex"], indirect=True)
def test_codex_without_approvals_is_not_asked(program: Program) -> None:
    assert program.stop(permission_mode="bypassPermissions") == NOTHING
    program = program.in_new_session()
    assert program.stop({**ON, "CI": "true"}) == NOTHING
    assert program.in_new_session().stop() == ASKS


@EACH
def test_an_agent_that_stored_something_is_not_asked(program: Program, service: Service) -> None:
    body = {"content": "The lamp is broken.", "name": "lamp", "scope": "agent", "source": "manual"}
    memory = service.client(service.agent_key).call("POST", "/api/memory/index", body=body)["memoryIds"][0]
    try:
        assert program.stop() == NOTHING
    finally:
        service.client(service.agent_key).call("DELETE", f"/api/memory/{memory}")


def test_a_service_without_the_tool_asks_nobody(tmp_path: Path, transcripts: Path) -> None:
    with Service(tmp_path / "home", transcripts=(transcripts,), capabilities=("operations",)) as service:
        hook = Hook(copy_to(service.home), service.home, tmp_path)
        assert Program(hook, transcripts, "codex", "without-tool").stop() == NOTHING


@pytest.mark.parametrize("name", FIXES)
def test_a_service_that_is_down_or_hangs_blocks_nobody(tmp_path: Path, transcripts: Path, name: str) -> None:
    down = Hook(copy_to(tmp_path / "home"), tmp_path / "home", tmp_path)
    assert Program(down, transcripts, name, "down").stop({**ON, "HIVELORE_URL": free_url()}) == NOTHING
    with OddService(hang) as odd:
        hangs = Hook(down.file, down.home, tmp_path, wait="0.3")
        assert Program(hangs, transcripts, name, "hangs").stop({**ON, "HIVELORE_URL": odd.url}) == NOTHING
    down.finish()


def test_the_hook_says_that_it_is_on_only_if_it_is(tmp_path: Path) -> None:
    hook = Hook(copy_to(tmp_path / "home"), tmp_path / "home", tmp_path)
    with OddService(lambda exchange: exchange.reply(204, b"", **dict([TAKEN]))) as odd:
        for environ in (ON, {**ON, "CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}, {**ON, "HIVELORE_NUDGE": "off"}, {}):
            hook("Stop", environ={"HIVELORE_URL": odd.url, "HIVELORE_KEY": "k", **environ})
        assert [heard.message.get("nudge") for heard in odd.heard] == ["evidence", None, None, None]


def test_the_installed_hook_remembers_the_choice_and_the_environment_overrides_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    hook = Hook(copy_to(home, nudge=True), home, tmp_path)
    assert nudges(home)
    assert copy_to(home) == hook.file
    assert nudges(home)
    with OddService(lambda exchange: exchange.reply(204, b"", **dict([TAKEN]))) as odd:
        environ = {"HIVELORE_URL": odd.url, "HIVELORE_KEY": "k"}
        hook("Stop", agent="codex", environ=environ)
        hook("Stop", agent="codex", environ={**environ, "HIVELORE_NUDGE": "off"})
        assert [heard.message.get("nudge") for heard in odd.heard] == ["evidence", None]
    copy_to(home, nudge=False)
    assert not nudges(home)
    copy_to(home)
    assert not nudges(home)
