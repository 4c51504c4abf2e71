"""Every store: lists, candidates and counts under a filter, as ``Filter.admits`` means it."""

from collections.abc import Sequence
from datetime import datetime

from hypothesis import given
from hypothesis import strategies as st

from hivelore.indexing.model import Attributes
from hivelore.memories.model import Memory, MemoryId, Scope, Source, rank_features
from hivelore.memories.stored import DocumentKey
from hivelore.search.model import Filter, Visibility
from hivelore.storage.ports import MemoryStore, Transaction, View
from support.memories import ADA, BOB, EVERYTHING, a_memory, instant, whole
from support.small_world import INSTANTS, census, filters, populations, single_filters
from support.stores import Fresh, add, forget, law


def fill(store: MemoryStore, population: Sequence[Memory]) -> dict[MemoryId, DocumentKey]:
    def work(tx: Transaction) -> dict[MemoryId, DocumentKey]:
        return {memory.id: tx.add(memory, whole(memory.content)).key for memory in population}

    return store.write(work)


def newest_first(memories: Sequence[Memory]) -> list[Memory]:
    return sorted(memories, key=lambda memory: (memory.created_at, memory.id), reverse=True)


def walk(view: View, where: Filter, limit: int) -> list[Memory]:
    """All pages of a list, one after the other."""
    walked: list[Memory] = []
    after: tuple[datetime, MemoryId] | None = None
    while page := view.page(where, after, limit):
        assert len(page) <= limit
        walked.extend(page)
        last = page[-1].created_at, page[-1].id
        assert after is None or last < after, "the walk does not get on"
        after = last
    return walked


def assert_agrees(view: View, keys: dict[MemoryId, DocumentKey], population: Sequence[Memory], where: Filter) -> None:
    """All that a view says under this filter is what ``admits`` says."""
    admitted = [memory for memory in population if where.admits(memory)]
    assert list(view.page(where, None, 1_000)) == newest_first(admitted)
    assert sorted(view.matching_keys(where)) == sorted(keys[memory.id] for memory in admitted)
    assert view.memories_of(list(keys.values()), where) == {keys[memory.id]: memory for memory in admitted}
    assert view.rank_features_of(list(keys.values()), where) == {
        keys[memory.id]: rank_features(memory) for memory in admitted
    }
    now = INSTANTS[1]
    stats = view.stats(where, None, now)
    assert stats.total == len(admitted)
    assert stats.by_source == {source: sum(one.source is source for one in admitted) for source in Source}
    assert stats.by_scope == {scope: sum(one.scope is scope for one in admitted) for scope in Scope}
    assert stats.expired == sum(not memory.is_live(now) for memory in admitted)
    assert (stats.pending_embeddings, stats.failed) == (0, 0)


def test_each_part_of_a_filter_means_the_same_to_every_reader(store: MemoryStore) -> None:
    population = census()
    keys = fill(store, population)
    with store.read() as view:
        for where in single_filters():
            assert_agrees(view, keys, population, where)


@law
@given(population=populations, asked=st.lists(filters(), min_size=1, max_size=15))
def test_all_parts_of_a_filter_must_match(fresh: Fresh, population: list[Memory], asked: list[Filter]) -> None:
    with fresh() as store:
        keys = fill(store, population)
        with store.read() as view:
            for where in asked:
                assert_agrees(view, keys, population, where)


# Pages.


@law
@given(population=populations, asked=st.lists(filters(), max_size=5), limit=st.integers(1, 5))
def test_pages_cover_the_whole_list_in_order(
    fresh: Fresh, population: list[Memory], asked: list[Filter], limit: int
) -> None:
    with fresh() as store:
        fill(store, population)
        with store.read() as view:
            for where in (EVERYTHING, *asked):
                expected = newest_first([memory for memory in population if where.admits(memory)])
                assert walk(view, where, limit) == expected


