"""Every store: taking in what another one has, under the keys that it has there."""

from collections.abc import Callable, Sequence
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.agents import Agent, ApiKey, Interface, KeyId, Role
from hivelore.core.audit import AuditEntry
from hivelore.core.jobs import Job, JobId, JobState
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Conflict, NotFound
from hivelore.indexing.model import BEGINNING, ChangeKind, ModelKey
from hivelore.links.model import LinkKind
from hivelore.memories.model import Action, Memory, MemoryId
from hivelore.memories.stored import DocumentKey
from hivelore.memories.whole import Counts, WholeMemory
from hivelore.storage.ports import MemoryStore, Transaction, View
from support.batches import a_batch, a_preimage, put_batch
from support.clocks import START, FixedClock
from support.configuration import a_version, an_entry
from support.configuration import put as put_entries
from support.events import a_cooldown, an_event, log_events, put_cooldowns
from support.links import a_link, put_links
from support.memories import (
    ADA,
    EVERYTHING,
    a_memory,
    an_observation,
    chunks_of,
    document,
    evidence,
    evidences,
    held,
    instant,
    memories,
    memory_id,
    next_version,
    observations,
    operational,
)
from support.observed import observed
from support.profiles import a_head
from support.profiles import a_version as a_profile
from support.profiles import put as put_profiles
from support.proposals import a_proposal, put
from support.recalls import a_recall, log, logged
from support.reference.store import ReferenceStore
from support.repos import a_repo, a_report
from support.repos import put as put_repos
from support.setup_scripts import a_script, a_script_proposal, put_drafts, put_scripts
from support.stores import Fresh, add, change, chunks, forget, history, law, present, read_changes


def wholes(view: View) -> list[WholeMemory]:
    """All that is there, by key."""
    found = view.memories_of(view.matching_keys(EVERYTHING), EVERYTHING)
    histories, parts, observed = view.histories(found), view.chunks_of(found)(), view.observations_of(found)
    used = view.evidence_of(found)
    return [
        WholeMemory(
            key,
            found[key],
            tuple(histories[key]),
            tuple(parts.get(key, ())),
            tuple(observed.get(key, ())),
            tuple(used.get(key, ())),
        )
        for key in sorted(found)
    ]


def all_of(store: MemoryStore) -> list[WholeMemory]:
    with store.read() as view:
        return wholes(view)


def move_in(store: MemoryStore, moving: Sequence[WholeMemory]) -> None:
    store.write(lambda tx: tx.import_memories(moving))


def seen(store: MemoryStore) -> object:
    with store.read() as view:
        return observed(view)


@st.composite
def furnished(draw: st.DrawFn) -> MemoryStore:
    """A store with a few memories that were changed, read and cut in any way, with gaps between their keys."""
    store = ReferenceStore(FixedClock())
    taken: set[object] = set()
    for memory in draw(st.lists(memories(), max_size=4, unique_by=lambda one: one.id)):
        places = {("path", memory.home, memory.source_path), ("id", memory.home, memory.external_id)}
        if places & taken:
            continue
        taken |= {place for place in places if place[2] is not None}
        stored = add(store, memory, draw(chunks_of(memory.content)))
        for _ in range(draw(st.integers(0, 2))):
            memory = replace(memory, version=memory.version + 1, summary=Clean(draw(st.text("xyz"))))
            change(store, stored.key, memory, action=draw(st.sampled_from(Action)))
        for now, one in draw(st.lists(st.tuples(held, observations()), max_size=2)):
            store.write(lambda tx, key=stored.key, now=now, one=one: tx.add_observation(key, now, one))
        seen = draw(st.lists(evidences, max_size=2))
        store.write(lambda tx, key=stored.key, seen=seen: tx.add_evidence({key: seen}))
        forget(store, add(store, a_memory()).key)
    return store


@law
@given(origin=furnished())
def test_imported_memories_are_unchanged(fresh: Fresh, origin: MemoryStore) -> None:
    moving = all_of(origin)
    with fresh() as store:
        move_in(store, moving)
        assert all_of(store) == moving
        assert seen(store) == seen(origin)


def test_imported_memories_are_logged_as_changes(store: MemoryStore) -> None:
    origin = ReferenceStore(FixedClock())
    for content in ("one", "two"):
        add(origin, a_memory(content))
    moving = all_of(origin)
    move_in(store, moving)
    with store.read() as view:
        expected = [(ChangeKind.CREATED, one.key) for one in moving]
        assert [(one.kind, one.document) for one in read_changes(view, BEGINNING)] == expected


