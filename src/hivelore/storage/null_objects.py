"""Implementations of ports that do nothing."""

from collections.abc import Callable

from hivelore.errors import HiveloreError
from hivelore.storage.ports import Notification


class NullNotifier:
    """Implements ``storage.ports.Notifier`` for a store that one process has."""

    def subscribe(self, notice: Notification, listener: Callable[[], object]) -> None:
        pass

    def run(self) -> None:
        pass

    def publish(self, notice: Notification) -> None:
        pass

    def close(self) -> None:
        pass


class NullWatch:
    """Implements ``storage.ports.StoreWatch`` for a store without a health monitor."""

    def read_done(self) -> None:
        pass

    def write_done(self) -> None:
        pass

    def store_failed(self, error: HiveloreError, *, writing: bool) -> None:
        pass
