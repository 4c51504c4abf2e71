"""Codex, as of 0.169: it tells its events as Claude Code does, and refuses what it does not know, in a reply as in its
settings."""

from hivelore.core.values import replace
from hivelore.sessions.programs.claude_code import CLAUDE_CODE

_UNKNOWN = ("TaskCompleted",)
CODEX = replace(
    CLAUDE_CODE,
    program="codex",
    kinds={name: kind for name, kind in CLAUDE_CODE.kinds.items() if name not in _UNKNOWN},
)
