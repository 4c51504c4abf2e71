"""What the vector engines share that keep no copy of the vectors and read them from the view at every question."""

from collections.abc import Callable

from hivelore.storage.ports import MemoryStore, View


class Direct:
    """There is nothing to build and nothing to bring up to date."""

    ready = True

    def __init__(self, fingerprint: str, dimension: int) -> None:
        self._fingerprint = fingerprint
        self._dimension = dimension

    def build(self, view: View) -> bool:
        del view
        return True

    def follow(self, view: View) -> None:
        del view

    def maintain(self, store: MemoryStore, stopping: Callable[[], bool]) -> bool:
        del store, stopping
        return False
