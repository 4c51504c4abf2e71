"""Migration between all kinds of stores: complete, equal, and during writes to the source."""

from collections.abc import Generator
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hivelore.core.jobs import JobState
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Conflict, Invalid
from hivelore.folders.model import KnownFile
from hivelore.indexes.ports import KeywordIndex
from hivelore.indexing.writer import IndexWriter
from hivelore.links.model import LinkKind
from hivelore.memories import whole_reader
from hivelore.memories.stored import Stored
from hivelore.search.tokenizer import query_terms
from hivelore.sessions.model import EventId, Handover, HandoverState
from hivelore.storage.migration_state import MOVE, MigrationState, refuse_unfinished
from hivelore.storage.ports import MemoryStore, Transaction
from hivelore.tasks.model import TaskChange, TaskState
from hivelore.transfer.migrate.migrator import CANCELLED_BY_MOVE, Migrator
from support.batches import a_batch
from support.clocks import START, FixedClock, SteppingClock
from support.laws import examples
from support.links import a_link, drop, links_of, put_links
from support.memories import ADA, EVERYTHING, a_memory, memory_id, whole
from support.migrations import COLOURS, Deed, deeds, do, everything, moved, moving, some_deeds
from support.pairs import PAIRS
from support.reference.store import ReferenceStore
from support.sessions import an_end
from support.stores import KEYWORDS, STORES, add, forget, law, listed
from support.tasks import a_task, put, task_id
from support.world import AS_ADA, World, hashing

STORE_KINDS = [
    ("sqlite", "postings on postgres"),
    ("postgres", "postings"),
    ("sqlite", "exact"),
    ("reference", "fts5"),
    ("postgres", "postings on postgres"),
]
"""Kind of the source store, and keyword engine of the target."""


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_reader, "BATCH_SIZE", 2)
    monkeypatch.setattr("hivelore.transfer.migrate.migrator.PAGE", 2)


class StorePair:
    """A source, and a target with its keyword index."""

    def __init__(self, kinds: tuple[str, str], folder: Path, clock: SteppingClock) -> None:
        kind = KEYWORDS[kinds[1]]
        self._stack = ExitStack()
        for name in ("from", "to"):
            (folder / name).mkdir()
        self.source = self._stack.enter_context(closing(STORES[kinds[0]].open(folder / "from", clock)))
        self.target = self._stack.enter_context(closing(STORES[kind.store].open(folder / "to", clock)))
        self.engine = kind.index
        self.index = kind.index()
        self.clock = clock

    def close(self) -> None:
        self._stack.close()


@pytest.fixture(params=STORE_KINDS, ids="->".join)
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[StorePair]:
    with closing(StorePair(request.param, tmp_path, SteppingClock())) as pair:
        yield pair


@pytest.mark.usefixtures("small_pages")
def test_everything_is_copied_unchanged(pair: StorePair) -> None:
    for deed in some_deeds(6):
        do(pair.source, deed)
    before = everything(pair.source)
    compared = moved(pair.source, pair.target, pair.index)
    assert compared.is_equal
    assert compared.target.counts.memories > 3
    assert everything(pair.target) == before == everything(pair.source)


@pytest.mark.usefixtures("small_pages")
def test_changes_during_a_migration_are_copied(pair: StorePair) -> None:
    changes = some_deeds(8)
    for deed in changes[:30]:
        do(pair.source, deed)
    migrator = moving(pair.source, pair.target, pair.index)
    migrator.begin()
    migrator.follow(logs=True)
    for place, deed in enumerate(changes[30:], start=1):
        do(pair.source, deed)
        if place == 20:
            migrator.index()
        if place % 9 == 0:
            migrator.follow(logs=place % 2 == 0)
    assert moved(pair.source, pair.target, pair.index).is_equal
    assert everything(pair.target) == everything(pair.source)


@pytest.mark.usefixtures("small_pages")
def test_session_ends_are_copied_with_their_state(pair: StorePair) -> None:
    waiting = [Handover(ended=an_end(text="Words."), by=AS_ADA, not_before=START) for _ in range(5)]
    pair.source.write(lambda tx: [tx.put_handover(one) for one in waiting])
    migrator = moving(pair.source, pair.target, pair.index)
    migrator.begin()
    migrator.follow(logs=True)
    done = replace(waiting[0], state=HandoverState.DONE, ended=replace(waiting[0].ended, text=None))
    pair.source.write(lambda tx: tx.put_handover(done))
    assert moved(pair.source, pair.target, pair.index).is_equal
    with pair.target.read() as view:
        assert list(view.handovers_after(EventId(""), 9)) == [done, *waiting[1:]]


