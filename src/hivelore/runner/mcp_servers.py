"""Configuration of MCP servers for an agent program: that of the user, merged with the server of Hivelore."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from hivelore.errors import Invalid
from hivelore.runner.json_line import NOTHING, as_object

NAME = "hivelore"
KEY_VARIABLE = "HIVELORE_KEY"
Servers = Mapping[str, Mapping[str, Any]]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_BEARER = re.compile(r"Bearer \$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def own_server(url: str) -> Servers:
    """Returns the server of Hivelore. The key stays in the environment, where other users cannot see it."""
    headers = {"Authorization": f"Bearer ${{{KEY_VARIABLE}}}"}
    return {NAME: {"type": "http", "url": f"{url}/mcp", "headers": headers, "alwaysLoad": True}}


def parse_servers(text: str, file: str) -> Servers:
    """Returns the servers of a file in the format of ``.mcp.json``. Raises Invalid."""
    try:
        found = as_object(json.loads(text))
    except (ValueError, RecursionError):
        found = NOTHING
    servers = as_object(found.get("mcpServers"))
    if found.get("mcpServers") != servers or not all(isinstance(one, dict) for one in servers.values()):
        raise Invalid(f'{file} is not a configuration of MCP servers: {{"mcpServers": {{"name": {{...}}}}}}.')
    return servers


def merge_servers(configurations: Sequence[Servers]) -> Servers:
    """Returns all servers; of two with one name, the later."""
    merged: dict[str, Mapping[str, Any]] = {}
    for servers in configurations:
        merged |= servers
    return merged


def as_claude_file(servers: Servers) -> str:
    return json.dumps({"mcpServers": servers}, indent=2, ensure_ascii=False)


def as_codex_settings(servers: Servers) -> list[str]:
    """Returns lines for a configuration of Codex. Raises Invalid for what Codex does not know."""
    return [f"mcp_servers.{_key(name)}={_toml(_codex_server(name, server))}" for name, server in servers.items()]


def _codex_server(name: str, server: Mapping[str, Any]) -> dict[str, Any]:
    if "command" in server:
        return {key: server[key] for key in ("command", "args", "env", "cwd") if key in server}
    if "url" not in server:
        raise Invalid(f"The MCP server {name} has no command and no url.")
    headers = dict(as_object(server.get("headers")))
    bearer = _BEARER.fullmatch(str(headers.get("Authorization", "")))
    settings: dict[str, Any] = {"url": server["url"]}
    if bearer is not None:
        del headers["Authorization"]
        settings["bearer_token_env_var"] = bearer[1]
    if headers:
        settings["http_headers"] = headers
    return settings


def _toml(value: Any) -> str:
    """Returns a value as inline TOML, whose strings are those of JSON."""
    if isinstance(value, dict):
        items = as_object(cast(object, value)).items()
        return "{" + ", ".join(f"{_key(key)}={_toml(inner)}" for key, inner in items) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, cast(list[Any], value))) + "]"
    if value is None:
        raise Invalid("A configuration of MCP servers for Codex has no null. Leave the field out.")
    return toml_text(value) if isinstance(value, str) else json.dumps(value)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else toml_text(name)


def toml_text(text: str) -> str:
    """Returns a text as a basic string of TOML."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
