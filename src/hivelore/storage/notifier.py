"""What processes that work on one store tell each other."""

from collections.abc import Callable
from enum import StrEnum


class Notice(StrEnum):
    AGENTS = "agents"
    """Keys or agents have changed."""
    WAITING = "waiting"
    """More texts wait for a vector than whoever tells it can embed at once."""


class NobodyElse:
    """Implements ``storage.ports.Notices``."""

    def hear(self, notice: Notice, listener: Callable[[], object]) -> None:
        pass

    def run(self) -> None:
        pass

    def tell(self, notice: Notice) -> None:
        pass

    def close(self) -> None:
        pass
