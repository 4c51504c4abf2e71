"""Ports of setup scripts."""

from collections.abc import Sequence
from typing import Protocol

from hivelore.core.agents import AgentId
from hivelore.core.text import Clean
from hivelore.review.model import ProposalId
from hivelore.setup_scripts.model import ScriptVersion


class SetupScriptReads(Protocol):
    """Setup scripts, their versions, and proposed texts. ``agent`` None: the global script."""

    def setup_script(self, agent: AgentId | None) -> ScriptVersion | None:
        """Returns the latest version."""
        ...

    def setup_script_version(self, agent: AgentId | None, number: int) -> ScriptVersion | None: ...

    def setup_script_versions(self, agent: AgentId | None, before: int, limit: int) -> Sequence[ScriptVersion]:
        """Returns a page of the versions with a number below ``before``, newest first."""
        ...

    def all_setup_scripts(self, after: tuple[str, int], limit: int) -> Sequence[ScriptVersion]:
        """Returns a page of the versions of all scripts, by agent, the global one first, and number. The first page
        begins after an empty agent and 0."""
        ...

    def script_draft(self, proposal: ProposalId) -> Clean | None:
        """Returns the text of a proposal to change a setup script."""
        ...


class SetupScriptWrites(Protocol):
    """Setup scripts, their versions, and proposed texts. ``agent`` None: the global script."""

    def put_setup_script(self, version: ScriptVersion) -> None:
        """Inserts or replaces a version."""
        ...

    def drop_setup_scripts(self, agent: AgentId | None, last: int) -> None:
        """Deletes the versions with a number of at most ``last``."""
        ...

    def put_script_draft(self, proposal: ProposalId, text: Clean) -> None:
        """Stores the text of a proposal. ``drop_proposal`` deletes it."""
        ...
