"""Refreshes the statistics of the query planner (ANALYZE) while and after many rows are written."""

from hivelore.storage.ports import MemoryStore

MANY = 2_000
"""New rows below this number do not need new statistics."""


class PlannerStatistics:
    """Analyzes a store whenever its rows have doubled, and at the end of a bulk load."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._known = 0
        self._new = 0

    def rows_written(self, count: int) -> None:
        self._new += count
        if self._new >= max(MANY, self._known):
            self._analyze()

    def load_ended(self) -> None:
        if self._new >= MANY:
            self._analyze()

    def _analyze(self) -> None:
        self._known += self._new
        self._new = 0
        self._store.analyze()
