"""A program whose processes move a swarm, until they kill themselves at a transaction.

``python -m support.crashing_mover`` imports everything once. For each JSON line ``[source, target, place, nth]`` on its
stdin it forks a process that moves the SQLite file ``source`` to the file or the database ``target``, and kills itself
before or after the commit of the nth unit that it writes. On stdout, as JSON: how it ended: 0 when it was done and both
were equal.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar, cast

from hivelore.indexes.keywords.postings.engine import Postings
from hivelore.indexing import rebuild
from hivelore.memories import whole_reader
from hivelore.runtime.clock import SystemClock
from hivelore.storage.ports import MemoryStore, Transaction
from hivelore.storage.postgres.store import PostgresStore
from hivelore.storage.sqlite.store import SqliteSource, SqliteStore
from support.migrations import moved

T = TypeVar("T")


class Place(StrEnum):
    BEFORE = "before"
    """It is written and not yet committed."""
    AFTER = "after"
    """It is committed and nobody knows yet."""


class KilledStore:
    """Store that kills its process."""

    def __init__(self, store: MemoryStore, place: Place, nth: int) -> None:
        self._store, self._place, self._left = store, place, nth

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def write(self, work: Callable[[Transaction], T], deadline: float | None = None) -> T:
        self._left -= 1

        def killing(tx: Transaction) -> T:
            done = work(tx)
            self._die(Place.BEFORE)
            return done

        done = self._store.write(killing, deadline)
        self._die(Place.AFTER)
        return done

    def _die(self, place: Place) -> None:
        if (place, 0) == (self._place, self._left):
            os.kill(os.getpid(), signal.SIGKILL)


def opened(target: str) -> MemoryStore:
    clock = SystemClock()
    if target.startswith("postgresql:"):
        return PostgresStore(target, clock=clock, connections=2)
    return SqliteStore(Path(target), clock=clock, durable=False)


def move(source: str, target: str, place: Place, nth: int) -> bool:
    whole_reader.BATCH_SIZE = rebuild.STEP_DOCUMENTS = 3
    with closing(SqliteSource(Path(source), clock=SystemClock())) as here, closing(opened(target)) as there:
        return moved(here, cast(MemoryStore, KilledStore(there, place, nth)), Postings()).is_equal


def main() -> None:
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                code = 0 if move(*json.loads(line)) else 2
            finally:
                os._exit(code)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
