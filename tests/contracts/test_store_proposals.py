"""Every store: proposals and decisions."""

from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.values import replace
from hivelore.memories.model import Scope
from hivelore.review.model import Decision, Proposal, ProposalFilter, ProposalId, ProposalKind, ProposalSubject
from hivelore.search.model import Visibility
from hivelore.storage.ports import MemoryStore
from support.memories import ADA, BOB, a_memory, instant, memory_id, next_version
from support.proposals import ALL_PROPOSALS, a_decision, a_proposal, inbox, proposals, put
from support.stores import Fresh, add, change, forget, law

MEMORIES = [memory_id(number) for number in (951, 952, 953)]


def known(store: MemoryStore, proposal: Proposal) -> Proposal | None:
    with store.read() as view:
        return view.proposal(proposal.id)


@law
@given(written=st.lists(proposals(MEMORIES), max_size=4))
def test_a_proposal_is_read_as_it_was_written(fresh: Fresh, written: list[Proposal]) -> None:
    with fresh() as store:
        for memory in MEMORIES:
            add(store, a_memory(id=memory))
        put(store, *written)
        assert inbox(store) == sorted(written, key=lambda one: (one.at, one.id), reverse=True)
        assert [known(store, one) for one in written] == written


def test_writing_a_proposal_again_replaces_it(store: MemoryStore) -> None:
    first, second = add(store, a_memory()).memory, add(store, a_memory()).memory
    proposal = a_proposal(first, second)
    put(store, proposal, replace(proposal, memories=proposal.memories[1:], decided=a_decision()))
    assert inbox(store) == [replace(proposal, memories=proposal.memories[1:], decided=a_decision())]


@pytest.mark.parametrize("limit", [1, 2, 3, 10])
def test_pages_hold_every_proposal_once_newest_first(store: MemoryStore, limit: int) -> None:
    memory = add(store, a_memory()).memory
    written = [a_proposal(memory, at=instant(minute)) for minute in (3, 1, 2, 2, 2, 0)]
    put(store, *written)
    found: list[Proposal] = []
    after: tuple[datetime, ProposalId] | None = None
    while True:
        with store.read() as view:
            page = view.proposals(ALL_PROPOSALS, after, limit)
        found += page
        if len(page) < limit:
            break
        after = page[-1].at, page[-1].id
    assert sorted(found, key=lambda one: one.id) == written
    assert all((one.at, one.id) > (next_one.at, next_one.id) for one, next_one in pairwise(found))


@law
@given(
    written=st.lists(proposals(MEMORIES), max_size=4),
    actor=st.sampled_from([None, ADA]),
    is_open=st.sampled_from([None, True, False]),
    kind=st.none() | st.sampled_from(ProposalKind),
)
def test_every_filter_of_proposals_is_applied(
    fresh: Fresh, written: list[Proposal], actor: None, is_open: bool | None, kind: ProposalKind | None
) -> None:
    written = [replace(one, actor=ADA) if number % 2 else one for number, one in enumerate(written)]
    where = ProposalFilter(seen=ALL_PROPOSALS.seen, actor=actor, open=is_open, kind=kind)
    with fresh() as store:
        for memory in MEMORIES:
            add(store, a_memory(id=memory))
        put(store, *written)
        assert inbox(store, where) == [one for one in inbox(store) if where.admits(one)]


def test_a_proposal_is_visible_to_those_who_see_all_its_memories(store: MemoryStore) -> None:
    shared = add(store, a_memory(owner=ADA, scope=Scope.SWARM)).memory
    of_ada, of_bob = add(store, a_memory(owner=ADA)).memory, add(store, a_memory(owner=BOB)).memory
    written = [a_proposal(*memories) for memories in ((shared,), (shared, of_ada), (of_bob,), (of_ada, of_bob))]
    put(store, *written)
    seen_by = {
        Visibility(own=ADA, swarm=True): [0, 1],
        Visibility(own=BOB, swarm=True): [0, 2],
        Visibility(own=ADA, swarm=False): [],
        Visibility(own=None, swarm=True): [0],
        Visibility(own=None, swarm=True, others=True): [0, 1, 2, 3],
    }
    for visibility, expected in seen_by.items():
        found = inbox(store, ProposalFilter(seen=visibility))
        assert sorted(found, key=lambda one: one.id) == [written[number] for number in expected]