def test_new_keys_follow_the_imported_ones(store: MemoryStore) -> None:
    content, parts = document("first", "second")
    origin = ReferenceStore(FixedClock())
    for _ in range(5):
        forget(origin, add(origin, a_memory()).key)
    add(origin, a_memory(content), parts)
    (moving,) = all_of(origin)
    move_in(store, [moving])
    forget(store, moving.key)
    new = add(store, a_memory(content), parts)
    assert new.key > moving.key
    for one in chunks(store, new.key):
        assert one.key > max(stored.key for stored in moving.chunks)
        assert min(one.passages) > max(passage for stored in moving.chunks for passage in stored.passages)


def test_imported_memories_can_be_changed(store: MemoryStore) -> None:
    content, parts = document("first", "second")
    origin = ReferenceStore(FixedClock())
    memory = add(origin, a_memory(content, tags=(Clean("java"),)), parts).memory
    (moving,) = all_of(origin)
    move_in(store, [moving])
    kept = chunks(store, moving.key)
    again, cut = document("first", "third")
    change(store, moving.key, next_version(memory, again, tags=(Clean("rust"),)), cut)
    assert chunks(store, moving.key)[0].key == kept[0].key
    assert [one.number for one in history(store, moving.key)] == [1, 2]
    forget(store, moving.key)
    with store.read() as view:
        assert view.counts().passages == 0
    move_in(store, [moving])
    assert present(store, memory).memory == memory


def _taken(name: str, moving: WholeMemory) -> WholeMemory:
    other = replace(moving.memory, id=memory_id(777))
    match name:
        case "key":
            memory = replace(other, source_path=None, external_id=None)
            return replace(moving, memory=memory)
        case "id":
            memory = replace(moving.memory, source_path=None, external_id=None)
        case "path":
            memory = replace(other, external_id=None)
        case _:
            memory = replace(other, source_path=None)
    return WholeMemory(DocumentKey(moving.key + 100), memory, moving.history, (), (), ())


@pytest.mark.parametrize("what", ["key", "id", "path", "external id"])
def test_an_import_with_used_keys_is_refused_as_a_whole(store: MemoryStore, what: str) -> None:
    origin = ReferenceStore(FixedClock())
    add(origin, a_memory(source_path=Clean("/a"), external_id=Clean("a")))
    add(origin, a_memory())
    first, second = all_of(origin)
    move_in(store, [first])

    def work(tx: Transaction) -> list[WholeMemory]:
        with pytest.raises(Conflict):
            tx.import_memories([second, _taken(what, first)])
        return wholes(tx)

    assert store.write(work) == [first]
    assert all_of(store) == [first]


def test_vectors_can_be_written_for_imported_memories(store: MemoryStore) -> None:
    origin = ReferenceStore(FixedClock())
    add(origin, a_memory())
    (moving,) = all_of(origin)
    (passage,) = moving.chunks[0].passages

    def work(tx: Transaction) -> ModelKey:
        model = tx.register_model("m", 2)
        tx.import_memories([moving])
        assert [one.passage for one in tx.queued_passages(model, START, 10)] == [passage]
        assert tx.put_vectors(model, {passage: np.array([1, 2], np.float32)}, {passage: b"codes"}) == 1
        return model

    model = store.write(work)
    with store.read() as view:
        assert view.count_pending(model) == 0
        assert view.vectors(model, [passage])[passage].tolist() == [1, 2]
        assert view.dimension(model) == 2


def test_the_dimension_of_an_unknown_model_is_not_found(store: MemoryStore) -> None:
    with store.read() as view, pytest.raises(NotFound):
        view.dimension(ModelKey(7))


def test_histories_are_those_of_each_memory(store: MemoryStore) -> None:
    stored = [add(store, a_memory()) for _ in range(3)]
    change(store, stored[1].key, next_version(stored[1].memory))
    forget(store, stored[2].key)
    keys = [one.key for one in stored]
    with store.read() as view:
        expected = {key: list(view.history(key)) for key in keys[:2]}
        assert {key: list(found) for key, found in view.histories(keys).items()} == expected
        assert dict(view.histories([])) == {}


def _entry(minute: int, memory: MemoryId) -> AuditEntry:
    return AuditEntry(at=instant(minute), actor=ADA, interface=Interface.REST, action=Action.EDITED, memory=memory)


def test_the_audit_trail_is_read_from_its_beginning_in_pages(store: MemoryStore) -> None:
    entries = [_entry(minute, memory_id(1)) for minute in (3, 1, 2)]
    for entry in entries:
        store.write(lambda tx, entry=entry: tx.record_audit(entry))
    with store.read() as view:
        first = view.audit_after(0, 2)
        rest = view.audit_after(first[-1][0], 2)
        assert [entry for _, entry in [*first, *rest]] == entries
        assert view.audit_after(rest[-1][0], 2) == []
    numbers = [number for number, _ in [*first, *rest]]
    assert numbers == sorted(set(numbers))


