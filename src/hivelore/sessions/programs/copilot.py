"""GitHub Copilot CLI, as of 1.0.102: its events by name, and what it takes at which of them.

It does not say which event it tells: its hooks are started with that. At the end of a session it does not say where the
conversation is; it does so at the end of each turn, which is enough.
"""

from hivelore.sessions.model import EventKind, Origin
from hivelore.sessions.programs.dialect import Dialect

COPILOT = Dialect(
    program="copilot",
    event_name=(),
    kinds={
        "sessionStart": EventKind.STARTED,
        "userPromptSubmitted": EventKind.PROMPTED,
        "agentStop": EventKind.ANSWERED,
        "preCompact": EventKind.COMPACTING,
        "subagentStart": EventKind.SUBAGENT_STARTED,
        "subagentStop": EventKind.SUBAGENT_ENDED,
    },
    accepts_context=frozenset({EventKind.STARTED, EventKind.PROMPTED, EventKind.SUBAGENT_STARTED}),
    session=("sessionId",),
    origins={"resume": Origin.RESUMED},
    texts={EventKind.PROMPTED: ("prompt",), EventKind.SUBAGENT_ENDED: ("response",)},
    transcript=("transcriptPath",),
    subagent=(("agentId",), ("agentType", "agentName")),
    subagent_transcript=(),
    wraps_context=False,
)
