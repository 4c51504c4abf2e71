"""Connections that are lost, servers that are not there, others that are in the way, and deadlines."""

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Barrier, BrokenBarrierError

import psycopg
import pytest

from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Expired, Invalid, Unavailable
from hivelore.indexing.model import ModelKey
from hivelore.memories.model import MemoryId
from hivelore.runtime.clock import SystemClock
from hivelore.storage.ports import Transaction, View
from hivelore.storage.postgres import pool as lending
from hivelore.storage.postgres import store as module
from hivelore.storage.postgres.connection import server_name
from hivelore.storage.postgres.store import PostgresStore
from hivelore.storage.postgres.view import PostgresTransaction, PostgresView
from support import postgres
from support.clocks import FixedClock
from support.memories import EVERYTHING, a_memory, whole
from support.postgres_line import Line, line
from support.stores import add, listed, present

PATIENCE = 60.0
MANY = "SELECT COUNT(*) FROM generate_series(1, 1000000000)"


def backend(view: View) -> int:
    assert isinstance(view, PostgresView)
    return view.rows("SELECT pg_backend_pid()")[0][0]


def end(backend: int) -> None:
    """Ends a connection on the server, and waits until it has closed."""
    with psycopg.connect(postgres.database(), autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(%s, 10000)", (backend,))


# Lost connections.


def test_connections_that_were_lost_meanwhile_are_replaced_unnoticed(store: PostgresStore) -> None:
    with store.read() as one, store.read() as other:
        backends = [backend(one), backend(other)]
    for each in backends:
        end(each)
    add(store, a_memory("kept"))
    for each in [backend_of(store), backend_of(store)]:
        end(each)
    assert [memory.content for memory in listed(store)] == ["kept"]


def backend_of(store: PostgresStore) -> int:
    with store.read() as view:
        return backend(view)


def test_a_write_that_loses_its_connection_stores_nothing_and_says_so(store: PostgresStore) -> None:
    def lose_connection(tx: Transaction) -> None:
        tx.add(a_memory("half"), whole("half"))
        end(backend(tx))
        tx.add(a_memory("whole"), whole("whole"))

    with pytest.raises(Unavailable, match="does not answer"):
        store.write(lose_connection)
    assert listed(store) == []
    add(store, a_memory("next"))
    assert len(listed(store)) == 1


def test_a_connection_lost_before_the_commit_stores_nothing(store: PostgresStore) -> None:
    def lose_connection_last(tx: Transaction) -> None:
        tx.add(a_memory("perhaps"), whole("perhaps"))
        end(backend(tx))

    with pytest.raises(Unavailable, match="nothing of this was stored"):
        store.write(lose_connection_last)
    assert listed(store) == []


@pytest.fixture
def far(url: str) -> Generator[tuple[Line, PostgresStore]]:
    """A store at the end of a line."""
    with line(url) as to_server, closing(PostgresStore(to_server.url, clock=SystemClock(), connections=2)) as store:
        yield to_server, store


def test_a_commit_is_acknowledged_although_its_answer_was_lost(
    far: tuple[Line, PostgresStore],
) -> None:
    to_server, store = far
    to_server.loses_next_answer.set()
    stored = add(store, a_memory("kept"))
    assert not to_server.loses_next_answer.is_set()
    assert present(store, stored.memory) == stored
    assert len(listed(store)) == 1


def test_an_unknown_commit_raises_with_advice_to_check(far: tuple[Line, PostgresStore]) -> None:
    to_server, store = far
    to_server.loses_next_answer.set()
    store._pool.timeline = "another"  # A standby took over: it may know the number from somebody else.
    with pytest.raises(Unavailable, match="Check"):
        add(store, a_memory("perhaps"))


def test_while_the_server_is_away_calls_say_so_and_when_it_is_back_they_work(
    far: tuple[Line, PostgresStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    to_server, store = far
    add(store, a_memory("before"))
    monkeypatch.setattr(lending, "PATIENCE", 0.2)
    to_server.cut()
    with pytest.raises(Unavailable):
        add(store, a_memory("lost"))
    with pytest.raises(Unavailable):
        listed(store)
    monkeypatch.setattr(lending, "PATIENCE", PATIENCE)
    to_server.join()
    add(store, a_memory("after"))
    assert {memory.content for memory in listed(store)} == {"before", "after"}


# Servers that cannot write.


@pytest.mark.parametrize(
    ("state", "said"),
    [("53100", "no space left.*Free some space"), ("53200", "no space left"), ("25006", "read-only.*primary")],
    ids=["disk full", "out of memory", "standby"],
)
def test_a_server_that_cannot_write_is_named_and_nothing_is_half_stored(
    store: PostgresStore, url: str, state: str, said: str
) -> None:
    """The server itself raises what it raises then, after a part of the unit was written."""
    raising = f"BEGIN RAISE EXCEPTION 'no more' USING ERRCODE = '{state}'; END"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $${raising}$$".encode())
        connection.execute("CREATE TRIGGER no_room BEFORE INSERT ON chunk FOR EACH ROW EXECUTE FUNCTION no_room()")
        with pytest.raises(Unavailable, match=said):
            add(store, a_memory("too much"))
        assert listed(store) == []
        connection.execute("DROP TRIGGER no_room ON chunk")
    add(store, a_memory("room again"))
    assert [memory.content for memory in listed(store)] == ["room again"]


def test_a_read_that_loses_its_connection_says_so_and_the_next_one_is_fine(store: PostgresStore) -> None:
    add(store, a_memory("kept"))
    with store.read() as view:
        end(backend(view))
        with pytest.raises(Unavailable):
            view.setting("name")
    assert len(listed(store)) == 1


def test_a_server_that_is_not_there_is_named_without_the_password() -> None:
    url = "postgresql://ada:hunter2@127.0.0.1:1/hive"
    with pytest.raises(Unavailable, match=r"hive on 127\.0\.0\.1:1 does not answer") as raised:
        PostgresStore(url, clock=SystemClock())
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ada:hunter2@host:port:port/?nonsense=1",
        "postgresql://ada:hunter2@[host/memories",
        "postgresql://ada:hunter2%zz@host/memories",
        'postgresql://ada:"hunter2"@[host/memories',
    ],
)
def test_an_invalid_url_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(Invalid, match="postgresql://user:password@host") as raised:
        server_name(url)
    assert "hunter2" not in str(raised.value)


def test_a_view_is_over_with_its_snapshot_and_a_transaction_with_its_unit(store: PostgresStore) -> None:
    with store.read() as view:
        pass
    transaction = store.write(lambda tx: tx)
    for one in (view, transaction):
        with pytest.raises(Unavailable, match="has ended"):
            one.setting("name")


def test_a_closed_store_says_so(url: str) -> None:
    store = PostgresStore(url, clock=SystemClock())
    store.close()
    with pytest.raises(Unavailable, match="closed"):
        listed(store)
    with pytest.raises(Unavailable, match="closed"):
        add(store, a_memory())


# Others.


def test_a_conflicting_transaction_is_run_again(store: PostgresStore) -> None:
    """Both look whether it was said before, and say it if not: one after the other only one of them would."""
    met = Barrier(2)
    memory = a_memory("It is said once.")
    begun: list[int] = []
    runs: list[bool] = []

    def say(number: int) -> None:
        def rename_after_meeting(tx: Transaction) -> None:
            assert tx.setting("name") is None  # the snapshot is taken now
            if len(begun) < 2:
                begun.append(number)
                met.wait(PATIENCE)
            known = tx.memory_with_statement(memory.statement)
            runs.append(known is None)
            if known is None:
                tx.add(a_memory(memory.content), ())

        store.write(rename_after_meeting)

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(say, number) for number in range(2)]:
            done.result(PATIENCE)
    assert [one.content for one in listed(store)] == [memory.content]
    assert runs == [True, False]


