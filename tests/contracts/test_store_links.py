"""Every store: links between memories, and which memories update which."""

from collections.abc import Callable
from contextlib import closing
from itertools import pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.links.model import DOUBTS, LinkKind, StoredLink, Successor
from hivelore.links.ports import KEPT, SHARE
from hivelore.memories.model import Memory, Trust
from hivelore.memories.stored import DocumentKey, Stored
from hivelore.storage.ports import MemoryStore, Transaction
from support.clocks import START, FixedClock
from support.links import a_link, doubts_of, drop, links, links_of, put_links, updates_of
from support.memories import ADA, BOB, a_memory, instant, next_version
from support.reference.store import ReferenceStore
from support.stores import Fresh, add, change, forget, history, law, present, read_changes

UNKNOWN = DocumentKey(10**9)
MODEL = Clean("pairs-2")


def added(store: MemoryStore, count: int) -> list[Stored]:
    return [add(store, a_memory()) for _ in range(count)]


def chained(store: MemoryStore, count: int) -> list[Stored]:
    """Returns memories of which each but the first updates the one before."""
    chain = added(store, count)
    put_links(store, *(a_link(newer, older) for older, newer in pairwise(chain)))
    return chain


@law
@given(data=st.data())
def test_a_link_is_read_as_it_was_written(fresh: Fresh, data: st.DataObject) -> None:
    with fresh() as store:
        source, target = added(store, 2)
        written = data.draw(links(source, target))
        put_links(store, written)
        assert links_of(store, source) == links_of(store, target) == links_of(store, source, target) == [written]


def test_writing_a_link_again_replaces_it(store: MemoryStore) -> None:
    source, target = added(store, 2)
    first = a_link(source, target)
    again = a_link(source, target, certainty=0.4, why=Clean(""), model=Clean("pairs-3"), at=instant(1))
    rejected = replace(again, link=replace(again.link, rejected_at=instant(2), rejected_by=ADA))
    for one in (first, again, rejected, first):
        put_links(store, one)
        assert links_of(store, source) == [one]


def test_kinds_and_directions_are_links_of_their_own(store: MemoryStore) -> None:
    first, second = added(store, 2)
    written = [a_link(*pair, kind=kind) for pair in ((first, second), (second, first)) for kind in LinkKind]
    put_links(store, *written)
    assert links_of(store, first) == links_of(store, second) == written
    for dropped in written[:2] * 2:
        drop(store, dropped)
    assert links_of(store, first) == written[2:]


def test_links_are_found_from_both_ends(store: MemoryStore) -> None:
    first, second, third, fourth = chained(store, 4)
    found = [[(one.source, one.target) for one in links_of(store, each)] for each in (first, second, fourth)]
    pairs = [(second.key, first.key), (third.key, second.key), (fourth.key, third.key)]
    assert found == [pairs[:1], pairs[:2], pairs[2:]]
    assert [(one.source, one.target) for one in links_of(store, first, fourth)] == [pairs[0], pairs[2]]
    assert links_of(store) == []
    with store.read() as view:
        assert list(view.links_of([UNKNOWN])) == []


def test_links_are_ordered_by_time_ids_and_kind(store: MemoryStore) -> None:
    memories = added(store, 3)
    written = [
        a_link(source, target, kind=kind, at=instant(minute))
        for minute, kind in ((2, LinkKind.CONFLICTS_WITH), (1, LinkKind.SAME_AS), (1, LinkKind.UPDATES))
        for source, target in permutations(memories, 2)
    ]
    put_links(store, *written[::-1])
    order = list(LinkKind)
    by_ids = sorted(written, key=lambda one: (one.link.source, one.link.target, order.index(one.link.kind)))
    assert links_of(store, *memories) == sorted(by_ids, key=lambda one: one.link.at, reverse=True)


def test_a_rejected_link_is_kept_and_read(store: MemoryStore) -> None:
    source, target = added(store, 2)
    rejected = a_link(source, target, rejected_at=instant(3), rejected_by=ADA)
    put_links(store, rejected)
    assert links_of(store, target) == [rejected]


