"""Progress of the comparison of memories: how many wait."""

from hivelore.core.clock import Clock
from hivelore.links.comparer import Comparer
from hivelore.storage.ports import MemoryStore

COUNTED_EVERY = 30.0
"""Least seconds between two counts: a count reads all memories."""


class ComparisonProgress:
    """The last count. Thread-safe: at worst, two threads count at a time."""

    def __init__(self, store: MemoryStore, comparer: Comparer, clock: Clock) -> None:
        self._store = store
        self._comparer = comparer
        self._clock = clock
        self._counted: tuple[float, int, int] | None = None
        """When memories were counted, the number of changes then, and the count."""

    def waiting(self) -> int | None:
        """Returns how many memories wait to be compared, up to ``COUNTED_EVERY`` ago; None without a pair model."""
        model = self._comparer.model
        if model is None:
            return None
        now, known = self._clock.monotonic(), self._counted
        if known is not None and now - known[0] < COUNTED_EVERY:
            return known[2]
        with self._store.read() as view:
            changes = view.change_cursor().number
            # Only a change makes a memory wait again.
            is_done = known is not None and known[1:] == (changes, 0)
            count = 0 if is_done else view.count_uncompared(model)
        self._counted = now, changes, count
        return count
