"""Bounded pools of threads: a door hands a call to one of them, and waits without blocking.

recall: questions; read: other answers somebody waits for, and who they are; write: they mostly wait for the group's
commit; slow: undo, purge and check. A full pool refuses at once, so that a flood does not become a
queue without end. Callers take turns: who asks for much waits behind who asks for little.
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


AT_ONCE = 2
"""Recalls at work where all they need is in this process. Most of each is Python, of which one runs at a time, and with
more of them each waits for the turns of the others: eight clients got 69 answers a second, and with four at work 54."""
AT_ONCE_ELSEWHERE = (os.cpu_count() or 2) + 2
"""Where they wait for a database server, or for one that embeds."""
WRITES_AT_ONCE = 2
"""Writes at work where the database is in this process. Each is mostly Python, of which one runs at a time: beside 32
writers and among 20,000 memories a recall took 3.7 times as long as alone with 8 of them, 3.3 with 3 and 2.6 with 2.
Those 32 wrote 296, 215 and 203 memories a second."""
WRITES_AT_ONCE_ELSEWHERE = 64

_THREADS = {Lane.READ: (os.cpu_count() or 2) + 2, Lane.SLOW: 2}
_WAITING = {Lane.RECALL: 256, Lane.READ: 256, Lane.WRITE: 512, Lane.SLOW: 8}
_RETRY_AFTER = 1.0


class Pool:
    """At most ``threads`` calls at work and ``waiting`` more in line; one caller has three quarters of all places."""

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        self.name = name
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=f"hivelore-{name}")
        self._lock = threading.Lock()
        self._places = threads + waiting
        self._places_of_one = max(threads, self._places * 3 // 4)
        self._taken: Counter[Hashable] = Counter()
        self._lines: OrderedDict[Hashable, deque[tuple[Callable[[], Any], Future[Any]]]] = OrderedDict()
        """What each caller waits for. The first in order is the next one's turn."""

    async def run(self, call: Callable[[], T], who: Hashable = None) -> T:
        """The answer of ``call``, which ``who`` asks for. Raises Overloaded when every place, or every one that a
        single caller may have, is taken."""
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
        """Do one call: that of whoever was not served for longest."""
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
            if not future.done():  # What was raised belongs to the caller who waits for it.
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
    def __init__(self, recalls: int = AT_ONCE_ELSEWHERE, writes: int = WRITES_AT_ONCE_ELSEWHERE) -> None:
        """How many recalls and writes are at work at the same time."""
        threads = {**_THREADS, Lane.RECALL: recalls, Lane.WRITE: writes}
        self._pools = {lane: Pool(lane.value, threads[lane], _WAITING[lane]) for lane in Lane}

    async def run(self, lane: Lane, call: Callable[[], T], who: Hashable = None) -> T:
        return await self._pools[lane].run(call, who)

    def close(self) -> None:
        for pool in self._pools.values():
            pool.close()
