"""The operations of the configuration (D50)."""

from typing import Annotated

from msgspec import Meta

from hivelore.configuration.model import (
    ConfigId,
    ConfigItem,
    ConfigRead,
    ConfigReport,
    ConfigScope,
    ConfigVersionItem,
    DeletedConfig,
    EnvProblem,
    KeyRotation,
    ResolvedItem,
    WithheldKey,
)
from hivelore.core.agents import Role
from hivelore.core.capabilities import Capability
from hivelore.core.operation import Lane, Operation, delete, get, post, put
from hivelore.core.tool import OBJECT, OBJECTS, Reply, Tool
from hivelore.core.values import NoArguments, Request, Value, json_names

_NO_STORE = (("Cache-Control", "no-store"),)
_SHOWN_BYTES = 50_000
"""Bytes of values that the tool get-config shows, approximately: its answer takes room in the context of an agent."""

_VERSION = "Raises Stale for another content unless this is the current version; 0: there is no entry."


class ListConfig(Request, frozen=True, kw_only=True):
    scope: ConfigScope | None = None
    scope_id: str | None = None
    limit: Annotated[int, Meta(ge=1, le=500)] = 500
    after: str | None = None


class SetConfig(Request, frozen=True):
    key: str
    value: Annotated[str, Meta(description="At most 32,768 bytes of UTF-8.")]
    scope: ConfigScope = ConfigScope.AGENT
    scope_id: Annotated[
        str | None, Meta(description="Agent, by id or name (default: the caller), or repository, by id or name.")
    ] = None
    is_secret: Annotated[bool | None, Meta(description="Default: as it is; false for a new entry.")] = None
    env_path: Annotated[str | None, Meta(description="Empty: no file. Default: as it is.")] = None
    description: Annotated[str | None, Meta(description="Empty: none. Default: as it is.")] = None
    version: Annotated[int, Meta(ge=0, le=2**31 - 1, description=_VERSION)] | None = None


class NamedConfig(Request, frozen=True, rename=json_names(entry="id")):
    entry: str


class ResolveConfig(Request, frozen=True, kw_only=True, rename=json_names(agent="agentId", repo="repoId")):
    agent: Annotated[str | None, Meta(description="Agent, by id or name. Default: the caller.")] = None
    repo: Annotated[str | None, Meta(description="Repository, by id or name.")] = None
    key: Annotated[str | None, Meta(description="Only this key.")] = None


class GetConfigHistory(Request, frozen=True, rename=json_names(entry="id")):
    entry: str
    limit: Annotated[int, Meta(ge=1, le=100)] = 100


class RotateConfigKey(Request, frozen=True, kw_only=True):
    erase_lost: bool = False


class ConfigList(Value, frozen=True, kw_only=True):
    entries: tuple[ConfigItem, ...]
    next: str | None
    """``after`` of the next page; None: this is the last one."""
    problems: tuple[EnvProblem, ...]
    """Lines of .env files that could not be written, or are due for five minutes, on the first page, for leads and
    operators. That is tried again each minute."""


class ResolvedConfig(Value, frozen=True):
    entries: tuple[ResolvedItem, ...]


class RevealedConfig(Value, frozen=True, kw_only=True):
    id: ConfigId
    key: str
    value: str


class ConfigHistory(Value, frozen=True, kw_only=True):
    """Versions, oldest first, and the latest readings of the value by ``reveal`` and ``env``, newest first."""

    versions: tuple[ConfigVersionItem, ...]
    reads: tuple[ConfigRead, ...]


class ConfigEnvironment(Value, frozen=True, kw_only=True):
    variables: dict[str, str]
    withheld: tuple[WithheldKey, ...]
    """Secrets that are left out."""


def _set_reply(entry: ConfigItem) -> Reply:
    message = f"{entry.key} is set in {entry.scope} scope."
    return Reply(f"{message} {entry.warning}" if entry.warning else message, {"entry": entry})


def _resolved_reply(found: ResolvedConfig) -> Reply:
    shown: list[ResolvedItem] = []
    size = 0
    for one in found.entries:
        size += len(one.value.encode())
        if shown and size > _SHOWN_BYTES:
            break
        shown.append(one)
    secrets = sum(one.is_secret for one in found.entries)
    message = f"{len(found.entries)} entries apply to you."
    if secrets:
        message += f" {secrets} of them are secrets: read them from your environment, they are not shown."
    if left := [one.key for one in found.entries[len(shown) :]]:
        message += f" {len(left)} are left out here, from {left[0]} on: ask for each by key."
    return Reply(message, {"entries": tuple(shown)})


