"""The plugin for Claude Code: its parts agree with each other, with the package and with what the service answers."""

import json
from pathlib import Path

import hivelore
from hivelore.api.registry import TOOLS
from hivelore.integrations.location import Commands, Place
from hivelore.integrations.targets import plugin
from hivelore.sessions import agent_instructions
from hivelore.sessions.programs import PROGRAMS

PLUGIN = Path(hivelore.__file__).parent / "integrations" / "claude-code"
COMMANDS = Commands(
    hook=("/opt/a b/python", "-I", "/home/é\n'x/bin/hivelore-hook", "--agent"),
    tools=("/opt/a b/python", "-I", "mcp/bridge.py"),
    environment={"HIVELORE_HOME": "/home/é\n'x"},
)


def test_its_version_is_that_of_the_package() -> None:
    assert json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text())["version"] == hivelore.__version__


def test_its_hooks_are_the_supported_events() -> None:
    hooks = json.loads((PLUGIN / "hooks" / "hooks.json").read_text())["hooks"]
    assert hooks.keys() == PROGRAMS["claude-code"].kinds.keys()


def test_its_skill_has_the_common_instructions() -> None:
    taught = agent_instructions.skill_file([tool.name for tool in TOOLS], agent_instructions.UNKNOWN_WORKSPACE)
    assert (PLUGIN / "skills" / "memory" / "SKILL.md").read_text() == taught


def test_setup_changes_only_commands_and_folders() -> None:
    workspace = Path("/work/é")
    tools = [tool.name for tool in TOOLS]
    place = Place(user=Path("/u"), hivelore=Path("/h"), workspace=workspace, tools=tools, environment={})
    made = dict(plugin(place, COMMANDS))
    shipped = {path.relative_to(PLUGIN): path.read_bytes() for path in PLUGIN.rglob("*") if path.is_file()}
    assert made.keys() == shipped.keys()
    assert {str(path) for path in made if made[path] != shipped[path]} == {
        "hooks/hooks.json",
        ".mcp.json",
        "skills/memory/SKILL.md",
    }
    shown, there = agent_instructions.UNKNOWN_WORKSPACE, agent_instructions.format_path(str(workspace))
    skill = Path("skills/memory/SKILL.md")
    assert made[skill].decode() == shipped[skill].decode().replace(shown, there)
    hooks = json.loads(made[Path("hooks/hooks.json")])["hooks"]
    for ((handler,),) in ([group["hooks"] for group in groups] for groups in hooks.values()):
        assert (handler["command"], *handler["args"]) == (*COMMANDS.hook, "claude-code")
    server = json.loads(made[Path(".mcp.json")])["mcpServers"]["hivelore"]
    assert (server["command"], *server["args"]) == COMMANDS.tools
    assert (server["env"], server["alwaysLoad"]) == (COMMANDS.environment, True)
