"""Every store: how sure a memory about running things is, and what was observed of it."""

from collections.abc import Callable, Sequence
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.indexing.model import ChangeKind
from hivelore.memories.model import Memory, Scope
from hivelore.memories.stored import DocumentKey
from hivelore.observations.model import GENERAL, Confidence, Held, Observation, ObservationKind, Operational
from hivelore.search.model import Filter, Visibility
from hivelore.storage.ports import MemoryStore, Transaction
from support.clocks import START, FixedClock
from support.memories import (
    ADA,
    BOB,
    EVERYTHING,
    a_memory,
    an_observation,
    held,
    instant,
    next_version,
    observations,
    operational,
    operationals,
)
from support.reference.store import ReferenceStore
from support.stores import Fresh, add, change, chunks, forget, history, law, listed, present, read_changes

LESS_SURE = Held(base=Confidence(0.5), since=instant(7))
MORE_SURE = Held(base=Confidence(0.9), since=instant(8))


def observe(store: MemoryStore, key: DocumentKey, now: Held, *seen: Observation) -> None:
    for one in seen:
        store.write(lambda tx, one=one: tx.add_observation(key, now, one))


def observed(store: MemoryStore, key: DocumentKey) -> Sequence[Observation]:
    with store.read() as view:
        return list(view.observations(key))


@law
@given(known=operationals)
def test_operational_state_is_stored_exactly(fresh: Fresh, known: Operational) -> None:
    with fresh() as store:
        memory = add(store, a_memory(operational=known)).memory
        assert present(store, memory).memory.operational == known
        assert listed(store) == [memory]


def test_a_memory_has_no_operational_state_by_default(store: MemoryStore) -> None:
    memory = add(store, a_memory()).memory
    assert present(store, memory).memory.operational is None


@pytest.mark.parametrize("now", [operational("jellyfin"), operational(), None])
@pytest.mark.parametrize("before", [operational("caddy", base=0.0), None])
def test_a_new_version_replaces_the_operational_state(
    store: MemoryStore, before: Operational | None, now: Operational | None
) -> None:
    stored = add(store, a_memory(operational=before))
    change(store, stored.key, next_version(stored.memory, operational=now))
    assert present(store, stored.memory).memory.operational == now
    assert [version.number for version in history(store, stored.key)] == [1, 2]


def test_an_observation_changes_only_the_confidence(store: MemoryStore) -> None:
    known = replace(operational("jellyfin"), tier=2, persistent=True)
    stored = add(store, a_memory(operational=known))
    (passage,) = chunks(store, stored.key)[0].passages

    def embed(tx: Transaction) -> None:
        tx.put_vectors(tx.register_model("m", 1), {passage: np.ones(1, np.float32)})

    store.write(embed)
    with store.read() as view:
        before = view.change_cursor()
    observe(store, stored.key, LESS_SURE, an_observation())
    assert present(store, stored.memory).memory == replace(stored.memory, operational=known.with_confidence(LESS_SURE))
    assert len(history(store, stored.key)) == 1
    with store.read() as view:
        assert [(one.kind, one.document) for one in read_changes(view, before)] == [(ChangeKind.ATTRIBUTES, stored.key)]
        assert set(view.vectors(view.model_keys()["m"], [passage])) == {passage}


def test_observations_are_ordered_by_time_and_then_by_insertion(store: MemoryStore) -> None:
    stored = add(store, a_memory(operational=operational()))
    minutes = (5, 1, 5, 3, 1)
    seen = [an_observation(at=instant(minute), text=str(number)) for number, minute in enumerate(minutes)]
    observe(store, stored.key, LESS_SURE, *seen)
    assert [one.text for one in observed(store, stored.key)] == ["1", "4", "3", "0", "2"]


def test_observations_of_many_are_those_of_each(store: MemoryStore) -> None:
    stored = [add(store, a_memory(operational=operational())) for _ in range(4)]
    for number, one in enumerate(stored[:3]):
        observe(store, one.key, LESS_SURE, *[an_observation(text=f"{number}")] * number)
    forget(store, stored[1].key)
    with store.read() as view:
        found = view.observations_of([one.key for one in stored])
        assert {key: [each.text for each in seen] for key, seen in found.items()} == {stored[2].key: ["2", "2"]}
        assert dict(view.observations_of([])) == {}


