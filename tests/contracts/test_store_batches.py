"""Every store: noting what memories were, and keeping it so that it can come back."""

from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.changes.model import Batch, BatchFilter, BatchId, BatchKind, PreviousState
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.memories.model import Action, Memory, MemoryId
from hivelore.memories.stored import DocumentKey, Stored
from hivelore.observations.model import Confidence, Held
from hivelore.review.model import Proposal
from hivelore.search.model import Visibility
from hivelore.storage.change_recorder import capture_state
from hivelore.storage.ports import MemoryStore, Transaction
from support.batches import ALL_BATCHES, a_batch, a_preimage, batches, batches_of, preimages_of, put_batch
from support.clocks import START
from support.events import an_event, log_events
from support.links import a_link, links, put_links
from support.memories import (
    ADA,
    a_memory,
    an_observation,
    chunks_of,
    evidence,
    evidences,
    instant,
    memories,
    next_version,
    observations,
    operational,
    whole,
)
from support.proposals import a_proposal, put
from support.stores import Fresh, add, change, forget, law


def kept(store: MemoryStore, work: Callable[[Transaction], object]) -> dict[DocumentKey, PreviousState | None]:
    """Returns the pre-images recorded during a write."""

    def noting(tx: Transaction) -> dict[DocumentKey, PreviousState | None]:
        with tx.journal() as noted:
            assert tx.is_journaling
            work(tx)
            found = dict(noted)
        assert not tx.is_journaling
        return found

    return store.write(noting)


def now(store: MemoryStore, key: DocumentKey) -> PreviousState | None:
    with store.read() as view:
        return capture_state(view, key)


CHANGES: dict[str, Callable[[Transaction, Stored], None]] = {
    "change": lambda tx, one: tx.change(one.key, next_version(one.memory, "New."), whole("New."), Action.EDITED),
    "attributes": lambda tx, one: tx.change(one.key, next_version(one.memory, tags=(Clean("t"),)), None, Action.EDITED),
    "renew": lambda tx, one: tx.set_expiry(one.key, instant(9)),
    "link": lambda tx, one: tx.set_validity(one.key, instant(9), None),
    "observe": lambda tx, one: tx.add_observation(
        one.key, Held(base=Confidence(0.1), since=instant(1)), an_observation()
    ),
    "evidence": lambda tx, one: tx.add_evidence({one.key: [evidence()]}),
    "forget": lambda tx, one: tx.forget(one.key),
}


@pytest.mark.parametrize("how", CHANGES)
def test_the_pre_image_of_a_memory_is_its_state_before_the_first_change(store: MemoryStore, how: str) -> None:
    stored, other = add(store, a_memory(operational=operational())), add(store, a_memory())
    put(store, a_proposal(stored.memory))
    log_events(store, an_event(memory=stored.memory.id))
    put_links(store, a_link(other, stored))
    before, of_other = now(store, stored.key), now(store, other.key)
    assert before is not None
    assert (len(before.proposals), len(before.events), len(before.links)) == (1, 1, 1)

    def work(tx: Transaction) -> None:
        CHANGES[how](tx, stored)
        tx.forget(stored.key)

    assert kept(store, work) == {stored.key: before, other.key: of_other}


def test_the_pre_image_of_a_new_memory_is_empty(store: MemoryStore) -> None:
    def work(tx: Transaction) -> None:
        one = tx.add(a_memory(), whole(a_memory().content))
        tx.set_expiry(one.key, instant(1))
        tx.add(a_memory(), ())

    assert list(kept(store, work).values()) == [None, None]


def test_reading_records_no_pre_image(store: MemoryStore) -> None:
    stored = add(store, a_memory())
    assert kept(store, lambda tx: tx.count_reads({stored.key: (1, START)})) == {}


def test_pre_images_are_recorded_only_within_their_transaction(store: MemoryStore) -> None:
    stored = add(store, a_memory())
    assert list(kept(store, lambda tx: tx.set_expiry(stored.key, None))) == [stored.key]
    store.write(lambda tx: tx.set_expiry(stored.key, instant(2)))
    assert kept(store, lambda tx: None) == {}


def test_a_failed_transaction_leaves_no_pre_images(store: MemoryStore) -> None:
    stored = add(store, a_memory())

    def fails(tx: Transaction) -> None:
        with tx.journal():
            tx.set_expiry(stored.key, None)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        store.write(fails)
    assert kept(store, lambda tx: None) == {}


