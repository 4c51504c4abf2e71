"""From a first look to the nearest documents: the candidates that rounding leaves, compared exactly."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hivelore.indexes.top_k import at_least
from hivelore.indexes.vectors.cosines import best_per_document, cosines, order
from hivelore.indexes.vectors.quantised import Quantised, tolerance
from hivelore.indexes.vectors.slabs import DOCUMENT, PASSAGE, Keys
from hivelore.indexes.vectors.stages import Admitted, Look
from hivelore.indexing.model import DocumentKey, ModelKey, Neighbour, PassageKey, Vector
from hivelore.storage.ports import View

CANDIDATES = 50
OVERSAMPLING = 4
MOST = 1_000
"""With so many candidates that are as near as rounding can tell, the rest of them is not looked at."""


@dataclass(frozen=True, slots=True)
class _Rated:
    """n passages, the likely nearest first; of equally near ones that with the lowest key."""

    keys: Keys
    cosines: NDArray[np.float32]
    tolerance: NDArray[np.float32]
    """How far each cosine may be off."""
    rest_is_equal: bool
    """Whether what is as near as the last of them and not among them has the same vector."""

    def contenders(self, limit: int) -> tuple[Keys, bool]:
        """Of those that may be the best passage of one of the ``limit`` nearest documents, (3, m); and whether some
        that are not among these n may be, too."""
        lowest, highest = self.cosines - self.tolerance, self.cosines + self.tolerance
        documents: list[int] = self.keys[DOCUMENT].tolist()
        last = _last_of(documents, limit)
        least = -np.inf if last is None else lowest[: last + 1].min()
        within = np.flatnonzero(highest >= least)
        bounds = zip(within.tolist(), lowest[within].tolist(), highest[within].tolist(), strict=True)
        # The first of a document is its likely best.
        best: dict[int, float] = {}
        chosen = [place for place, low, high in bounds if high >= best.setdefault(documents[place], low)]
        is_equal_from_there_on = last is not None and self.cosines[-1] == self.cosines[last] and self.rest_is_equal
        is_cut = bool(highest[-1] >= least) and not is_equal_from_there_on
        return self.keys[:, chosen], is_cut


class Search:
    def __init__(self, view: View, model: ModelKey, query: Vector, coarse: Quantised, admitted: Admitted) -> None:
        """``coarse`` is the query in codes."""
        self._view = view
        self._model = model
        self._query = query
        self._coarse = coarse
        self._admitted = admitted
        self.vectors: dict[PassageKey, Vector] = {}
        """Those that were compared exactly, and as their codes tell those that were not."""

    def nearest(self, look: Look, limit: int, also: Collection[DocumentKey]) -> tuple[Neighbour, ...] | None:
        """The nearest documents as ``VectorIndex.nearest`` says; None where the look was at too few passages, as where
        a long document took all of it."""
        take = max(CANDIDATES, OVERSAMPLING * limit)
        while True:
            contenders, is_cut = self._rated(look, take).contenders(limit)
            found_all = take >= len(look.cosines)
            if not is_cut or found_all or take >= MOST:
                exact = best_per_document(self._exact(contenders), limit, also)
                if len(exact) >= limit or (found_all and look.at is None):
                    return self._with(exact, also)
                if found_all:
                    return None
            take *= OVERSAMPLING

    def _rated(self, look: Look, take: int) -> _Rated:
        """The ``take`` best of the look."""
        scores, slabs = look.cosines, self._admitted.slabs
        at = at_least(scores, take)
        slots = self._admitted.slots(at if look.at is None else look.at[at])
        keys = slabs.keys(slots)
        off = slabs.off(slots)
        inorder = np.lexsort((keys[PASSAGE], -scores[at]))
        first, rest = inorder[:take], inorder[take:]
        # Two vectors with the same codes are as good as never the same distance away from these.
        rest_is_equal = bool((off[rest] == off[first[-1]]).all())
        return _Rated(keys[:, first], scores[at[first]], tolerance(off[first], self._coarse), rest_is_equal)

    def _exact(self, contenders: Keys) -> list[Neighbour]:
        """Each with its exact cosine; a passage that the view does not show is dropped."""
        passages, documents, chunks = contenders.tolist()
        vectors = self._view.vectors(self._model, passages)
        self.vectors.update(vectors)
        if not vectors:
            return []
        exact = dict(zip(vectors, cosines(np.array(list(vectors.values())), self._query).tolist(), strict=True))
        found = zip(documents, chunks, passages, strict=True)
        return [Neighbour(*keys, exact[keys[-1]]) for keys in found if keys[-1] in exact]

    def _with(self, nearest: tuple[Neighbour, ...], also: Collection[DocumentKey]) -> tuple[Neighbour, ...]:
        """With those in ``also`` that are not among them, as their codes tell."""
        missing = frozenset(also) - {near.document for near in nearest}
        if not missing:
            return nearest
        slots = self._admitted.of_documents(missing)
        slabs = self._admitted.slabs
        passages, documents, chunks = slabs.keys(slots).tolist()
        told = slabs.cosines(self._coarse, slots).tolist()
        others = best_per_document(map(Neighbour, documents, chunks, passages, told), len(missing), ())
        best = {near.passage for near in others}
        at = [place for place, passage in enumerate(passages) if passage in best]
        self.vectors |= zip([passages[place] for place in at], slabs.vectors(slots[at]), strict=True)
        return tuple(sorted((*nearest, *others), key=order))


def _last_of(documents: list[int], limit: int) -> int | None:
    """Where the ``limit``-th different document is first named; None where there are fewer."""
    seen: set[int] = set()
    for place, document in enumerate(documents):
        seen.add(document)
        if len(seen) == limit:
            return place
    return None
