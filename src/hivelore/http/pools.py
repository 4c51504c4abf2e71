"""Bounded thread pools for blocking calls, one for each lane.

A full pool refuses calls at once, so that a flood does not become an endless queue. Callers are served round-robin: one
with many calls does not delay one with few.
"""

import asyncio
import os
import sys
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from hivelore.core.operation import Lane
from hivelore.errors import Overloaded

T = TypeVar("T")


LOCAL_RECALLS = 2
"""Concurrent recalls if database and model are in this process. A recall is mostly Python, and more threads wait for
each other: eight clients got 69 answers a second with two threads, 54 with four."""
REMOTE_RECALLS = (os.cpu_count() or 2) + 2
"""Concurrent recalls if they wait for a database or embedding server."""
LOCAL_WRITES = 2
"""Concurrent writes if the database is in this process. A write is mostly Python too. With 32 writing clients and
20,000 memories, a recall took 3.7 times as long as alone with 8 threads, 3.3 with 3, and 2.6 with 2; the clients wrote
296, 215 and 203 memories a second."""
REMOTE_WRITES = 64

_THREADS = {Lane.READ: (os.cpu_count() or 2) + 2, Lane.SLOW: 2}
_WAITING = {Lane.RECALL: 256, Lane.READ: 256, Lane.WRITE: 512, Lane.SLOW: 8}
_RETRY_AFTER = 1.0


class Pool:
    """Runs at most ``threads`` calls while ``waiting`` more wait. One caller may have three quarters of all places."""

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        self.name = name
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=f"hivelore-{name}")
        self._lock = threading.Lock()
        self._places = threads + waiting
        self._places_of_one = max(threads, self._places * 3 // 4)
        self._taken: Counter[Hashable] = Counter()
        self._lines: OrderedDict[Hashable, deque[tuple[Callable[[], Any], Future[Any]]]] = OrderedDict()
        """Waiting calls by caller. The first caller is served next."""

    async def run(self, call: Callable[[], T], who: Hashable = None) -> T:
        """Runs ``call`` for the caller ``who``. Raises Overloaded if all places, or all places of one caller, are
        taken."""
        future: Future[T] = Future()
        with self._lock:
            if self._taken.total() >= self._places or self._taken[who] >= self._places_of_one:
                raise Overloaded(
                    "The service has too many calls at once. Try again in a second.", retry_after=_RETRY_AFTER
                )
            self._executor.submit(self._work)
            self._taken[who] += 1
            self._lines.setdefault(who, deque()).append((call, future))
        future.add_done_callback(lambda _: self._leave(who))
        return await asyncio.wrap_future(future)

    def _work(self) -> None:
        """Runs a call of the caller who has waited longest for a turn."""
        with self._lock:
            who, line = next(iter(self._lines.items()))
            call, future = line.popleft()
            self._lines.move_to_end(who)
            if not line:
                del self._lines[who]
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(call())
        finally:
            if not future.done():  # The error belongs to the waiting caller.
                future.set_exception(sys.exc_info()[1])

    def _leave(self, who: Hashable) -> None:
        with self._lock:
            self._taken[who] -= 1
            if not self._taken[who]:
                del self._taken[who]

    def close(self) -> None:
        self._executor.shutdown(wait=True, cancel_futures=True)
        for line in self._lines.values():
            for _, future in line:
                future.cancel()


class Pools:
    def __init__(self, recalls: int = REMOTE_RECALLS, writes: int = REMOTE_WRITES) -> None:
        """``recalls``, ``writes``: how many run concurrently."""
        threads = {**_THREADS, Lane.RECALL: recalls, Lane.WRITE: writes}
        self._pools = {lane: Pool(lane.value, threads[lane], _WAITING[lane]) for lane in Lane}

    async def run(self, lane: Lane, call: Callable[[], T], who: Hashable = None) -> T:
        return await self._pools[lane].run(call, who)

    def close(self) -> None:
        for pool in self._pools.values():
            pool.close()