LIST_CONFIG = Operation(
    name="config",
    verb="config list",
    summary="Lists the configuration entries that the caller may see, by scope and key, with secrets masked. "
    "``scope_id``: only those of one agent or repository. ``after`` is the ``next`` of the previous page.",
    request=ListConfig,
    response=ConfigList,
    handler="hivelore.configuration.handlers:list_config",
    lane=Lane.READ,
    http=get("/api/config"),
    tag="configuration",
)
SET_CONFIG = Operation(
    name="set_config",
    verb="config set",
    summary="Sets the configuration entry of a key. Workers set entries of their own agent; global and repository "
    "scope are for leads and operators. ``env_path`` keeps the entry in a .env file of the workspace, too.",
    request=SetConfig,
    response=ConfigItem,
    handler="hivelore.configuration.handlers:set_config",
    lane=Lane.WRITE,
    http=put("/api/config"),
    tool=Tool(
        name="set-config",
        description="Set a configuration entry: an environment variable of your later sessions.",
        arguments={
            "key": "like API_URL",
            "value": "",
            "scope": "agent (default): only you; global or repo: for leads",
            "scopeId": "repository, for scope repo",
            "isSecret": "encrypted, and never shown",
            "description": "",
        },
        reply=_set_reply,
        output={"entry": OBJECT},
        capability=Capability.SWARM,
    ),
    tag="configuration",
)
DELETE_CONFIG = Operation(
    name="delete_config",
    verb="config delete",
    summary="Deletes a configuration entry, and its line in a .env file.",
    request=NamedConfig,
    response=DeletedConfig,
    handler="hivelore.configuration.handlers:delete_config",
    lane=Lane.WRITE,
    http=delete("/api/config/{id}"),
    tag="configuration",
)
RESOLVE_CONFIG = Operation(
    name="resolved_config",
    verb="config resolved",
    summary="Returns the configuration entries that apply to an agent (default: the caller) and a repository, with "
    "their scopes and with secrets masked. Repository scope takes precedence over agent scope, and that over global "
    "scope.",
    request=ResolveConfig,
    response=ResolvedConfig,
    handler="hivelore.configuration.handlers:resolve_config",
    lane=Lane.READ,
    http=get("/api/config/resolved"),
    tool=Tool(
        name="get-config",
        description="List the configuration that applies to you: environment variables, with secrets masked.",
        arguments={"repoId": "name of the repository you work in", "key": "only this key"},
        reply=_resolved_reply,
        output={"entries": OBJECTS},
        capability=Capability.SWARM,
        read_only=True,
    ),
    tag="configuration",
)
REVEAL_CONFIG = Operation(
    name="reveal_config",
    verb="config reveal",
    summary="Returns the value of an entry, also of a secret; the audit trail records it. For operators, agents (their "
    "own secrets), and an operator's key that acts for an agent.",
    request=NamedConfig,
    response=RevealedConfig,
    handler="hivelore.configuration.handlers:reveal_config",
    lane=Lane.WRITE,
    http=get("/api/config/{id}/reveal", headers=_NO_STORE),
    tag="configuration",
)
GET_CONFIG_HISTORY = Operation(
    name="config_history",
    verb="config history",
    summary="Returns the latest versions of an entry with what changed, and who read its value.",
    request=GetConfigHistory,
    response=ConfigHistory,
    handler="hivelore.configuration.handlers:get_config_history",
    lane=Lane.READ,
    http=get("/api/config/{id}/history"),
    tag="configuration",
)
GET_CONFIG_ENVIRONMENT = Operation(
    name="config_env",
    verb="config env",
    summary="Returns the resolved configuration as environment variables, with the secrets that the caller may read. "
    "The audit trail records these. ``withheld`` names the others, and those that cannot be read.",
    request=ResolveConfig,
    response=ConfigEnvironment,
    handler="hivelore.configuration.handlers:get_config_environment",
    lane=Lane.WRITE,
    http=get("/api/config/env", headers=_NO_STORE),
    tag="configuration",
)
CHECK_CONFIG = Operation(
    name="check_config",
    verb="doctor",
    summary="Checks the encryption keys, every secret, and the lines of .env files in the workspace of the service.",
    request=NoArguments,
    response=ConfigReport,
    handler="hivelore.configuration.handlers:check_config",
    lane=Lane.SLOW,
    http=get("/api/config/check"),
    roles=frozenset({Role.OPERATOR}),
    tag="configuration",
)
ROTATE_CONFIG_KEY = Operation(
    name="rotate_config_key",
    verb="config rotate-key",
    summary="Encrypts every secret with a new key, or continues a rotation that was interrupted. ``erase_lost``: "
    "erases the secrets that cannot be read; without it they are skipped and named.",
    request=RotateConfigKey,
    response=KeyRotation,
    handler="hivelore.configuration.handlers:rotate_config_key",
    lane=Lane.SLOW,
    http=post("/api/config/rotate-key"),
    roles=frozenset({Role.OPERATOR}),
    tag="configuration",
)
OPERATIONS = (
    LIST_CONFIG,
    SET_CONFIG,
    DELETE_CONFIG,
    RESOLVE_CONFIG,
    REVEAL_CONFIG,
    GET_CONFIG_HISTORY,
    GET_CONFIG_ENVIRONMENT,
    CHECK_CONFIG,
    ROTATE_CONFIG_KEY,
)
