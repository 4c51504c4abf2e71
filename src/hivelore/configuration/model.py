"""Values of configuration entries and their versions."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import NewType

from hivelore.core.agents import AgentId, Interface
from hivelore.core.text import Clean
from hivelore.core.values import Value, json_names

ConfigId = NewType("ConfigId", str)
"""A UUID (version 7) in its lower-case text form."""
MASK = "********"
"""Stands for the value of a secret."""
KEY_LENGTH = 200
VALUE_BYTES = 32_768
DESCRIPTION_BYTES = 1_000
PATH_BYTES = 1_000
MAX_ENTRIES = 500
"""Most entries of one agent, one repository, or of global scope."""
MAX_KEPT = 4 * MAX_ENTRIES
"""Most entries of them with the deleted ones that can be restored."""
MAX_BYTES = 1_000_000
"""Most bytes of their values together."""
MAX_VERSIONS = 100
"""Most versions of an entry that are kept."""
MAX_LINES = 500
"""Most lines of one .env file that Hivelore keeps."""
PAGE = 500
"""Most entries in one answer."""


class ConfigScope(StrEnum):
    """Who an entry is for. A later scope takes precedence."""

    GLOBAL = "global"
    AGENT = "agent"
    REPO = "repo"


@dataclass(frozen=True, slots=True)
class Place:
    """The scope of an entry and its agent or repository."""

    scope: ConfigScope
    scope_id: str = ""
    """The id of the agent or repository; empty for global scope."""

    def __post_init__(self) -> None:
        if (self.scope is ConfigScope.GLOBAL) != (not self.scope_id):
            raise ValueError("an agent or a repository belongs to every scope but the global one")


@dataclass(frozen=True, slots=True)
class Sealed:
    """An encrypted value."""

    data: bytes
    """Nonce, ciphertext and tag."""
    key: str
    """Id of the encryption key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigEntry:
    id: ConfigId
    place: Place
    key: str
    created_at: datetime
    updated_at: datetime
    version: int | None
    """Number of the current version. None: the entry was deleted, and can be restored while its versions exist."""

    def __post_init__(self) -> None:
        if self.created_at.tzinfo is not UTC or self.updated_at.tzinfo is not UTC:
            raise ValueError("instants are in UTC")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigVersion:
    """The content of an entry after one change."""

    entry: ConfigId
    number: int
    at: datetime
    actor: AgentId | None
    """None: an operator who did not act for an agent."""
    interface: Interface
    is_secret: bool
    value: str | None
    """None for a secret. Not ``Clean``, because a masked value would be a different one."""
    sealed: Sealed | None
    """The value of a secret. None: not secret, or the value was erased."""
    env_path: str | None = None
    """File in the workspace that contains the entry as ``KEY=VALUE``; relative to the workspace."""
    description: Clean | None = None
    replaced_at: datetime | None = None
    """Since when another version is current; None for the current one."""

    def __post_init__(self) -> None:
        if self.is_secret == (self.value is not None) or (self.sealed is not None and not self.is_secret):
            raise ValueError("a secret has an encrypted value, and everything else a plain one")

    @property
    def is_erased(self) -> bool:
        """True for a secret whose value was erased."""
        return self.is_secret and self.sealed is None


@dataclass(frozen=True, slots=True)
class CurrentEntry:
    """An entry with its current version."""

    entry: ConfigEntry
    content: ConfigVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvLine:
    """A line of a .env file that Hivelore keeps, and has not removed yet."""

    workspace: str
    """Id of the workspace."""
    path: str
    """Relative to the workspace."""
    key: str
    location: str
    """The machine and the folder of the workspace, for people."""
    owner: AgentId | None = None
    """The agent whose entries decide the line; None if entries of others do, too."""
    is_begun: bool = False
    """True as soon as it may be in the file. Before, a line with its key there is one of the user."""
    is_in_own_file: bool = False
    """True if Hivelore created the file."""
    revision: int = 1
    """Grows with each change that may change the line."""
    written: int = 0
    """The revision in the file. The line is due while this is the smaller one."""
    problem: Clean | None = None
    """Why it could not be written last time."""
    since: datetime | None = None
    """Since when it cannot be written."""
    due_at: datetime | None = None
    """Since when it is due."""

    @property
    def is_due(self) -> bool:
        return self.written < self.revision


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """The effect of a batch on one entry: the current versions before and after. None: there was no entry."""

    entry: ConfigId
    before: int | None
    after: int | None


