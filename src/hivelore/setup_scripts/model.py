"""Values of setup scripts and their versions."""

from datetime import UTC, datetime

from hivelore.core.agents import AgentId, Interface
from hivelore.core.text import Clean
from hivelore.core.values import Value
from hivelore.memories.model import MemoryId
from hivelore.review.model import ProposalId

MAX_VERSIONS = 50
"""Most versions of a script that are kept."""
_GLOBAL = "global-setup-script"


class ScriptVersion(Value, frozen=True, kw_only=True):
    """A setup script after one change."""

    agent: AgentId | None
    """None: the global script, which runs first for every agent."""
    number: int
    at: datetime
    actor: AgentId | None
    """Who changed it or accepted the change; None: an operator who did not act for an agent."""
    interface: Interface
    text: Clean
    """In canonical form; empty: there is no script."""
    reason: Clean | None = None

    def __post_init__(self) -> None:
        if self.at.tzinfo is not UTC:
            raise ValueError("instants are in UTC")


class ScriptChange(Value, frozen=True, kw_only=True):
    """The effect of a batch on a setup script: its versions before and after."""

    agent: AgentId | None
    before: int
    """0: there was none."""
    after: int
    proposal: ProposalId | None = None
    """The proposal that was accepted."""


def audited_id(agent: AgentId | None) -> MemoryId:
    """Returns the id of a script for the audit trail, where it stands in place of that of a memory."""
    return MemoryId(agent or _GLOBAL)
