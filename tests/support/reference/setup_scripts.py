"""Setup scripts of the reference store."""

from collections.abc import Sequence

from hivelore.core.agents import AgentId
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.review.model import ProposalId
from hivelore.setup_scripts.model import ScriptVersion
from support.reference.state import State


class SetupScriptsView:
    """The part of ``storage.ports.View`` that reads setup scripts."""

    state: State

    def setup_script(self, agent: AgentId | None) -> ScriptVersion | None:
        return next(iter(self.setup_script_versions(agent, 2**31 - 1, 1)), None)

    def setup_script_version(self, agent: AgentId | None, number: int) -> ScriptVersion | None:
        return self.state.setup_scripts.get((agent or "", number))

    def setup_script_versions(self, agent: AgentId | None, before: int, limit: int) -> Sequence[ScriptVersion]:
        found = (one for one in self.state.setup_scripts.values() if one.agent == agent and one.number < before)
        return sorted(found, key=lambda one: one.number, reverse=True)[:limit]

    def all_setup_scripts(self, after: tuple[str, int], limit: int) -> Sequence[ScriptVersion]:
        found = (one for place, one in self.state.setup_scripts.items() if place > after)
        return sorted(found, key=lambda one: (one.agent or "", one.number))[:limit]

    def script_draft(self, proposal: ProposalId) -> Clean | None:
        return self.state.script_drafts.get(proposal)


def put(state: State, version: ScriptVersion) -> State:
    scripts = state.setup_scripts.put((version.agent or "", version.number), version)
    return replace(state, setup_scripts=scripts)


def without(state: State, agent: AgentId | None, last: int) -> State:
    kept = state.setup_scripts
    for owner, number in kept:
        if owner == (agent or "") and number <= last:
            kept = kept.drop((owner, number))
    return replace(state, setup_scripts=kept)