def test_observations_of_missing_or_other_memories_are_ignored(store: MemoryStore) -> None:
    plain, gone = add(store, a_memory()), add(store, a_memory(operational=operational()))
    forget(store, gone.key)
    with store.read() as view:
        before = view.change_cursor()
    for key in (plain.key, gone.key, DocumentKey(10**9)):
        observe(store, key, LESS_SURE, an_observation())
        assert observed(store, key) == []
    assert present(store, plain.memory).memory == plain.memory
    with store.read() as view:
        assert read_changes(view, before) == []


def test_deleting_a_memory_deletes_its_observations(store: MemoryStore) -> None:
    stored, other = (add(store, a_memory(operational=operational("jellyfin"))) for _ in range(2))
    for one in (stored, other):
        observe(store, one.key, LESS_SURE, an_observation())
    forget(store, stored.key)
    assert observed(store, stored.key) == []
    assert len(observed(store, other.key)) == 1
    with store.read() as view:
        assert (view.counts().memories, view.counts().observations) == (1, 1)
        assert list(view.matching_keys(Filter(visibility=EVERYTHING.visibility, operational=True))) == [other.key]


def test_observations_survive_a_new_version(store: MemoryStore) -> None:
    stored = add(store, a_memory(operational=operational()))
    observe(store, stored.key, LESS_SURE, an_observation())
    memory = present(store, stored.memory).memory
    change(store, stored.key, next_version(memory, "It takes a minute."))
    assert len(observed(store, stored.key)) == 1
    assert present(store, memory).memory.operational == operational().with_confidence(LESS_SURE)


def test_a_failed_transaction_records_no_observation(store: MemoryStore) -> None:
    stored = add(store, a_memory(operational=operational()))

    def work(tx: Transaction) -> None:
        tx.add_observation(stored.key, LESS_SURE, an_observation())
        assert len(tx.observations(stored.key)) == 1
        raise RuntimeError

    with pytest.raises(RuntimeError):
        store.write(work)
    assert observed(store, stored.key) == []
    assert present(store, stored.memory).memory == stored.memory


def test_memories_of_a_service_and_category_are_listed_newest_first(store: MemoryStore) -> None:
    def note(minute: int, service: str | None, category: str = "timing") -> Memory:
        parts = {"category": Clean(category), "created_at": instant(minute), "scope": Scope.SWARM}
        return add(store, replace(a_memory(operational=operational(service)), **parts)).memory

    first, second = note(1, "jellyfin"), note(2, "jellyfin")
    general, other, dependency = note(3, None), note(4, "caddy"), note(5, "jellyfin", "dependency")
    plain = add(store, a_memory(category=Clean("timing"), created_at=instant(6))).memory
    every = EVERYTHING.visibility
    timing = Filter(visibility=every, categories=frozenset({Clean("timing")}))
    jellyfin = frozenset({Clean("jellyfin")})
    assert listed(store, replace(timing, services=jellyfin)) == [second, first]
    assert listed(store, replace(timing, services=frozenset({GENERAL}))) == [general]
    assert listed(store, replace(timing, operational=True)) == [other, general, second, first]
    assert listed(store, replace(timing, operational=False)) == [plain]
    assert listed(store, Filter(visibility=every, services=jellyfin)) == [dependency, second, first]
    assert listed(store, Filter(visibility=every, services=jellyfin, operational=False)) == []


def test_each_spelling_of_a_category_and_a_service_is_read_once(store: MemoryStore) -> None:
    with store.read() as view:
        assert (list(view.categories()), list(view.services())) == ([], [])
    named = [("timing", "jellyfin"), ("Timing", "Jellyfin"), ("timing", None), ("dependency", "jellyfin"), ("", "a")]
    for number, (category, service) in enumerate(named):
        parts = {"category": Clean(category), "scope": list(Scope)[number % 2], "owner": ADA}
        add(store, replace(a_memory(operational=operational(service)), **parts))
    add(store, a_memory(category=Clean("note")))
    with store.read(sees=Visibility(own=BOB, swarm=False)) as view:
        assert sorted(view.categories()) == ["", "Timing", "dependency", "note", "timing"]
        assert sorted(view.services()) == ["Jellyfin", "a", "jellyfin"]
        assert not view.page(Filter(visibility=Visibility(own=BOB, swarm=False)), None, 10)


