"""The engine in memory for as long as its vectors fit there; beyond, the store's own."""

from collections.abc import Callable, Collection

from hivelore.indexes.ports import VectorIndex
from hivelore.indexes.vectors.scan import ScanVectors
from hivelore.indexing.model import DocumentKey, Neighbours, Vector
from hivelore.search.model import Filter
from hivelore.storage.ports import MemoryStore, View


class CappedVectors:
    """Changes over once, when the vectors outgrow ``scan``'s memory limit; after a start it begins in memory again."""

    def __init__(self, scan: ScanVectors, beyond: VectorIndex) -> None:
        self._scan: ScanVectors | None = scan
        self._beyond = beyond

    @property
    def name(self) -> str:
        return self._current.name

    @property
    def ready(self) -> bool:
        return self._current.ready

    @property
    def _current(self) -> VectorIndex:
        return self._scan or self._beyond

    def build(self, view: View) -> bool:
        if self._scan is not None and self._scan.build(view):
            return True
        self._scan = None
        return self._beyond.build(view)

    def follow(self, view: View) -> None:
        scan = self._scan
        if scan is not None:
            scan.follow(view)
        if scan is not None and scan.fits(scan.count):
            return
        self._scan = None
        if self._beyond.ready:
            self._beyond.follow(view)

    def maintain(self, store: MemoryStore, stopping: Callable[[], bool]) -> bool:
        return self._beyond.maintain(store, stopping)

    def nearest(
        self, view: View, query: Vector, where: Filter, limit: int, also: Collection[DocumentKey] = ()
    ) -> Neighbours:
        return self._current.nearest(view, query, where, limit, also)
