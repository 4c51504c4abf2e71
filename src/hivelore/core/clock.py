"""The clock port: the present time, handed to whoever needs it."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The present, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that only go forward."""
        ...