def test_a_transaction_that_always_conflicts_runs_alone(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CONCURRENT_TRIES", 2)
    met = Barrier(2)
    runs: list[str] = []

    def unlucky(tx: Transaction) -> None:
        runs.append("unlucky")
        before = tx.setting("name")
        try:
            met.wait(0.5 if len(runs) > 2 else PATIENCE)  # the other one writes ...
            met.wait(PATIENCE)  # ... and has written
        except BrokenBarrierError:
            runs.append("alone")
        tx.set_setting("name", f"{before}!")

    def other() -> None:
        for number in range(2):
            met.wait(PATIENCE)
            store.write(lambda tx, number=number: tx.set_setting("name", str(number)))
            met.wait(PATIENCE)

    with ThreadPoolExecutor(2) as pool:
        writing = pool.submit(store.write, unlucky)
        pool.submit(other).result(PATIENCE)
        writing.result(PATIENCE)
    assert runs == ["unlucky", "unlucky", "unlucky", "alone"]
    with store.read() as view:
        assert view.setting("name") == "1!"


def test_two_that_open_the_same_empty_database_at_once_make_one_store(url: str) -> None:
    start = Barrier(3)

    def open_it() -> str | None:
        start.wait(PATIENCE)
        with closing(PostgresStore(url, clock=SystemClock())) as store, store.read() as view:
            return view.setting("incarnation")

    with ThreadPoolExecutor(3) as pool:
        incarnations = {done.result(PATIENCE) for done in [pool.submit(open_it) for _ in range(3)]}
    assert len(incarnations) == 1
    assert None not in incarnations


def test_namespaces_of_one_database_do_not_see_each_other(url: str) -> None:
    clock = SystemClock()
    with (
        closing(PostgresStore(url, clock=clock, namespace=1)) as one,
        closing(PostgresStore(url, clock=clock, namespace=2)) as other,
    ):
        memory = a_memory("mine", source_path=Clean("/p"))
        add(one, memory)
        add(other, memory)
        for store in (one, other):
            assert listed(store) == [memory]
            assert list(store.check()) == []


# Deadlines.


@pytest.fixture
def timeless(url: str) -> Generator[PostgresStore]:
    """A store to which every call has just begun, however busy the machine is: what ends it is the server."""
    with closing(PostgresStore(url, clock=FixedClock(), connections=2)) as store:
        yield store


SOON = FixedClock().monotonic() + 0.3


def test_a_statement_that_takes_longer_than_the_deadline_is_ended_and_its_connection_is_fine(
    timeless: PostgresStore,
) -> None:
    with timeless.read(SOON) as view:
        assert isinstance(view, PostgresView)
        with pytest.raises(Expired):
            view.rows(MANY)
    with pytest.raises(Expired):
        timeless.write(_counting, SOON)
    add(timeless, a_memory())
    assert len(listed(timeless)) == 1


def test_a_statement_of_a_call_without_a_deadline_ends_too(store: PostgresStore) -> None:
    with store.read() as view:
        assert view.rows("SELECT current_setting('statement_timeout')") == [("30min",)]


def _counting(tx: Transaction) -> None:
    assert isinstance(tx, PostgresTransaction)
    tx.rows(MANY)


def test_waiting_too_long_for_a_connection_is_expired(timeless: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    with timeless.read(), timeless.read():
        monkeypatch.setattr(lending, "PATIENCE", 0.05)
        with pytest.raises(Expired, match="stayed busy"), timeless.read(SOON):
            pass
        with pytest.raises(Unavailable, match="No connection"), timeless.read():
            pass
    assert listed(timeless) == []


# Texts.


def test_texts_with_nul_are_neither_found_nor_stored(store: PostgresStore) -> None:
    with store.read() as view:
        assert view.get(MemoryId("a\0b")) is None
        assert not view.memories_at_path(None, Clean("a\0b"))
        for odd in (replace(EVERYTHING, tag=Clean("a\0b")), replace(EVERYTHING, project=Clean("a\0b"))):
            assert view.page(odd, None, 10) == view.matching_keys(odd) == []
            assert view.stats(odd, ModelKey(1), SystemClock().now()).total == 0
    with pytest.raises(Invalid):
        add(store, a_memory("a\0b"))
    assert listed(store) == []


def test_long_names_are_kept_and_found(store: PostgresStore) -> None:
    """An index of PostgreSQL takes 2,700 bytes."""
    long = Clean("".join(chr(0x4E00 + number * 7 % 20_000) for number in range(4_000)))
    memory = a_memory(project=long, session=long, tags=(long,), source_path=long, external_id=long)
    stored = add(store, memory)
    with store.read() as view:
        assert (
            list(view.memories_at_path(memory.home, long))
            == list(view.memories_with_external_id(memory.home, long))
            == [stored]
        )
