"""The agent programs that Hivelore can be put into: where each keeps its settings, and what goes there."""

import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hivelore.integrations.canary import Hook
from hivelore.integrations.entries import Entry, Kind
from hivelore.integrations.location import Commands, Place
from hivelore.integrations.parts import Part, Shared, Whole
from hivelore.sessions import agent_instructions, model
from hivelore.sessions.programs import PROGRAMS

_SHIPPED = Path(__file__).parent
_PLUGIN = _SHIPPED / "claude-code"
_SKILL = "SKILL.md"
_OPENCODE = _SHIPPED / "opencode" / "hivelore.js"
_PATIENCE = 15_000
"""Milliseconds that Gemini CLI waits for tools before a session begins without them: its own default is a minute."""
_SECONDS = 3
"""After which a program is to give a hook up, which ends by itself long before. Codex grants no more at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    name: str
    title: str
    parts: Callable[[Place, Commands], Sequence[Part]]
    afterwards: str
    """What is left to do for whoever set it up."""


def _claude_code(place: Place, commands: Commands) -> Sequence[Part]:
    """The plugin, in the folder of skills: Claude Code finds it there by itself, and no settings have to be changed."""
    settings = place.settings("CLAUDE_CONFIG_DIR", ".claude") if place.project is None else place.project / ".claude"
    return [Whole(settings / "skills" / "hivelore" / path, content) for path, content in plugin(place, commands)]


def plugin(place: Place, commands: Commands) -> Iterator[tuple[Path, bytes]]:
    """The files of the plugin for Claude Code, with whole paths where what ships names commands of the search path or
    folders that may be anywhere."""
    for file in sorted(path for path in _PLUGIN.rglob("*") if path.is_file()):
        content = file.read_bytes()
        if file.name == "hooks.json":
            content = _with_hook(json.loads(content), commands)
        elif file.name == ".mcp.json":
            content = _with_tools(json.loads(content), commands)
        elif file.name == _SKILL:
            content = _skill(place)
        yield file.relative_to(_PLUGIN), content


def _with_hook(hooks: dict[str, Any], commands: Commands) -> bytes:
    program, *arguments = commands.hook
    for handler in (handler for groups in hooks["hooks"].values() for group in groups for handler in group["hooks"]):
        handler |= {"command": program, "args": [*arguments, "claude-code"]}
    return _json(hooks)


def _with_tools(servers: dict[str, Any], commands: Commands) -> bytes:
    servers["mcpServers"]["hivelore"] |= _tools(commands)
    return _json(servers)


def _codex(place: Place, commands: Commands) -> Sequence[Part]:
    settings = place.settings("CODEX_HOME", ".codex") if place.project is None else place.project / ".codex"
    handler = {"type": "command", "command": shlex.join([*commands.hook, "codex"]), "timeout": _SECONDS}
    hooks = (Entry(("hooks", name), {"hooks": [handler]}, Kind.ITEM) for name in PROGRAMS["codex"].kinds)
    return [
        Shared(settings / "hooks.json", "json", tuple(hooks)),
        Shared(settings / "config.toml", "toml", (Entry(("mcp_servers", "hivelore"), _tools(commands)),)),
        Whole(settings / "skills" / "hivelore" / _SKILL, _skill(place)),
    ]


def _gemini(place: Place, commands: Commands) -> Sequence[Part]:
    settings = place.within("GEMINI_CLI_HOME") / ".gemini"
    command = shlex.join([*commands.hook, "gemini"])
    handler = {"name": "hivelore", "type": "command", "command": command, "timeout": _SECONDS * 1_000}
    hooks = (Entry(("hooks", name), {"hooks": [handler]}, Kind.ITEM) for name in PROGRAMS["gemini"].kinds)
    tools = {**_tools(commands), "timeout": _PATIENCE}
    return [
        Shared(settings / "settings.json", "jsonc", (*hooks, Entry(("mcpServers", "hivelore"), tools))),
        Whole(settings / "skills" / "hivelore" / _SKILL, _skill(place)),
    ]


def _copilot(place: Place, commands: Commands) -> Sequence[Part]:
    settings = place.settings("COPILOT_HOME", ".copilot") if place.project is None else place.project / ".github"
    servers = settings / ("mcp-config.json" if place.project is None else "mcp.json")
    tools = {"type": "local", **_tools(commands), "tools": ["*"]}
    return [
        Whole(settings / "hooks" / "hivelore.json", _json(_copilot_hooks(commands))),
        Shared(servers, "json", (Entry(("mcpServers", "hivelore"), tools),)),
        Whole(settings / "skills" / "hivelore" / _SKILL, _skill(place)),
    ]


def _copilot_hooks(commands: Commands) -> dict[str, Any]:
    def handler(event: str) -> dict[str, Any]:
        program, *arguments = (*commands.hook, "copilot", "--event", event)
        return {"type": "command", "exec": program, "args": arguments, "timeoutSec": _SECONDS}

    return {"version": 1, "hooks": {name: [handler(name)] for name in PROGRAMS["copilot"].kinds}}


def _cursor(place: Place, commands: Commands) -> Sequence[Part]:
    settings = (place.project or place.user) / ".cursor"
    handler = {"command": shlex.join([*commands.hook, "cursor"]), "timeout": _SECONDS}
    hooks = (Entry(("hooks", name), handler, Kind.ITEM) for name in PROGRAMS["cursor"].kinds)
    tools = {"type": "stdio", **_tools(commands)}
    return [
        Shared(settings / "hooks.json", "json", (Entry(("version",), 1, Kind.NEEDED), *hooks)),
        Shared(settings / "mcp.json", "json", (Entry(("mcpServers", "hivelore"), tools),)),
        Whole(settings / "skills" / "hivelore" / _SKILL, _skill(place)),
    ]


def _opencode(place: Place, commands: Commands) -> Sequence[Part]:
    """A plugin, which brings the tools with it, so that no settings have to be changed."""
    user = place.settings("XDG_CONFIG_HOME", ".config") / "opencode"
    settings = user if place.project is None else place.project / ".opencode"
    return [
        Whole(settings / "plugins" / "hivelore.js", opencode_plugin(commands)),
        # A skill has to lie in a folder of its name.
        Whole(settings / "skills" / "hivelore" / "memory" / _SKILL, _skill(place)),
    ]


def opencode_plugin(commands: Commands) -> bytes:
    """With whole paths where what ships names commands of the search path. JSON is JavaScript, too."""
    told = {"hook": [*commands.hook, "opencode"], "tools": commands.tools, "environment": {**commands.environment}}
    lines = _OPENCODE.read_text(encoding="utf-8").splitlines(keepends=True)
    ours = f"const commands = {json.dumps(told)}\n"
    return "".join(ours if line.startswith("const commands = ") else line for line in lines).encode()


def _skill(place: Place) -> bytes:
    where = None if place.workspace is None else agent_instructions.format_path(str(place.workspace))
    return agent_instructions.skill_file(place.tools, where).encode()


def _tools(commands: Commands) -> dict[str, Any]:
    program, *arguments = commands.tools
    return {"command": program, "args": arguments, "env": {**commands.environment}}


def _json(value: Any) -> bytes:
    return f"{json.dumps(value, ensure_ascii=False, indent=2)}\n".encode()


def hook_of(program: str, commands: Commands) -> Hook:
    """The hook with which a program tells what it was asked, to try it out."""
    dialect = PROGRAMS[program]
    name = next(name for name, kind in dialect.kinds.items() if kind is model.EventKind.PROMPTED)
    (prompt,) = dialect.texts[model.EventKind.PROMPTED]
    session, *_ = dialect.session
    told = () if dialect.event_name else ("--event", name)
    return Hook((*commands.hook, program, *told), name, session, prompt)


TARGETS = {
    target.name: target
    for target in (
        Target(
            name="claude-code",
            title="Claude Code",
            parts=_claude_code,
            afterwards="Sessions that begin from now on remember.",
        ),
        Target(
            name="codex",
            title="Codex",
            parts=_codex,
            afterwards="Codex runs no hook that you have not looked at: type /hooks in it once, and trust Hivelore's.",
        ),
        Target(
            name="gemini",
            title="Gemini CLI",
            parts=_gemini,
            afterwards="Sessions that begin from now on remember.",
        ),
        Target(
            name="copilot",
            title="GitHub Copilot CLI",
            parts=_copilot,
            afterwards="Sessions that begin from now on remember.",
        ),
        Target(
            name="opencode",
            title="OpenCode",
            parts=_opencode,
            afterwards="Sessions that begin from now on remember.",
        ),
        Target(
            name="cursor",
            title="Cursor",
            parts=_cursor,
            afterwards="Conversations that begin from now on remember, where Cursor's settings show hooks and tools.",
        ),
    )
}
