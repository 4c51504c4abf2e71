"""Learning: a store looks at what it has once much is new, so that reads are not planned for what there was before."""

from hivelore.storage.ports import MemoryStore

MANY = 2_000
"""Fewer than so many are not worth a look."""


class PlannerStatistics:
    """Lets a store look whenever it was given as many as before, and when a great load has ended."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._known = 0
        self._new = 0

    def wrote(self, count: int) -> None:
        self._new += count
        if self._new >= max(MANY, self._known):
            self._learn()

    def ended(self) -> None:
        """Nothing more comes for now."""
        if self._new >= MANY:
            self._learn()

    def _learn(self) -> None:
        self._known += self._new
        self._new = 0
        self._store.analyze()
