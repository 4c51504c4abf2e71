"""Statements that are sent before others are answered, where one of them fails or takes too long."""

from collections.abc import Callable

import pytest

from hivelore.core.text import Clean
from hivelore.errors import Broken, Expired, Unavailable
from hivelore.runtime.clock import SystemClock
from hivelore.search.model import Visibility
from hivelore.storage.ports import Transaction
from hivelore.storage.postgres.store import PostgresStore
from hivelore.storage.postgres.view import PostgresView
from support.memories import EVERYTHING, a_memory
from support.stores import add, listed

WRONG, RIGHT = "SELECT 1 / (:namespace - :namespace)", "SELECT :namespace + 1"
WRONG_LATE = "SELECT 1 / LENGTH(CAST(pg_sleep(0.2) AS TEXT))"
"""Deferred queries: statements are sent before the answers of earlier ones have arrived."""
LONG = "SELECT COUNT(*) FROM generate_series(1, 1000000000)"


@pytest.mark.parametrize("wrong", [WRONG, WRONG_LATE])
def test_an_error_of_a_deferred_statement_is_raised_by_the_first_result(store: PostgresStore, wrong: str) -> None:
    waited_for: list[Callable[[PostgresView], object]] = [
        lambda view: view.deferred(wrong)(),
        lambda view: (view.deferred(wrong), view.deferred(RIGHT)())[1],
        lambda view: (view.deferred(RIGHT), view.deferred(wrong))[0](),
        lambda view: (view.deferred(wrong), view.rows(RIGHT))[1],
        lambda view: (view.deferred(wrong), view.matching_keys(EVERYTHING))[1],
        lambda view: (view.deferred(wrong), list(view.stream(RIGHT)))[1],
    ]
    for wait in waited_for:
        with pytest.raises(Broken, match="division by zero"), store.read() as view:
            wait(view)
    with store.read() as view:
        assert view.deferred(RIGHT)() == [(2,)]


@pytest.mark.parametrize("wrong", [WRONG, WRONG_LATE])
def test_a_skipped_statement_works_the_next_time(store: PostgresStore, wrong: str) -> None:
    """psycopg prepares a statement when a connection uses it for the sixth time, and forgets all that it prepared at
    the first ROLLBACK that it sees; a few connections may be open."""
    for _ in range(20):
        with store.read():
            pass
    with store.read() as view:
        for _ in range(5):
            assert view.rows(RIGHT) == [(2,)]
        with pytest.raises(Broken, match="division by zero"):
            _ = view.deferred(wrong), view.deferred(RIGHT)()
    for _ in range(5):
        with store.read() as view:
            assert view.rows(RIGHT) == [(2,)]


def test_a_skipped_statement_has_no_result(store: PostgresStore) -> None:
    with store.read() as view:
        wrong, right = view.deferred(WRONG_LATE), view.deferred(RIGHT)
        with pytest.raises(Broken, match="division by zero"):
            wrong()
        with pytest.raises(Broken):
            right()


def test_row_level_security_returns_after_unawaited_unrestricted_reads(store: PostgresStore) -> None:
    add(store, a_memory("private"))
    with store.read(sees=Visibility(own=None, swarm=True)) as view:
        with view.unrestricted():
            view.deferred(RIGHT)
        assert view.rows("SELECT COUNT(*) FROM memory") == [(0,)]


def test_errors_of_unawaited_statements_are_ignored(store: PostgresStore) -> None:
    add(store, a_memory("kept"))
    for sql in (WRONG_LATE, RIGHT):
        with store.read() as view:
            view.deferred(sql)
    assert [memory.content for memory in listed(store)] == ["kept"]


def test_a_slow_deferred_statement_expires_and_the_connection_survives(store: PostgresStore) -> None:
    with store.read(SystemClock().monotonic() + 0.3) as view:
        first, _ = view.deferred(RIGHT), view.deferred(LONG)
        with pytest.raises(Expired):
            first()
    with store.read() as view:
        assert view.rows(RIGHT) == [(2,)]


def test_a_transaction_with_an_unawaited_failure_stores_nothing(store: PostgresStore) -> None:
    def write_with_failure(tx: Transaction) -> None:
        assert isinstance(tx, PostgresView)
        tx.add(a_memory("half"), ())
        tx.deferred(WRONG_LATE)

    with pytest.raises(Unavailable, match="nothing of it was stored"):
        store.write(write_with_failure)
    assert listed(store) == []


def test_a_text_with_nul_matches_nothing(store: PostgresStore) -> None:
    with store.read() as view:
        assert view.deferred("SELECT :text = 'a'", {"text": Clean("a\0")})() == [(None,)]
