"""The asynchronous Python API, over a data folder and through a service."""

import asyncio
import inspect
from collections.abc import Generator
from datetime import timedelta
from pathlib import Path

import pytest

import hivelore
from hivelore.errors import Invalid, NotFound
from hivelore.python.async_hive import AsyncHive, AsyncMethod
from hivelore.python.hive import Hive
from support.service import Service

NOT_FOR_CALLERS = {"close", "call"}


@pytest.fixture(params=["embedded", "service"])
def home(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    monkeypatch.setenv("HIVELORE_EMBEDDER", "none")
    for name in ("HIVELORE_URL", "HIVELORE_KEY", "HIVELORE_HOME"):
        monkeypatch.delenv(name, raising=False)
    if request.param == "embedded":
        yield tmp_path
        return
    with Service(tmp_path):
        yield tmp_path


def test_it_stores_and_finds_like_the_blocking_api(home: Path) -> None:
    async def scenario() -> None:
        async with hivelore.open_async(home) as hive:
            memory = await hive.remember("Use pnpm here, never npm.", tags=["node"])
            (hit,) = await hive.recall("which package manager, pnpm or npm")
            assert hit.memory.id == memory.id
            assert await hive.get(memory.id) == memory
            event = await hive.record_event("The backup is late", service="backup")
            assert (await hive.events()).events == (event,)
            assert [one.action for one in await hive.cooldowns()] == []
            await hive.forget(memory.id)
            with pytest.raises(NotFound):
                await hive.get(memory.id)
            with pytest.raises(Invalid, match="limit"):
                await hive.recall("anything", limit=0)

    asyncio.run(scenario())


def test_calls_run_at_once_and_do_not_block_the_loop(home: Path) -> None:
    async def scenario() -> None:
        async with hivelore.open_async(home) as hive:
            stored = await asyncio.gather(*(hive.remember(f"Note {number} about the fox") for number in range(20)))
            assert len({one.id for one in stored}) == 20
            assert len(await hive.recall("fox", limit=50)) == 20
            ticks = 0
            searches = asyncio.gather(*(hive.recall("fox") for _ in range(20)))
            while not searches.done():
                ticks += 1
                await asyncio.sleep(0)
            assert ticks > 1

    asyncio.run(scenario())


def test_a_cancelled_program_closes_its_data(home: Path) -> None:
    async def program() -> None:
        async with hivelore.open_async(home):
            await asyncio.sleep(timedelta(minutes=1).total_seconds())

    async def scenario() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(program(), 0.5)

    asyncio.run(scenario())
    with hivelore.open(home) as hive:
        assert hive.list().memories == ()


def test_it_has_every_method_of_a_hive() -> None:
    methods = {
        name
        for name, value in inspect.getmembers_static(Hive)
        if not name.startswith("_") and name not in NOT_FOR_CALLERS and hasattr(value, "__get__")
    }
    asynchronous = {name for name, value in vars(AsyncHive).items() if isinstance(value, AsyncMethod)}
    assert asynchronous == methods
    assert all(getattr(AsyncHive, name).__doc__ == getattr(Hive, name).__doc__ for name in methods)
