"""Vector engines with one fault each, as other systems have them, to see that the contract suite finds it."""

from collections.abc import Collection, Sequence

import numpy as np

from hivelore.adapters.vectors.cosines import best_per_document, cosines, neighbours
from hivelore.adapters.vectors.exact import ExactVectors
from hivelore.domain.index import DocumentKey, EmbeddedDocument, Near, Neighbours, Vector
from hivelore.domain.search import Filter
from hivelore.ports import View
from support.memories import EVERYTHING
from support.vector_engines import DIMENSION, MODEL, OTHER_MODEL


class FiltersAfterwards(ExactVectors):
    """Takes the nearest and then looks which of them pass."""

    def nearest(
        self, view: View, query: Vector, where: Filter, limit: int, also: Collection[DocumentKey] = ()
    ) -> Neighbours:
        answer = super().nearest(view, query, EVERYTHING, limit, also)
        admitted = view.admitted([near.document for near in answer.nearest], where)
        nearest = tuple(near for near in answer.nearest if near.document in admitted)
        return Neighbours(nearest, answer.count, answer.mean, answer.deviation)


class SearchesIn(ExactVectors):
    """Compares with whatever ``documents`` answers."""

    def __init__(self) -> None:
        super().__init__(MODEL, DIMENSION)

    def documents(self, view: View) -> Sequence[EmbeddedDocument]:
        model = view.model(MODEL)
        return [] if model is None else [one for batch in view.all_embedded(model) for one in batch]

    def nearest(
        self, view: View, query: Vector, where: Filter, limit: int, also: Collection[DocumentKey] = ()
    ) -> Neighbours:
        found = [
            Near(document.key, passage.chunk, passage.passage, float(cosines(passage.vector[np.newaxis], query)[0]))
            for document in self.documents(view)
            for passage in document.passages
        ]
        return neighbours(best_per_document(found, limit, also), np.array([near.cosine for near in found]))


class KeepsTheForgotten(SearchesIn):
    """Adds what is new and never removes what is gone."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[DocumentKey, EmbeddedDocument] = {}

    def documents(self, view: View) -> Sequence[EmbeddedDocument]:
        self._seen |= {document.key: document for document in super().documents(view)}
        return list(self._seen.values())


class MixesModels(SearchesIn):
    """Compares whatever vectors have the right dimension."""

    def documents(self, view: View) -> Sequence[EmbeddedDocument]:
        models = [model for name in (MODEL, OTHER_MODEL) if (model := view.model(name)) is not None]
        return [one for model in models for batch in view.all_embedded(model) for one in batch]


class LooksOnce(SearchesIn):
    """Reads the vectors at the first question and follows nothing."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: Sequence[EmbeddedDocument] | None = None

    def documents(self, view: View) -> Sequence[EmbeddedDocument]:
        if self._seen is None:
            self._seen = super().documents(view)
        return self._seen
