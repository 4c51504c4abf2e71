"""Postings rank as FTS5 does on the same store, whatever was written, settled, wiped or left open meanwhile."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.text import Clean
from hivelore.indexes.keywords.fts5 import Fts5
from hivelore.indexes.keywords.postings.compaction import Sizes
from hivelore.indexes.keywords.postings.engine import Postings
from hivelore.indexes.ports import KeywordIndex
from hivelore.indexing.model import KeywordEntry
from hivelore.memories.model import Action, Scope
from hivelore.memories.stored import ChunkKey, Stored
from hivelore.runtime.clock import SystemClock
from hivelore.search.model import Filter, Visibility
from hivelore.storage.ports import Transaction, View
from hivelore.storage.sqlite.store import SqliteStore
from support.memories import ADA, BOB, EVERYTHING, a_memory, document, next_version
from support.stores import law

TERMS = ["a", "b", "c", "d", "e", "東", "東京", "京", "naïve", "x.y", '"', "🐝"]
ASKED = [["a"], ["a", "b", "c"], ["東京", "naïve"], ["🐝", '"', "none"], TERMS]
FILTERS = [
    EVERYTHING,
    Filter(visibility=Visibility(own=ADA, swarm=False)),
    Filter(visibility=Visibility(own=BOB, swarm=True), categories=frozenset({Clean("rule")})),
    Filter(visibility=EVERYTHING.visibility, tag=Clean("java")),
]
SIZES = Sizes(newest=4, segment=6, alike=2, postings=5)

Found = Sequence[tuple[int, int, float]]


class House:
    """One store with both engines on it, and readers that were left open, with what they found."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.store = stack.enter_context(closing(SqliteStore(folder / "a.db", clock=SystemClock(), durable=False)))
        self.stack = stack
        self.fts5 = Fts5()
        self.postings = Postings(SIZES)
        self.engines: Sequence[KeywordIndex] = (self.fts5, self.postings)
        self.documents: list[Stored] = []
        self.open: list[tuple[View, Mapping[int, Found]]] = []

    # what may happen

    def add(self, chance: Random) -> None:
        content, pieces = document(*(f"chunk {number}" for number in range(chance.randint(1, 4))))
        memory = a_memory(
            content,
            owner=chance.choice([ADA, BOB]),
            scope=chance.choice([Scope.AGENT, Scope.SWARM]),
            category=chance.choice([Clean("note"), Clean("rule")]),
            tags=chance.choice([(), (Clean("java"),)]),
        )

        def add_document(tx: Transaction) -> Stored:
            stored = tx.add(memory, pieces)
            self.put(tx, stored, chance)
            return stored

        self.documents.append(self.store.write(add_document))

    def put(self, tx: Transaction, stored: Stored, chance: Random) -> None:
        for chunk in tx.chunks(stored.key):
            own, context, header = (tuple(chance.choices(TERMS, k=chance.randint(0, 9))) for _ in range(3))
            for engine in self.engines:
                engine.put(tx, [KeywordEntry(chunk.key, stored.key, own, context, header)])

    def index_again(self, chance: Random) -> None:
        if self.documents:
            stored = chance.choice(self.documents)
            self.store.write(lambda tx: self.put(tx, stored, chance))

    def change_attributes(self, chance: Random) -> None:
        if self.documents:
            at = chance.randrange(len(self.documents))
            before = self.documents[at]
            after = next_version(before.memory, scope=chance.choice([Scope.AGENT, Scope.SWARM]))
            self.store.write(lambda tx: tx.change(before.key, after, None, Action.EDITED))
            self.documents[at] = Stored(before.key, after)

    def remove(self, chance: Random) -> None:
        if self.documents:
            stored = chance.choice(self.documents)
            self.store.write(lambda tx: self.each(lambda engine: engine.remove(tx, chunks(tx, stored)[:1])))

    def forget(self, chance: Random) -> None:
        if self.documents:
            stored = self.documents.pop(chance.randrange(len(self.documents)))

            def forget_document(tx: Transaction) -> None:
                self.each(lambda engine: engine.forget(tx, chunks(tx, stored)))
                tx.forget(stored.key)

            self.store.write(forget_document)

    def settle(self, chance: Random) -> None:
        for _ in range(chance.randint(1, 30)):
            if not self.postings.compact(self.store):
                break

    def wipe(self, chance: Random) -> None:
        for _ in range(chance.randint(1, 3)):
            self.store.write(lambda tx: self.each(lambda engine: engine.purge_step(tx)))

    def start_anew(self, chance: Random) -> None:
        del chance
        self.postings = Postings(SIZES)
        self.engines = (self.fts5, self.postings)

    def leave_a_reader_open(self, chance: Random) -> None:
        if len(self.open) < 3:
            view = self.stack.enter_context(self.store.read())
            self.open.append((view, {at: self.found(self.fts5, view, at) for at in self.questions(chance)}))

    # what must hold

    def each(self, do: Callable[[KeywordIndex], None]) -> None:
        for engine in self.engines:
            do(engine)

    @staticmethod
    def questions(chance: Random) -> list[int]:
        return chance.sample(range(len(ASKED) * len(FILTERS)), 4)

    @staticmethod
    def found(engine: KeywordIndex, view: View, at: int) -> Found:
        """Returns the results of one query, limited or not."""
        terms, where = ASKED[at % len(ASKED)], FILTERS[at // len(ASKED)]
        found = engine.search(view, terms, where, 3 if at % 2 else 100)
        return [(one.document, one.chunk, one.score) for one in found]

    def agree(self, chance: Random) -> None:
        with self.store.read() as view:
            for at in self.questions(chance):
                same(self.found(self.postings, view, at), self.found(self.fts5, view, at))
            for terms in ASKED:
                assert self.postings.rarities(view, terms) == pytest.approx(self.fts5.rarities(view, terms))
        for opened, found in self.open:
            for at, expected in found.items():
                same(self.found(self.postings, opened, at), expected)


def chunks(tx: Transaction, stored: Stored) -> list[ChunkKey]:
    return [chunk.key for chunk in tx.chunks(stored.key)]


def same(found: Found, expected: Found) -> None:
    assert [one[:2] for one in in_order(found)] == [one[:2] for one in in_order(expected)]
    assert [score for *_, score in found] == pytest.approx([score for *_, score in expected], rel=1e-9)


def in_order(found: Found) -> Found:
    """Sums of the same numbers differ in the last digit by their order: a near tie counts as a tie."""
    return sorted(found, key=lambda one: (-float(f"{one[2]:.9g}"), one[:2]))


EVENTS: Mapping[str, Callable[[House, Random], None]] = {
    "a document comes": House.add,
    "a document is indexed again": House.index_again,
    "a document changes its attributes": House.change_attributes,
    "a chunk is removed": House.remove,
    "a document is forgotten": House.forget,
    "the index settles": House.settle,
    "words are wiped": House.wipe,
    "another process begins": House.start_anew,
    "a reader stays": House.leave_a_reader_open,
}
events = st.lists(st.tuples(st.sampled_from(sorted(EVENTS)), st.integers(0, 1_000_000)), min_size=5, max_size=50)


@pytest.fixture
def houses() -> Iterator[Callable[[], House]]:
    with ExitStack() as stack:

        def house() -> House:
            stack.close()
            folder = stack.enter_context(TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
            return House(Path(folder), stack)

        yield house


@law
@given(events=events)
def test_postings_rank_like_fts5_after_any_changes(houses: Callable[[], House], events: list[tuple[str, int]]) -> None:
    house = houses()
    for number in range(3):
        house.add(Random(number))
    for name, seed in events:
        EVENTS[name](house, Random(seed))
        house.agree(Random(seed))
