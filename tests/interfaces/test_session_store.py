"""The SessionStore of the Claude Agent SDK, over a service and in process: the contracts of the vendor."""

import asyncio
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import SessionStore, project_key_for_directory
from claude_agent_sdk.testing import run_session_store_conformance

from hivelore.core.agents import Interface
from hivelore.errors import Forbidden
from hivelore.local.claude_code_files import project_folder_name
from hivelore.python.async_hive import AsyncHive
from hivelore.python.hive import EmbeddedHive
from hivelore.python.remote import RemoteHive
from hivelore.python.session_store import HiveSessionStore
from support.postgres import DATABASES, service_on
from support.service import Service

KEY: Any = {"project_key": "-work", "session_id": "00000000-0000-4000-8000-000000000001"}
Stores = Callable[..., HiveSessionStore]


@pytest.fixture(scope="module", params=DATABASES)
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    with Service(tmp_path_factory.mktemp("hivelore"), **service_on(request.param)) as running:
        yield running


@pytest.fixture(params=["service", "in process"])
def new_store(request: pytest.FixtureRequest, service: Service) -> Generator[Stores]:
    """Makes stores, each of an agent of its own."""
    numbers = count()
    with ThreadPoolExecutor(4) as threads:

        def store(key: str | None = None) -> HiveSessionStore:
            key = key or service.add(f"{request.node.name}-{next(numbers)}")
            if request.param == "service":
                return HiveSessionStore(AsyncHive(RemoteHive(service.client(key)), threads))
            viewer = service.app.agents.viewer(key, Interface.PYTHON, None)
            return HiveSessionStore(AsyncHive(EmbeddedHive(service.app, viewer), threads), machine="here")

        yield store


def test_the_contracts_of_the_vendor_hold(new_store: Stores) -> None:
    def store() -> SessionStore:
        made: SessionStore = new_store()  # type: ignore[assignment]
        return made

    asyncio.run(run_session_store_conformance(store, skip_optional=frozenset({"list_session_summaries"})))


def test_an_entry_with_a_known_uuid_is_left_out(new_store: Stores) -> None:
    store = new_store()
    first, second = {"type": "x", "uuid": "a", "n": 1}, {"type": "x", "n": 2}

    async def work() -> list[Any] | None:
        await store.append(KEY, [first, second])
        await store.append(KEY, [first, second, {"type": "x", "uuid": "b"}])
        return await store.load(KEY)

    assert asyncio.run(work()) == [first, second, second, {"type": "x", "uuid": "b"}]


def test_a_long_transcript_is_loaded_in_pages(new_store: Stores) -> None:
    store = new_store()
    entries = [{"type": "x", "uuid": str(number), "text": "é" * 200_000} for number in range(30)]

    async def work() -> list[Any] | None:
        await store.append(KEY, entries)
        return await store.load(KEY)

    assert asyncio.run(work()) == entries


def test_an_entry_that_no_request_could_have_is_shortened(new_store: Stores) -> None:
    store = new_store()
    entry = {"type": "user", "uuid": "a", "message": {"role": "user", "content": "x" * 17_000_000}}

    async def work() -> list[Any] | None:
        await store.append(KEY, [{"type": "x", "uuid": "0"}, entry, {"type": "x", "uuid": "b"}])
        return await store.load(KEY)

    found = asyncio.run(work())
    assert found is not None
    assert [one["uuid"] for one in found] == ["0", "a", "b"]
    assert len(found[1]["message"]["content"]) < 30_000


def test_agents_do_not_share_sessions(new_store: Stores) -> None:
    ada, bob = new_store(), new_store()

    async def work() -> None:
        await ada.append(KEY, [{"type": "x"}])
        assert await bob.load(KEY) is None
        assert await bob.list_sessions("-work") == []
        assert await bob.list_subkeys(KEY) == []
        await bob.delete(KEY)
        assert await ada.load(KEY) == [{"type": "x"}]

    asyncio.run(work())


def test_an_operator_loads_no_exact_transcript(new_store: Stores, service: Service) -> None:
    store = new_store(service.operator_key)
    with pytest.raises(Forbidden, match="own agent"):
        asyncio.run(store.load(KEY))


@pytest.mark.parametrize("folder", ["/", "/home/ada/my work.d", "/tmp/é/x", "/" + "long name/" * 40])
def test_the_folder_of_a_workspace_has_the_name_that_the_vendor_gives_it(folder: str) -> None:
    assert project_folder_name(Path(folder)) == project_key_for_directory(folder)
