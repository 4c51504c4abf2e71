"""Setup scripts, their versions, and the texts of proposals."""

from collections.abc import Sequence

from hivelore.core.agents import AgentId
from hivelore.core.text import Clean
from hivelore.review.model import ProposalId
from hivelore.setup_scripts.model import ScriptVersion
from hivelore.storage.sql.statements import (
    INSTANT,
    INTERFACES,
    PLAIN,
    SCRIPT_AGENT,
    SqlReader,
    SqlWriter,
    Table,
    plain,
)

SETUP_SCRIPT = Table(
    ScriptVersion,
    "setup_script",
    "agent number",
    agent=SCRIPT_AGENT,
    number=PLAIN,
    at=INSTANT,
    actor=PLAIN,
    interface=INTERFACES,
    **plain("text reason"),
)


class SetupScriptReader(SqlReader):
    """Implements ``setup_scripts.ports.SetupScriptReads``."""

    TABLES = (SETUP_SCRIPT,)

    def setup_script(self, agent: AgentId | None) -> ScriptVersion | None:
        return self.read_one(SETUP_SCRIPT, "setup_script_latest", agent=agent or "")

    def setup_script_version(self, agent: AgentId | None, number: int) -> ScriptVersion | None:
        return self.read_one(SETUP_SCRIPT, "setup_script_by_number", agent=agent or "", number=number)

    def setup_script_versions(self, agent: AgentId | None, before: int, limit: int) -> Sequence[ScriptVersion]:
        return self.read_all(SETUP_SCRIPT, "setup_scripts_below", agent=agent or "", before=before, limit=limit)

    def all_setup_scripts(self, after: tuple[str, int], limit: int) -> Sequence[ScriptVersion]:
        agent, number = after
        return self.read_all(SETUP_SCRIPT, "setup_scripts_after", agent=agent, number=number, limit=limit)

    def script_draft(self, proposal: ProposalId) -> Clean | None:
        row = self.row("script_draft", proposal=proposal)
        return None if row is None else Clean(row[0])


class SetupScriptWriter(SetupScriptReader, SqlWriter):
    """Implements ``setup_scripts.ports.SetupScriptWrites``."""

    def put_setup_script(self, version: ScriptVersion) -> None:
        self.run("setup_script_put", SETUP_SCRIPT.params(version))

    def drop_setup_scripts(self, agent: AgentId | None, last: int) -> None:
        self.run("setup_scripts_drop", {"agent": agent or "", "last": last})

    def put_script_draft(self, proposal: ProposalId, text: Clean) -> None:
        self.run("script_draft_put", {"proposal": proposal, "text": text})