@law
@given(data=st.data())
def test_a_batch_is_read_as_it_was_written(fresh: Fresh, data: st.DataObject) -> None:
    memory: Memory = data.draw(memories())
    with fresh() as store:
        stored, other = add(store, memory, data.draw(chunks_of(memory.content))), add(store, a_memory())
        if memory.operational is not None:
            held = memory.operational.held
            for one in data.draw(st.lists(observations(), max_size=2)):
                store.write(lambda tx, one=one: tx.add_observation(stored.key, held, one))
        found = data.draw(st.lists(evidences, max_size=3))
        store.write(lambda tx: tx.add_evidence({stored.key: found}))
        put(store, a_proposal(stored.memory))
        log_events(store, an_event(memory=stored.memory.id))
        put_links(store, data.draw(links(stored, other)), data.draw(links(other, stored)))
        batch = data.draw(batches())
        preimage = a_preimage(store, stored)
        put_batch(store, batch, [preimage])
        assert preimages_of(store, batch) == [preimage]
        assert batches_of(store) == [batch]
        assert preimage.before is not None
        store.write(lambda tx: tx.forget(stored.key))
        store.write(lambda tx: _back(tx, preimage.before))
        assert now(store, stored.key) == preimage.before


def _back(tx: Transaction, was: PreviousState | None) -> None:
    assert was is not None
    tx.import_memories([was.whole])
    for proposal in was.proposals:
        tx.put_proposal(proposal)
    tx.log_events(was.events)
    for link in was.links:
        tx.put_link(link)


def test_writing_a_batch_again_adds_pre_images(store: MemoryStore) -> None:
    first, second = add(store, a_memory()), add(store, a_memory())
    batch = a_batch()
    put_batch(store, batch, [a_preimage(store, second)])
    put_batch(store, replace(batch, changes=2), [a_preimage(store, first), a_preimage(store, second, "other")])
    assert batches_of(store) == [replace(batch, changes=2)]
    assert preimages_of(store, batch) == [a_preimage(store, first), a_preimage(store, second, "other")]
    with store.read() as view:
        assert view.preimage(batch.id, first.key) == a_preimage(store, first)
        assert view.preimage(batch.id, DocumentKey(first.key + 10)) is None
        assert (view.counts().batches, view.counts().preimages) == (1, 2)


def test_an_empty_pre_image_is_stored(store: MemoryStore) -> None:
    stored = add(store, a_memory())
    preimage = replace(a_preimage(store, stored), before=None, owner=None)
    batch = a_batch()
    put_batch(store, batch, [preimage])
    assert preimages_of(store, batch) == [preimage]


def test_the_last_pre_image_is_that_of_the_newest_batch_before_which_the_memory_existed(
    store: MemoryStore,
) -> None:
    one, other = add(store, a_memory()), add(store, a_memory())
    written = [a_batch(at=instant(minute)) for minute in (3, 1, 3, 4)]
    put_batch(store, written[0], [a_preimage(store, one, "third"), a_preimage(store, other, "other")])
    put_batch(store, written[1], [a_preimage(store, one, "first")])
    put_batch(store, written[2], [a_preimage(store, one, "last")])
    put_batch(store, written[3], [replace(a_preimage(store, one), before=None, owner=None)])
    forget(store, one.key)
    with store.read() as view:
        last = view.last_preimage(one.memory.id)
        assert last is not None
        assert (last.key, last.after, last.before is not None) == (one.key, "last", True)
        assert view.last_preimage(a_memory().id) is None
    store.write(lambda tx: tx.drop_preimages(one.key))
    with store.read() as view:
        assert view.last_preimage(one.memory.id) is None
        last = view.last_preimage(other.memory.id)
        assert last is not None
        assert last.after == "other"


@pytest.mark.parametrize("limit", [1, 2, 10])
def test_pages_hold_every_batch_once_newest_first(store: MemoryStore, limit: int) -> None:
    written = [a_batch(at=instant(minute)) for minute in (3, 1, 2, 2, 0)]
    for one in written:
        put_batch(store, one)
    found: list[Batch] = []
    after: tuple[datetime, BatchId] | None = None
    while True:
        with store.read() as view:
            page: Sequence[Batch] = view.batches(ALL_BATCHES, after, limit)
        found += page
        if len(page) < limit:
            break
        after = page[-1].at, page[-1].id
    assert found == sorted(written, key=lambda one: (one.at, one.id), reverse=True)


def test_batches_are_filtered(store: MemoryStore) -> None:
    stored = add(store, a_memory())
    shared, undone = a_batch(is_private=False), a_batch(at=instant(1), undone_at=instant(2))
    put_batch(store, shared)
    put_batch(store, undone, [a_preimage(store, stored)])
    everybody, agent = ALL_BATCHES.seen, Visibility(own=ADA, swarm=True)
    assert batches_of(store, BatchFilter(seen=agent)) == [shared]
    assert batches_of(store, BatchFilter(seen=Visibility(own=ADA, swarm=False))) == []
    assert batches_of(store, BatchFilter(seen=everybody, undone=True)) == [undone]
    assert batches_of(store, BatchFilter(seen=everybody, undone=False)) == [shared]
    assert batches_of(store, BatchFilter(seen=everybody, memory=stored.memory.id)) == [undone]
    assert batches_of(store, BatchFilter(seen=everybody, memory=a_memory().id)) == []