def test_memories_of_the_same_instant_are_listed_by_id_latest_first(store: MemoryStore) -> None:
    memories = [a_memory() for _ in range(7)]
    fill(store, memories[::2])
    fill(store, memories[1::2])
    with store.read() as view:
        for limit in range(1, 8):
            assert walk(view, EVERYTHING, limit) == memories[::-1]


def test_times_are_compared_to_the_microsecond(store: MemoryStore) -> None:
    later, earlier = (a_memory(created_at=at) for at in (INSTANTS[2], INSTANTS[1]))
    fill(store, [later, earlier])
    with store.read() as view:
        assert list(view.page(EVERYTHING, None, 2)) == [later, earlier]
        assert list(view.page(EVERYTHING, (later.created_at, later.id), 2)) == [earlier]


def test_a_page_continues_after_deletions_and_insertions(
    store: MemoryStore,
) -> None:
    memories = [a_memory(created_at=instant(minute)) for minute in range(6)]
    keys = fill(store, memories)
    with store.read() as view:
        first = view.page(EVERYTHING, None, 2)
    assert list(first) == [memories[5], memories[4]]
    forget(store, keys[memories[4].id])
    add(store, a_memory(created_at=instant(99)))
    with store.read() as view:
        assert list(view.page(EVERYTHING, (first[-1].created_at, first[-1].id), 10)) == memories[3::-1]


# Candidates.


def test_unknown_candidates_are_ignored(store: MemoryStore) -> None:
    memories = [a_memory(str(number), owner=(ADA, BOB)[number % 2]) for number in range(3_000)]
    keys = fill(store, memories)
    asked = [*keys.values(), *keys.values(), *(DocumentKey(unknown) for unknown in range(10**9, 10**9 + 5_000))]
    only_adas = Filter(visibility=Visibility(own=ADA, swarm=True))
    with store.read() as view:
        assert view.memories_of(asked, only_adas) == {keys[memory.id]: memory for memory in memories[::2]}
        assert view.memories_of(frozenset(asked), EVERYTHING) == {keys[memory.id]: memory for memory in memories}
        assert set(view.attributes(asked)) == set(keys.values())
        assert view.memories_of([], EVERYTHING) == {}
        assert view.attributes([]) == {}


@law
@given(population=populations)
def test_attributes_match_the_filters(fresh: Fresh, population: list[Memory]) -> None:
    with fresh() as store:
        keys = fill(store, population)
        with store.read() as view:
            found = view.attributes(list(keys.values()))
    assert found == {
        keys[memory.id]: Attributes(
            owner=memory.owner,
            scope=memory.scope,
            source=memory.source,
            project=memory.project,
            session=memory.session,
            category=memory.category,
            created_at=memory.created_at,
            expires_at=memory.expires_at,
            superseded=memory.valid_until is not None,
        )
        for memory in population
    }


# What was written around it.


@law
@given(population=populations, limit=st.integers(1, 4))
def test_neighbours_have_the_same_session_owner_and_scope_nearest_first(
    fresh: Fresh, population: list[Memory], limit: int
) -> None:
    written = sorted(population, key=lambda memory: (memory.created_at, memory.id))
    with fresh() as store:
        keys = fill(store, written)
        with store.read() as view:
            for position, memory in enumerate(written):
                before = view.earlier_in_session(keys[memory.id], limit)
                after = view.later_in_session(keys[memory.id], limit)
                earlier = [other for other in reversed(written[:position]) if same_thread(memory, other)]
                later = [other for other in written[position + 1 :] if same_thread(memory, other)]
                assert [(one.key, one.memory) for one in before] == [(keys[one.id], one) for one in earlier[:limit]]
                assert [(one.key, one.memory) for one in after] == [(keys[one.id], one) for one in later[:limit]]


def same_thread(one: Memory, other: Memory) -> bool:
    if one.session is None:
        return False
    return (one.session, one.owner, one.scope) == (other.session, other.owner, other.scope)
