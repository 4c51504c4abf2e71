"""The agent programs whose events are understood, by the name that a hook says."""

from collections.abc import Mapping

from hivelore.policies.hooks.claude_code import CLAUDE_CODE
from hivelore.policies.hooks.codex import CODEX
from hivelore.policies.hooks.copilot import COPILOT
from hivelore.policies.hooks.cursor import CURSOR
from hivelore.policies.hooks.dialect import Dialect
from hivelore.policies.hooks.gemini import GEMINI
from hivelore.policies.hooks.opencode import OPENCODE

PROGRAMS: Mapping[str, Dialect] = {
    dialect.program: dialect for dialect in (CLAUDE_CODE, CODEX, GEMINI, COPILOT, CURSOR, OPENCODE)
}
