"""Arithmetic shared by all vector engines, so that their results agree."""

from collections.abc import Collection, Iterable, Mapping
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from hivelore.core.vectors import normalize
from hivelore.errors import Invalid
from hivelore.indexing.model import Neighbour, Neighbours, Vector
from hivelore.memories.stored import DocumentKey, PassageKey
from hivelore.search.ranking import Spread

DECIMALS = 6
"""Cosines are rounded, because a sum of floats depends on the order of its terms, and equal texts must tie."""

NONE = Spread(count=0, mean=0.0, deviation=0.0)
NOBODY = Neighbours(nearest=(), count=0, mean=0.0, deviation=0.0)


def unit(query: Vector, dimension: int) -> Vector:
    """Returns the query at length one. Raises Invalid for another dimension or a zero vector."""
    if query.shape != (dimension,):
        raise Invalid(f"The query has the shape {query.shape}, the model has {dimension} dimensions.", field="query")
    return normalize(query)


def cosines(rows: NDArray[np.float32], query: Vector) -> NDArray[np.float64]:
    """Returns the cosine of each row to the query; all have length one."""
    return np.round(rows.astype(np.float64) @ query.astype(np.float64), DECIMALS)


def spread(admitted: NDArray[np.floating]) -> Spread:
    """Returns count, mean and deviation of the cosines of all admitted passages."""
    if not admitted.size:
        return NONE
    mean = float(admitted.mean())
    rest = admitted - mean
    return Spread(count=admitted.size, mean=mean, deviation=sqrt(float(rest @ rest) / admitted.size))


def neighbours(
    nearest: tuple[Neighbour, ...], cosines: Spread, vectors: Mapping[PassageKey, Vector] | None = None
) -> Neighbours:
    return Neighbours(nearest, cosines.count, cosines.mean, cosines.deviation, vectors or {})


def order(near: Neighbour) -> tuple[float, PassageKey]:
    """Sort key: nearest first, then lowest passage key."""
    return -near.cosine, near.passage


def best_per_document(found: Iterable[Neighbour], limit: int, also: Collection[DocumentKey]) -> tuple[Neighbour, ...]:
    """Returns the best passage of each of the ``limit`` nearest documents and of those in ``also``, best first."""
    best: dict[DocumentKey, Neighbour] = {}
    for near in sorted(found, key=order):
        best.setdefault(near.document, near)
    wanted = frozenset(also)
    return tuple([near for place, near in enumerate(best.values()) if place < limit or near.document in wanted])
