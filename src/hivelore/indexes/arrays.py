"""Arithmetic that the indexes share, so that their results agree.

Attributes of documents are columns of numbers, so that a ``Filter`` becomes a mask over many documents at once. The
best few of very many scores are selected without sorting them all. Cosines are rounded, and ties are ordered by key.
"""

from collections.abc import Callable, Collection, Hashable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import reduce
from math import ceil, sqrt
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hivelore.core.vectors import normalize
from hivelore.errors import Invalid
from hivelore.indexing.model import AttributeColumns, Neighbour, Spread, Vector
from hivelore.memories.model import Scope
from hivelore.memories.stored import DocumentKey, PassageKey
from hivelore.search.model import Filter, Visibility

# Attributes.

Mask = NDArray[np.bool_]
Selector = NDArray[np.intp] | Mask | slice
"""Selects rows."""

OWNER, SCOPE, SOURCE, PROJECT, SESSION, CATEGORY, SUPERSEDED = range(7)
CREATED, EXPIRES = range(2)

NONE = 0
"""The code of None in every column."""
UNKNOWN = -1
"""The code of a value that occurs in no column."""
NEVER = np.iinfo(np.int64).max

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Labels:
    """The attributes of n passages."""

    codes: NDArray[np.int32]
    """(7, n): owner to superseded, as numbered by a ``CodeBook``."""
    instants: NDArray[np.int64]
    """(2, n): created and expires, in microseconds since 1970."""

    @classmethod
    def empty(cls, size: int) -> "Labels":
        return cls(np.empty((SUPERSEDED + 1, size), np.int32), np.empty((EXPIRES + 1, size), np.int64))

    def __len__(self) -> int:
        return self.codes.shape[1]

    def take(self, at: Selector) -> "Labels":
        return Labels(self.codes[:, at], self.instants[:, at])

    def put(self, at: Selector, other: "Labels") -> None:
        self.codes[:, at] = other.codes
        self.instants[:, at] = other.instants

    def copy(self) -> "Labels":
        return Labels(self.codes.copy(), self.instants.copy())


class CodeBook:
    """Assigns a code to each value of a column on first use; a code never changes. Thread-safe."""

    def __init__(self) -> None:
        self._columns: list[dict[Hashable, int]] = [{None: NONE} for _ in range(SUPERSEDED + 1)]
        self._lock = Lock()

    def encode(self, values: AttributeColumns) -> Labels:
        labels = Labels.empty(len(values.created_at))
        columns = (
            values.owner,
            values.scope,
            values.source,
            values.project,
            values.session,
            values.category,
            values.superseded,
        )
        with self._lock:
            for codes, numbers, column in zip(labels.codes, self._columns, columns, strict=True):
                for value in dict.fromkeys(column):
                    numbers.setdefault(value, len(numbers))
                codes[:] = list(map(numbers.__getitem__, column))
        labels.instants[CREATED] = values.created_at.view(np.int64)
        labels.instants[EXPIRES] = np.where(np.isnat(values.expires_at), NEVER, values.expires_at.view(np.int64))
        return labels

    def admitted(self, where: Filter, labels: Labels) -> Mask:
        """Returns a mask of the labels that pass, like ``Filter.admits``, except for parts that
        ``Filter.needs_store``."""
        return reduce(np.logical_and, self._conditions(where, labels), self._visible(where.visibility, labels))

    def _conditions(self, where: Filter, labels: Labels) -> list[Mask]:
        plain: tuple[tuple[int, Hashable], ...] = (
            (OWNER, where.owner),
            (SOURCE, where.source),
            (SESSION, where.session),
            (SUPERSEDED, where.superseded),
        )
        masks = [self._equal(labels, column, value) for column, value in plain if value is not None]
        if where.categories is not None:
            masks.append(reduce(np.logical_or, [self._equal(labels, CATEGORY, one) for one in where.categories]))
        if where.project is not None:
            masks.append(self._equal(labels, PROJECT, where.project) | self._equal(labels, PROJECT, None))
        bounds: tuple[tuple[datetime | None, int, Callable[[NDArray[np.int64], int], Mask]], ...] = (
            (where.live_at, EXPIRES, np.greater),
            (where.expired_at, EXPIRES, np.less_equal),
            (where.created_before, CREATED, np.less),
            (where.created_after, CREATED, np.greater_equal),
        )
        masks.extend(
            compare(labels.instants[column], _microseconds(instant))
            for instant, column, compare in bounds
            if instant is not None
        )
        return masks

    def _visible(self, visibility: Visibility, labels: Labels) -> Mask:
        if visibility.others and visibility.swarm:
            return np.ones(len(labels), np.bool_)
        shared = self._equal(labels, SCOPE, Scope.SWARM)
        if visibility.others:
            return ~shared
        mine = np.zeros_like(shared)
        if visibility.own is not None:
            mine = self._equal(labels, OWNER, visibility.own)
        return shared | mine if visibility.swarm else ~shared & mine

    def _equal(self, labels: Labels, column: int, value: Hashable) -> Mask:
        return labels.codes[column] == self._columns[column].get(value, UNKNOWN)


def _microseconds(instant: datetime) -> int:
    return (instant - _EPOCH) // timedelta(microseconds=1)


# Best scores.

_SAMPLE = 2_048
_SLACK = 8


def at_least(scores: NDArray[np.floating[Any]], take: int) -> NDArray[np.intp]:
    """Returns the positions of the best ``take`` scores and of all ties with the last of them, ascending.

    A threshold is estimated from a sample, and only scores above it are sorted. They are not partitioned, because
    ``numpy.partition`` takes up to a hundred times as long if most scores are equal, as when few chunks have a word.
    """
    if take >= len(scores):
        return np.arange(len(scores))
    guess = _threshold(scores, take)
    if guess is None:
        return np.flatnonzero(scores >= _last(scores, take))
    above = np.flatnonzero(scores > guess)
    if len(above) >= take:
        among = scores[above]
        return above[among >= _last(among, take)]
    # If only ties with the threshold make up the number, they are the last of the best.
    found = np.flatnonzero(scores >= guess)
    return found if len(found) >= take else np.flatnonzero(scores >= _last(scores, take))


def _last(scores: NDArray[np.floating[Any]], take: int) -> np.floating[Any]:
    return np.sort(scores)[len(scores) - take]


def _threshold(scores: NDArray[np.floating[Any]], take: int) -> np.floating[Any] | None:
    """Estimates a score that about twice ``take`` scores reach; None if there are too few for a sample."""
    step = len(scores) // _SAMPLE
    if step < 2:
        return None
    sample = scores[::step]
    return _last(sample, min(2 * ceil(take / step) + _SLACK, len(sample)))


# Cosines.

DECIMALS = 6
"""Cosines are rounded, because a sum of floats depends on the order of its terms, and equal texts must tie."""


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
        return Spread()
    mean = float(admitted.mean())
    rest = admitted - mean
    return Spread(count=admitted.size, mean=mean, deviation=sqrt(float(rest @ rest) / admitted.size))


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
