"""Vector engines with one typical fault each, which the contract suite must find."""

from collections.abc import Collection, Sequence
from itertools import groupby
from operator import itemgetter

import numpy as np

from hivelore.indexes.arrays import best_per_document, cosines, spread
from hivelore.indexes.vectors.brute_force import ExactVectors
from hivelore.indexing.model import Neighbour, Neighbours, Vector
from hivelore.memories.stored import ChunkKey, DocumentKey, PassageKey
from hivelore.search.model import Filter
from hivelore.storage.ports import View
from support.memories import EVERYTHING
from support.vector_engines import DIMENSION, MODEL, OTHER_MODEL

Row = tuple[DocumentKey, ChunkKey, PassageKey, Vector]


def rows_of(view: View, fingerprint: str) -> list[Row]:
    model = view.model_key(fingerprint)
    batches = () if model is None else view.all_embedded(model)
    return [
        (DocumentKey(document), ChunkKey(chunk), PassageKey(passage), vector)
        for batch in batches
        for document, chunk, passage, vector in zip(
            batch.documents, batch.chunks, batch.passages, batch.vectors, strict=True
        )
    ]


class FiltersAfterwards(ExactVectors):
    """Selects the nearest vectors and filters afterwards."""

    def nearest(
        self, view: View, query: Vector, where: Filter, limit: int, also: Collection[DocumentKey] = ()
    ) -> Neighbours:
        answer = super().nearest(view, query, EVERYTHING, limit, also)
        admitted = view.memories_of([near.document for near in answer.nearest], where)
        nearest = tuple(near for near in answer.nearest if near.document in admitted)
        return Neighbours(nearest, answer.spread)


class SearchesIn(ExactVectors):
    """Compares with all vectors of ``rows``."""

    def __init__(self) -> None:
        super().__init__(MODEL, DIMENSION)

    def rows(self, view: View) -> Sequence[Row]:
        return rows_of(view, MODEL)

    def nearest(
        self, view: View, query: Vector, where: Filter, limit: int, also: Collection[DocumentKey] = ()
    ) -> Neighbours:
        found = [
            Neighbour(document, chunk, passage, float(cosines(vector[np.newaxis], query)[0]))
            for document, chunk, passage, vector in self.rows(view)
        ]
        return Neighbours(best_per_document(found, limit, also), spread(np.array([near.cosine for near in found])))


class KeepsTheForgotten(SearchesIn):
    """Adds new vectors and never removes deleted ones."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[DocumentKey, list[Row]] = {}

    def rows(self, view: View) -> Sequence[Row]:
        present = sorted(super().rows(view), key=itemgetter(0))
        self._seen |= {document: list(rows) for document, rows in groupby(present, key=itemgetter(0))}
        return [row for rows in self._seen.values() for row in rows]


class MixesModels(SearchesIn):
    """Compares all vectors of the right dimension."""

    def rows(self, view: View) -> Sequence[Row]:
        return [*rows_of(view, MODEL), *rows_of(view, OTHER_MODEL)]


class LooksOnce(SearchesIn):
    """Reads the vectors at the first query and misses later changes."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: Sequence[Row] | None = None

    def rows(self, view: View) -> Sequence[Row]:
        if self._seen is None:
            self._seen = super().rows(view)
        return self._seen
