"""GitHub Copilot CLI, as of 1.0.102: its events by name, and what it takes at which of them.

It does not say which event it tells: its hooks are started with that. At the end of a session it does not say where the
conversation is; it does so at the end of each turn, which is enough.
"""

from hivelore.sessions.model import Kind, Origin
from hivelore.sessions.programs.dialect import Dialect

COPILOT = Dialect(
    program="copilot",
    event_name=(),
    kinds={
        "sessionStart": Kind.STARTED,
        "userPromptSubmitted": Kind.ASKED,
        "agentStop": Kind.ANSWERED,
        "preCompact": Kind.COMPACTING,
        "subagentStart": Kind.SUBAGENT_STARTED,
        "subagentStop": Kind.SUBAGENT_ENDED,
    },
    listens=frozenset({Kind.STARTED, Kind.ASKED, Kind.SUBAGENT_STARTED}),
    session=("sessionId",),
    origins={"resume": Origin.RESUMED},
    texts={Kind.ASKED: ("prompt",), Kind.SUBAGENT_ENDED: ("response",)},
    transcript=("transcriptPath",),
    subagent=(("agentId",), ("agentType", "agentName")),
    subagent_transcript=(),
    enveloped=False,
)
