"""The reference: compares the query with every vector that a view shows, in plain numpy."""

from collections.abc import Collection

import numpy as np

from hivelore.adapters.vectors.cosines import best_per_document, cosines, neighbours, unit
from hivelore.domain.index import DocumentKey, Near, Neighbours, Vector
from hivelore.domain.search import Filter
from hivelore.ports import View


class ExactVectors:
    """Keeps nothing and so is always right; a search reads every vector, which suits small stores and tests."""

    name = "exact"
    ready = True

    def __init__(self, fingerprint: str, dimension: int) -> None:
        self._fingerprint = fingerprint
        self._dimension = dimension

    def build(self, view: View) -> bool:
        """There is no copy to build."""
        del view
        return True

    def follow(self, view: View) -> None:
        """There is no copy to bring up to date."""

    def nearest(
        self, view: View, query: Vector, where: Filter, limit: int, also: Collection[DocumentKey] = ()
    ) -> Neighbours:
        query = unit(query, self._dimension)
        model = view.model(self._fingerprint)
        found: list[Near] = []
        for batch in () if model is None else view.all_embedded(model):
            admitted = view.admitted([document.key for document in batch], where)
            passages = [(d.key, passage) for d in batch if d.key in admitted for passage in d.passages]
            if not passages:
                continue
            rows = np.stack([passage.vector for _, passage in passages])
            found.extend(
                Near(document, passage.chunk, passage.passage, float(cosine))
                for (document, passage), cosine in zip(passages, cosines(rows, query), strict=True)
            )
        return neighbours(best_per_document(found, limit, also), np.array([near.cosine for near in found]))
