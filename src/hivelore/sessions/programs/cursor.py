"""Cursor, as it was documented in the autumn of 2026: its events by name, and what it takes at which of them.

What is in the transcripts that it names is not documented: what the agent answered has to do.
"""

from hivelore.sessions.model import EventKind
from hivelore.sessions.programs.dialect import Dialect

CURSOR = Dialect(
    program="cursor",
    kinds={
        "sessionStart": EventKind.STARTED,
        "beforeSubmitPrompt": EventKind.PROMPTED,
        "afterAgentResponse": EventKind.ANSWERED,
        "preCompact": EventKind.COMPACTING,
        "subagentStop": EventKind.SUBAGENT_ENDED,
    },
    # Of words with a prompt the documentation says nothing, but they have been taken since 3.20.
    accepts_context=frozenset({EventKind.STARTED, EventKind.PROMPTED}),
    session=("conversation_id", "session_id"),
    origins={},
    texts={
        EventKind.PROMPTED: ("prompt",),
        EventKind.ANSWERED: ("text",),
        EventKind.SUBAGENT_ENDED: ("summary", "result"),
    },
    transcript=(),
    subagent=(("subagent_id",), ("subagent_type",)),
    subagent_transcript=(),
    context_field="additional_context",
    wraps_context=False,
    extra_fields={EventKind.PROMPTED: {"continue": True}},
)
