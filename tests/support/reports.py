"""Reports of agents about a service, and the state that results from them."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from hivelore.core.agents import Viewer
from hivelore.observations.curation import RatedQuery
from hivelore.review.model import ProposalKind
from support.world import AS_ADA, AS_OPERATOR, World


class Report(NamedTuple):
    text: str
    at: datetime
    viewer: Viewer = AS_ADA
    session: str | None = None


def arrive(world: World, service: str, reports: Iterable[Report]) -> None:
    for one in reports:
        world.observe(one.text, service=service, viewer=one.viewer, at=one.at, session=one.session)


def memories(world: World, service: str) -> set[tuple[object, ...]]:
    """Returns the memories of a service by their contents, observations and confidences, which do not depend on the
    time when they are read."""
    page = world.curation.page(RatedQuery(service=service, limit=100), AS_OPERATOR, None)
    return {
        (
            one.memory.content,
            one.memory.owner,
            one.memory.session,
            one.memory.created_at,
            round(one.memory.operational.held.base, 9) if one.memory.operational else None,
            one.memory.operational.held.since if one.memory.operational else None,
            one.active,
            frozenset(
                (seen.kind, seen.at, seen.actor, seen.session, seen.text, seen.to)
                for seen in world.curation.timeline(one.memory.id, AS_OPERATOR).observations
            ),
        )
        for one in page.memories
    }


def open_doubts(world: World, service: str) -> set[tuple[str, ...]]:
    """Returns the contents of the memories of each open contradiction of a service."""
    page = world.curation.page(RatedQuery(service=service, limit=100), AS_OPERATOR, None)
    contents = {(one.memory.id, one.memory.version): one.memory.content for one in page.memories}
    found = world.review_inbox.page(AS_OPERATOR, None, 1_000, is_open=True, kind=ProposalKind.CONTRADICTION)
    pairs = [[(each.memory, each.version) for each in one.memories] for one in found.proposals]
    return {tuple(contents[each] for each in pair) for pair in pairs if contents.keys() >= set(pair)}
