"""Attributes of documents as columns of numbers, so that a ``Filter`` becomes a mask over many documents at once."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import reduce
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from hivelore.indexing.model import AttributeColumns
from hivelore.memories.model import Scope
from hivelore.search.model import Filter, Visibility

Mask = NDArray[np.bool_]
Places = NDArray[np.intp] | Mask | slice

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

    def take(self, at: Places) -> "Labels":
        return Labels(self.codes[:, at], self.instants[:, at])

    def put(self, at: Places, other: "Labels") -> None:
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
            (CATEGORY, where.category),
            (SUPERSEDED, where.superseded),
        )
        masks = [self._equal(labels, column, value) for column, value in plain if value is not None]
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
