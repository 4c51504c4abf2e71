"""Gemini CLI, as of 0.61: its events by name, and what it takes at which of them.

It tells before it compresses a conversation, but at every request to its model, whether it will do so or not: that is
not asked for.
"""

from hivelore.sessions.model import EventKind, Origin
from hivelore.sessions.programs.dialect import Dialect
from hivelore.sessions.transcripts import gemini

GEMINI = Dialect(
    program="gemini",
    kinds={
        "SessionStart": EventKind.STARTED,
        "BeforeAgent": EventKind.PROMPTED,
        "AfterAgent": EventKind.ANSWERED,
        "SessionEnd": EventKind.ENDED,
    },
    accepts_context=frozenset({EventKind.STARTED, EventKind.PROMPTED}),
    origins={"clear": Origin.CLEARED, "resume": Origin.RESUMED},
    texts={EventKind.PROMPTED: ("prompt",), EventKind.ANSWERED: ("prompt_response",)},
    inserted_text=gemini.INSERTED,
)
