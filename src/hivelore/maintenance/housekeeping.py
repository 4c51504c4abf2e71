"""Upkeep: what keeps searches quick, wiping what forgetting left in the files, and letting go of old recalls, events,
sessions, cooldowns that are over, what was decided in review and what changes could be taken back with, a step at a
time beside the calls.

Whether words are to be wiped is kept with the data, so a killed process goes on where it was; the log of the
store is emptied at every start.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta

from hivelore.core.clock import Clock
from hivelore.indexes.ports import KeywordIndex
from hivelore.storage.ports import MemoryStore, Transaction

PURGE_BUDGET = 0.2
"""Seconds of steps, about, before whoever tends the service does something else."""
COMPACTION_BUDGET = 0.5
"""Likewise, of settling the index."""
PURGE_REST_FACTOR = 100.0
"""After the words were wiped, the next time waits so many times as long as it took: wiping may rewrite the
whole index, and who forgets something every minute is not to have it rewritten every minute."""
MAX_RECALLS = 100_000
"""Recalls that stay in the log at most, however young they are."""
MAX_EVENTS = 100_000
"""Likewise, events."""
PRUNE_BATCH = 250
"""Of each kind, how many go in one unit."""
MAX_SESSIONS = 10_000
"""Sessions of an agent that are known at most, however young they are."""
SESSION_AGE = timedelta(days=30)
"""Since the last event of a session that is known."""
PRUNE_EVERY = 60.0
"""Seconds."""


class Housekeeper:
    def __init__(
        self,
        store: MemoryStore,
        keywords: KeywordIndex,
        clock: Clock,
        *,
        recalls: timedelta = timedelta(days=30),
        events: timedelta = timedelta(days=30),
        undo: timedelta = timedelta(days=7),
        decided: timedelta | None = timedelta(days=90),
    ) -> None:
        """``recalls``, ``events``: how long they stay in their log; ``undo``: how long changes can be taken back;
        ``decided``: how long proposals stay that somebody has decided about, None: for ever."""
        self._store = store
        self._keywords = keywords
        self._clock = clock
        self._recalls = recalls
        self._events = events
        self._undo = undo
        self._decided = decided
        self._pruned_at: float | None = None
        self._log_left = True
        self._asked = False
        """Whether it was seen that words are to be wiped."""
        self._rests_until = 0.0
        self._spent = 0.0

    def run_step(self, stopping: Callable[[], bool] = lambda: False) -> None:
        """Do some of what there is to do; to be called about once a second."""
        if not self._is_purged():
            self._log_left |= not self._asked
            self._asked = True
            if self._clock.monotonic() >= self._rests_until:
                self._purge_words(stopping)
        if self._log_left:
            self._log_left = not self._store.purge_log()
        self._compact(stopping)
        self._prune()

    def finish_purge(self, within: float) -> None:
        """Wipe what forgetting left, without resting, as far as ``within`` seconds allow. To be called before the store
        is closed, which empties its log."""
        until = self._clock.monotonic() + within
        while not self._is_purged() and self._clock.monotonic() < until:
            self._store.write(self._keywords.purge_step)

    def _compact(self, stopping: Callable[[], bool]) -> None:
        began = self._clock.monotonic()
        while self._clock.monotonic() - began < COMPACTION_BUDGET and not stopping():
            if not self._keywords.compact(self._store):
                return

    def _prune(self) -> None:
        """Let go of a few of each kind; where there are more, again the next time, else after a while."""
        now = self._clock.monotonic()
        if self._pruned_at is not None and now - self._pruned_at < PRUNE_EVERY:
            return
        at = self._clock.now()
        steps: Sequence[Callable[[Transaction], int]] = (
            lambda tx: tx.prune_recalls(at - self._recalls, MAX_RECALLS, PRUNE_BATCH),
            lambda tx: tx.prune_events(at - self._events, MAX_EVENTS, PRUNE_BATCH),
            lambda tx: tx.prune_cooldowns(at, PRUNE_BATCH),
            lambda tx: tx.prune_sessions(at - SESSION_AGE, MAX_SESSIONS, PRUNE_BATCH),
            lambda tx: 0 if self._decided is None else tx.prune_proposals(at - self._decided, PRUNE_BATCH),
        )
        batches = self._store.write(lambda tx: tx.prune_batches(at - self._undo, PRUNE_BATCH))
        self._log_left |= batches > 0  # What memories were is to leave the log of the store, too.
        gone = max(batches, *map(self._store.write, steps))
        self._pruned_at = None if gone == PRUNE_BATCH else now

    def _purge_words(self, stopping: Callable[[], bool]) -> None:
        began = self._clock.monotonic()
        while self._clock.monotonic() - began < PURGE_BUDGET and not stopping():
            self._store.write(self._keywords.purge_step)
            if self._is_purged():
                now = self._clock.monotonic()
                self._rests_until = now + PURGE_REST_FACTOR * (self._spent + now - began)
                self._spent, self._asked, self._log_left = 0.0, False, True
                return
        self._spent += self._clock.monotonic() - began

    def _is_purged(self) -> bool:
        with self._store.read() as view:
            return self._keywords.is_purged(view)
