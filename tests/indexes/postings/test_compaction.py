"""Gathering postings into segments: in steps that a kill, a power cut, other writers and wiping may come between."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from random import Random
from threading import Event
from time import monotonic, sleep

import pytest

from hivelore.indexes.keywords.fts5 import Fts5
from hivelore.indexes.keywords.postings import sql
from hivelore.indexes.keywords.postings.compaction import Compaction, Sizes
from hivelore.indexes.keywords.postings.engine import IndexSnapshot, Postings
from hivelore.indexes.keywords.postings.sql import EMPTYING, FILLING, SEARCHED, Segment
from hivelore.indexes.ports import KeywordIndex
from hivelore.indexing.model import BEGINNING, KeywordEntry
from hivelore.memories.model import Action, Scope
from hivelore.memories.stored import DocumentKey, Stored
from hivelore.runtime.clock import SystemClock
from hivelore.search.model import Filter, Visibility
from hivelore.storage.ports import MemoryStore, Transaction, View
from hivelore.storage.sqlite.store import SqliteStore
from support.keywords import Indexed
from support.memories import BOB, EVERYTHING, a_memory, next_version, whole
from support.stores import STORES, StoreKind, change
from support.vfs import Disk

SIZES = Sizes(newest=3, segment=4, alike=2, postings=4)
WORDS = ["ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen", "owl", "pig"]
DOCUMENTS = 14

Found = Sequence[tuple[DocumentKey, float]]


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(tmp_path / "hivelore.db", clock=SystemClock(), durable=False)) as store:
        yield store


@pytest.fixture(params=["sqlite", "postgres"])
def kind(request: pytest.FixtureRequest) -> StoreKind:
    return STORES[request.param]


@pytest.fixture
def store(kind: StoreKind, tmp_path: Path) -> Iterator[MemoryStore]:
    with closing(kind.open(tmp_path, SystemClock())) as store:
        yield store


class Unsettled(Indexed):
    """Compacts only when the test calls for it."""

    def settle(self) -> None:
        pass


def texts(count: int, seed: int = 1) -> list[str]:
    chance = Random(seed)
    return [" ".join(chance.choices(WORDS, k=6)) for _ in range(count)]


def fill(store: MemoryStore, index: KeywordIndex, count: int = DOCUMENTS, seed: int = 1) -> list[Stored]:
    indexed = Unsettled(store, index)
    return [indexed.add(text) for text in texts(count, seed)]


def found(index: KeywordIndex, view: View) -> Mapping[str, Found]:
    return {word: [(one.document, one.score) for one in index.search(view, [word], EVERYTHING, 100)] for word in WORDS}


def found_now(index: KeywordIndex, store: MemoryStore) -> Mapping[str, Found]:
    with store.read() as view:
        return found(index, view)


def segments(store: MemoryStore) -> list[Segment]:
    with store.read() as view:
        return sql.read_segments(sql.require_view(view))


def wait_until_settled(store: MemoryStore) -> None:
    """A transaction of another database of the server that ends at the wrong moment looks like one of ours: what was
    written is then gathered a step later."""

    def now() -> tuple[int, int]:
        with store.read() as view:
            rows = sql.now(sql.require_view(view)).rows
            return rows.upto, sql.settled_number(sql.require_view(view), rows)

    written, _ = now()
    deadline = monotonic() + 60
    while now()[1] < written:
        assert monotonic() < deadline
        sleep(0.01)


def settle(store: MemoryStore, index: Postings) -> int:
    """To the end; answers how many steps that took."""
    wait_until_settled(store)
    steps = 0
    while index.compact(store):
        steps += 1
        assert steps < 1_000
    return steps


# What becomes of many.


def test_many_chunks_become_few_segments_and_find_the_same(store: MemoryStore) -> None:
    index = Postings(SIZES)
    fill(store, index)
    before = found_now(index, store)
    assert all(before.values())
    assert settle(store, index) > 20
    states = [(one.state, one.chunks) for one in segments(store)]
    assert all(state == SEARCHED for state, _ in states)
    assert len(states) <= 3
    assert sum(chunks for _, chunks in states) >= DOCUMENTS - SIZES.newest
    assert found_now(index, store) == before
    assert found_now(Postings(), store) == before


def test_few_chunks_stay_as_they_are(store: MemoryStore) -> None:
    index = Postings(SIZES)
    fill(store, index, SIZES.newest - 1)
    assert settle(store, index) == 0
    assert segments(store) == []


def test_a_segment_with_many_removed_chunks_is_rewritten(store: MemoryStore) -> None:
    index = Postings(SIZES)
    indexed = Unsettled(store, index)
    documents = fill(store, index, 4)
    settle(store, index)
    indexed.remove(*(key for one in documents[:2] for key in indexed.chunk_keys(one)))
    before = found_now(index, store)
    settle(store, index)
    assert [one.chunks for one in segments(store)] == [2]
    assert found_now(index, store) == before
    with store.read() as view:
        snapshot = sql.require_view(view)
        kept = sql.run(snapshot, "newest", **sql.params_after(snapshot, BEGINNING))
    assert len(kept) <= 3  # the newest drop stays


# A concurrent reader.


def test_every_step_leaves_every_reader_what_it_saw(store: MemoryStore) -> None:
    """Older readers and newer ones, in this process and in one that has just begun."""
    index = Postings(SIZES)
    fill(store, index)
    expected = found_now(index, store)
    with store.read() as old:
        while True:
            assert found(index, old) == expected
            with store.read() as view:
                assert found(index, view) == expected
                assert found(Postings(SIZES), view) == expected
            if not index.compact(store):
                break


def test_searches_continue_while_another_process_compacts(store: MemoryStore) -> None:
    mine, other = Postings(SIZES), Postings(SIZES)
    fill(store, mine)
    settle(store, mine)
    before = found_now(mine, store)
    fill(store, other, seed=2)
    settle(store, other)
    assert found_now(mine, store) == found_now(other, store) == found_now(Postings(), store) != before


def test_a_reader_from_before_a_change_of_scope_does_not_see_it(store: MemoryStore) -> None:
    index = Postings(SIZES)
    (stored, *_) = fill(store, index)
    settle(store, index)
    shared = Filter(visibility=Visibility(own=BOB, swarm=True))
    with store.read() as old:
        change(store, stored.key, next_version(stored.memory, scope=Scope.SWARM), action=Action.EDITED)
        with store.read() as view:
            assert [one.document for one in index.search(view, WORDS, shared, 9)] == [stored.key]
        assert not index.search(old, WORDS, shared, 9)


def test_following_gives_the_same_results_as_loading_again(store: MemoryStore) -> None:
    """While others write, gather, and hold a unit open in which chunks are older than those they commit."""
    index = Postings(SIZES)
    fill(store, index, 4)
    done = Event()

    def write(seed: int) -> None:
        chance = Random(seed)
        mine = fill(store, index, 3, seed)
        for _ in range(10):
            text, other = " ".join(chance.choices(WORDS, k=6)), " ".join(chance.choices(WORDS, k=6))

            def add_pair(tx: Transaction, text: str = text, other: str = other) -> None:
                stored = tx.add(a_memory(text), whole(text))
                put(tx, index, stored.key, text)
                done.wait(0.01 if seed == 11 else 0)  # others commit meanwhile
                put(tx, index, chance.choice(mine).key, other)

            store.write(add_pair)

    def gather() -> None:
        while not done.is_set():
            index.compact(store)

    def read() -> int:
        times = 0
        while not done.is_set() or times < 2:
            with store.read() as view:
                ours = found(index, view)
                assert ours == found(Postings(SIZES), view)
                times += 1
        return times

    with ThreadPoolExecutor(6) as pool:
        others = [pool.submit(gather), pool.submit(read), pool.submit(read)]
        try:
            for writer in [pool.submit(write, seed) for seed in (11, 12, 13)]:
                writer.result(60)
        finally:
            done.set()
        for other in others:
            other.result(60)
    assert found_now(index, store) == found_now(Postings(), store)


def put(tx: Transaction, index: KeywordIndex, document: DocumentKey, text: str) -> None:
    (chunk,) = tx.chunks(document)
    index.put(tx, [KeywordEntry(chunk.key, document, tuple(text.split()), (), ())])


def test_concurrent_writers_readers_and_compaction(sqlite: SqliteStore) -> None:
    """Every reader finds exactly what its snapshot holds, while others write and compact."""
    store = sqlite
    index, reference = Postings(SIZES), Fts5()
    fill_both(store, index, reference, 1)
    done = Event()

    def write(seed: int) -> None:
        for number in range(12):
            fill_both(store, index, reference, 100 * seed + number)

    def gather() -> None:
        while not done.is_set():
            index.compact(store)

    def read() -> int:
        times = 0
        while not done.is_set() or not times:
            with store.read() as view:
                first = found(index, view)
                expected = found(reference, view)
                assert {word: [key for key, _ in ours] for word, ours in first.items()} == {
                    word: [key for key, _ in theirs] for word, theirs in expected.items()
                }
                assert found(index, view) == first
                times += 1
        return times

    with ThreadPoolExecutor(6) as pool:
        others = [pool.submit(gather), pool.submit(read), pool.submit(read)]
        try:
            for writer in [pool.submit(write, seed) for seed in (1, 2)]:
                writer.result(60)
        finally:
            done.set()
        for other in others:
            other.result(60)
    assert len(segments(store)) >= 1


def fill_both(store: SqliteStore, index: KeywordIndex, reference: KeywordIndex, seed: int) -> None:
    """One more document, and one that is there already gets other words, in both engines."""
    fresh, again = texts(2, seed)

    def add_and_replace(tx: Transaction) -> None:
        stored = tx.add(a_memory(fresh), whole(fresh))
        put(tx, stored.key, fresh)
        put(tx, DocumentKey(max(1, stored.key // 2)), again)

    def put(tx: Transaction, document: DocumentKey, text: str) -> None:
        (chunk,) = tx.chunks(document)
        for engine in (index, reference):
            engine.put(tx, [KeywordEntry(chunk.key, document, tuple(text.split()), (), ())])

    store.write(add_and_replace)


# A concurrent purge.


def test_postings_prepared_before_a_purge_are_not_written_after_it(
    store: MemoryStore, kind: StoreKind, tmp_path: Path
) -> None:
    index = Postings(SIZES)
    indexed = Unsettled(store, index)
    secret = indexed.add("xylophone ant")
    fill(store, index, 3)
    gathering = Compaction(SIZES)
    wait_until_settled(store)
    gathering.step(store)  # begins
    with store.read() as view:
        prepared = gathering._next(sql.require_view(view))
    assert prepared is not None
    assert [one.state for one in segments(store)] == [FILLING]
    store.write(lambda tx: index.forget(tx, indexed.chunk_keys(secret)))
    wipe(store, index)
    store.write(lambda tx: prepared.do(sql.require_transaction(tx)))
    settle(store, index)
    assert store.purge_log()
    assert b"xylophone" not in kind.kept(tmp_path)


@pytest.mark.parametrize("steps", range(0, 60, 4))
def test_words_are_purged_at_any_stage_of_the_segments(
    store: MemoryStore, kind: StoreKind, tmp_path: Path, steps: int
) -> None:
    index = Postings(SIZES)
    indexed = Unsettled(store, index)
    fill(store, index, 5)
    secret = indexed.add("xylophone ant bee", "xylophone yak")
    fill(store, index, 6)
    for _ in range(steps):
        index.compact(store)
    keys = indexed.chunk_keys(secret)
    store.write(lambda tx: index.forget(tx, keys))
    expected = found_now(index, store)
    wipe(store, index)
    assert not any(word in kind.kept(tmp_path) for word in (b"xylophone", b"yak"))
    assert found_now(index, store) == found_now(Postings(), store) == expected
    settle(store, index)
    assert found_now(index, store) == found_now(Postings(), store) == expected


def wipe(store: MemoryStore, index: Postings) -> None:
    while True:
        with store.read() as view:
            if index.is_purged(view):
                break
        store.write(index.purge_step)
    assert store.purge_log()


# Kills and power cuts.


@pytest.mark.parametrize("every", [1, 2, 5])
def test_compaction_continues_after_a_killed_process(store: MemoryStore, every: int) -> None:
    fill(store, Postings(SIZES))
    expected = found_now(Postings(), store)
    steps, went_on = 0, True
    while went_on:
        index = Postings(SIZES)
        for _ in range(every):
            went_on = index.compact(store)
            steps += 1
            assert steps < 1_000
        assert found_now(index, store) == expected
    whole = Postings(SIZES)
    assert settle(store, whole) == 0


def test_a_power_cut_at_any_time_leaves_an_index_that_is_sound(tmp_path: Path) -> None:
    disk = Disk()
    path = tmp_path / "hivelore.db"
    with closing(SqliteStore(path, clock=SystemClock(), readers=1, vfs=disk.name)) as store:
        index = Postings(SIZES)
        fill(store, index)
        expected = found_now(index, store)
        began = len(disk.steps)
        settle(store, index)
        ended = len(disk.steps)
    chance = Random(7)
    reached: set[tuple[int, ...]] = set()
    for number, at in enumerate(sorted(chance.sample(range(began, ended), 30))):
        folder = tmp_path / str(number)
        folder.mkdir()
        for name, content in disk.after_power_cut(at, chance).items():
            (folder / name).write_bytes(content)
        with closing(SqliteStore(folder / "hivelore.db", clock=SystemClock(), durable=False)) as left:
            reached.add(tuple(one.state for one in segments(left)))
            assert found_now(Postings(), left) == expected
            index = Postings(SIZES)
            settle(left, index)
            assert found_now(index, left) == found_now(Postings(), left) == expected
            assert list(left.check()) == []
    disk.unregister()
    assert any(FILLING in states and SEARCHED in states for states in reached)
    assert any(EMPTYING in states for states in reached)


def test_a_search_reads_no_index_that_was_loaded(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = Unsettled(store, Postings(SIZES)).add("ant bee")
    again = Postings(SIZES)

    def read_anew(*_: object) -> IndexSnapshot:
        raise AssertionError("the index was read once more")

    with store.read() as view:
        again.load(view)
        monkeypatch.setattr(IndexSnapshot, "loaded", read_anew)
        assert again.search(view, ["ant"], EVERYTHING, 5).documents.tolist() == [stored.key]
        with pytest.raises(AssertionError, match="once more"):
            Postings(SIZES).load(view)
