"""Claude Code, as of 2.1.330: its events by name, and what it takes at which of them."""

from hivelore.sessions.model import Kind, Origin
from hivelore.sessions.programs.dialect import Dialect
from hivelore.sessions.transcripts.claude_code import WRAPPED

CLAUDE_CODE = Dialect(
    program="claude-code",
    kinds={
        "SessionStart": Kind.STARTED,
        "UserPromptSubmit": Kind.ASKED,
        "Stop": Kind.ANSWERED,
        "TaskCompleted": Kind.ADVANCED,
        "PreCompact": Kind.COMPACTING,
        "PostCompact": Kind.COMPACTED,
        "SubagentStart": Kind.SUBAGENT_STARTED,
        "SubagentStop": Kind.SUBAGENT_ENDED,
        "SessionEnd": Kind.ENDED,
    },
    # Words in reply to Stop and SubagentStop would make the agent go on, and SessionEnd takes none at all.
    listens=frozenset({Kind.STARTED, Kind.ASKED, Kind.SUBAGENT_STARTED}),
    origins={"clear": Origin.CLEARED, "resume": Origin.RESUMED, "compact": Origin.COMPACTED},
    texts={
        Kind.ASKED: ("prompt",),
        Kind.ANSWERED: ("last_assistant_message",),
        Kind.COMPACTED: ("compact_summary",),
        Kind.SUBAGENT_ENDED: ("last_assistant_message",),
    },
    put_in=WRAPPED,
)
