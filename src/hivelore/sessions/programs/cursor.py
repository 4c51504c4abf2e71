"""Cursor, as it was documented in the autumn of 2026: its events by name, and what it takes at which of them.

What is in the transcripts that it names is not documented: what the agent answered has to do.
"""

from hivelore.sessions.model import Kind
from hivelore.sessions.programs.dialect import Dialect

CURSOR = Dialect(
    program="cursor",
    kinds={
        "sessionStart": Kind.STARTED,
        "beforeSubmitPrompt": Kind.ASKED,
        "afterAgentResponse": Kind.ANSWERED,
        "preCompact": Kind.COMPACTING,
        "subagentStop": Kind.SUBAGENT_ENDED,
    },
    # Of words with a prompt the documentation says nothing, but they have been taken since 3.20.
    listens=frozenset({Kind.STARTED, Kind.ASKED}),
    session=("conversation_id", "session_id"),
    origins={},
    texts={Kind.ASKED: ("prompt",), Kind.ANSWERED: ("text",), Kind.SUBAGENT_ENDED: ("summary", "result")},
    transcript=(),
    subagent=(("subagent_id",), ("subagent_type",)),
    subagent_transcript=(),
    context="additional_context",
    enveloped=False,
    beside={Kind.ASKED: {"continue": True}},
)