def test_proposals_are_found_by_the_beginning_of_their_id(store: MemoryStore) -> None:
    of_ada, of_bob = (add(store, a_memory(owner=owner)).memory for owner in (ADA, BOB))
    ids = [ProposalId(one) for one in ("0190-a", "0190-b", "0191-a")]
    put(store, *(replace(a_proposal(of_bob if one.endswith("b") else of_ada), id=one) for one in ids))
    found = [inbox(store, replace(ALL_PROPOSALS, prefix=prefix)) for prefix in ("0190", "0191-a", "0192")]
    assert [[one.id for one in each] for each in found] == [[ids[1], ids[0]], [ids[2]], []]
    by_ada = inbox(store, ProposalFilter(seen=Visibility(own=ADA, swarm=True), prefix="0190"))
    assert [one.id for one in by_ada] == [ids[0]]


def test_open_proposals_are_counted_by_agent_and_kind(store: MemoryStore) -> None:
    memory = add(store, a_memory()).memory
    kinds = [ProposalKind.SHARING, ProposalKind.OPERATIONAL, ProposalKind.CONTRADICTION]
    put(store, *(a_proposal(memory, kind=kind) for kind in kinds), a_proposal(memory, decided=a_decision()))
    put(store, a_proposal(memory, actor=None), a_proposal(memory, actor=None, decided=a_decision()))
    with store.read() as view:
        counted = [[view.count_open_proposals(one, some) for one in (ADA, BOB, None)] for some in (kinds, kinds[:2])]
    assert counted == [[3, 0, 1], [2, 0, 0]]


def test_open_proposals_are_counted_by_the_owner_of_the_memory_written_last(store: MemoryStore) -> None:
    of_ada = add(store, a_memory(owner=ADA, scope=Scope.SWARM, updated_at=instant(1))).memory
    of_bob, later_of_bob = (
        add(store, a_memory(owner=BOB, scope=Scope.SWARM, updated_at=instant(minute))).memory for minute in (1, 2)
    )
    nobodys = add(store, a_memory(owner=None, scope=Scope.SWARM, updated_at=instant(3))).memory
    kind = ProposalKind.UPDATE
    put(
        store,
        a_proposal(of_bob, of_ada, kind=kind),
        a_proposal(later_of_bob, of_ada, kind=kind),
        a_proposal(of_ada, kind=kind),
        a_proposal(of_ada, nobodys, kind=kind),
        a_proposal(of_ada, kind=ProposalKind.SUBJECT),
        a_proposal(of_ada, kind=kind, decided=a_decision()),
    )
    with store.read() as view:
        counted = [view.count_open_by_owner(owner, kind) for owner in (ADA, BOB, None)]
    assert counted == [1, 2, 1]


def test_proposals_are_found_by_memory(store: MemoryStore) -> None:
    first, second, third = (add(store, a_memory()) for _ in range(3))
    old = a_proposal(first.memory, second.memory, decided=a_decision())
    new = a_proposal(second.memory, at=instant(1))
    put(store, old, new)
    with store.read() as view:
        found = [list(view.proposals_about(one.key)) for one in (first, second, third)]
    assert found == [[old], [new, old], []]


def test_contradictions_about_several_memories_are_found_once(store: MemoryStore) -> None:
    first, second, third = (add(store, a_memory()) for _ in range(3))
    kind = ProposalKind.CONTRADICTION
    both = replace(a_proposal(first.memory, second.memory), kind=kind)
    decided = replace(a_proposal(second.memory, at=instant(1), decided=a_decision()), kind=kind)
    put(store, both, decided, replace(a_proposal(first.memory), kind=ProposalKind.SHARING))
    with store.read() as view:
        found = [list(view.contradictions_about(keys)) for keys in ([first.key, second.key], [third.key], [])]
    assert found == [[decided, both], [], []]


