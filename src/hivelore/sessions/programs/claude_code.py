"""Claude Code, as of 2.1.330: its events by name, and what it takes at which of them."""

from hivelore.sessions.model import EventKind, Origin
from hivelore.sessions.programs.dialect import Dialect
from hivelore.sessions.transcripts import claude_code

CLAUDE_CODE = Dialect(
    program="claude-code",
    kinds={
        "SessionStart": EventKind.STARTED,
        "UserPromptSubmit": EventKind.PROMPTED,
        "Stop": EventKind.ANSWERED,
        "TaskCompleted": EventKind.ADVANCED,
        "PreCompact": EventKind.COMPACTING,
        "PostCompact": EventKind.COMPACTED,
        "SubagentStart": EventKind.SUBAGENT_STARTED,
        "SubagentStop": EventKind.SUBAGENT_ENDED,
        "SessionEnd": EventKind.ENDED,
    },
    # Words in reply to Stop and SubagentStop would make the agent go on, and SessionEnd takes none at all.
    accepts_context=frozenset({EventKind.STARTED, EventKind.PROMPTED, EventKind.SUBAGENT_STARTED}),
    origins={"clear": Origin.CLEARED, "resume": Origin.RESUMED, "compact": Origin.COMPACTED},
    texts={
        EventKind.PROMPTED: ("prompt",),
        EventKind.ANSWERED: ("last_assistant_message",),
        EventKind.COMPACTED: ("compact_summary",),
        EventKind.SUBAGENT_ENDED: ("last_assistant_message",),
    },
    inserted_text=claude_code.INSERTED,
)
