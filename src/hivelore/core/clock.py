"""The clock port."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """Returns the current time in UTC."""
        ...

    def monotonic(self) -> float:
        """Returns seconds of a clock that never goes back."""
        ...
