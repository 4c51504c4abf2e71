"""Gemini CLI, as of 0.61: its events by name, and what it takes at which of them.

It tells before it compresses a conversation, but at every request to its model, whether it will do so or not: that is
not asked for.
"""

from hivelore.sessions.model import Kind, Origin
from hivelore.sessions.programs.dialect import Dialect
from hivelore.sessions.transcripts.gemini import WRAPPED

GEMINI = Dialect(
    program="gemini",
    kinds={
        "SessionStart": Kind.STARTED,
        "BeforeAgent": Kind.ASKED,
        "AfterAgent": Kind.ANSWERED,
        "SessionEnd": Kind.ENDED,
    },
    listens=frozenset({Kind.STARTED, Kind.ASKED}),
    origins={"clear": Origin.CLEARED, "resume": Origin.RESUMED},
    texts={Kind.ASKED: ("prompt",), Kind.ANSWERED: ("prompt_response",)},
    put_in=WRAPPED,
)
