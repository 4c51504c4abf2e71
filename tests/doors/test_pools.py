"""How many calls a service works on at the same time."""

import asyncio
from collections.abc import Callable
from threading import Event

import pytest

from hivelore.config import Embedder, load
from hivelore.server.pools import AT_ONCE, Lane, Pools


@pytest.mark.parametrize("recalls", [1, AT_ONCE, 5])
def test_more_recalls_than_may_be_at_work_wait_and_others_do_not_wait_for_them(recalls: int) -> None:
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


@pytest.mark.parametrize(
    ("settings", "is_all_here"),
    [
        ({}, True),
        ({"embedder": Embedder.NONE}, True),
        ({"embedder": Embedder.OPENAI, "openai_api_key": "not a key"}, False),
        ({"database": "postgresql://nobody@127.0.0.1:9/none"}, False),
    ],
)
def test_a_service_that_waits_for_others_works_on_more(settings: dict[str, object], is_all_here: bool) -> None:
    assert load(**settings).is_all_here is is_all_here
