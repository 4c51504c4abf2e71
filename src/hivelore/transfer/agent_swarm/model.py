"""Tables of Agent Swarm, what becomes of their rows, and the result for each."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID, uuid5

from hivelore.configuration.model import ConfigScope
from hivelore.core.agents import AgentId

FIELD_BYTES = 131_072
"""Most bytes of a value that is read. The limits of agents, scripts and configuration are smaller."""
_NAMESPACE = UUID("9f2d5a0e-5b0c-5d3e-8a41-7d0f6c1b2e34")


class TableName(StrEnum):
    """The tables that are read, in the order in which they refer to each other."""

    AGENTS = "agents"
    REPOS = "swarm_repos"
    CONFIG = "swarm_config"


COLUMNS: Mapping[TableName, tuple[str, ...]] = {
    TableName.AGENTS: (
        "id",
        "name",
        "role",
        "description",
        "capabilities",
        "soulMd",
        "identityMd",
        "claudeMd",
        "setupScript",
    ),
    TableName.REPOS: ("id", "url", "name", "defaultBranch", "autoClone"),
    TableName.CONFIG: ("id", "scope", "scopeId", "key", "value", "isSecret", "envPath", "description"),
}
"""The columns that are read, as far as the database has them. Early versions lack some."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A value that was not read."""

    reason: str
    """A predicate, like ``is not a text``."""


Cell = str | int | Unreadable | None
Row = Mapping[str, Cell]
"""The values of a row by column. Columns that the database lacks are missing."""


@dataclass(frozen=True, slots=True)
class Table:
    rows: tuple[Row, ...]
    problem: str | None = None
    """Why the table was not read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceAgent:
    source_id: str
    name: str
    texts: Mapping[str, str]
    """Fields of the profile that are not empty, by name."""
    capabilities: tuple[str, ...]

    @property
    def id(self) -> AgentId:
        return agent_id(self.source_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceScript:
    agent: AgentId
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRepo:
    source_id: str
    name: str
    url: str
    default_branch: str | None
    auto_clone: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceEntry:
    scope: ConfigScope
    source_scope_id: str
    """Id of an agent or a repository in the database; empty for global scope."""
    key: str
    value: str
    is_secret: bool
    env_path: str | None
    description: str | None


class Kind(StrEnum):
    AGENT = "agent"
    SETUP_SCRIPT = "setup-script"
    REPO = "repo"
    CONFIG = "config"


class Result(StrEnum):
    CREATED = "created"
    UNCHANGED = "unchanged"
    """It is here already, with the same content."""
    CONFLICT = "conflict"
    """There is another one, which stays as it is."""
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one agent, script, repository or entry, or of a whole table. It contains no value."""

    kind: Kind
    name: str
    result: Result
    reason: str | None = None


def agent_id(source: str) -> AgentId:
    """Returns the id of an agent here: the same, if that is a UUID."""
    try:
        return AgentId(str(UUID(source)))
    except ValueError:
        return AgentId(str(uuid5(_NAMESPACE, source)))
