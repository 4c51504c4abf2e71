"""Links of a memory: shown to those who see both memories, rejected and restored by those who may change them."""

from datetime import timedelta
from itertools import combinations, pairwise

import pytest

from hivelore.core.agents import AgentId, Viewer
from hivelore.errors import Forbidden, NotFound
from hivelore.links.model import LinkKind, LinkPage
from hivelore.memories.model import Memory, MemoryId, Scope
from support.links import a_link, put_links
from support.memories import instant
from support.stores import present
from support.world import ADA, AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR, World

NOBODY = MemoryId("m9999")


def linked(world: World, older: Memory, newer: Memory, kind: LinkKind = LinkKind.UPDATES, minutes: float = 0) -> None:
    put_links(
        world.store, a_link(present(world.store, newer), present(world.store, older), kind=kind, at=instant(minutes))
    )


def shown(page: LinkPage) -> list[tuple[MemoryId, LinkKind]]:
    return [(one.other, one.link.kind) for one in page.links]


def is_rejected(world: World, memory: Memory, viewer: Viewer = AS_OPERATOR) -> bool:
    (one,) = world.links.links(memory.id, viewer).links
    return not one.link.counts


def a_pair(world: World, older: Viewer, newer: Viewer) -> tuple[Memory, Memory]:
    """Returns a shared memory and a later one that updates it."""
    first = world.remember("We use npm", older, scope=Scope.SWARM)
    second = world.remember("We moved from npm to pnpm", newer, scope=Scope.SWARM)
    linked(world, first, second)
    return first, second


def edits(world: World) -> set[tuple[MemoryId, AgentId | None, str]]:
    """Returns what the audit trail says about links, by memory and agent."""
    return {(one.memory, one.actor, one.detail) for one in world.audit() if one.detail and "link" in one.detail}


def test_links_are_listed_from_either_end_the_latest_judged_first(world: World) -> None:
    npm, pnpm, yarn = (world.remember(text) for text in ("npm", "pnpm", "yarn"))
    linked(world, npm, pnpm, minutes=1)
    linked(world, pnpm, yarn, LinkKind.CONFLICTS_WITH, minutes=2)
    page = world.links.links(pnpm.id, AS_ADA)
    assert shown(page) == [(yarn.id, LinkKind.CONFLICTS_WITH), (npm.id, LinkKind.UPDATES)]
    assert [(one.name, one.stated_at) for one in page.links] == [("yarn", yarn.created_at), ("npm", npm.created_at)]
    assert shown(world.links.links(npm.id, AS_ADA)) == [(pnpm.id, LinkKind.UPDATES)]


def test_links_to_memories_that_the_viewer_may_not_see_are_not_listed(world: World) -> None:
    shared, secret = world.remember("npm", scope=Scope.SWARM), world.remember("pnpm", AS_BOB)
    linked(world, shared, secret)
    assert [len(world.links.links(shared.id, one).links) for one in (AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR)] == [
        0,
        1,
        1,
        1,
    ]


def test_a_foreign_private_memory_is_not_found(world: World) -> None:
    shared, secret = world.remember("npm", scope=Scope.SWARM), world.remember("pnpm", AS_BOB)
    linked(world, shared, secret)
    service = world.links
    for memory in (secret.id, NOBODY):
        with pytest.raises(NotFound):
            service.links(memory, AS_ADA)
        for change in (service.reject, service.restore):
            for both in ((shared.id, memory), (memory, shared.id)):
                with pytest.raises(NotFound):
                    change(*both, AS_ADA)
    assert not is_rejected(world, shared)


def test_memories_without_a_link_have_none_to_reject(world: World) -> None:
    npm, pnpm, yarn = (world.remember(text) for text in ("npm", "pnpm", "yarn"))
    linked(world, npm, pnpm)
    for other in (yarn, npm):
        with pytest.raises(NotFound, match="No link between"):
            world.links.reject(npm.id, other.id, AS_ADA)


@pytest.mark.parametrize("viewer", [AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR])
def test_the_owner_of_either_memory_a_lead_or_an_operator_rejects_a_link(world: World, viewer: Viewer) -> None:
    older, newer = a_pair(world, AS_ADA, AS_BOB)
    world.clock.advance(timedelta(minutes=1))
    (one,) = world.links.reject(newer.id, older.id, viewer).links
    assert (one.link.rejected_at, one.link.rejected_by) == (world.clock.now(), viewer.agent)
    said = f"link rejected: {newer.id} updates {older.id}"
    assert edits(world) == {(one, viewer.agent, said) for one in (older.id, newer.id)}


def test_others_may_not_reject_a_link(world: World) -> None:
    older, newer = a_pair(world, AS_BOB, AS_LEA)
    with pytest.raises(Forbidden):
        world.links.reject(older.id, newer.id, AS_ADA)
    assert not is_rejected(world, older)
    assert edits(world) == set()


