"""What processes that work on one store tell each other."""

from collections.abc import Callable
from enum import StrEnum


class Notification(StrEnum):
    AGENTS = "agents"
    """Keys or agents have changed."""
    WAITING = "waiting"
    """More texts wait for a vector than whoever tells it can embed at once."""


class NullNotifier:
    """Implements ``storage.ports.Notifier``."""

    def subscribe(self, notice: Notification, listener: Callable[[], object]) -> None:
        pass

    def run(self) -> None:
        pass

    def publish(self, notice: Notification) -> None:
        pass

    def close(self) -> None:
        pass
