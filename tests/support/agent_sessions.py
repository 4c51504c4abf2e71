"""Sessions of real agent programs for which Hivelore is set up, and what they are told."""

import html

from hivelore.policies.fence import BEGIN, END
from support.agent_programs import Program
from support.command_line import hivelore

PROGRAMS = ("claude-code", "codex", "gemini", "copilot", "opencode")
_SESSIONS = 5


def verb(env: dict[str, str], *words: str) -> str:
    done = hivelore(*words, env=env)
    assert done.code == 0, done.err
    return done.out


def told(program: Program, prompt: str, *more: str, of: str = "") -> str:
    """What stands between our marks in the first request of a session (``of``: with these words in it) that was told
    anything: a hook that gets no answer in time says nothing, so on a busy machine there may have to be another."""
    for _ in range(_SESSIONS):
        seen = len(program.model.turns())
        run = program.run(prompt, *more)
        assert run.code == 0, run.err
        # Gemini CLI escapes what it is told.
        asked = html.unescape(next(turn.text() for turn in program.model.turns()[seen:] if of in turn.text()))
        if BEGIN in asked:
            return asked.partition(BEGIN)[2].partition(END)[0]
    return ""