@pytest.mark.usefixtures("small_pages")
def test_changes_of_tasks_can_be_undone_after_they_were_copied(pair: StorePair) -> None:
    batch = a_batch()
    change = TaskChange(task_id(1), TaskState.PAUSED, 1, (), (), after=2)
    put(pair.source, a_task())
    pair.source.write(lambda tx: (tx.put_batch(batch), tx.put_task_changes(batch.id, [change])))
    migrator = moving(pair.source, pair.target, pair.index)
    migrator.begin()
    for priority in (0, 7):
        put(pair.source, a_task(priority=priority))
        migrator.follow(logs=True)
        with pair.target.read() as view:
            assert view.task_changes(batch.id) == [change]


@pytest.mark.usefixtures("small_pages")
def test_known_files_are_copied_and_dropped_ones_removed(pair: StorePair) -> None:
    files = [
        KnownFile(Clean(":/w"), Clean(f"shared/memory/{one}.md"), "1-2-3", "d", memory_id(one)) for one in range(5)
    ]
    pair.source.write(lambda tx: tx.put_files(files))
    migrator = moving(pair.source, pair.target, pair.index)
    migrator.begin()
    migrator.follow(logs=True)
    pair.source.write(lambda tx: tx.drop_files(":/w", [files[2].path]))
    assert moved(pair.source, pair.target, pair.index).is_equal
    with pair.target.read() as view:
        assert list(view.files_after("", "", 9)) == [*files[:2], *files[3:]]


@pytest.mark.usefixtures("small_pages")
def test_links_are_copied_with_their_rejection_and_dropped_ones_removed(pair: StorePair) -> None:
    first, second, third = (add(pair.source, a_memory()) for _ in range(3))
    written = [a_link(second, first), a_link(third, second), a_link(third, first, kind=LinkKind.SAME_AS)]
    put_links(pair.source, *written)
    migrator = moving(pair.source, pair.target, pair.index)
    migrator.begin()
    migrator.follow(logs=True)
    assert links_of(pair.target, first, second, third) == links_of(pair.source, first, second, third)
    drop(pair.source, written[0])
    put_links(pair.source, a_link(third, second, rejected_at=START, rejected_by=ADA))
    compared = moved(pair.source, pair.target, pair.index)
    assert compared.is_equal
    assert compared.target.counts.links == 2
    assert links_of(pair.target, first, second, third) == links_of(pair.source, first, second, third)


def test_links_of_memories_that_are_copied_again_at_the_end_are_kept(pair: StorePair) -> None:
    """The log does not record dropped vectors, so the comparison finds them."""
    stored = [add(pair.source, a_memory()) for _ in range(2)]
    do(pair.source, Deed("embed", 0, 0))
    put_links(pair.source, one := a_link(stored[1], stored[0]))
    migrator = moving(pair.source, pair.target, pair.index)
    migrator.begin()
    migrator.follow(logs=True)
    do(pair.source, Deed("drop", 0, 0))
    assert moved(pair.source, pair.target, pair.index).is_equal
    assert links_of(pair.target, *stored) == [one]


@settings(law, max_examples=examples(60))
@given(
    script=st.lists(deeds | st.sampled_from(["follow", "logs", "index", "again"]), max_size=40),
    kind=st.sampled_from(["exact", "postings"]),
)
def test_source_and_target_are_equal_after_any_changes(script: list[Deed | str], kind: str) -> None:
    clock = SteppingClock()
    with pytest.MonkeyPatch.context() as changes, TemporaryDirectory() as folder:
        changes.setattr(whole_reader, "BATCH_SIZE", 2)
        source, target = ReferenceStore(FixedClock()), STORES[KEYWORDS[kind].store].open(Path(folder), clock)
        index = KEYWORDS[kind].index()
        with closing(target):
            migrator = moving(source, target, index)
            migrator.begin()
            for step in script:
                if isinstance(step, Deed):
                    do(source, step)
                elif step == "index":
                    migrator.index()
                elif step == "again":  # Another process goes on.
                    migrator = moving(source, target, index)
                    migrator.begin()
                else:
                    migrator.follow(logs=step == "logs")
            assert moved(source, target, index).is_equal
            assert everything(target) == everything(source)
            assert _indexed(target, index) == _reindexed(target, KEYWORDS[kind].index())


def _indexed(store: MemoryStore, index: KeywordIndex) -> dict[str, list[tuple[int, int, float]]]:
    with store.read() as view:
        return {
            word: [(one.document, one.chunk, round(one.score, 6)) for one in index.search(view, [word], EVERYTHING, 99)]
            for word in query_terms(" ".join(COLOURS))
        }


