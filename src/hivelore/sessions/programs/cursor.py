"""Cursor, as it was documented in the autumn of 2026: its events by name, and what it takes at which of them.

What is in the transcripts that it names is not documented: what the agent answered has to do.
"""

from hivelore.sessions.model import EventKind
from hivelore.sessions.programs.dialect import Dialect

CURSOR = Dialect(
    program="cursor",
    kinds={
        "sessionStart": EventKind.STARTED,
        "beforeSubmitPrompt": EventKind.ASKED,
        "afterAgentResponse": EventKind.ANSWERED,
        "preCompact": EventKind.COMPACTING,
        "subagentStop": EventKind.SUBAGENT_ENDED,
    },
    # Of words with a prompt the documentation says nothing, but they have been taken since 3.20.
    listens=frozenset({EventKind.STARTED, EventKind.ASKED}),
    session=("conversation_id", "session_id"),
    origins={},
    texts={
        EventKind.ASKED: ("prompt",),
        EventKind.ANSWERED: ("text",),
        EventKind.SUBAGENT_ENDED: ("summary", "result"),
    },
    transcript=(),
    subagent=(("subagent_id",), ("subagent_type",)),
    subagent_transcript=(),
    context="additional_context",
    enveloped=False,
    beside={EventKind.ASKED: {"continue": True}},
)
