"""A store whose reads and writes nobody watches."""

from hivelore.errors import HiveloreError


class NullWatch:
    """Implements ``storage.ports.StoreWatch``."""

    def read_done(self) -> None:
        pass

    def write_done(self) -> None:
        pass

    def store_failed(self, error: HiveloreError, *, writing: bool) -> None:
        pass