def _reindexed(store: MemoryStore, index: KeywordIndex) -> dict[str, list[tuple[int, int, float]]]:
    def work(tx: Transaction) -> None:
        index.clear(tx)
        found = tx.memories_of(sorted(tx.matching_keys(EVERYTHING)), EVERYTHING)
        IndexWriter(index).index_all(tx, [Stored(key, memory) for key, memory in found.items()])

    store.write(work)
    return _indexed(store, index)


@pytest.mark.parametrize("kinds", STORE_KINDS[:2], ids="->".join)
def test_searches_return_the_same_hits_after_a_migration(kinds: tuple[str, str], tmp_path: Path) -> None:
    with closing(StorePair(kinds, tmp_path, SteppingClock())) as pair:
        origin = {"sqlite": "postings", "postgres": "postings on postgres"}[kinds[0]]
        before = World(pair.source, KEYWORDS[origin].index(), pair.clock, embedder=hashing())
        for place, (_, note, _) in enumerate(PAIRS[:60]):
            before.remember(note, session=f"s{place // 10}" if place % 2 else None)
        questions = [question for question, _, _ in PAIRS[:60]]
        expected = [[(hit.memory.id, hit.score) for hit in before.recall(one).hits] for one in questions]
        before.write_buffer.flush()
        assert moved(pair.source, pair.target, pair.index).is_equal
        after = World(pair.target, pair.index, pair.clock, embedder=hashing())
        found = [[(hit.memory.id, hit.score) for hit in after.recall(one).hits] for one in questions]
    assert [[memory for memory, _ in one] for one in found] == [[memory for memory, _ in one] for one in expected]


def test_keyword_search_works_before_the_first_service_starts(pair: StorePair) -> None:
    stored = add(pair.source, a_memory("A lantern in the hall."))
    assert moved(pair.source, pair.target, pair.index).is_equal
    with pair.target.read() as view:
        assert [one.document for one in pair.index.search(view, ["lantern"], EVERYTHING, 9)] == [stored.key]


def test_changes_after_the_index_was_built_are_indexed(pair: StorePair) -> None:
    for deed in (*some_deeds(3), *(Deed("add", place, place % 4) for place in range(6))):
        do(pair.source, deed)
    migrator = moving(pair.source, pair.target, pair.index)
    migrator.begin()
    migrator.follow()
    migrator.index()
    for place in range(9):
        for kind in ("add", "edit", "forget", "promote", "add"):
            do(pair.source, Deed(kind, place % 6, place % 4))
        migrator.follow()
    finished = migrator.finish()
    assert finished is not None
    assert finished.is_equal
    found = _indexed(pair.target, pair.index)
    assert all(score > 0 for ((_, _, score), *_) in found.values())
    assert found == _reindexed(pair.target, pair.engine())


def test_vectors_dropped_from_the_source_are_removed(pair: StorePair) -> None:
    for deed in (Deed("add", 1, 0), Deed("embed", 0, 0), Deed("add", 2, 1), Deed("embed", 1, 0)):
        do(pair.source, deed)
    migrator = moving(pair.source, pair.target, pair.index)
    migrator.begin()
    migrator.follow()
    do(pair.source, Deed("drop", 0, 0))
    finished = migrator.finish()
    assert finished is not None
    assert finished.is_equal
    assert finished.target.counts.vectors == 1


def test_a_path_taken_over_by_another_memory_is_copied(pair: StorePair) -> None:
    first, second = (add(pair.source, a_memory(source_path=Clean(path))) for path in ("/a", "/b"))
    migrator = moving(pair.source, pair.target, pair.index)
    migrator.begin()
    migrator.follow()
    forget(pair.source, first.key)
    forget(pair.source, second.key)
    add(pair.source, a_memory(source_path=Clean("/b")))
    add(pair.source, a_memory(source_path=Clean("/a")))
    assert moved(pair.source, pair.target, pair.index).is_equal


def test_a_running_job_is_cancelled_with_a_reason(pair: StorePair) -> None:
    do(pair.source, Deed("swarm", 0, 0))
    assert moved(pair.source, pair.target, pair.index).is_equal
    with pair.target.read() as view:
        (job,) = view.jobs()
    assert (job.state, job.error) == (JobState.CANCELLED, CANCELLED_BY_MOVE)


