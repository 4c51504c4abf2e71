"""The plugin for OpenCode: its events are supported, and setup puts the commands of this machine into it."""

import json
from pathlib import Path

import hivelore
from hivelore.integrations.location import Commands
from hivelore.integrations.targets import opencode_plugin
from hivelore.sessions.programs import PROGRAMS

SHIPPED = (Path(hivelore.__file__).parent / "integrations" / "opencode" / "hivelore.js").read_text(encoding="utf-8")
COMMANDS = Commands(
    hook=("/opt/a b/python", "-I", "/home/é\n'x\u2028/bin/hivelore-hook", "--agent"),
    tools=("/opt/a b/python", "-I", "mcp/bridge.py"),
    environment={"HIVELORE_HOME": "/home/é\n'x"},
)


def test_its_events_are_the_supported_events() -> None:
    assert [name for name in PROGRAMS["opencode"].kinds if f'"{name}"' not in SHIPPED] == []


def test_setup_changes_only_its_commands() -> None:
    made = opencode_plugin(COMMANDS).decode().split("\n")
    (ours,) = [line for line in made if line not in SHIPPED.split("\n")]
    assert [line for line in SHIPPED.split("\n") if line not in made] == [
        'const commands = {"hook": ["hivelore", "hook", "--agent", "opencode"], "tools": ["hivelore", "mcp"],'
        ' "environment": {}}'
    ]
    assert ours.isascii()
    assert json.loads(ours.removeprefix("const commands = ")) == {
        "hook": [*COMMANDS.hook, "opencode"],
        "tools": list(COMMANDS.tools),
        "environment": dict(COMMANDS.environment),
    }
