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


def test_notifications_reach_other_services_of_the_swarm_only(three: list[Ear]) -> None:
    one, other, stranger = three
    one.notifier.publish(Notification.AGENTS)
    assert other.next() is Notification.AGENTS
    other.notifier.publish(Notification.WAITING)
    assert one.next() is Notification.WAITING
    assert [ear.heard.qsize() for ear in (one, other, stranger)] == [0, 0, 0]


def test_after_a_lost_connection_all_notifications_are_assumed(three: list[Ear]) -> None:
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


def test_notifications_during_an_outage_are_sent_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_closing_twice_or_before_the_start_is_allowed() -> None:
    never_started = PostgresNotifier("postgresql://127.0.0.1:1/nowhere", 1)
    nobody_there = PostgresNotifier("postgresql://127.0.0.1:1/nowhere", 1)
    Thread(target=nobody_there.run, daemon=True).start()
    nobody_there.publish(Notification.AGENTS)
    for notifier in (never_started, nobody_there):
        notifier.close()
        notifier.close()
        notifier.publish(Notification.AGENTS)
