"""The reference: compares the query with every vector that a view shows, in plain numpy."""

from collections.abc import Collection

import numpy as np

from hivelore.indexes.vectors.cosines import best_per_document, cosines, neighbours, spread, unit
from hivelore.indexes.vectors.direct import Direct
from hivelore.indexing.model import ChunkKey, DocumentKey, Neighbour, Neighbours, PassageKey, Vector
from hivelore.search.model import Filter
from hivelore.storage.ports import View


class ExactVectors(Direct):
    """Keeps nothing and so is always right; a search reads every vector, which suits small stores and tests."""

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
        return neighbours(best_per_document(found, limit, also), spread(np.array([near.cosine for near in found])))
