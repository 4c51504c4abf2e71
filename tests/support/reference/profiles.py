"""Profiles of the reference store."""

from collections.abc import Sequence

from hivelore.changes.model import BatchId
from hivelore.core.agents import AgentId
from hivelore.core.values import replace
from hivelore.identity.profile import ProfileChange, ProfileHead, ProfileVersion
from support.reference.state import State


class ProfilesView:
    """The part of ``storage.ports.View`` that reads profiles."""

    state: State

    def profile(self, agent: AgentId) -> ProfileHead | None:
        return self.state.profiles.get(agent)

    def profiles(self) -> Sequence[ProfileHead]:
        return sorted(self.state.profiles.values(), key=lambda one: one.agent)

    def profile_version(self, agent: AgentId, number: int) -> ProfileVersion | None:
        return self.state.profile_versions.get((agent, number))

    def profile_versions(self, agent: AgentId, before: int, limit: int) -> Sequence[ProfileVersion]:
        return [one for one in self._newest_first(agent) if one.number < before][:limit]

    def profile_version_sizes(self, agent: AgentId) -> Sequence[tuple[int, int]]:
        return [(one.number, one.content.size) for one in self._newest_first(agent)]

    def profile_changes(self, batch: BatchId) -> Sequence[ProfileChange]:
        known = self.state.batches.get(batch)
        return [] if known is None else sorted(known.profile_changes, key=lambda one: one.agent)

    def _newest_first(self, agent: AgentId) -> list[ProfileVersion]:
        found = (one for one in self.state.profile_versions.values() if one.agent == agent)
        return sorted(found, key=lambda one: one.number, reverse=True)


def without_versions(state: State, agent: AgentId, last: int, kept: int) -> State:
    left = state.profile_versions
    for place in left:
        if place[0] == agent and place[1] <= last and place[1] != kept:
            left = left.drop(place)
    return replace(state, profile_versions=left)


def with_changes(state: State, batch: BatchId, changes: Sequence[ProfileChange]) -> State:
    known = state.batches[batch]
    new = {one.agent for one in changes}
    before = tuple(one for one in known.profile_changes if one.agent not in new)
    return replace(state, batches=state.batches.put(batch, replace(known, profile_changes=(*before, *changes))))