@pytest.mark.parametrize(
    ("older", "newer", "is_allowed"), [(AS_ADA, AS_ADA, True), (AS_ADA, AS_BOB, True), (AS_BOB, AS_ADA, False)]
)
def test_a_worker_restores_only_links_to_its_own_earlier_memory(
    world: World, older: Viewer, newer: Viewer, is_allowed: bool
) -> None:
    """Otherwise a worker could make its own memory hide one of somebody else."""
    first, second = a_pair(world, older, newer)
    world.links.reject(first.id, second.id, AS_OPERATOR)
    if is_allowed:
        (one,) = world.links.restore(second.id, first.id, AS_ADA).links
        assert (one.link.rejected_at, one.link.rejected_by) == (None, None)
        assert (first.id, ADA, f"link restored: {second.id} updates {first.id}") in edits(world)
    else:
        with pytest.raises(Forbidden):
            world.links.restore(first.id, second.id, AS_ADA)
    assert is_rejected(world, first) is not is_allowed


@pytest.mark.parametrize("viewer", [AS_LEA, AS_OPERATOR])
def test_a_lead_or_an_operator_restores_a_link(world: World, viewer: Viewer) -> None:
    older, newer = a_pair(world, AS_ADA, AS_BOB)
    world.links.reject(older.id, newer.id, viewer)
    world.links.restore(older.id, newer.id, viewer)
    assert not is_rejected(world, older)


def test_a_link_that_is_rejected_or_restored_twice_is_changed_once(world: World) -> None:
    older, newer = a_pair(world, AS_ADA, AS_BOB)
    for change, viewers in ((world.links.reject, (AS_ADA, AS_BOB)), (world.links.restore, (AS_ADA, AS_LEA))):
        for viewer in viewers:
            world.clock.advance(timedelta(minutes=1))
            change(older.id, newer.id, viewer)
            if change == world.links.reject:
                assert world.links.links(older.id, AS_ADA).links[0].link.rejected_by == ADA
    assert len(edits(world)) == 4


def test_all_links_between_two_memories_are_rejected_and_no_others(world: World) -> None:
    npm, pnpm, yarn = (world.remember(text) for text in ("npm", "pnpm", "yarn"))
    linked(world, npm, pnpm)
    linked(world, pnpm, npm, LinkKind.CONFLICTS_WITH)
    linked(world, npm, yarn)
    found = world.links.reject(npm.id, pnpm.id, AS_ADA).links
    assert {one.other: one.link.counts for one in found} == {pnpm.id: False, yarn.id: True}
    assert len(found) == 3


def test_rejecting_a_link_changes_no_memory(world: World) -> None:
    older, newer = a_pair(world, AS_ADA, AS_BOB)
    world.links.reject(older.id, newer.id, AS_ADA)
    assert [present(world.store, one).memory for one in (older, newer)] == [older, newer]


# later statements


def latest(world: World, memory: Memory, certainty: float | None = None) -> str | None:
    stored = present(world.store, memory).memory
    found = world.links.later_statements([stored], AS_ADA, certainty=certainty)
    return found[memory.id].memory.content if found else None


def test_a_long_chain_is_followed_to_its_end(world: World) -> None:
    chain = [world.remember(f"tool{number}") for number in range(30)]
    for older, newer in pairwise(chain):
        linked(world, older, newer)
    assert [latest(world, one) for one in (chain[0], chain[15], chain[29])] == ["tool29", "tool29", None]


@pytest.mark.parametrize("step", [1, -1], ids=["oldest first", "newest first"])
def test_the_latest_statement_does_not_depend_on_the_order_of_arrival(world: World, step: int) -> None:
    since = world.clock.now()
    world.clock.advance(timedelta(days=20))
    stored = [
        world.remember(f"tool{number}", valid_from=since + timedelta(days=number)) for number in range(9)[::step]
    ][::step]
    for older, newer in combinations(stored, 2):
        linked(world, older, newer)
    assert [latest(world, one) for one in (stored[0], stored[4])] == ["tool8", "tool8"]


@pytest.mark.parametrize("reason", ["expired", "earlier"])
def test_notes_of_a_worker_do_not_hide_the_latest_statement(world: World, reason: str) -> None:
    old = world.remember("npm", scope=Scope.SWARM)
    early = world.clock.now()
    world.clock.advance(timedelta(days=9))
    new = world.remember("pnpm", AS_OPERATOR, scope=Scope.SWARM)
    linked(world, old, new)
    day = timedelta(days=1)
    more = {"expired": {"expires_at": world.clock.now() + day}, "earlier": {"valid_from": early + day}}
    for number in range(9):
        linked(world, old, world.remember(f"flood {number}", AS_BOB, scope=Scope.SWARM, **more[reason]))
    world.clock.advance(2 * day)
    assert latest(world, old) == "pnpm"


def test_what_updates_a_replaced_memory_counts(world: World) -> None:
    npm, pnpm = world.remember("npm"), world.remember("pnpm")
    bun = world.remember("bun", supersedes=pnpm.id)
    linked(world, npm, pnpm)
    linked(world, pnpm, bun)
    assert latest(world, npm) == "bun"


def test_a_certain_doubt_counts_more_than_many_less_certain_ones(world: World) -> None:
    npm, pnpm = (present(world.store, world.remember(text)) for text in ("npm", "pnpm"))
    doubts = [(pnpm, 0.95), *((present(world.store, world.remember(f"flood {number}")), 0.55) for number in range(6))]
    put_links(world.store, *(a_link(one, npm, kind=LinkKind.MAY_UPDATE, certainty=sure) for one, sure in doubts))
    assert latest(world, npm.memory, 0.5) == "pnpm"
    bun = world.remember("bun")
    linked(world, pnpm.memory, bun)
    assert latest(world, npm.memory, 0.5) == "bun"
