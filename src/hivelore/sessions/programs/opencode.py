"""OpenCode, as of 1.18, which runs no commands: a plugin of ours, ``integrations/opencode``, tells these events."""

from hivelore.sessions.model import Kind
from hivelore.sessions.programs.dialect import Dialect

OPENCODE = Dialect(
    program="opencode",
    kinds={
        "chat.message": Kind.ASKED,
        "session.idle": Kind.ANSWERED,
        "session.compacting": Kind.COMPACTING,
        "session.compacted": Kind.COMPACTED,
        "subagent.started": Kind.SUBAGENT_STARTED,
        "subagent.idle": Kind.SUBAGENT_ENDED,
    },
    listens=frozenset({Kind.ASKED, Kind.SUBAGENT_STARTED}),
    origins={},
    texts={
        Kind.ASKED: ("prompt",),
        Kind.ANSWERED: ("last_assistant_message",),
        Kind.COMPACTED: ("compact_summary",),
        Kind.SUBAGENT_ENDED: ("last_assistant_message",),
    },
    enveloped=False,
)