class ConfigItem(Value, frozen=True, kw_only=True, rename=json_names(updated_at="lastUpdatedAt")):
    """An entry as callers see it."""

    id: ConfigId
    scope: ConfigScope
    scope_id: str | None
    """The id of the agent or repository."""
    scope_name: str | None
    """Its name. None: global scope, or a repository that is not registered any more."""
    key: str
    value: str
    """Asterisks for a secret."""
    is_secret: bool
    env_path: str | None
    description: str | None
    created_at: datetime
    updated_at: datetime
    version: int
    actor: AgentId | None
    """Who set it last; None: an operator who did not act for an agent."""
    warning: str | None = None
    """Only in the answer to a change."""


class ResolvedItem(ConfigItem, frozen=True, kw_only=True):
    """An entry that applies to an agent and a repository."""

    overrides: tuple[ConfigScope, ...]
    """The scopes whose entries of the same key it replaces."""


class DeletedConfig(Value, frozen=True, kw_only=True):
    """An entry that was deleted."""

    id: ConfigId
    key: str
    warning: str | None
    """Why its lines in .env files are not removed. That is tried again."""


class ConfigVersionItem(Value, frozen=True, kw_only=True):
    """A version as callers see it."""

    number: int
    at: datetime
    actor: AgentId | None
    interface: Interface
    value: str
    """Asterisks for a secret."""
    is_secret: bool
    env_path: str | None
    description: str | None
    changed: tuple[str, ...]
    """The fields that differ from the version before."""
    is_current: bool


class ConfigRead(Value, frozen=True, kw_only=True):
    """A reading of a secret."""

    at: datetime
    actor: AgentId | None
    interface: Interface


class EnvProblem(Value, frozen=True, kw_only=True):
    """A line of a .env file that is not as it should be."""

    workspace: str
    """The machine and the folder of the workspace."""
    path: str
    key: str
    problem: str
    since: datetime | None
    """Since when it is not written. None: it was written, and the file was changed since."""


class WithheldKey(Value, frozen=True, kw_only=True):
    """A secret that an environment lacks."""

    key: str
    is_forbidden: bool
    """True: the caller may not read it; false: it cannot be read."""
    reason: str


class UnreadableSecret(Value, frozen=True, kw_only=True):
    """A secret that cannot be decrypted."""

    scope: ConfigScope
    scope_id: str | None
    key: str
    version: int
    reason: str


class KeyRotation(Value, frozen=True, kw_only=True):
    """The result of a rotation of the encryption key."""

    key: str
    """Id of the key that encrypts now."""
    reencrypted: int
    """Versions whose secret was encrypted with it."""
    erased: int
    """Versions whose secret could not be read, and was erased."""
    lost: int
    """Versions whose secret cannot be read, and which were left as they are."""
    unreadable: tuple[UnreadableSecret, ...]
    """The first of the versions that cannot be read."""


class ConfigReport(Value, frozen=True, kw_only=True):
    """The state of keys, secrets and .env files."""

    key: str | None
    """Id of the key that encrypts; None without any secret."""
    key_problem: str | None
    """Why no secret can be stored; None if one can."""
    secrets: int
    """Versions with a secret."""
    unreadable_count: int
    unreadable: tuple[UnreadableSecret, ...]
    """The first of those that cannot be read."""
    lines: int
    """Lines of .env files of this workspace."""
    problem_count: int
    problems: tuple[EnvProblem, ...]
    """The first lines that are not as they should be, also of other workspaces that are due for five minutes."""
    unknown_repo_count: int
    """Number of repositories that have entries and are not registered."""
    unknown_repos: tuple[str, ...]
    """The first of their ids."""