def test_an_imported_audit_trail_keeps_its_numbers(store: MemoryStore) -> None:
    moving = {4: _entry(4, memory_id(1)), 9: _entry(9, memory_id(1))}
    store.write(lambda tx: tx.import_audit(moving))
    store.write(lambda tx: tx.import_audit({7: _entry(7, memory_id(1))}))
    store.write(lambda tx: tx.import_audit({}))
    store.write(lambda tx: tx.record_audit(_entry(1, memory_id(1))))
    with store.read() as view:
        assert [entry.at for entry in view.audit(10)] == [instant(minute) for minute in (1, 9, 7, 4)]
        assert [number for number, _ in view.audit_after(4, 2)] == [7, 9]
    with pytest.raises(Conflict):
        store.write(lambda tx: tx.import_audit({9: _entry(9, memory_id(2))}))


@pytest.mark.parametrize("gone", range(3))
def test_an_imported_recall_omits_missing_memories(store: MemoryStore, gone: int) -> None:
    origin = ReferenceStore(FixedClock())
    stored = [add(origin, a_memory()) for _ in range(3)]
    log(origin, a_recall(*(one.memory.id for one in stored)))
    forget(origin, stored[gone].key)
    (recall,) = logged(origin)
    assert recall.withheld == 1
    move_in(store, all_of(origin))
    log(store, recall)
    assert list(logged(store)) == [recall]


def test_everything_is_counted(store: MemoryStore) -> None:
    content, parts = document("abc", "defg", passage=2)
    stored = add(store, a_memory(content), parts)
    running = add(store, a_memory("\U0001f41d", operational=operational()))
    change(store, stored.key, next_version(stored.memory, "abcd"))
    log(store, a_recall(), a_recall(), a_recall(), a_recall())
    log_events(store, *(an_event() for _ in range(7)))
    put_cooldowns(store, *(a_cooldown(f"s{number}") for number in range(8)))
    put(store, *(a_proposal(running.memory) for _ in range(5)))
    put_links(store, *(a_link(running, stored, kind=kind) for kind in LinkKind), a_link(stored, running))

    def work(tx: Transaction) -> None:
        model, other = tx.register_model("m", 1), tx.register_model("n", 1)
        passages = [passage for one in tx.chunks(stored.key) for passage in one.passages]
        vectors = {passage: np.array([1], np.float32) for passage in passages}
        tx.put_vectors(model, vectors, {passages[0]: b"codes"})
        tx.put_vectors(other, vectors)
        tx.put_agent(Agent(id=ADA, name="ada", role=Role.WORKER, created_at=START))
        for key in ("k", "l"):
            tx.put_api_key(ApiKey(id=KeyId(key), agent=ADA, role=Role.WORKER, digest=b"x", created_at=START))
        for minute in range(3):
            tx.record_audit(_entry(minute, stored.memory.id))
        for _ in range(6):
            tx.add_observation(running.key, operational().held, an_observation())
        tx.add_evidence({running.key: [evidence(session=f"s{number}") for number in range(7)]})
        state = JobState.DONE
        tx.put_job(Job(id=JobId("j"), kind="re-embed", state=state, created_at=START, updated_at=START))

    store.write(work)
    put_batch(store, a_batch(), [a_preimage(store, running)])
    put_entries(store, an_entry(), a_version(1), a_version(2))
    put_repos(store, a_repo(1), a_repo(2), a_report(1), a_report(1, owner=ADA), a_report(2))
    put_profiles(store, a_head(), a_profile(1), a_profile(2))
    put_batch(store, a_batch())
    put_scripts(store, a_script(), a_script(agent=None))
    put_drafts(store, a_script_proposal())
    with store.read() as view:
        passages = sum(len(one.passages) for one in chunks(store, stored.key)) + 1
        assert view.counts() == Counts(
            memories=2,
            versions=3,
            characters=len(content) + 1 + len("abcd"),
            observations=6,
            evidence=7,
            passages=passages,
            vectors=2 * (passages - 1),
            token_codes=1,
            agents=1,
            keys=2,
            audit=3,
            recalls=4,
            events=7,
            cooldowns=8,
            proposals=6,
            links=len(LinkKind) + 1,
            batches=2,
            preimages=1,
            config_entries=1,
            config_versions=2,
            repos=2,
            repo_reports=3,
            setup_scripts=2,
            script_drafts=1,
            profiles=1,
            profile_versions=2,
            jobs=1,
        )


def test_imported_memories_survive_reopening(open_durable: Callable[[], MemoryStore]) -> None:
    origin = ReferenceStore(FixedClock())
    memory: Memory = add(origin, a_memory()).memory
    moving = all_of(origin)
    with closing(open_durable()) as store:
        move_in(store, moving)
    with closing(open_durable()) as store:
        assert all_of(store) == moving
        assert present(store, memory).key == moving[0].key