seen_of = st.lists(st.tuples(st.integers(0, 2), held, observations()), max_size=12)


@law
@given(known=st.lists(st.none() | operationals, min_size=3, max_size=3), seen=seen_of)
def test_observations_match_those_of_the_reference_store(
    fresh: Fresh, known: list[Operational | None], seen: list[tuple[int, Held, Observation]]
) -> None:
    memories = [a_memory(operational=one) for one in known]

    def changes_of(store: MemoryStore) -> object:
        keys = [add(store, memory).key for memory in memories]
        for which, now, one in seen:
            observe(store, keys[which], now, one)
        with store.read() as view:
            assert view.observations_of(keys) == {key: found for key in keys if (found := view.observations(key))}
            return listed(store), [list(view.observations(key)) for key in keys]

    with fresh() as store:
        assert changes_of(store) == changes_of(ReferenceStore(FixedClock()))


def test_observations_survive_reopening(open_durable: Callable[[], MemoryStore]) -> None:
    seen = [an_observation(ObservationKind.CREATED, to=0.7), an_observation(ObservationKind.SET, START, "Sure.", 1.0)]
    with closing(open_durable()) as store:
        stored = add(store, a_memory(operational=operational("jellyfin")))
        observe(store, stored.key, LESS_SURE, *seen)
    with closing(open_durable()) as store:
        assert observed(store, stored.key) == seen
        assert present(store, stored.memory).memory.operational == operational("jellyfin", base=0.5, since=instant(7))


def test_texts_of_contradicting_observations_are_blanked(store: MemoryStore) -> None:
    first, other = (add(store, a_memory(text, operational=operational())) for text in ("one", "other"))
    against = [an_observation(ObservationKind.CONTRADICTED, text=text) for text in ("new", "newer", "new", "else")]
    observe(store, first.key, LESS_SURE, *against)
    kept = [
        an_observation(ObservationKind.REINFORCED, text="new"),
        an_observation(ObservationKind.CONTRADICTED, text="news"),
    ]
    observe(store, other.key, LESS_SURE, *kept)
    assert list(store.write(lambda tx: tx.erase_quotes([Clean("new"), Clean("newer"), Clean("none")]))) == [first.key]
    assert [one.text for one in observed(store, first.key)] == [None, None, None, "else"]
    assert [one.text for one in observed(store, other.key)] == ["new", "news"]
    assert list(store.write(lambda tx: tx.erase_quotes([]))) == []


def test_all_observations_are_replaced_at_once(store: MemoryStore) -> None:
    known = replace(operational("jellyfin"), tier=2)
    stored, other = (add(store, a_memory(operational=known)) for _ in range(2))
    for one in (stored, other):
        observe(store, one.key, LESS_SURE, an_observation(text="before"))
    seen = [an_observation(at=instant(minute), text=str(minute)) for minute in (5, 1, 3)]
    with store.read() as view:
        before = view.change_cursor()
    store.write(lambda tx: tx.replace_observations(stored.key, MORE_SURE, seen))
    assert [one.text for one in observed(store, stored.key)] == ["1", "3", "5"]
    assert [one.text for one in observed(store, other.key)] == ["before"]
    assert present(store, stored.memory).memory == replace(stored.memory, operational=known.with_confidence(MORE_SURE))
    assert len(history(store, stored.key)) == 1
    with store.read() as view:
        assert [(one.kind, one.document) for one in read_changes(view, before)] == [(ChangeKind.ATTRIBUTES, stored.key)]


def test_observations_of_missing_memories_are_not_replaced(store: MemoryStore) -> None:
    plain, gone = add(store, a_memory()), add(store, a_memory(operational=operational()))
    forget(store, gone.key)
    for key in (plain.key, gone.key):
        store.write(lambda tx, key=key: tx.replace_observations(key, MORE_SURE, [an_observation()]))
        assert observed(store, key) == []
    assert present(store, plain.memory).memory == plain.memory
