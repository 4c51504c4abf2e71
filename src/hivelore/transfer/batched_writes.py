"""Batched writes: stores many drafts in transactions of limited size; a refused draft does not affect the others."""

from collections.abc import Callable
from typing import Generic, TypeVar

from hivelore.errors import Conflict, Forbidden, Invalid, NotFound
from hivelore.memories.drafts import Draft, WriteResult
from hivelore.python.hive import UNIT, UNIT_CHARACTERS, Hive

K = TypeVar("K")
"""Key of a draft in reports: a line number or a path."""


class BatchedWriter(Generic[K]):
    """Call ``add`` for each draft and ``flush`` at the end; each draft is reported once, as stored or refused."""

    def __init__(
        self, hive: Hive, *, stored: Callable[[K, WriteResult], None], refused: Callable[[K, str], None]
    ) -> None:
        self._hive = hive
        self._stored = stored
        self._refused = refused
        self._pending: list[tuple[K, Draft]] = []
        self._size = 0

    def add(self, name: K, draft: Draft, size: int) -> None:
        """``size``: bytes or characters of the draft, at least those of its content."""
        if len(self._pending) == UNIT or self._size + size > UNIT_CHARACTERS:
            self.flush()
        self._pending.append((name, draft))
        self._size += size

    def flush(self) -> None:
        """Stores pending drafts; durable when this returns."""
        unit, self._pending, self._size = self._pending, [], 0
        if unit:
            self._store(unit)

    def _store(self, unit: list[tuple[K, Draft]]) -> None:
        try:
            done = self._hive.remember_many([draft for _, draft in unit])
        except (Invalid, Conflict, Forbidden, NotFound) as error:
            if len(unit) == 1:
                self._refused(unit[0][0], str(error))
                return
            # One refused draft refuses its transaction: find it by bisection.
            middle = len(unit) // 2
            self._store(unit[:middle])
            self._store(unit[middle:])
            return
        for (name, _), one in zip(unit, done, strict=True):
            self._stored(name, one)