def test_a_link_with_a_missing_memory_is_ignored(store: MemoryStore) -> None:
    kept, gone = added(store, 2)
    forget(store, gone.key)
    put_links(store, a_link(kept, gone), a_link(gone, kept), a_link(kept, Stored(UNKNOWN, a_memory())))
    assert links_of(store, kept, gone) == []
    with store.read() as view:
        assert view.counts().links == 0


def test_a_link_changes_neither_memory(store: MemoryStore) -> None:
    source, target = added(store, 2)
    with store.read() as view:
        before = view.change_cursor()
    put_links(store, one := a_link(source, target))
    drop(store, one)
    with store.read() as view:
        assert read_changes(view, before) == []
    assert [present(store, one.memory) for one in (source, target)] == [source, target]
    assert len(history(store, source.key)) == 1


def test_links_survive_a_new_version(store: MemoryStore) -> None:
    source, target = added(store, 2)
    put_links(store, one := a_link(source, target))
    for stored in (source, target):
        change(store, stored.key, next_version(stored.memory, "Another."))
    assert links_of(store, source) == [one]


@pytest.mark.parametrize("end", [0, 1])
def test_deleting_a_memory_deletes_its_links(store: MemoryStore, end: int) -> None:
    both, other = added(store, 2), add(store, a_memory())
    kept = a_link(other, both[1 - end])
    put_links(store, a_link(*both), a_link(both[1], both[0], kind=LinkKind.SAME_AS), kept)
    forget(store, both[end].key)
    assert links_of(store, *both, other) == [kept]
    add(store, both[end].memory)
    assert links_of(store, *both, other) == [kept]
    with store.read() as view:
        assert view.counts().links == 1


def test_a_failed_transaction_leaves_no_link(store: MemoryStore) -> None:
    source, target = added(store, 2)

    def work(tx: Transaction) -> None:
        tx.put_link(a_link(source, target))
        assert [one.key for one in tx.updates_of([target.key], START)[target.key]] == [source.key]
        raise RuntimeError

    with pytest.raises(RuntimeError):
        store.write(work)
    assert links_of(store, source) == []


def test_a_memory_is_updated_by_the_sources_of_its_links(store: MemoryStore) -> None:
    first, second, third, fourth = chained(store, 4)
    put_links(store, a_link(fourth, second))
    assert updates_of(store, [first]) == {first.key: [second.key]}
    assert updates_of(store, [fourth]) == {}
    assert updates_of(store, [fourth, third, second, first, first]) == {
        first.key: [second.key],
        second.key: [fourth.key, third.key],
        third.key: [fourth.key],
    }
    with store.read() as view:
        assert dict(view.updates_of([], START)) == dict(view.updates_of([UNKNOWN], START)) == {}


def test_only_updates_count_as_updates(store: MemoryStore) -> None:
    first, second, third = added(store, 3)
    put_links(store, a_link(second, first, kind=LinkKind.SAME_AS), a_link(third, first, kind=LinkKind.CONFLICTS_WITH))
    put_links(store, a_link(second, first, kind=LinkKind.MAY_UPDATE))
    assert updates_of(store, [first]) == {}


def test_a_rejected_link_is_no_update(store: MemoryStore) -> None:
    first, second, third = added(store, 3)
    put_links(store, a_link(second, first), a_link(third, first, rejected_at=instant(1)))
    assert updates_of(store, [first, second]) == {first.key: [second.key]}


def test_a_forgotten_memory_updates_none(store: MemoryStore) -> None:
    chain = chained(store, 3)
    forget(store, chain[1].key)
    assert updates_of(store, chain) == {}


def test_memories_update_each_other(store: MemoryStore) -> None:
    first, second = chained(store, 2)
    put_links(store, a_link(first, second))
    assert updates_of(store, [first, second]) == {first.key: [second.key], second.key: [first.key]}


