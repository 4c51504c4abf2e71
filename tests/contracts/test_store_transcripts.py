"""Every store: stored transcripts, their chunks, and the digests of their entries."""

import threading
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.values import replace
from hivelore.errors import Conflict
from hivelore.search.model import Visibility
from hivelore.storage.ports import MemoryStore, Transaction
from hivelore.stored_transcripts.decisions import may_see
from hivelore.stored_transcripts.model import StoredTranscript, TranscriptUsage
from support.memories import ADA, BOB, instant
from support.stores import Fresh, law
from support.transcripts import a_chunk, a_key, a_transcript, put, session_id, transcript_id, transcripts

ALL_SEEN = Visibility(own=None, swarm=True, others=True)


@law
@given(written=transcripts())
def test_a_transcript_is_read_as_it_was_written(fresh: Fresh, written: StoredTranscript) -> None:
    with fresh() as store:
        put(store, written)
        with store.read() as view:
            assert view.transcript(ADA, written.key) == written
            assert view.transcript_by_id(written.id) == written
            assert view.transcript(BOB, written.key) is None
            assert view.transcripts_after(transcript_id(0), 9) == [written]


@law
@given(data=st.binary(min_size=1, max_size=200), key=st.none() | st.just("k1"))
def test_a_chunk_is_read_as_it_was_written(fresh: Fresh, data: bytes, key: str | None) -> None:
    with fresh() as store:
        chunk = a_chunk(data=data, sealed_with=key)
        put(store, a_transcript(), chunk)
        with store.read() as view:
            assert view.transcript_chunks(chunk.transcript, 0, 9) == [chunk]


def test_another_transcript_with_the_same_key_is_refused(store: MemoryStore) -> None:
    put(store, a_transcript(1))
    with pytest.raises(Conflict):
        put(store, a_transcript(2, key=a_key(1)))
    put(store, a_transcript(2, BOB, key=a_key(1)), a_transcript(3, key=a_key(1, "subagents/a")))
    put(store, replace(a_transcript(1), removed_at=instant(1)), a_transcript(4, key=a_key(1)))


def test_a_transcript_that_is_being_deleted_is_not_found(store: MemoryStore) -> None:
    removed = a_transcript(removed_at=instant(1), continues="before")
    put(store, removed)
    with store.read() as view:
        assert view.transcript(ADA, removed.key) is None
        assert view.transcript_by_id(removed.id) is None
        assert view.transcripts(ALL_SEEN, 9) == []
        assert view.session_transcripts(ADA, removed.key.session, 9) == []
        assert view.continuing_transcripts(ADA, "before", 9) == []
        assert view.transcript_usage(ADA) == TranscriptUsage(0, 0)
        assert view.removed_transcripts(9) == [removed.id]
        assert view.transcripts_after(transcript_id(0), 9) == [removed]


def test_sessions_are_listed_newest_first_in_pages(store: MemoryStore) -> None:
    written = [a_transcript(number, updated_at=instant(number % 3)) for number in range(1, 8)]
    put(store, *written, a_transcript(9, key=a_key(1, "subagents/a")))
    expected = sorted(written, key=lambda one: (one.updated_at, one.id), reverse=True)
    found: list[StoredTranscript] = []
    with store.read() as view:
        while page := view.transcripts(ALL_SEEN, 2, after=(found[-1].updated_at, found[-1].id) if found else None):
            found += page
    assert found == expected


def test_sessions_are_listed_as_privately_as_memories(store: MemoryStore) -> None:
    written = [a_transcript(1), a_transcript(2, BOB), a_transcript(3, key=a_key(3, "", "-other"))]
    put(store, *written)
    for own, others, owner, project in product((None, ADA, BOB), (True, False), (None, ADA, BOB), (None, "-work")):
        seen = Visibility(own=own, swarm=True, others=others)
        expected = {
            one.id
            for one in written
            if may_see(seen, one) and owner in (None, one.owner) and project in (None, one.key.project_key)
        }
        with store.read() as view:
            found = view.transcripts(seen, 9, owner=owner, project_key=project)
        assert {one.id for one in found} == expected


