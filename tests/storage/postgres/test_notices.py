"""Services on one database notify each other of changes, and nothing depends on it."""

from collections.abc import Generator
from contextlib import ExitStack, closing
from queue import Queue
from threading import Thread

import psycopg
import pytest

from hivelore.storage.ports import Notification
from hivelore.storage.postgres import notifier as module
from hivelore.storage.postgres.notifier import PostgresNotifier
from support import postgres
from support.postgres_line import line

PATIENCE = 60.0
NAMESPACE = 77


class Ear:
    """Records the notifications of one service. It starts with all of them, once it listens."""

    def __init__(self, url: str, namespace: int = NAMESPACE) -> None:
        self.heard: Queue[Notification] = Queue()
        self.notifier = PostgresNotifier(url, namespace)
        for notice in Notification:
            self.notifier.subscribe(notice, lambda notice=notice: self.heard.put(notice))
        Thread(target=self.notifier.run, daemon=True).start()

    def next(self) -> Notification:
        return self.heard.get(timeout=PATIENCE)

    def begins(self) -> None:
        assert {self.next() for _ in Notification} == set(Notification)


@pytest.fixture
def three() -> Generator[list[Ear]]:
    with ExitStack() as stack:
        ears = [Ear(postgres.database(), namespace) for namespace in (NAMESPACE, NAMESPACE, NAMESPACE + 1)]
        for ear in ears:
            stack.enter_context(closing(ear.notifier))
            ear.begins()
        yield ears


def test_what_one_tells_the_others_of_its_swarm_hear_and_it_does_not(three: list[Ear]) -> None:
    one, other, stranger = three
    one.notifier.publish(Notification.AGENTS)
    assert other.next() is Notification.AGENTS
    other.notifier.publish(Notification.WAITING)
    assert one.next() is Notification.WAITING
    assert [ear.heard.qsize() for ear in (one, other, stranger)] == [0, 0, 0]


def test_who_lost_the_connection_listens_again_and_takes_it_that_all_is_new(three: list[Ear]) -> None:
    one, other, _ = three
    with psycopg.connect(postgres.database(), autocommit=True) as connection:
        ended = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'hivelore notices' AND datname = current_database()"
        )
        assert len(connection.execute(ended.encode()).fetchall()) == 3
    for ear in three:
        ear.begins()
    other.notifier.publish(Notification.AGENTS)
    assert one.next() is Notification.AGENTS


def test_what_is_told_while_the_server_is_away_is_told_when_it_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSES", (0.02,))
    with line(postgres.database()) as far, closing(Ear(postgres.database()).notifier) as near:
        cut_off = Ear(far.url)
        with closing(cut_off.notifier):
            cut_off.begins()
            heard: Queue[None] = Queue()
            near.subscribe(Notification.WAITING, lambda: heard.put(None))
            far.cut()
            cut_off.notifier.publish(Notification.WAITING)
            far.join()
            cut_off.begins()
            heard.get(timeout=PATIENCE)


def test_closing_ends_it_whether_it_was_started_or_not_and_twice_is_fine() -> None:
    never_started = PostgresNotifier("postgresql://127.0.0.1:1/nowhere", 1)
    nobody_there = PostgresNotifier("postgresql://127.0.0.1:1/nowhere", 1)
    Thread(target=nobody_there.run, daemon=True).start()
    nobody_there.publish(Notification.AGENTS)
    for notifier in (never_started, nobody_there):
        notifier.close()
        notifier.close()
        notifier.publish(Notification.AGENTS)
