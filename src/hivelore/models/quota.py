"""Spending: tokens of language models, counted before they are spent, so that no more than a day's cap is ever spent.

The count is in the database: a restart, a kill and other processes on the same store change nothing about it.
"""

from dataclasses import dataclass
from datetime import date

from hivelore.core.clock import Clock
from hivelore.storage.ports import MemoryStore, SettingReads, Transaction

SPENT = "tokens.spent"
"""The setting with the last day on which tokens were spent (UTC), and how many: ``2026-11-22 12345``."""


@dataclass(frozen=True, slots=True)
class Reserved:
    day: date
    tokens: int


class TokenQuota:
    def __init__(self, store: MemoryStore, clock: Clock, cap: int) -> None:
        """``cap``: tokens a day."""
        self._store = store
        self._clock = clock
        self.cap = cap

    def reserve(self, most: int) -> Reserved | None:
        """Count so many tokens as spent; None where the day has not so many left."""
        today = self._clock.now().date()

        def work(tx: Transaction) -> Reserved | None:
            day, spent = _spent(tx, today)
            if spent + most > self.cap:
                return None
            _note(tx, day, spent + most)
            return Reserved(day, most)

        return self._store.write(work)

    def settle(self, reserved: Reserved, spent: int) -> None:
        """Count what was really spent instead; on another day it is too late for that."""

        def work(tx: Transaction) -> None:
            day, counted = _spent(tx, reserved.day)
            if day == reserved.day:
                _note(tx, day, max(counted - reserved.tokens + spent, 0))

        self._store.write(work)

    def today(self) -> int:
        with self._store.read() as view:
            return _spent(view, self._clock.now().date())[1]


def _spent(view: SettingReads, today: date) -> tuple[date, int]:
    """The day that counts, and what was spent on it. A clock that was set back does not bring a new day."""
    day, _, tokens = (view.setting(SPENT) or "").partition(" ")
    known = date.fromisoformat(day) if day else date.min
    return (known, int(tokens)) if known >= today else (today, 0)


def _note(tx: Transaction, day: date, tokens: int) -> None:
    tx.set_setting(SPENT, f"{day.isoformat()} {tokens}")
