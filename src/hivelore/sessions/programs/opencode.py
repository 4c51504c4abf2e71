"""OpenCode, as of 1.18, which runs no commands: a plugin of ours, ``integrations/opencode``, tells these events."""

from hivelore.sessions.model import EventKind
from hivelore.sessions.programs.dialect import Dialect

OPENCODE = Dialect(
    program="opencode",
    kinds={
        "chat.message": EventKind.PROMPTED,
        "session.idle": EventKind.ANSWERED,
        "session.compacting": EventKind.COMPACTING,
        "session.compacted": EventKind.COMPACTED,
        "subagent.started": EventKind.SUBAGENT_STARTED,
        "subagent.idle": EventKind.SUBAGENT_ENDED,
    },
    accepts_context=frozenset({EventKind.PROMPTED, EventKind.SUBAGENT_STARTED}),
    origins={},
    texts={
        EventKind.PROMPTED: ("prompt",),
        EventKind.ANSWERED: ("last_assistant_message",),
        EventKind.COMPACTED: ("compact_summary",),
        EventKind.SUBAGENT_ENDED: ("last_assistant_message",),
    },
    wraps_context=False,
)