def test_the_pre_images_of_a_memory_can_be_dropped(store: MemoryStore) -> None:
    one, other = add(store, a_memory()), add(store, a_memory())
    batch = a_batch(changes=2)
    put_batch(store, batch, [a_preimage(store, one), a_preimage(store, other)])
    for _ in range(2):
        store.write(lambda tx: tx.drop_preimages(one.key))
    assert preimages_of(store, batch) == [a_preimage(store, other)]
    assert batches_of(store) == [batch]
    for _ in range(2):
        store.write(lambda tx: tx.drop_batch(batch.id))
    assert (batches_of(store), preimages_of(store, batch)) == ([], [])


def test_dropping_a_pre_image_drops_those_of_the_same_decision(store: MemoryStore) -> None:
    """One may be what was made of the other."""
    one, other = add(store, a_memory()), add(store, a_memory())
    batch = a_batch(kind=BatchKind.DECIDED, changes=2)
    put_batch(store, batch, [a_preimage(store, one), a_preimage(store, other)])
    store.write(lambda tx: tx.drop_preimages(one.key))
    assert (batches_of(store), preimages_of(store, batch)) == ([batch], [])


def test_deleting_a_memory_keeps_its_pre_images(store: MemoryStore) -> None:
    """Maintenance takes away what can come back; who forgets for good drops that, too."""
    stored = add(store, a_memory())
    batch, preimage = a_batch(), a_preimage(store, stored)
    put_batch(store, batch, [preimage])
    forget(store, stored.key)
    assert preimages_of(store, batch) == [preimage]


def test_old_batches_are_pruned_with_their_pre_images(store: MemoryStore) -> None:
    stored = add(store, a_memory())
    written = [a_batch(at=instant(minute)) for minute in (0, 1, 2, 3)]
    for one in written:
        put_batch(store, one, [a_preimage(store, stored)])
    assert store.write(lambda tx: tx.prune_batches(instant(3), 2)) == 2
    assert batches_of(store) == [written[3], written[2]]
    assert preimages_of(store, written[0]) == []
    assert store.write(lambda tx: tx.prune_batches(instant(3), 2)) == 1
    assert batches_of(store) == [written[3]]


KEEPING_IN_ORDER: dict[str, Callable[[MemoryStore], None]] = {
    "vacuum": lambda store: store.vacuum(),
    "learn": lambda store: store.analyze(),
}


@pytest.mark.parametrize("what", KEEPING_IN_ORDER)
def test_pruning_batches_changes_no_memories(store: MemoryStore, what: str) -> None:
    stored = [add(store, a_memory(f"Note {number}.")) for number in range(5)]
    forget(store, stored[0].key)
    change(store, stored[1].key, next_version(stored[1].memory, "Another."), whole("Another."))
    before = [now(store, one.key) for one in stored]
    KEEPING_IN_ORDER[what](store)
    assert [now(store, one.key) for one in stored] == before
    assert add(store, a_memory()).key > stored[-1].key


def test_batches_survive_reopening(open_durable: Callable[[], MemoryStore]) -> None:
    batch = a_batch()
    with closing(open_durable()) as store:
        preimage = a_preimage(store, add(store, a_memory()))
        put_batch(store, batch, [preimage])
    with closing(open_durable()) as store:
        assert (batches_of(store), preimages_of(store, batch)) == ([batch], [preimage])


def test_pre_images_hold_the_proposals_about_a_memory(store: MemoryStore) -> None:
    stored = add(store, a_memory())
    written: list[Proposal] = [a_proposal(stored.memory), a_proposal(stored.memory)]
    put(store, *written)
    (was,) = kept(store, lambda tx: tx.forget(stored.key)).values()
    assert was is not None
    assert set(was.proposals) == set(written)


def test_batches_and_changed_memories_are_found_by_the_beginning_of_their_ids(store: MemoryStore) -> None:
    first, second = (add(store, a_memory(id=MemoryId(one))) for one in ("0190-a", "0190-b"))
    shared = replace(a_batch(is_private=False), id=BatchId("0191-a"))
    private = replace(a_batch(), id=BatchId("0191-b"))
    put_batch(store, shared, [a_preimage(store, first)])
    put_batch(store, private, [a_preimage(store, first), a_preimage(store, second)])
    of_shared = BatchFilter(seen=Visibility(own=ADA, swarm=True))
    for where, visible in ((ALL_BATCHES, [private, shared]), (of_shared, [shared])):
        for prefix in ("0191", "0191-b", "0192"):
            matching = [one for one in visible if one.id.startswith(prefix)]
            assert batches_of(store, replace(where, prefix=prefix)) == matching
    forget(store, second.key)
    with store.read() as view:
        assert list(view.changed_ids_from("0190", ALL_BATCHES, 9)) == ["0190-a", "0190-b"]
        assert list(view.changed_ids_from("0190", ALL_BATCHES, 1)) == ["0190-a"]
        assert list(view.changed_ids_from("0190-b", ALL_BATCHES, 9)) == ["0190-b"]
        assert list(view.changed_ids_from("0190", of_shared, 9)) == ["0190-a"]
        assert list(view.changed_ids_from("0191", ALL_BATCHES, 9)) == []
