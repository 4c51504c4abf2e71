"""Time for which a checked key stays valid."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing
from datetime import timedelta
from pathlib import Path
from threading import Event

import psycopg
import pytest

from hivelore.core.agents import Interface, Role, Viewer
from hivelore.errors import Unauthenticated
from hivelore.http.operations import FRESH_SECONDS, Authenticator, Pools
from hivelore.identity.service import Agents
from hivelore.runtime.app import Application
from hivelore.runtime.settings import Embedder, load
from support import postgres
from support.clocks import SteppingClock
from support.waiting import until


class Replica:
    """A service without interfaces. Its clock stands still until a test moves it."""

    def __init__(self, home: Path, database: str) -> None:
        self.clock = SteppingClock()
        self.app = Application(load(home=home, database=database, embedder=Embedder.NONE), clock=self.clock)
        self.pools = Pools()
        self.authenticator = Authenticator(self.app.agents, self.pools, self.clock, self.app.health)

    def lets_in(self, key: str) -> bool:
        try:
            asyncio.run(self.authenticator.viewer_of_key(key, None, Interface.REST))
        except Unauthenticated:
            return False
        return True

    def close(self) -> None:
        self.app.close()
        self.pools.close()


@pytest.fixture
def database() -> str:
    return postgres.schema()


@pytest.fixture
def open_replica(tmp_path: Path, database: str) -> Generator[Callable[[str], Replica]]:
    with ExitStack() as stack:
        yield lambda name: stack.enter_context(closing(Replica(tmp_path / name, database)))


def listening(replica: Replica) -> Replica:
    """Waits until the replica listens."""
    began = Event()
    replica.app.agents.on_change(began.set)
    replica.app.start()
    assert began.wait(60)
    return replica


def test_a_key_revoked_by_one_service_is_refused_by_the_others_at_once(open_replica: Callable[[str], Replica]) -> None:
    one, other = (listening(open_replica(name)) for name in ("one", "other"))
    key = one.app.agents.add("eve", Role.WORKER).text
    assert one.lets_in(key)
    until(lambda: other.lets_in(key))
    one.app.agents.revoke("eve")
    assert not one.lets_in(key)
    until(lambda: not other.lets_in(key))


def test_a_service_that_missed_the_notification_refuses_the_key_a_second_later(
    open_replica: Callable[[str], Replica], database: str
) -> None:
    one, deaf = open_replica("one"), open_replica("deaf")
    key = one.app.agents.add("eve", Role.WORKER).text
    assert deaf.lets_in(key)
    one.app.agents.revoke("eve")
    assert deaf.lets_in(key)
    deaf.clock.advance(timedelta(seconds=FRESH_SECONDS))
    assert not deaf.lets_in(key)


def test_a_service_that_lost_its_connection_forgets_checked_keys(open_replica: Callable[[str], Replica]) -> None:
    one, other = (listening(open_replica(name)) for name in ("one", "other"))
    key = one.app.agents.add("eve", Role.WORKER).text
    until(lambda: other.lets_in(key))
    with psycopg.connect(postgres.database(), autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'hivelore notices' AND datname = current_database()"
        )
    one.app.agents.revoke("eve")
    until(lambda: not other.lets_in(key))


def test_a_key_revoked_during_its_check_is_not_valid_afterwards(
    open_replica: Callable[[str], Replica], monkeypatch: pytest.MonkeyPatch
) -> None:
    replica = open_replica("one")
    key = replica.app.agents.add("eve", Role.WORKER).text
    checked = Agents.viewer

    def slow(agents: Agents, key: str | None, interface: Interface, acting_for: str | None = None) -> Viewer:
        viewer = checked(agents, key, interface, acting_for)
        agents.revoke("eve")
        return viewer

    with monkeypatch.context() as patched:
        patched.setattr(Agents, "viewer", slow)
        assert replica.lets_in(key)
    assert not replica.lets_in(key)