def test_deleting_a_memory_deletes_proposals_about_it(store: MemoryStore) -> None:
    kept, doomed = add(store, a_memory()), add(store, a_memory())
    both, other = a_proposal(kept.memory, doomed.memory), a_proposal(kept.memory)
    put(store, both, other)
    forget(store, doomed.key)
    assert inbox(store) == [other]
    assert known(store, both) is None
    add(store, doomed.memory)
    assert inbox(store) == [other]
    with store.read() as view:
        assert view.counts().proposals == 1


def test_a_proposal_is_stored_without_missing_memories(store: MemoryStore) -> None:
    kept, doomed = add(store, a_memory()), add(store, a_memory())
    proposal = a_proposal(doomed.memory, kept.memory)
    forget(store, doomed.key)
    put(store, proposal)
    assert inbox(store) == [replace(proposal, memories=(ProposalSubject(kept.memory.id, 1),))]
    forget(store, kept.key)
    put(store, proposal)
    assert inbox(store) == []


def test_a_new_version_keeps_proposals_about_a_memory(store: MemoryStore) -> None:
    stored = add(store, a_memory())
    proposal = a_proposal(stored.memory)
    put(store, proposal)
    change(store, stored.key, next_version(stored.memory))
    assert inbox(store) == [proposal]


def test_open_contradictions_of_edited_and_superseded_memories_are_found(store: MemoryStore) -> None:
    edited, superseded, same = (add(store, a_memory()) for _ in range(3))
    kept = a_proposal(same.memory)
    outdated = [
        a_proposal(same.memory, edited.memory, at=instant(2)),
        a_proposal(superseded.memory, same.memory, at=instant(1)),
    ]
    others = [a_proposal(edited.memory, kind=ProposalKind.OPERATIONAL), a_proposal(edited.memory, decided=a_decision())]
    put(store, kept, *outdated, *others)
    change(store, edited.key, next_version(edited.memory))
    store.write(lambda tx: tx.set_validity(superseded.key, instant(9), None))
    with store.read() as view:
        assert list(view.outdated_contradictions(10)) == outdated[::-1]
        assert list(view.outdated_contradictions(1)) == outdated[1:]


def test_a_proposal_can_be_dropped_twice(store: MemoryStore) -> None:
    memory = add(store, a_memory()).memory
    kept, dropped = a_proposal(memory), a_proposal(memory)
    put(store, kept, dropped)
    for _ in range(2):
        store.write(lambda tx: tx.drop_proposal(dropped.id))
    assert inbox(store) == [kept]


def test_old_decided_proposals_are_pruned_and_open_ones_kept(store: MemoryStore) -> None:
    memory, other = add(store, a_memory()), add(store, a_memory())
    written = [
        a_proposal(memory.memory, other.memory, at=instant(at), decided=replace(a_decision(how), at=instant(decided)))
        for at, decided, how in ((3, 4, Decision.REJECTED), (1, 6, Decision.ACCEPTED), (0, 20, Decision.MERGED))
    ]
    late, young = (
        written.pop(),
        a_proposal(memory.memory, at=instant(10), decided=replace(a_decision(), at=instant(11))),
    )
    waiting = a_proposal(memory.memory, at=instant(2))
    put(store, *written, late, young, waiting)
    assert store.write(lambda tx: tx.prune_proposals(instant(4), 10)) == 0
    assert store.write(lambda tx: tx.prune_proposals(instant(10), 1)) == 1
    assert inbox(store) == [young, written[0], waiting, late]
    assert store.write(lambda tx: tx.prune_proposals(instant(10), 10)) == 1
    assert inbox(store) == [young, waiting, late]
    with store.read() as view:
        assert list(view.proposals_about(memory.key)) == [young, waiting, late]
    assert store.write(lambda tx: tx.prune_proposals(instant(100), 10)) == 2
    assert inbox(store) == [waiting]


def test_proposals_survive_reopening(open_durable: Callable[[], MemoryStore]) -> None:
    with closing(open_durable()) as store:
        proposal = a_proposal(add(store, a_memory()).memory, decided=a_decision())
        put(store, proposal)
    with closing(open_durable()) as store:
        assert inbox(store) == [proposal]
