"""Every store: what was seen of the use of a memory."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.values import replace
from hivelore.feedback.model import NO_USAGE, UsageCounts
from hivelore.feedback.recalls import EVIDENCE_KEPT, Evidence, Sign, count_usage, merge_evidence
from hivelore.indexing.model import ChangeKind
from hivelore.memories.stored import DocumentKey
from hivelore.search.model import Visibility
from hivelore.storage.ports import MemoryStore, Transaction
from support.memories import ADA, BOB, EVERYTHING, a_memory, evidence, evidences, instant, next_version
from support.stores import Fresh, add, change, forget, history, law, present, read_changes


def see(store: MemoryStore, key: DocumentKey, *seen: Evidence) -> None:
    store.write(lambda tx: tx.add_evidence({key: seen}))


def seen_of(store: MemoryStore, key: DocumentKey) -> Sequence[Evidence]:
    with store.read() as view:
        return view.evidence(key)


def uses(store: MemoryStore) -> Mapping[DocumentKey, UsageCounts]:
    with store.read() as view:
        return {key: one.use for key, one in view.rank_features_of(view.matching_keys(EVERYTHING), EVERYTHING).items()}


@law
@given(first=st.lists(evidences, max_size=4), then=st.lists(evidences, max_size=4))
def test_evidence_is_stored_exactly_and_read_by_ranking(
    fresh: Fresh, first: list[Evidence], then: list[Evidence]
) -> None:
    with fresh() as store:
        key = add(store, a_memory()).key
        see(store, key, *first)
        see(store, key, *then)
        assert seen_of(store, key) == merge_evidence(first, then)
        assert uses(store) == {key: count_usage(merge_evidence(first, then))}


def test_a_new_memory_has_no_evidence(store: MemoryStore) -> None:
    key = add(store, a_memory()).key
    assert list(seen_of(store, key)) == []
    assert uses(store) == {key: NO_USAGE}


def test_repeated_evidence_counts_once(store: MemoryStore) -> None:
    key = add(store, a_memory()).key
    see(store, key, evidence())
    with store.read() as view:
        before = view.change_cursor()
    see(store, key, evidence(), evidence())
    with store.read() as view:
        assert read_changes(view, before) == []
    assert uses(store) == {key: UsageCounts(applied=1)}


def test_each_agent_counts_once_per_session(store: MemoryStore) -> None:
    key = add(store, a_memory()).key
    see(store, key, evidence(agent=ADA), evidence(agent=BOB), evidence(agent=None), evidence(session="s2"))
    see(store, key, evidence(Sign.REPEATED, agent=ADA), evidence(Sign.USELESS, agent=ADA))
    assert uses(store) == {key: UsageCounts(applied=4, useless=1)}


def test_only_the_newest_evidence_counts_beyond_a_limit(store: MemoryStore) -> None:
    key = add(store, a_memory()).key
    every = [evidence(session=f"s{number}", at=instant(number)) for number in range(EVIDENCE_KEPT + 7)]
    see(store, key, *every[: EVIDENCE_KEPT - 1])
    see(store, key, *every[EVIDENCE_KEPT - 1 :])
    assert list(seen_of(store, key)) == every[7:]
    assert uses(store) == {key: UsageCounts(applied=EVIDENCE_KEPT)}


def test_evidence_of_many_is_that_of_each(store: MemoryStore) -> None:
    stored = [add(store, a_memory()) for _ in range(4)]
    found = {one.key: [evidence(session=f"s{each}") for each in range(place)] for place, one in enumerate(stored)}
    store.write(lambda tx: tx.add_evidence(found))
    forget(store, stored[1].key)
    with store.read() as view:
        seen = view.evidence_of([one.key for one in stored])
        assert {key: list(each) for key, each in seen.items()} == {one.key: found[one.key] for one in stored[2:]}
        assert dict(view.evidence_of([])) == {}


def test_the_most_used_memories_come_first_and_unused_ones_are_left_out(store: MemoryStore) -> None:
    shown, cited, rated, private, _ = (add(store, a_memory(owner=owner)) for owner in (ADA, ADA, ADA, BOB, ADA))
    see(store, shown.key, evidence(Sign.UNUSED), evidence(Sign.REPEATED, session="s2"))
    see(store, cited.key, evidence(Sign.CITED), evidence(Sign.USEFUL))
    see(store, rated.key, evidence(Sign.USELESS))
    see(store, private.key, evidence(Sign.APPLIED))
    where = replace(EVERYTHING, visibility=Visibility(own=ADA, swarm=True))
    with store.read() as view:
        found = view.most_used(where, 9)
        assert view.most_used(where, 1) == found[:1]
    assert [(memory.id, use) for memory, use in found] == [
        (cited.memory.id, UsageCounts(cited=1, useful=1)),
        (rated.memory.id, UsageCounts(useless=1)),
    ]


def test_evidence_makes_no_version_and_is_logged(store: MemoryStore) -> None:
    stored = add(store, a_memory())
    with store.read() as view:
        before = view.change_cursor()
    see(store, stored.key, evidence())
    with store.read() as view:
        assert [(one.kind, one.document) for one in read_changes(view, before)] == [(ChangeKind.ATTRIBUTES, stored.key)]
    assert present(store, stored.memory) == stored
    assert len(history(store, stored.key)) == 1


def test_evidence_survives_a_new_version(store: MemoryStore) -> None:
    stored = add(store, a_memory())
    see(store, stored.key, evidence())
    change(store, stored.key, next_version(stored.memory, summary=stored.memory.name))
    assert list(seen_of(store, stored.key)) == [evidence()]
    assert uses(store) == {stored.key: UsageCounts(applied=1)}


def test_evidence_about_a_missing_memory_is_ignored(store: MemoryStore) -> None:
    gone = add(store, a_memory()).key
    forget(store, gone)
    with store.read() as view:
        before = view.change_cursor()
    for key in (gone, DocumentKey(10**9)):
        see(store, key, evidence())
        assert list(seen_of(store, key)) == []
        store.write(lambda tx, key=key: tx.drop_evidence(key))
    with store.read() as view:
        assert read_changes(view, before) == []
        assert view.counts().evidence == 0


def test_evidence_counts_again_after_it_was_dropped(store: MemoryStore) -> None:
    doomed, other = add(store, a_memory()).key, add(store, a_memory()).key
    for key in (doomed, other):
        see(store, key, evidence())
    for _ in range(2):
        store.write(lambda tx: tx.drop_evidence(doomed))
    assert uses(store) == {doomed: NO_USAGE, other: UsageCounts(applied=1)}
    see(store, doomed, evidence(Sign.USEFUL))
    assert uses(store)[doomed] == UsageCounts(useful=1)


def test_deleting_a_memory_deletes_its_evidence(store: MemoryStore) -> None:
    doomed, other = add(store, a_memory()).key, add(store, a_memory()).key
    for key in (doomed, other):
        see(store, key, evidence())
    forget(store, doomed)
    assert list(seen_of(store, doomed)) == []
    with store.read() as view:
        assert view.counts().evidence == 1


def test_a_failed_transaction_records_no_evidence(store: MemoryStore) -> None:
    key = add(store, a_memory()).key

    def work(tx: Transaction) -> None:
        tx.add_evidence({key: [evidence()]})
        assert list(tx.evidence(key)) == [evidence()]
        raise LookupError

    with pytest.raises(LookupError):
        store.write(work)
    assert uses(store) == {key: NO_USAGE}


def test_evidence_survives_reopening(open_durable: Callable[[], MemoryStore]) -> None:
    with closing(open_durable()) as store:
        key = add(store, a_memory()).key
        see(store, key, evidence())
    with closing(open_durable()) as store:
        assert list(seen_of(store, key)) == [evidence()]
        assert uses(store) == {key: UsageCounts(applied=1)}