@pytest.mark.parametrize("step", [1, -1], ids=["oldest first", "newest first"])
def test_of_many_updates_the_latest_are_returned(store: MemoryStore, step: int) -> None:
    """A topic whose every memory updates all earlier ones, among memories without updates. The order in which memories
    and links arrived, and rejected links, do not matter."""
    arriving = [add(store, a_memory(valid_from=instant(step * minute))) for minute in range(-30, 0)]
    topic, others = arriving[::step], added(store, 30)
    some = [a_link(newer, older) for place, newer in enumerate(topic) for older in topic[:place]]
    some += [a_link(one, topic[0], rejected_at=instant(1)) for one in others]
    store.write(lambda tx: [tx.put_link(one) for one in some[::-1]])
    keys = [one.key for one in topic]
    expected = {key: keys[place:][: -KEPT - 1 : -1] for place, key in enumerate(keys[:-1], start=1)}
    assert updates_of(store, [*others, *topic]) == expected
    assert expected[keys[0]] == keys[: -KEPT - 1 : -1]
    assert [updates_of(store, [one]) for one in topic[27:]] == [
        {keys[27]: [keys[29], keys[28]]},
        {keys[28]: [keys[29]]},
        {},
    ]


@pytest.mark.parametrize("reason", ["expired", "replaced", "later"])
def test_updates_that_do_not_hold_displace_none(store: MemoryStore, reason: str) -> None:
    """They are returned all the same, because what updates them counts."""
    old, new = added(store, 2)
    if reason == "expired":
        gone = [a_memory(created_at=instant(1), expires_at=instant(2)) for _ in range(KEPT)]
    elif reason == "replaced":
        gone = [a_memory(created_at=instant(1), valid_until=instant(2)) for _ in range(KEPT)]
    else:
        gone = [a_memory(created_at=instant(3)) for _ in range(KEPT)]
    others = [add(store, one) for one in gone]
    put_links(store, *(a_link(one, old) for one in (new, *others)))
    assert updates_of(store, [old], instant(2)) == {old.key: [new.key, *(one.key for one in others[:0:-1])]}
    with store.read() as view:
        (first, *rest) = view.updates_of([old.key], instant(2))[old.key]
    assert first == Successor(True, START, new.memory.id, new.key)
    assert not any(one.holds for one in rest)


def test_the_updates_of_one_owner_do_not_displace_those_of_others(store: MemoryStore) -> None:
    old, new, *flood = (
        add(store, a_memory(owner=owner, created_at=instant(minute)))
        for minute, owner in enumerate([ADA, ADA, *[BOB] * KEPT])
    )
    put_links(store, *(a_link(one, old) for one in (new, *flood)))
    assert updates_of(store, [old], instant(9)) == {old.key: [*(one.key for one in flood[:0:-1]), new.key]}
    more = [add(store, a_memory(owner=ADA, created_at=instant(-minute))) for minute in range(1, KEPT)]
    put_links(store, *(a_link(one, old) for one in more))
    kept = [*flood[: -SHARE - 1 : -1], new, *more[: SHARE - 1]]
    assert updates_of(store, [old], instant(9)) == {old.key: [one.key for one in kept]}


def test_doubts_are_read_by_kind_and_certainty(store: MemoryStore) -> None:
    old, *newer = added(store, 6)
    kinds = [LinkKind.MAY_UPDATE, LinkKind.CONFLICTS_WITH, LinkKind.UPDATES, LinkKind.SAME_AS, LinkKind.MAY_UPDATE]
    for certainty, (kind, one) in enumerate(zip(kinds, newer, strict=True), 1):
        put_links(store, a_link(one, old, kind=kind, certainty=certainty / 10))
    put_links(store, a_link(newer[1], old, kind=LinkKind.MAY_UPDATE, certainty=0.1))
    may, conflicts, _, _, sure = (one.key for one in newer)
    for certainty, found in ((0.0, [sure, conflicts, may]), (0.2, [sure, conflicts]), (0.3, [sure])):
        assert doubts_of(store, [old, *newer], certainty) == {old.key: found}
    assert doubts_of(store, [old], 0.6) == doubts_of(store, [], 0.0) == {}
    put_links(store, a_link(newer[4], old, kind=LinkKind.MAY_UPDATE, certainty=0.5, rejected_at=instant(1)))
    assert doubts_of(store, [old], 0.2) == {old.key: [conflicts]}


