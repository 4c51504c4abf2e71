"""The keyword engine of the reference store ranks as SQLite FTS5 does, to the last digit."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hivelore.indexing.model import KeywordEntry
from hivelore.memories.stored import ChunkKey, DocumentKey
from hivelore.storage.ports import Transaction, View
from support.clocks import FixedClock
from support.laws import examples
from support.memories import EVERYTHING, a_memory, whole
from support.reference.keywords import ReferenceKeywords
from support.reference.store import ReferenceStore

Columns = tuple[Sequence[str], Sequence[str], Sequence[str]]


def by_fts5(rows: Sequence[Columns], asked: Sequence[str]) -> Mapping[int, float]:
    """The score of each matching row by its position, from a real FTS5 table."""
    database: Any = apsw.Connection(":memory:")  # its types are partly unknown
    database.execute(
        "CREATE VIRTUAL TABLE keyword USING fts5 (own, context, header, "
        """tokenize = "unicode61 categories 'L* N* P* S* M* Co' remove_diacritics 0")"""
    )
    for position, columns in enumerate(rows):
        values = (position, *(" ".join(column) for column in columns))
        database.execute("INSERT INTO keyword (rowid, own, context, header) VALUES (?, ?, ?, ?)", values)
    match = " OR ".join(f'"{term}"' for term in asked)
    found = database.execute("SELECT rowid, -bm25(keyword, 1.0, 0.5, 1.0) FROM keyword WHERE keyword MATCH ?", (match,))
    return {int(row[0]): float(row[1]) for row in found}


def by_exact(rows: Sequence[Columns], asked: Sequence[str]) -> Mapping[int, float]:
    store, index = ReferenceStore(FixedClock()), ReferenceKeywords()
    positions: dict[DocumentKey, int] = {}

    def index_rows(tx: Transaction) -> None:
        for position, (own, context, header) in enumerate(rows):
            stored = tx.add(a_memory(), whole("text"))
            positions[stored.key] = position
            chunk = tx.chunks(stored.key)[0].key
            index.put(tx, [KeywordEntry(chunk, stored.key, tuple(own), tuple(context), tuple(header))])

    store.write(index_rows)
    with store.read() as view:
        found = index.search(view, asked, EVERYTHING, 1_000)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    return {positions[one.document]: one.score for one in found}


def test_a_small_library_ranks_as_in_fts5() -> None:
    rows: list[Columns] = [
        (["the", "build", "needs", "java", "twenty", "one"], ["gradle", "or", "maven"], ["setup", "prerequisites"]),
        (["java", "java", "java", "and", "more", "java"], [], ["java", "notes"]),
        (["python", "runs", "the", "tests"], ["the", "build", "needs", "java", "twenty", "one"], ["testing"]),
        (["nothing", "of", "it", "at", "all"], [], []),
        *[(f"filler {number} other words".split(), [], []) for number in range(6)],
    ]
    asked = ["java", "build", "tests"]
    expected = by_fts5(rows, asked)
    found = by_exact(rows, asked)
    assert sorted(found, key=found.__getitem__) == sorted(expected, key=expected.__getitem__)
    assert found == expected


columns = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "x1", "foo_bar", "c++"]), max_size=8)


@settings(max_examples=examples(100))
@given(
    rows=st.lists(st.tuples(columns, columns, columns), max_size=12),
    asked=st.lists(st.sampled_from(["a", "b", "c", "x1", "foo_bar", "c++", "unknown"]), min_size=1, max_size=5),
)
def test_every_score_is_that_of_fts5(rows: list[Columns], asked: list[str]) -> None:
    assert by_exact(rows, asked) == by_fts5(rows, asked)


class ElsewhereView:
    """A view of some other store."""


def test_a_view_of_another_store_is_refused() -> None:
    with pytest.raises(TypeError, match="views of an ReferenceStore, not a ElsewhereView"):
        ReferenceKeywords().search(cast(View, ElsewhereView()), ["a"], EVERYTHING, 1)


def test_a_read_only_view_refuses_writes() -> None:
    index = ReferenceKeywords()
    with ReferenceStore(FixedClock()).read() as view:
        with pytest.raises(TypeError, match="transactions of an ReferenceStore, not in a ReferenceView"):
            index.put(cast(Transaction, view), [])
        with pytest.raises(TypeError, match="transactions of an ReferenceStore"):
            index.remove(cast(Transaction, view), [ChunkKey(1)])