def test_sessions_are_found_by_the_beginning_of_their_id(store: MemoryStore) -> None:
    put(store, a_transcript(1), a_transcript(2, key=replace(a_key(2), session="abc")))
    with store.read() as view:
        assert [one.id for one in view.transcripts(ALL_SEEN, 9, session="ab")] == [transcript_id(2)]
        assert [one.id for one in view.transcripts(ALL_SEEN, 9, session=session_id(1))] == [transcript_id(1)]
        assert view.transcripts(ALL_SEEN, 9, session="b") == []


def test_the_transcripts_of_a_session_and_those_that_continue_it(store: MemoryStore) -> None:
    main, part = a_transcript(1), a_transcript(2, key=a_key(1, "subagents/a"))
    later = a_transcript(3, continues=session_id(1), updated_at=instant(1))
    latest = a_transcript(6, continues=session_id(1), updated_at=instant(2))
    put(
        store,
        main,
        part,
        later,
        latest,
        a_transcript(4, BOB, key=a_key(1)),
        a_transcript(5, BOB, continues=session_id(1)),
    )
    with store.read() as view:
        assert view.session_transcripts(ADA, session_id(1), 9) == [main, part]
        assert view.session_transcripts(ADA, session_id(1), 1) == [main]
        assert view.session_transcripts(ADA, None, 9) == [main, part, later, latest]
        assert view.continuing_transcripts(ADA, session_id(1), 9) == [latest, later]
        assert view.continuing_transcripts(ADA, session_id(1), 1) == [latest]


def test_the_agents_that_have_a_session_are_found_as_privately_as_memories(store: MemoryStore) -> None:
    put(
        store,
        a_transcript(1),
        a_transcript(2, key=a_key(1, "", "-other")),
        a_transcript(3, BOB, key=a_key(1)),
        a_transcript(4, BOB, key=a_key(2, "subagents/a")),
        a_transcript(5, BOB, key=a_key(3), removed_at=instant(1)),
    )
    with store.read() as view:
        assert view.session_owners(ALL_SEEN, session_id(1), 9) == sorted([ADA, BOB])
        assert len(view.session_owners(ALL_SEEN, session_id(1), 1)) == 1
        assert view.session_owners(Visibility(own=BOB, swarm=True), session_id(1), 9) == [BOB]
        for nothing in (session_id(1)[:-1], session_id(2), session_id(3)):
            assert view.session_owners(ALL_SEEN, nothing, 9) == []


def test_sessions_with_the_same_first_entry_are_found_newest_first(store: MemoryStore) -> None:
    old, new = a_transcript(1, root=7), a_transcript(2, root=7, updated_at=instant(1))
    put(store, old, new, a_transcript(3, root=8), a_transcript(4, BOB, root=7), a_transcript(5))
    with store.read() as view:
        assert view.rooted_transcripts(ADA, 7, 9) == [new, old]
        assert view.rooted_transcripts(ADA, 7, 1) == [new]


def test_chunks_are_read_in_pages_by_number(store: MemoryStore) -> None:
    chunks = [a_chunk(number) for number in range(1, 6)]
    put(store, a_transcript(1), a_transcript(2), *reversed(chunks), a_chunk(1, 2))
    with store.read() as view:
        assert view.transcript_chunks(transcript_id(1), 0, 2) == chunks[:2]
        assert view.transcript_chunks(transcript_id(1), 2, 9) == chunks[2:]
        assert view.transcript_chunks(transcript_id(3), 0, 9) == []


def test_known_digests_are_found(store: MemoryStore) -> None:
    largest = 2**63 - 1
    store.write(lambda tx: (tx.put_transcript(a_transcript()), tx.put_transcript_digests(transcript_id(1), [5, 0])))
    store.write(lambda tx: tx.put_transcript_digests(transcript_id(1), [largest, 5]))
    with store.read() as view:
        assert view.transcript_digests(transcript_id(1), [0, 1, largest]) == {0, largest}
        assert view.transcript_digests(transcript_id(2), [0]) == frozenset()
        assert view.transcript_digests(transcript_id(1), []) == frozenset()
        assert view.transcript_digests_after(transcript_id(1), -1, 2) == [0, 5]
        assert view.transcript_digests_after(transcript_id(1), 5, 2) == [largest]


