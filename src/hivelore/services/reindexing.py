"""Building the keyword index anew, beside the calls, where it was made by another engine or with other terms.

Which index a store has is kept with it, and so is how far building came, so a killed process goes on where it was. The
newest memories come first; until the last is done, keywords find what was indexed so far.
"""

from collections.abc import Callable, Sequence

from hivelore.domain.index import DocumentKey, Stored
from hivelore.domain.search import EVERYTHING
from hivelore.policies.terms import TERMS_VERSION
from hivelore.ports import Clock, KeywordIndex, MemoryStore, Transaction, View
from hivelore.services.learning import Learning
from hivelore.services.shelving import Shelf

INDEX = "keywords.index"
"""The setting that names the engine and the version of the terms of what is indexed."""
BUILDING = "keywords.building"
"""The setting with the document that was indexed last; absent or empty where none is left to be."""
AT_A_TIME = 50
"""Documents that are indexed in one unit of work."""
BUDGET = 0.5
"""Seconds of this, about, before whoever tends the service does something else."""


class Reindexing:
    def __init__(
        self, store: MemoryStore, keywords: KeywordIndex, others: Sequence[KeywordIndex], shelf: Shelf, clock: Clock
    ) -> None:
        """``others`` are the engines that may have indexed this store before."""
        self._store = store
        self._keywords = keywords
        self._others = others
        self._shelf = shelf
        self._clock = clock
        self._wanted = f"{keywords.name} {TERMS_VERSION}"
        self._learning = Learning(store)
        self._left: list[DocumentKey] | None = None
        """Ascending; None where there are some that were not looked up yet."""

    def begin(self) -> None:
        """To be called before anything is written: if the index is another one, clear it and begin anew."""
        with self._store.read() as view:
            if view.setting(INDEX) == self._wanted:
                self._left = None if view.setting(BUILDING) else []
                return

        def work(tx: Transaction) -> bool:
            if tx.setting(INDEX) == self._wanted:  # Another process on the same store was quicker.
                return bool(tx.setting(BUILDING))
            return self._cleared(tx)

        self._left = None if self._store.write(work) else []

    def again(self) -> None:
        """Begin anew, though the index is the right one; ``go_on`` and ``look`` do the rest."""
        self._left = None if self._store.write(self._cleared) else []

    def _cleared(self, tx: Transaction) -> bool:
        """Whether there is anything to be indexed anew."""
        for engine in (self._keywords, *self._others):
            engine.clear(tx)
        newest = max(tx.matching(EVERYTHING), default=0)
        tx.set_setting(INDEX, self._wanted)
        tx.set_setting(BUILDING, str(newest + 1) if newest else "")
        return bool(newest)

    def go_on(self, stopping: Callable[[], bool] = lambda: False) -> None:
        """Index some more; to be called about once a second."""
        if self._left is None:
            self._left = self._look_up()
        began = self._clock.monotonic()
        while self._left and self._clock.monotonic() - began < BUDGET and not stopping():
            self._index(self._left[-AT_A_TIME:], len(self._left) <= AT_A_TIME)
            self._learning.wrote(min(len(self._left), AT_A_TIME))
            del self._left[-AT_A_TIME:]
        if not self._left:
            self._learning.ended()

    def look(self) -> None:
        """See how far another process has come that indexes the same store."""
        if not self.is_done:
            with self._store.read() as view:
                self._left = None if view.setting(BUILDING) else []

    @property
    def left(self) -> int:
        """Documents that are still to be indexed."""
        left = self._left
        return len(self._look_up() if left is None else left)

    @property
    def is_done(self) -> bool:
        """Whether keywords find everything in what is read from now on."""
        return self._left is not None and not self._left

    def _look_up(self) -> list[DocumentKey]:
        with self._store.read() as view:
            behind = view.setting(BUILDING)
            keys = view.matching(EVERYTHING) if behind else ()
        return sorted(key for key in keys if key < int(behind or 0))

    def _index(self, keys: Sequence[DocumentKey], are_last: bool) -> None:
        with self._store.read() as view:
            self._shelf.prepare(view, _there(view, keys))

        def work(tx: Transaction) -> None:
            self._shelf.index_all(tx, _there(tx, keys))
            tx.set_setting(BUILDING, "" if are_last else str(keys[0]))

        self._store.write(work)


def _there(view: View, keys: Sequence[DocumentKey]) -> list[Stored]:
    return [Stored(key, memory) for key, memory in view.admitted(keys, EVERYTHING).items()]