def test_settings_of_a_store_are_not_copied(pair: StorePair) -> None:
    pair.source.write(lambda tx: tx.set_setting("keywords.building", "7"))
    moved(pair.source, pair.target, pair.index)
    with pair.source.read() as here, pair.target.read() as there:
        assert there.setting("keywords.building") in (None, "")
        assert here.setting(MOVE) is None
        assert there.setting("incarnation") != here.setting("incarnation") or here.setting("incarnation") is None


def test_a_service_refuses_an_incomplete_target(pair: StorePair) -> None:
    add(pair.source, a_memory())
    migrator = moving(pair.source, pair.target, pair.index)
    with pair.target.read() as view:
        refuse_unfinished(view)
    migrator.begin()
    migrator.follow()
    with pair.target.read() as view, pytest.raises(Conflict, match="not finished"):
        refuse_unfinished(view)
    with pytest.raises(Conflict, match="not finished"):
        moving(pair.target, ReferenceStore(FixedClock()), KEYWORDS["exact"].index()).begin()
    assert migrator.finish() is not None
    with pair.target.read() as view:
        refuse_unfinished(view)


@pytest.mark.parametrize("what", ["add", "audit", "recall", "swarm"])
def test_a_target_in_use_is_refused_and_unchanged(pair: StorePair, what: str) -> None:
    do(pair.target, Deed(what, 0, 0))
    before = everything(pair.target)
    with pytest.raises(Conflict, match="in use"):
        moving(pair.source, pair.target, pair.index).begin()
    assert everything(pair.target) == before


def test_a_target_of_another_migration_is_refused(pair: StorePair, tmp_path: Path) -> None:
    moving(pair.source, pair.target, pair.index).begin()
    with closing(STORES["sqlite"].open(tmp_path, pair.clock)) as other, pytest.raises(Conflict, match="Another swarm"):
        moving(other, pair.target, pair.index).begin()


def test_a_store_is_not_migrated_to_itself(tmp_path: Path) -> None:
    store, index = STORES["sqlite"].open(tmp_path, SteppingClock()), KEYWORDS["postings"].index()
    with closing(store), pytest.raises(Invalid, match="same database"):
        moving(store, store, index).begin()


def test_comparing_after_a_migration_changes_nothing(pair: StorePair) -> None:
    add(pair.source, a_memory())
    assert moved(pair.source, pair.target, pair.index).is_equal
    migrator = moving(pair.source, pair.target, pair.index)
    assert migrator.begin().finished_at is not None
    assert migrator.compare().is_equal
    add(pair.target, a_memory("Made after the move."))
    compared = moving(pair.source, pair.target, pair.index).compare()
    assert not compared.is_equal
    assert (compared.source.counts.memories, compared.target.counts.memories) == (1, 2)
    assert len(listed(pair.target)) == 2


def test_a_migration_does_not_finish_during_writes(pair: StorePair, monkeypatch: pytest.MonkeyPatch) -> None:
    add(pair.source, a_memory())
    migrator = moving(pair.source, pair.target, pair.index)
    migrator.begin()
    compare = whole_reader.memory_digests

    def write_meanwhile(load: whole_reader.MemoryBatch) -> object:
        add(pair.source, a_memory())
        return compare(load)

    with monkeypatch.context() as changes:
        changes.setattr(whole_reader, "memory_digests", write_meanwhile)
        assert migrator.finish() is None
    with pair.target.read() as view:
        stand = MigrationState.of(view)
    assert stand is not None
    assert stand.finished_at is None
    finished = migrator.finish()
    assert finished is not None
    assert finished.is_equal


def test_a_difference_that_cannot_be_repaired_is_reported(pair: StorePair, monkeypatch: pytest.MonkeyPatch) -> None:
    add(pair.source, a_memory())
    migrator = moving(pair.source, pair.target, pair.index)
    migrator.begin()

    def nothing(*_: object) -> None:
        """Discards a write."""

    with monkeypatch.context() as changes:
        changes.setattr(Migrator, "_put", nothing)
        compared = migrator.finish()
    assert compared is not None
    assert not compared.is_equal
    with pair.target.read() as view, pytest.raises(Conflict):
        refuse_unfinished(view)


def test_large_memories_are_copied_in_small_batches() -> None:
    store = ReferenceStore(FixedClock())
    sized = [a_memory("x" * size) for size in (1, 900_000, 2_000_000, 5)]
    keys = [add(store, memory, whole(memory.content)).key for memory in sized]
    with store.read() as view:
        assert list(whole_reader.split_into_batches(view, keys)) == [keys[:3], keys[3:]]
        assert [len(one) for one in whole_reader.split_into_batches(view, keys[:1] * 250)] == [100, 100, 50]