def test_the_usage_of_an_agent_counts_its_transcripts(store: MemoryStore) -> None:
    put(store, a_transcript(1, stored_size=5), a_transcript(2, key=a_key(1, "s"), stored_size=7), a_transcript(3, BOB))
    with store.read() as view:
        assert view.transcript_usage(ADA) == TranscriptUsage(2, 12)


_STEPS = st.lists(
    st.tuples(st.sampled_from(["put", "remove", "erase", "expire"]), st.integers(1, 3), st.integers(0, 9)), max_size=9
)


@law
@given(steps=_STEPS)
def test_the_usage_follows_every_change(fresh: Fresh, steps: list[tuple[str, int, int]]) -> None:
    def work(tx: Transaction, what: str, number: int, size: int) -> None:
        known = tx.transcript_by_id(transcript_id(number))
        if what == "put":
            owner, at = (ADA, BOB)[number % 2], instant(size)
            tx.put_transcript(a_transcript(number, owner, stored_size=size, updated_at=at))
        elif what == "expire":
            tx.expire_transcripts(instant(size), instant(9), number)
        elif what == "erase":
            tx.erase_transcript(transcript_id(number), 9)
        elif known is not None:
            tx.remove_transcripts([known], instant(9))

    with fresh() as store:
        for step in steps:
            store.write(lambda tx, step=step: work(tx, *step))
        with store.read() as view:
            for owner in (ADA, BOB):
                found = view.session_transcripts(owner, None, 9)
                sizes = [one.stored_size for one in found]
                assert view.transcript_usage(owner) == TranscriptUsage(len(sizes), sum(sizes))


def test_removed_transcripts_are_not_found(store: MemoryStore) -> None:
    written = [a_transcript(number) for number in range(1, 4)]
    put(store, *written)
    store.write(lambda tx: tx.remove_transcripts(written[:2], instant(5)))
    with store.read() as view:
        assert view.session_transcripts(ADA, None, 9) == written[2:]
        assert view.transcripts_after(transcript_id(0), 1) == [replace(written[0], removed_at=instant(5))]


def test_a_transcript_is_erased_in_steps(store: MemoryStore) -> None:
    put(store, a_transcript(1), a_transcript(2), *(a_chunk(number) for number in range(1, 6)), a_chunk(1, 2))

    def put_digests(tx: Transaction) -> None:
        tx.put_transcript_digests(transcript_id(1), range(700))
        tx.put_transcript_digests(transcript_id(2), [1])

    store.write(put_digests)
    left: list[int] = []
    while not store.write(lambda tx: tx.erase_transcript(transcript_id(1), 2)):
        with store.read() as view:
            left.append(len(view.transcript_chunks(transcript_id(1), 0, 9)))
    assert left[:2] == [3, 1]
    with store.read() as view:
        assert view.transcript_by_id(transcript_id(1)) is None
        assert view.transcript_digests_after(transcript_id(1), -1, 9) == []
        assert view.transcript_chunks(transcript_id(2), 0, 9) == [a_chunk(1, 2)]
        assert view.transcript_digests(transcript_id(2), [1]) == {1}
    assert store.write(lambda tx: tx.erase_transcript(transcript_id(1), 2))


def test_unused_transcripts_expire_oldest_first(store: MemoryStore) -> None:
    put(store, *(a_transcript(number, updated_at=instant(number)) for number in range(1, 5)))
    assert store.write(lambda tx: tx.expire_transcripts(instant(4), instant(9), 2)) == 2
    with store.read() as view:
        assert view.removed_transcripts(9) == [transcript_id(1), transcript_id(2)]
    assert store.write(lambda tx: tx.expire_transcripts(instant(4), instant(9), 2)) == 1
    assert store.write(lambda tx: tx.expire_transcripts(instant(4), instant(9), 2)) == 0


def test_two_writers_append_one_after_the_other(store: MemoryStore) -> None:
    put(store, a_transcript())

    def append(tx: Transaction) -> None:
        tx.claim(b"transcripts")
        found = tx.transcript_by_id(transcript_id(1))
        assert found is not None
        tx.put_transcript(replace(found, chunks=found.chunks + 1))
        tx.put_transcript_chunk(a_chunk(found.chunks + 1))

    threads = [threading.Thread(target=lambda: [store.write(append) for _ in range(10)]) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with store.read() as view:
        assert [one.number for one in view.transcript_chunks(transcript_id(1), 0, 99)] == list(range(1, 21))
