"""The SQL statements of this engine, and their results as values."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hivelore.indexes.keywords.postings.segment import Keys, Rows
from hivelore.indexing.model import AttributeColumns, ChangeCursor
from hivelore.storage.ports import Transaction, View
from hivelore.storage.sql.embeddings import read_attribute_columns
from hivelore.storage.sql.statements import Param, Params, load
from hivelore.storage.sql.view import SqlTransaction, SqlView

_PACKAGE = "hivelore.indexes.keywords.postings"
SQL = {name: load((_PACKAGE, "queries.sql"), (_PACKAGE, f"{name}.sql")) for name in ("sqlite", "postgres")}
"""Statements by dialect."""

GENERATION = "postings.generation"
"""The setting that counts how often segments were activated or postings changed in place."""

FILLING, SEARCHED, EMPTYING = 1, 2, 3

_PAGE = 5_000
_SHORT = 0xFFFF_FFFF
"""The part of a transaction id that locks show."""


@dataclass(frozen=True, slots=True)
class Now:
    """The position of a view in the logs of changes, indexed chunks and drops, and its generation of segments."""

    changes: ChangeCursor
    rows: ChangeCursor
    drops: ChangeCursor
    generation: int
    incarnation: str | None


@dataclass(frozen=True, slots=True)
class Segment:
    key: int
    state: int
    first: int
    last: int
    chunks: int
    sources: tuple[int, ...]
    upto: str


def run(view: SqlView, statement: str, /, **params: Param) -> list[Any]:
    return view.rows(SQL[view.dialect][statement], params)


def run_each(unit: SqlTransaction, statement: str, each: Sequence[Params]) -> None:
    """Runs a statement without results once for each set of parameters."""
    unit.run_many(SQL[unit.dialect][statement], each)


def now(view: SqlView) -> Now:
    generation, incarnation = int(view.setting(GENERATION) or 0), view.setting("incarnation")
    if "now" not in SQL[view.dialect]:  # On PostgreSQL the transaction id is the position in every log.
        moment = view.change_cursor()
        return Now(moment, moment, moment, generation, incarnation)
    changes, rows, drops = run(view, "now")[0]
    return Now(ChangeCursor(changes), ChangeCursor(rows), ChangeCursor(drops), generation, incarnation)


def settled_number(view: SqlView, rows: ChangeCursor) -> int:
    """Returns the number up to which no more rows of terms can appear."""
    if not rows.open:
        return rows.upto
    elsewhere = {row[0] for row in run(view, "elsewhere")}
    return min((one for one in rows.open if one & _SHORT not in elsewhere), default=rows.upto + 1) - 1


def params_after(view: SqlView, moment: ChangeCursor) -> dict[str, Param]:
    """Returns parameters that select the rows behind a cursor."""
    return {"upto": moment.upto, "open": view.array(moment.open)}


def read_segments(view: SqlView) -> list[Segment]:
    return [
        Segment(key, state, first, last, chunks, tuple(json.loads(sources)), upto)
        for key, state, first, last, chunks, sources, upto in run(view, "segments")
    ]


def read_rows(view: SqlView, segment: int) -> Rows:
    return Rows.of_blobs(*run(view, "segment_rows", segment=segment)[0])


def split_drops(found: Sequence[tuple[int, int]]) -> tuple[Keys, Keys]:
    """Splits rows of ``dropped`` into their log numbers and slots."""
    columns = np.array(found, np.int64).reshape(-1, 2).T
    return columns[0], columns[1]


def attribute_pages(view: SqlView) -> Iterator[tuple[Keys, AttributeColumns]]:
    """Yields the attributes of all documents, ascending by key."""
    after = 0
    with view.unrestricted():
        while found := run(view, "documents", after=after, limit=_PAGE):
            keys, *columns = zip(*found, strict=True)
            yield np.array(keys, np.int64), read_attribute_columns(columns)
            after = found[-1][0]


def advance_generation(unit: SqlTransaction) -> None:
    unit.set_setting(GENERATION, str(int(unit.setting(GENERATION) or 0) + 1))


def require_view(view: View) -> SqlView:
    if not isinstance(view, SqlView):
        raise TypeError("Postings searches views of a store that speaks SQL only")
    return view


def require_transaction(tx: Transaction) -> SqlTransaction:
    if not isinstance(tx, SqlTransaction):
        raise TypeError("Postings writes through transactions of a store that speaks SQL only")
    return tx
