"""Gemini CLI, as of 0.61: its events by name, and what it takes at which of them.

It tells before it compresses a conversation, but at every request to its model, whether it will do so or not: that is
not asked for.
"""

from hivelore.sessions.model import EventKind, Origin
from hivelore.sessions.programs.dialect import Dialect
from hivelore.sessions.transcripts.gemini import WRAPPED

GEMINI = Dialect(
    program="gemini",
    kinds={
        "SessionStart": EventKind.STARTED,
        "BeforeAgent": EventKind.ASKED,
        "AfterAgent": EventKind.ANSWERED,
        "SessionEnd": EventKind.ENDED,
    },
    listens=frozenset({EventKind.STARTED, EventKind.ASKED}),
    origins={"clear": Origin.CLEARED, "resume": Origin.RESUMED},
    texts={EventKind.ASKED: ("prompt",), EventKind.ANSWERED: ("prompt_response",)},
    put_in=WRAPPED,
)
