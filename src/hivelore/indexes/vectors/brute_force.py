"""Vector engines without an index: they compare the query with every admitted vector, in numpy or in SQL."""

from collections.abc import Callable, Collection, Sequence
from math import sqrt
from typing import Any

import numpy as np

from hivelore.indexes.arrays import (
    DECIMALS,
    best_per_document,
    cosines,
    order,
    spread,
    unit,
)
from hivelore.indexing.model import Neighbour, Neighbours, Spread, Vector
from hivelore.memories.stored import ChunkKey, DocumentKey, PassageKey
from hivelore.search.model import Filter
from hivelore.storage.ports import MemoryStore, View
from hivelore.storage.sql.statements import Param, condition, load
from hivelore.storage.sql.view import SqlView


class Direct:
    """An engine that keeps nothing in memory, so that there is nothing to build or to follow."""

    ready = True

    def __init__(self, fingerprint: str, dimension: int) -> None:
        self._fingerprint = fingerprint
        self._dimension = dimension

    def build(self, view: View) -> bool:
        del view
        return True

    def follow(self, view: View) -> None:
        del view

    def maintain(self, store: MemoryStore, stopping: Callable[[], bool]) -> bool:
        del store, stopping
        return False


class ExactVectors(Direct):
    """The reference: compares the query with every vector of the view in numpy; for small stores and tests."""

    name = "exact"

    def nearest(
        self, view: View, query: Vector, where: Filter, limit: int, also: Collection[DocumentKey] = ()
    ) -> Neighbours:
        query = unit(query, self._dimension)
        model = view.model_key(self._fingerprint)
        found: list[Neighbour] = []
        for batch in () if model is None else view.all_embedded(model):
            admitted = view.memories_of({DocumentKey(key) for key in batch.documents.tolist()}, where)
            columns = batch.documents, batch.chunks, batch.passages, cosines(batch.vectors, query)
            found.extend(
                Neighbour(DocumentKey(document), ChunkKey(chunk), PassageKey(passage), cosine)
                for document, chunk, passage, cosine in zip(*(column.tolist() for column in columns), strict=True)
                if document in admitted
            )
        return Neighbours(best_per_document(found, limit, also), spread(np.array([near.cosine for near in found])))


WIDENING = 4


class InDatabase(Direct):
    """Compares vectors in SQL, for when ``ScanVectors`` would exceed its memory limit. It needs views of one dialect
    and takes time proportional to the number of admitted passages."""

    def __init__(self, fingerprint: str, dimension: int, *, name: str, file: str, dialect: str) -> None:
        """``file`` contains the SQL of this engine."""
        super().__init__(fingerprint, dimension)
        self.name = name
        self._sql = load(("hivelore.indexes.vectors", file))
        self._dialect = dialect

    def nearest(
        self, view: View, query: Vector, where: Filter, limit: int, also: Collection[DocumentKey] = ()
    ) -> Neighbours:
        query = unit(query, self._dimension)
        model = view.model_key(self._fingerprint)
        if model is None:
            return Neighbours()
        snapshot = self._readable(view)
        sql, params = condition(where)
        more: dict[str, Param] = {"model": model, "query": snapshot.vector(query), "decimals": DECIMALS}
        statement = self._sql["nearest"].replace("{where}", sql)
        bound = {**params, **more, "also": snapshot.array(also)}
        take = limit
        while True:
            rows = snapshot.rows(statement, {**bound, "take": take})
            if not rows:
                return Neighbours()
            found = [read_neighbour(row) for row in rows]
            _, _, _, _, count, mean, square = rows[0]
            documents = {near.document for near in sorted(found, key=order)[:take]}
            # A long document took several places: search deeper until there are enough documents.
            if len(documents) >= limit or take >= count:
                deviation = sqrt(max(square - mean * mean, 0.0))
                cosines_of_all = Spread(count=count, mean=mean, deviation=deviation)
                return Neighbours(best_per_document(found, limit, also), cosines_of_all)
            take *= WIDENING

    def _readable(self, view: View) -> SqlView:
        if not isinstance(view, SqlView) or view.dialect != self._dialect:
            raise TypeError(f"{self.name} searches views of a {self._dialect} store only")
        return view


def read_neighbour(row: Sequence[Any]) -> Neighbour:
    """Reads a row that begins with document, chunk, passage and cosine."""
    document, chunk, passage, cosine, *_ = row
    return Neighbour(DocumentKey(document), ChunkKey(chunk), PassageKey(passage), round(cosine, DECIMALS))


def sqlite_vec(fingerprint: str, dimension: int) -> InDatabase:
    """Takes 2 to 3 ms per 1,000 admitted passages. Connections have sqlite-vec loaded."""
    return InDatabase(fingerprint, dimension, name="sqlite-vec", file="sqlite_vec.sql", dialect="sqlite")
