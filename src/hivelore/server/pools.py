"""Four bounded pools of threads: a door hands a call to one of them, and waits without blocking.

recall: questions; read: other answers somebody waits for, and who they are; write: they mostly wait for the group's
commit; slow: import, export, maintenance. A full pool refuses at once, so that a flood does not become a queue without
end.
"""

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from typing import TypeVar

from hivelore.errors import Overloaded

T = TypeVar("T")


class Lane(StrEnum):
    RECALL = "recall"
    READ = "read"
    WRITE = "write"
    SLOW = "slow"


AT_ONCE = 2
"""Recalls at work where all they need is in this process. Most of each is Python, of which one runs at a time, and with
more of them each waits for the turns of the others: eight clients got 69 answers a second, and with four at work 54."""
AT_ONCE_ELSEWHERE = (os.cpu_count() or 2) + 2
"""Where they wait for a database server, or for one that embeds."""
WRITES_AT_ONCE = 8
"""Writes at work where the database is in this process: enough to share a commit. With 64, recalls beside 32 writers
took a third longer, and no more was written."""
WRITES_AT_ONCE_ELSEWHERE = 64

_THREADS = {Lane.READ: (os.cpu_count() or 2) + 2, Lane.SLOW: 2}
_WAITING = {Lane.RECALL: 256, Lane.READ: 256, Lane.WRITE: 512, Lane.SLOW: 8}
_RETRY_AFTER = 1.0


class Pool:
    """At most ``threads`` calls at work and ``waiting`` more in line."""

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        self.name = name
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=f"hivelore-{name}")
        self._places = threading.Semaphore(threads + waiting)

    async def run(self, call: Callable[[], T]) -> T:
        """The answer of ``call``. Raises Overloaded when every place is taken."""
        if not self._places.acquire(blocking=False):
            raise Overloaded("The service has too many calls at once. Try again in a second.", retry_after=_RETRY_AFTER)
        try:
            future = self._executor.submit(call)
        except BaseException:
            self._places.release()
            raise
        future.add_done_callback(lambda _: self._places.release())
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        self._executor.shutdown(wait=True, cancel_futures=True)


class Pools:
    def __init__(self, recalls: int = AT_ONCE_ELSEWHERE, writes: int = WRITES_AT_ONCE_ELSEWHERE) -> None:
        """How many recalls and writes are at work at the same time."""
        threads = {**_THREADS, Lane.RECALL: recalls, Lane.WRITE: writes}
        self._pools = {lane: Pool(lane.value, threads[lane], _WAITING[lane]) for lane in Lane}

    async def run(self, lane: Lane, call: Callable[[], T]) -> T:
        return await self._pools[lane].run(call)

    def close(self) -> None:
        for pool in self._pools.values():
            pool.close()