def test_of_many_doubts_the_most_certain_are_returned_then_the_latest(store: MemoryStore) -> None:
    old, *newer = added(store, 2 * KEPT + 3)
    for place, one in enumerate(newer):
        kind = (LinkKind.MAY_UPDATE, LinkKind.CONFLICTS_WITH)[place % 2]
        put_links(store, a_link(one, old, kind=kind, certainty=0.8 if place == 0 else 0.2))
    keys = [one.key for one in newer]
    assert doubts_of(store, [old], 0.0) == {old.key: [keys[0], *keys[:-KEPT:-1]]}
    put_links(store, *(a_link(one, old, kind=kind, certainty=0.9) for one in newer[:KEPT] for kind in DOUBTS))
    assert doubts_of(store, [old], 0.0) == {old.key: keys[:KEPT][::-1]}


def test_doubts_that_do_not_hold_displace_none_and_are_in_the_order_of_certainty(store: MemoryStore) -> None:
    old = add(store, a_memory())
    gone = [add(store, a_memory(expires_at=instant(1))) for _ in range(KEPT)]
    holds = add(store, a_memory())
    put_links(store, *(a_link(one, old, kind=LinkKind.MAY_UPDATE, certainty=0.9) for one in gone))
    put_links(store, a_link(holds, old, kind=LinkKind.MAY_UPDATE, certainty=0.6))
    latest = [one.key for one in gone[:0:-1]]
    assert doubts_of(store, [old], 0.5, instant(2)) == {old.key: [*latest, holds.key]}


def test_doubts_of_memories_that_may_not_update_do_not_count(store: MemoryStore) -> None:
    said = a_memory().provenance
    shop, tent = Clean("shop"), Clean("tent")
    old = add(store, a_memory(project=shop))
    less = [add(store, a_memory(provenance=replace(said, trust=Trust.WEB), project=shop)) for _ in range(KEPT)]
    newer = [add(store, a_memory(project=one)) for one in (shop, tent, None)]
    put_links(store, *(a_link(one, old, kind=LinkKind.CONFLICTS_WITH) for one in (*less, *newer)))
    assert doubts_of(store, [old], 0.0) == {old.key: [newer[2].key, newer[0].key]}
    put_links(store, *(a_link(one, newer[2], kind=LinkKind.MAY_UPDATE) for one in (old, *less)))
    assert doubts_of(store, [newer[2]], 0.0) == {}


def test_all_later_among_memories_are_read(store: MemoryStore) -> None:
    old, *newer = added(store, KEPT + 4)
    put_links(store, *(a_link(one, old, kind=LinkKind.MAY_UPDATE, certainty=0.1) for one in newer))
    first, second, third = newer[:3]
    put_links(store, a_link(first, old, kind=LinkKind.CONFLICTS_WITH), a_link(first, second, kind=LinkKind.MAY_UPDATE))
    put_links(store, a_link(third, first), a_link(third, second, kind=LinkKind.SAME_AS))
    with store.read() as view:
        everything = view.later_among([old.key, *(one.key for one in newer), old.key], 0.1)
        assert everything == {
            old.key: [one.key for one in newer[::-1]],
            first.key: [third.key],
            second.key: [first.key],
        }
        assert view.later_among([old.key, second.key, third.key], 0.1) == {old.key: [third.key, second.key]}
        assert view.later_among([first.key, second.key, UNKNOWN], 0.1) == {second.key: [first.key]}
        assert view.later_among([old.key], 0.1) == view.later_among([], 0.1) == {}
        assert view.later_among([old.key, first.key, second.key, third.key], 0.2) == {
            old.key: [first.key],
            first.key: [third.key],
            second.key: [first.key],
        }
    put_links(store, a_link(first, second, kind=LinkKind.MAY_UPDATE, rejected_at=instant(1)))
    with store.read() as view:
        assert view.later_among([first.key, second.key], 0.1) == {}


pairs = st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(lambda pair: pair[0] != pair[1])


