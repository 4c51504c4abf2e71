"""Supported agent programs: the files and settings entries of each."""

import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hivelore.hooks.client import FILES_ONLY
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
_MCP_TIMEOUT = 15_000
"""Milliseconds that Gemini CLI waits for tools before it starts without them; its default is a minute."""
_EDITS = "Edit|MultiEdit|Write"
"""Tools of Claude Code that change files."""
_HOOK_TIMEOUT = 3
"""Seconds after which a program stops a hook, which ends much earlier. Codex allows no more at its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    name: str
    title: str
    parts: Callable[[Place, Commands], Sequence[Part]]
    afterwards: str
    """Next step for the user."""


def _claude_code(place: Place, commands: Commands) -> Sequence[Part]:
    """The plugin in the folder of skills, where Claude Code finds it without a change of its settings."""
    settings = place.settings("CLAUDE_CONFIG_DIR", ".claude") if place.project is None else place.project / ".claude"
    return [Whole(settings / "skills" / "hivelore" / path, content) for path, content in plugin(place, commands)]


def plugin(place: Place, commands: Commands) -> Iterator[tuple[Path, bytes]]:
    """Yield the files of the Claude Code plugin, with absolute paths of commands and folders."""
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
    if commands.profile_files:
        hooks["hooks"]["PostToolUse"] = [{"matcher": _EDITS, "hooks": [{"type": "command", "timeout": _HOOK_TIMEOUT}]}]
    for handler in (handler for groups in hooks["hooks"].values() for group in groups for handler in group["hooks"]):
        handler |= {"command": program, "args": [*arguments, "claude-code"]}
    for group in hooks["hooks"].get("PostToolUse", ()):
        for handler in group["hooks"]:
            handler["args"].append(FILES_ONLY)
    return _json(hooks)


def _with_tools(servers: dict[str, Any], commands: Commands) -> bytes:
    servers["mcpServers"]["hivelore"] |= _tools(commands)
    return _json(servers)


def _codex(place: Place, commands: Commands) -> Sequence[Part]:
    settings = place.settings("CODEX_HOME", ".codex") if place.project is None else place.project / ".codex"
    handler = {"type": "command", "command": shlex.join([*commands.hook, "codex"]), "timeout": _HOOK_TIMEOUT}
    hooks = (Entry(("hooks", name), {"hooks": [handler]}, Kind.ITEM) for name in PROGRAMS["codex"].kinds)
    return [
        Shared(settings / "hooks.json", "json", tuple(hooks)),
        Shared(settings / "config.toml", "toml", (Entry(("mcp_servers", "hivelore"), _tools(commands)),)),
        Whole(settings / "skills" / "hivelore" / _SKILL, _skill(place)),
    ]


def _gemini(place: Place, commands: Commands) -> Sequence[Part]:
    settings = place.within("GEMINI_CLI_HOME") / ".gemini"
    command = shlex.join([*commands.hook, "gemini"])
    handler = {"name": "hivelore", "type": "command", "command": command, "timeout": _HOOK_TIMEOUT * 1_000}
    hooks = (Entry(("hooks", name), {"hooks": [handler]}, Kind.ITEM) for name in PROGRAMS["gemini"].kinds)
    tools = {**_tools(commands), "timeout": _MCP_TIMEOUT}
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
        return {"type": "command", "exec": program, "args": arguments, "timeoutSec": _HOOK_TIMEOUT}

    return {"version": 1, "hooks": {name: [handler(name)] for name in PROGRAMS["copilot"].kinds}}


def _cursor(place: Place, commands: Commands) -> Sequence[Part]:
    settings = (place.project or place.user) / ".cursor"
    handler = {"command": shlex.join([*commands.hook, "cursor"]), "timeout": _HOOK_TIMEOUT}
    hooks = (Entry(("hooks", name), handler, Kind.ITEM) for name in PROGRAMS["cursor"].kinds)
    tools = {"type": "stdio", **_tools(commands)}
    return [
        Shared(settings / "hooks.json", "json", (Entry(("version",), 1, Kind.NEEDED), *hooks)),
        Shared(settings / "mcp.json", "json", (Entry(("mcpServers", "hivelore"), tools),)),
        Whole(settings / "skills" / "hivelore" / _SKILL, _skill(place)),
    ]


def _opencode(place: Place, commands: Commands) -> Sequence[Part]:
    """A plugin that registers the tools, so that no settings change."""
    user = place.settings("XDG_CONFIG_HOME", ".config") / "opencode"
    settings = user if place.project is None else place.project / ".opencode"
    return [
        Whole(settings / "plugins" / "hivelore.js", opencode_plugin(commands)),
        # The folder of a skill must have its name.
        Whole(settings / "skills" / "hivelore" / "memory" / _SKILL, _skill(place)),
    ]


def opencode_plugin(commands: Commands) -> bytes:
    """Return the plugin with absolute paths of commands, as JSON, which is JavaScript, too."""
    absolute = {"hook": [*commands.hook, "opencode"], "tools": commands.tools, "environment": {**commands.environment}}
    lines = _OPENCODE.read_text(encoding="utf-8").splitlines(keepends=True)
    ours = f"const commands = {json.dumps(absolute)}\n"
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
    """Return the prompt hook of a program, for the test."""
    dialect = PROGRAMS[program]
    name = next(name for name, kind in dialect.kinds.items() if kind is model.EventKind.PROMPTED)
    (prompt,) = dialect.texts[model.EventKind.PROMPTED]
    session, *_ = dialect.session
    event = () if dialect.event_name else ("--event", name)
    return Hook((*commands.hook, program, *event), name, session, prompt)


TARGETS = {
    target.name: target
    for target in (
        Target(
            name="claude-code",
            title="Claude Code",
            parts=_claude_code,
            afterwards="New sessions use the memory.",
        ),
        Target(
            name="codex",
            title="Codex",
            parts=_codex,
            afterwards="Codex runs only approved hooks: type /hooks in it once, and trust those of Hivelore.",
        ),
        Target(
            name="gemini",
            title="Gemini CLI",
            parts=_gemini,
            afterwards="New sessions use the memory.",
        ),
        Target(
            name="copilot",
            title="GitHub Copilot CLI",
            parts=_copilot,
            afterwards="New sessions use the memory.",
        ),
        Target(
            name="opencode",
            title="OpenCode",
            parts=_opencode,
            afterwards="New sessions use the memory.",
        ),
        Target(
            name="cursor",
            title="Cursor",
            parts=_cursor,
            afterwards="New conversations use the memory, if Cursor's settings show the hooks and tools.",
        ),
    )
}
