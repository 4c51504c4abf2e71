"""Claude Code validates the plugin."""

import subprocess
from pathlib import Path

import pytest

import hivelore
from support.agent_programs import CLAUDE_CODE, ClaudeCode

pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]

PACKAGE = Path(hivelore.__file__).parent
PLUGIN = ("--profile", "directory", str(PACKAGE / "integrations" / "claude-code"))
MARKETPLACE = (str(PACKAGE.parents[1]),)


@pytest.mark.parametrize("words", [PLUGIN, MARKETPLACE], ids=["plugin", "marketplace"])
def test_the_plugin_passes_strict_validation(claude_code: ClaudeCode, words: tuple[str, ...]) -> None:
    command = [str(CLAUDE_CODE), "plugin", "validate", "--strict", *words]
    done = subprocess.run(command, env=claude_code.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