some_memories = st.builds(
    a_memory,
    owner=st.sampled_from([ADA, BOB]),
    project=st.sampled_from([None, Clean("shop")]),
    created_at=st.sampled_from([instant(0), instant(1), instant(3)]),
    valid_from=st.sampled_from([None, instant(1)]),
    valid_until=st.sampled_from([None, instant(2), instant(4)]),
    expires_at=st.sampled_from([None, instant(2), instant(4)]),
    provenance=st.builds(replace, st.just(a_memory().provenance), trust=st.sampled_from(Trust)),
)


@law
@given(
    memories=st.lists(some_memories, min_size=6, max_size=6),
    written=st.lists(
        st.tuples(pairs, st.sampled_from([LinkKind.UPDATES, *LinkKind]), st.booleans(), st.sampled_from([0.5, 0.9])),
        max_size=14,
    ),
    kept=st.integers(1, 3),
    share=st.integers(1, 2),
)
def test_links_match_those_of_the_reference_store(
    fresh: Fresh,
    memories: list[Memory],
    written: list[tuple[tuple[int, int], LinkKind, bool, float]],
    kept: int,
    share: int,
) -> None:

    def found(store: MemoryStore) -> object:
        stored = [add(store, memory) for memory in memories]
        numbers = {one.key: place for place, one in enumerate(stored)}
        for (source, target), kind, is_rejected, certainty in written:
            rejected_at = instant(1) if is_rejected else None
            one = a_link(stored[source], stored[target], kind=kind, rejected_at=rejected_at, certainty=certainty)
            put_links(store, one)
        with store.read() as view:
            some = [one.key for one in stored[:4]]
            updates = view.updates_of(some, instant(2))
            doubts = (view.doubts_of(some, 0.6, instant(2)), view.later_among(some, 0.6))
        return (
            [one.link for one in links_of(store, *stored[:3])],
            {numbers[key]: [one[:3] for one in newer] for key, newer in updates.items()},
            [{numbers[key]: [numbers[one] for one in newer] for key, newer in each.items()} for each in doubts],
        )

    with fresh() as store, pytest.MonkeyPatch.context() as changes:
        for module in ("hivelore.storage.sql.links", "support.reference.links"):
            changes.setattr(f"{module}.KEPT", kept)
            changes.setattr(f"{module}.SHARE", share)
        assert found(store) == found(ReferenceStore(FixedClock()))


def test_links_survive_reopening(open_durable: Callable[[], MemoryStore]) -> None:
    with closing(open_durable()) as store:
        source, target = added(store, 2)
        one: StoredLink = a_link(source, target, rejected_at=instant(1), rejected_by=ADA)
        put_links(store, one)
    with closing(open_durable()) as store:
        assert links_of(store, source) == [one]


OTHER_MODEL = Clean("pairs-3")


def uncompared(store: MemoryStore, model: Clean = MODEL, limit: int = 10) -> list[DocumentKey]:
    with store.read() as view:
        found = list(view.uncompared(model, limit))
        assert view.count_uncompared(model) >= len(found)
        return found


def compare(store: MemoryStore, stored: Stored, version: int = 1, model: Clean = MODEL) -> None:
    store.write(lambda tx: tx.put_compared(stored.key, version, model))


def test_memories_wait_until_their_version_was_compared_by_the_model(store: MemoryStore) -> None:
    first, second, third = added(store, 3)
    assert uncompared(store) == [third.key, second.key, first.key]
    assert uncompared(store, limit=2) == [third.key, second.key]
    for one in (first, second, third):
        compare(store, one)
    assert uncompared(store) == []
    assert uncompared(store, OTHER_MODEL) == [third.key, second.key, first.key]
    compare(store, second, model=OTHER_MODEL)
    assert uncompared(store) == [second.key]
    compare(store, second)
    change(store, first.key, next_version(first.memory))
    assert uncompared(store) == [first.key]
    compare(store, first, version=1)
    assert uncompared(store) == [first.key]
    compare(store, first, version=2)
    assert uncompared(store) == []


def test_the_record_of_a_comparison_is_deleted_with_the_memory(store: MemoryStore) -> None:
    first, second = added(store, 2)
    compare(store, first)
    forget(store, first.key)
    compare(store, first)
    assert uncompared(store) == [second.key]
    with store.read() as view:
        assert view.count_uncompared(MODEL) == 1
