"""Sessions of real agent programs with Hivelore, and the text injected into them."""

import html
import json
import re
from typing import Any

from hivelore.hooks.install import file_in
from hivelore.sessions.fence import NAME
from support.agent_programs import Program
from support.command_line import hivelore
from support.hooks import finish_hooks
from support.waiting import until

PROGRAMS = ("claude-code", "codex", "gemini", "copilot", "opencode")
_SESSIONS = 5
_FENCE = re.compile(rf"<({NAME}-[0-9a-f]{{16}})>(.*?)</\1>", re.DOTALL)


def verb(env: dict[str, str], *words: str) -> str:
    done = hivelore(*words, env=env)
    assert done.code == 0, done.err
    return done.out


def settled(env: dict[str, str]) -> list[dict[str, Any]]:
    """Waits until the service has handled all events, and returns its memories."""

    def is_settled() -> bool:
        status = json.loads(verb(env, "status", "--json"))
        return (status["hookEventsWaiting"], status["pendingSummaries"]) == (0, 0)

    finish_hooks(file_in(env["HIVELORE_HOME"]))
    until(is_settled)
    return json.loads(verb(env, "list", "--project", "*", "--json"))["memories"]


def injected_text(program: Program, prompt: str, *more: str, of: str = "") -> str:
    """Returns the fenced text in the first request of a session (or the first request that contains ``of``). On a busy
    machine a hook may get no answer in time, so several sessions are tried."""
    for _ in range(_SESSIONS):
        seen = len(program.model.turns())
        run = program.run(prompt, *more)
        assert run.code == 0, run.err
        # Gemini CLI escapes injected text.
        asked = html.unescape(next(turn.text() for turn in program.model.turns()[seen:] if of in turn.text()))
        if found := _FENCE.search(asked):
            return found[2]
    return ""
