"""Daily token quota of language models. Tokens are reserved before a call, so that the cap is never exceeded.

The count is stored in the database, so it survives restarts and is shared by all processes on the store.
"""

from dataclasses import dataclass
from datetime import date

from hivelore.core.clock import Clock
from hivelore.storage.ports import MemoryStore, SettingReads, Transaction

SPENT = "tokens.spent"
"""The setting with the last day (UTC) with usage and its number of tokens: ``2026-11-22 12345``."""


@dataclass(frozen=True, slots=True)
class Reserved:
    day: date
    tokens: int


class TokenQuota:
    def __init__(self, store: MemoryStore, clock: Clock, cap: int) -> None:
        """``cap`` is the number of tokens per day."""
        self._store = store
        self._clock = clock
        self.cap = cap

    def reserve(self, most: int) -> Reserved | None:
        """Reserves tokens; returns None if the quota of the day does not allow it."""
        today = self._clock.now().date()

        def reserve_tokens(tx: Transaction) -> Reserved | None:
            day, spent = _spent(tx, today)
            if spent + most > self.cap:
                return None
            _note(tx, day, spent + most)
            return Reserved(day, most)

        return self._store.write(reserve_tokens)

    def settle(self, reserved: Reserved, spent: int) -> None:
        """Replaces a reservation by the tokens actually used. It has no effect on another day."""

        def settle_tokens(tx: Transaction) -> None:
            day, counted = _spent(tx, reserved.day)
            if day == reserved.day:
                _note(tx, day, max(counted - reserved.tokens + spent, 0))

        self._store.write(settle_tokens)

    def today(self) -> int:
        with self._store.read() as view:
            return _spent(view, self._clock.now().date())[1]


def _spent(view: SettingReads, today: date) -> tuple[date, int]:
    """Returns the current day and its usage. A clock that was set back does not start a new day."""
    day, _, tokens = (view.setting(SPENT) or "").partition(" ")
    known = date.fromisoformat(day) if day else date.min
    return (known, int(tokens)) if known >= today else (today, 0)


def _note(tx: Transaction, day: date, tokens: int) -> None:
    tx.set_setting(SPENT, f"{day.isoformat()} {tokens}")
