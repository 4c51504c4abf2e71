"""Rebuild of the keyword index after a change of the engine, during calls and across kills."""

from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path

import pytest

from hivelore.indexes.keywords.fts5 import Fts5
from hivelore.indexes.keywords.postings.engine import Postings
from hivelore.indexes.ports import KeywordIndex
from hivelore.indexing import rebuild
from hivelore.indexing.rebuild import BUILDING, INDEX, IndexRebuild
from hivelore.indexing.writer import IndexWriter
from hivelore.memories.drafts import Edit
from hivelore.search.service import INCOMPLETE
from hivelore.storage.sqlite.store import SqliteStore
from support.clocks import SteppingClock
from support.memories import EVERYTHING, a_memory, whole
from support.world import AS_ADA, World

ENGINES: dict[str, Callable[[], KeywordIndex]] = {"fts5": Fts5, "postings": Postings}
FROM_TO = [("fts5", "postings"), ("postings", "fts5")]


@pytest.fixture
def clock() -> SteppingClock:
    return SteppingClock()


@pytest.fixture
def store(tmp_path: Path, clock: SteppingClock) -> Generator[SqliteStore]:
    with closing(SqliteStore(tmp_path / "hivelore.db", clock=clock, durable=False)) as store:
        yield store


class Process:
    """Services that begin on a store with one engine."""

    def __init__(self, store: SqliteStore, engine: str, clock: SteppingClock) -> None:
        self.store, self.keywords = store, ENGINES[engine]()
        others = [make() for name, make in ENGINES.items() if name != engine]
        self.index_rebuild = IndexRebuild(store, self.keywords, others, IndexWriter(self.keywords), clock)
        self.index_rebuild.begin()
        self.world = World(store, self.keywords, clock, keywords_complete=self.index_rebuild.is_complete)

    def found(self, term: str) -> int:
        with self.store.read() as view:
            return len(self.keywords.search(view, [term], EVERYTHING, 1_000))

    def setting(self, name: str) -> str | None:
        with self.store.read() as view:
            return view.setting(name)

    def finish(self) -> None:
        while self.setting(BUILDING):
            self.index_rebuild.run_step()


def test_an_empty_store_needs_no_rebuild(store: SqliteStore, clock: SteppingClock) -> None:
    process = Process(store, "postings", clock)
    process.index_rebuild.run_step()
    assert (process.setting(INDEX), process.setting(BUILDING), process.index_rebuild.remaining) == ("postings 1", "", 0)


@pytest.mark.parametrize(("before", "after"), FROM_TO)
def test_another_engine_finds_everything_after_the_rebuild(
    store: SqliteStore, clock: SteppingClock, before: str, after: str
) -> None:
    first = Process(store, before, clock)
    for number in range(6):
        first.world.remember(f"The kettle number {number} boils.", session="s")
    second = Process(store, after, clock)
    assert second.found("kettl") == 0
    second.finish()
    assert second.found("kettl") == 6
    with store.read() as view:
        ours = [(one.document, one.chunk) for one in second.keywords.search(view, ["kettl", "3"], EVERYTHING, 9)]
    third = Process(store, before, clock)
    third.finish()
    with store.read() as view:
        theirs = [(one.document, one.chunk) for one in third.keywords.search(view, ["kettl", "3"], EVERYTHING, 9)]
    assert ours == theirs


@pytest.mark.parametrize(("before", "after"), FROM_TO)
def test_the_old_index_keeps_no_word(
    store: SqliteStore, clock: SteppingClock, tmp_path: Path, before: str, after: str
) -> None:
    first = Process(store, before, clock)
    memory = first.world.remember("A xylophonist.")
    while first.keywords.compact(store):
        pass
    second = Process(store, after, clock)
    second.finish()
    second.world.memory_service.forget(memory.id, AS_ADA)
    while not is_tidy(second):
        store.write(second.keywords.purge_step)
    assert store.purge_log()
    assert not any(b"xylophonist" in file.read_bytes() for file in tmp_path.iterdir())


def is_tidy(process: Process) -> bool:
    with process.store.read() as view:
        return process.keywords.is_purged(view)


def test_a_killed_process_resumes_where_it_was(
    store: SqliteStore, clock: SteppingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuild, "STEP_DOCUMENTS", 2)
    first = Process(store, "fts5", clock)
    for number in range(7):
        first.world.remember(f"The kettle number {number} boils.")
    answers = [True, False]
    Process(store, "postings", clock).index_rebuild.run_step(answers.pop)
    again = Process(store, "postings", clock)
    assert again.found("kettl") == 2
    assert again.found("6") == 1  # the newest first
    again.index_rebuild.run_step(lambda: True)
    assert again.index_rebuild.remaining == 5
    again.finish()
    assert again.found("kettl") == 7


def test_a_memory_written_during_a_rebuild_is_found_in_its_latest_form(
    store: SqliteStore, clock: SteppingClock
) -> None:
    first = Process(store, "fts5", clock)
    old = first.world.remember("The old kettle.", name="A thing")
    gone = first.world.remember("The lost kettle.")
    second = Process(store, "postings", clock)
    second.index_rebuild.run_step(lambda: True)
    second.world.memory_service.edit(old.id, Edit(content="The new teapot."), AS_ADA)
    second.world.memory_service.forget(gone.id, AS_ADA)
    text = "Another kettle."
    store.write(lambda tx: IndexWriter(second.keywords).add(tx, a_memory(text), whole(text)))
    second.finish()
    assert (second.found("kettl"), second.found("teapot")) == (1, 1)


def test_answers_say_that_keywords_are_incomplete_until_the_last_memory_is_indexed(
    store: SqliteStore, clock: SteppingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuild, "STEP_DOCUMENTS", 2)
    first = Process(store, "fts5", clock)
    assert INCOMPLETE not in first.world.recall("kettle").message
    for number in range(3):
        first.world.remember(f"The kettle number {number} boils.")
    again = Process(store, "postings", clock)
    assert (again.world.recall("kettle").message.endswith(INCOMPLETE), again.index_rebuild.remaining) == (True, 3)
    again.index_rebuild.run_step([True, False].pop)
    assert (again.world.recall("kettle").message.endswith(INCOMPLETE), again.index_rebuild.remaining) == (True, 1)
    last = Process(store, "postings", clock)
    assert last.world.recall("kettle").message.endswith(INCOMPLETE)
    last.finish()
    all_of_them = last.world.recall("kettle")
    assert (len(all_of_them.hits), INCOMPLETE in all_of_them.message) == (3, False)
    assert INCOMPLETE not in Process(store, "postings", clock).world.recall("kettle").message


def test_terms_of_another_version_are_rebuilt(
    store: SqliteStore, clock: SteppingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    Process(store, "postings", clock).world.remember("The kettle.")
    monkeypatch.setattr(rebuild, "TERMS_VERSION", 2)
    process = Process(store, "postings", clock)
    assert process.found("kettl") == 0
    process.finish()
    assert (process.found("kettl"), process.setting(INDEX)) == (1, "postings 2")
