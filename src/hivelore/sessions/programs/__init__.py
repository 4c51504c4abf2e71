"""The agent programs whose events are understood, by the name that a hook says."""

from collections.abc import Mapping

from hivelore.sessions.programs.claude_code import CLAUDE_CODE
from hivelore.sessions.programs.codex import CODEX
from hivelore.sessions.programs.copilot import COPILOT
from hivelore.sessions.programs.cursor import CURSOR
from hivelore.sessions.programs.dialect import Dialect
from hivelore.sessions.programs.gemini import GEMINI
from hivelore.sessions.programs.opencode import OPENCODE

PROGRAMS: Mapping[str, Dialect] = {
    dialect.program: dialect for dialect in (CLAUDE_CODE, CODEX, GEMINI, COPILOT, CURSOR, OPENCODE)
}
