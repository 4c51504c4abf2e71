"""Background upkeep in small steps: compacts the keyword index, purges deleted words from files, closes outdated
contradictions, and prunes old recalls, events, sessions, cooldowns, decided proposals, journal batches, replaced
secrets and stored transcripts.

The need to purge is stored with the data, so it survives a killed process. The log of the store is emptied at every
start.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta

from hivelore.core.clock import Clock
from hivelore.indexes.ports import KeywordIndex
from hivelore.review.outdated import close_outdated_contradictions
from hivelore.storage.ports import MemoryStore, Transaction
from hivelore.stored_transcripts.erasure import erase

PURGE_BUDGET = 0.2
"""Approximate seconds per step for purging words."""
COMPACTION_BUDGET = 0.5
"""Approximate seconds per step for compacting the index."""
PURGE_REST_FACTOR = 100.0
"""After a purge, the next one waits for this multiple of its duration, because it may rewrite the whole index.
Otherwise frequent deletions would rewrite it constantly."""
MAX_RECALLS = 100_000
"""Maximum recalls in the log, regardless of age."""
MAX_EVENTS = 100_000
"""Maximum events in the log, regardless of age."""
ERASE_BUDGET = 1.0
"""Seconds for which a step erases transcripts."""
PRUNE_BATCH = 250
"""Rows of each kind pruned, or contradictions closed, per transaction."""
MAX_SESSIONS = 10_000
"""Maximum sessions per agent, regardless of age."""
SESSION_AGE = timedelta(days=30)
"""Maximum age of the last event of a session."""
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
        tasks: timedelta = timedelta(days=90),
        transcripts: timedelta | None = None,
    ) -> None:
        """``recalls``, ``events``: retention of the logs; ``undo``: retention of the change journal; ``decided``:
        retention of decided proposals, None: forever; ``tasks``: retention of finished tasks;
        ``transcripts``: retention of stored transcripts."""
        self._store = store
        self._keywords = keywords
        self._clock = clock
        self._recalls = recalls
        self._events = events
        self._undo = undo
        self._decided = decided
        self._tasks = tasks
        self._transcripts = transcripts
        self._pruned_at: float | None = None
        self._log_left = True
        self._asked = False
        """True once pending words were noticed."""
        self._rests_until = 0.0
        self._spent = 0.0

    def run_step(self, stopping: Callable[[], bool] = lambda: False) -> None:
        """Performs some upkeep. Call about once a second."""
        if not self._is_purged():
            self._log_left |= not self._asked
            self._asked = True
            if self._clock.monotonic() >= self._rests_until:
                self._purge_words(stopping)
        if self._log_left:
            self._log_left = not self._store.purge_log()
        self._compact(stopping)
        self._prune(stopping)

    def purge_log_later(self) -> None:
        """Empties the log of the store in the next step, and again until no reader needs it."""
        self._log_left = True

    def finish_purge(self, within: float) -> None:
        """Purges deleted words for up to ``within`` seconds. Call before closing the store, which empties its log."""
        until = self._clock.monotonic() + within
        while not self._is_purged() and self._clock.monotonic() < until:
            self._store.write(self._keywords.purge_step)

    def _compact(self, stopping: Callable[[], bool]) -> None:
        began = self._clock.monotonic()
        while self._clock.monotonic() - began < COMPACTION_BUDGET and not stopping():
            if not self._keywords.compact(self._store):
                return

    def _prune(self, stopping: Callable[[], bool]) -> None:
        """Prunes a few rows of each kind; if there are more, again in the next step, else after a while."""
        now = self._clock.monotonic()
        if self._pruned_at is not None and now - self._pruned_at < PRUNE_EVERY:
            return
        at, kept = self._clock.now(), self._transcripts
        steps: Sequence[Callable[[Transaction], int]] = (
            lambda tx: tx.prune_recalls(at - self._recalls, MAX_RECALLS, PRUNE_BATCH),
            lambda tx: tx.prune_events(at - self._events, MAX_EVENTS, PRUNE_BATCH),
            lambda tx: tx.prune_cooldowns(at, PRUNE_BATCH),
            lambda tx: tx.prune_sessions(at - SESSION_AGE, MAX_SESSIONS, PRUNE_BATCH),
            lambda tx: tx.prune_config(at - self._undo, PRUNE_BATCH),
            lambda tx: tx.prune_tasks(at - self._tasks, PRUNE_BATCH),
            lambda tx: close_outdated_contradictions(tx, at, PRUNE_BATCH),
            lambda tx: 0 if self._decided is None else tx.prune_proposals(at - self._decided, PRUNE_BATCH),
            lambda tx: 0 if kept is None else tx.expire_transcripts(at - kept, at, PRUNE_BATCH),
        )
        batches = self._store.write(lambda tx: tx.prune_batches(at - self._undo, PRUNE_BATCH))
        self._log_left |= batches > 0  # Pruned states must leave the store's log too.
        pruned = max(batches, *map(self._store.write, steps))
        is_erased = self._erase_transcripts(stopping)
        self._pruned_at = now if is_erased and pruned < PRUNE_BATCH else None

    def _erase_transcripts(self, stopping: Callable[[], bool]) -> bool:
        """Erases transcripts that expired, or whose deletion was interrupted. Returns False if some are left."""
        with self._store.read() as view:
            doomed = view.removed_transcripts(PRUNE_BATCH)
        until = self._clock.monotonic() + ERASE_BUDGET
        for one in doomed:
            self._log_left = True
            if not erase(self._store, one, lambda: stopping() or self._clock.monotonic() >= until):
                return False
        return len(doomed) < PRUNE_BATCH

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
