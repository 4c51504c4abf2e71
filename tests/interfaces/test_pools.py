"""Concurrent calls of a service."""

import asyncio
from collections.abc import Callable
from contextlib import closing, suppress
from threading import Event

import pytest

from hivelore.core.operation import Lane
from hivelore.errors import Overloaded
from hivelore.http.operations import LOCAL_RECALLS, Pool, Pools
from hivelore.runtime.settings import Embedder, load


@pytest.mark.parametrize("recalls", [1, LOCAL_RECALLS, 5])
def test_recalls_beyond_the_limit_wait_and_delay_no_other_call(recalls: int) -> None:
    working: list[int] = []
    go_on = Event()

    def recall(number: int) -> Callable[[], int]:
        def work() -> int:
            working.append(number)
            assert go_on.wait(30)
            return number

        return work

    async def all_of_them() -> list[int]:
        asked = [asyncio.ensure_future(pools.run(Lane.RECALL, recall(number))) for number in range(recalls + 2)]
        while len(working) < recalls:
            await asyncio.sleep(0.001)
        assert await pools.run(Lane.WRITE, lambda: "written") == "written"
        assert working == list(range(recalls))
        go_on.set()
        return await asyncio.gather(*asked)

    pools = Pools(recalls)
    try:
        assert asyncio.run(all_of_them()) == list(range(recalls + 2))
    finally:
        pools.close()


class Busy:
    """A pool with one thread, which is kept busy until ``go_on``."""

    def __init__(self, waiting: int = 8) -> None:
        self.pool, self.go_on, self.done = Pool("test", 1, waiting), Event(), list[str]()

    def ask(self, who: str) -> "asyncio.Task[None]":
        def work() -> None:
            assert self.go_on.wait(30)
            self.done.append(who)

        return asyncio.get_running_loop().create_task(self.pool.run(work, who))


def test_a_caller_with_many_calls_does_not_delay_one_with_few() -> None:
    async def ask() -> list[str]:
        asked = [busy.ask("much") for _ in range(5)]
        await asyncio.sleep(0)
        asked += [busy.ask("little"), busy.ask("less")]
        await asyncio.sleep(0)
        busy.go_on.set()
        await asyncio.gather(*asked)
        return busy.done

    busy = Busy()
    with closing(busy.pool):
        done = asyncio.run(ask())
        assert {"little", "less"} <= set(done[:4])
        assert done.count("much") == 5


def test_one_caller_does_not_take_every_place() -> None:
    async def ask() -> list[str]:
        asked = [busy.ask("much") for _ in range(9)]
        await asyncio.sleep(0)
        asked.append(busy.ask("little"))
        await asyncio.sleep(0)
        busy.go_on.set()
        refused = [one for one in await asyncio.gather(*asked, return_exceptions=True) if one is not None]
        assert all(isinstance(one, Overloaded) for one in refused)
        assert len(refused) == 3
        return busy.done

    busy = Busy(waiting=7)
    with closing(busy.pool):
        assert asyncio.run(ask()).count("little") == 1
        assert busy.done.count("much") == 6


def test_an_abandoned_call_frees_its_place() -> None:
    async def ask() -> None:
        first = busy.ask("one")
        for _ in range(20):
            given_up = busy.ask("two")
            await asyncio.sleep(0)
            given_up.cancel()
            with suppress(asyncio.CancelledError):
                await given_up
        busy.go_on.set()
        await first
        with pytest.raises(ZeroDivisionError):
            await busy.pool.run(lambda: 1 // 0, "two")

    busy = Busy(waiting=2)
    with closing(busy.pool):
        asyncio.run(ask())
    assert busy.done == ["one"]


@pytest.mark.parametrize(
    ("settings", "is_all_here"),
    [
        ({}, True),
        ({"embedder": Embedder.NONE}, True),
        ({"embedder": Embedder.OPENAI, "openai_api_key": "not a key"}, False),
        ({"database": "postgresql://nobody@127.0.0.1:9/none"}, False),
    ],
)
def test_a_service_with_remote_engines_runs_more_calls(settings: dict[str, object], is_all_here: bool) -> None:
    assert load(**settings).is_all_here is is_all_here
