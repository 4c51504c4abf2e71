"""The PostgreSQL store: snapshots from a pool of connections, units of work in the thread of the caller."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import psycopg
import psycopg_pool
from psycopg import errors

from hivelore.adapters.postgres import migrations
from hivelore.adapters.postgres.connection import (
    AGAIN,
    Connection,
    connect,
    make_pool,
    our_errors,
    run_script,
    translated,
    whereabouts,
)
from hivelore.adapters.postgres.transaction import EVERYTHING, PostgresTransaction
from hivelore.adapters.postgres.view import SQL, PostgresView, read_moment
from hivelore.adapters.randomness import uuid7
from hivelore.errors import Expired, HiveloreError, Unavailable
from hivelore.ports import Clock, Transaction

T = TypeVar("T")
Script = tuple[str, str]

NAMESPACE = 1
CONNECTIONS = 16
PATIENCE = 10.0
"""Seconds that who has no deadline waits for a connection."""
TRIES_BESIDE_OTHERS = 4
"""So often a unit is run beside others that may get in its way; then alone."""
# Scripts: the time limit stands between the two parts. In the second of a read the snapshot is taken.
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "SELECT pg_current_snapshot()::text"
_BESIDE = "BEGIN ISOLATION LEVEL REPEATABLE READ", "LOCK TABLE turn IN ROW SHARE MODE"
_ALONE = "BEGIN ISOLATION LEVEL REPEATABLE READ", "LOCK TABLE turn IN EXCLUSIVE MODE"
_UNKNOWN = (
    "The connection to the database was lost while this was being stored: it may be there or not. "
    "Look for what you wrote before trying again."
)
_LATE = "The deadline had passed before the call began."


class PostgresStore:
    """Implements ``ports.MemoryStore`` on one namespace of a database, in the first schema of the role's search path.

    Snapshots and units of work are transactions of isolation level REPEATABLE READ. A unit that would change what
    another has changed since it began is run again, so nothing is lost; what it decides by something not being there
    is claimed (``PostgresTransaction.claim``), or kept apart by a unique index. SERIALIZABLE would do that for all
    there is, at a quarter of the speed: every writer meets every other in the last pages of the indexes."""

    def __init__(self, url: str, *, clock: Clock, namespace: int = NAMESPACE, connections: int = CONNECTIONS) -> None:
        self._where = whereabouts(url)
        self._clock = clock
        self._namespace = namespace
        with our_errors(f"The database {self._where}"), connect(url) as connection:
            migrations.migrate(connection, migrations.shipped())
            self._version = migrations.version(connection)
        self._pool = make_pool(url, connections)
        try:
            self._pool.open()
            self.write(self._first_facts)
        except HiveloreError:
            self.close()
            raise

    def _first_facts(self, tx: Transaction) -> None:
        if not (isinstance(tx, PostgresTransaction) and tx.renumber_if_restored()) and tx.setting("incarnation"):
            return
        tx.set_setting("incarnation", uuid7(self._clock.now()))

    @property
    def name(self) -> str:
        return f"postgresql {self._version}"

    @contextmanager
    def read(self, deadline: float | None = None) -> Generator[PostgresView]:
        connection, snapshot = self._begun(_READ, deadline)
        view = PostgresView(connection, self._namespace, read_moment(snapshot), self._clock, deadline)
        try:
            with our_errors():
                yield view
        finally:
            view.end()
            self._give_back(connection)

    def write(self, work: Callable[[Transaction], T], deadline: float | None = None) -> T:
        tries = 0
        while True:
            alone = tries >= TRIES_BESIDE_OTHERS
            try:
                return self._tried(work, deadline, _ALONE if alone else _BESIDE, fresh=tries > 0)
            except AGAIN as error:
                if alone and tries >= 2 * TRIES_BESIDE_OTHERS:
                    raise translated(error) from error
                tries += 1

    def _tried(self, work: Callable[[Transaction], T], deadline: float | None, begin: Script, *, fresh: bool) -> T:
        """``fresh``: the unit was run before, so that its snapshot shows what was in its way."""
        connection, _ = self._begun(begin, deadline)
        try:
            unit = PostgresTransaction(connection, self._namespace, EVERYTHING, self._clock, deadline)
            unit.doubts_conflicts = not fresh
            try:
                answer = work(unit)
            finally:
                unit.end()
            self._commit(connection)
            return answer
        finally:
            self._give_back(connection)

    @staticmethod
    def _commit(connection: Connection) -> None:
        # An error that work has caught may have ended the transaction: COMMIT would then undo it without a word.
        if connection.info.transaction_status is not psycopg.pq.TransactionStatus.INTRANS:
            raise Unavailable("The database refused a part of this, and nothing of it was stored. Try again.")
        try:
            connection.execute("COMMIT")
        except AGAIN:
            raise
        except errors.Error as error:
            if connection.broken:
                raise Unavailable(_UNKNOWN) from error
            raise translated(error) from error

    def _begun(self, begin: Script, deadline: float | None) -> tuple[Connection, str]:
        """A connection that is inside a transaction, and what the script answered. One that was lost since it was used
        last is replaced."""
        for left in range(self._pool.max_size, -1, -1):
            connection = self._taken(deadline)
            try:
                return connection, run_script(connection, "; ".join([begin[0], *self._limit(deadline), begin[1]]))
            except psycopg.Error as error:
                broken = connection.broken
                self._give_back(connection)
                if not broken or not left:
                    raise translated(error) from error
            except HiveloreError:
                self._give_back(connection)
                raise
        raise AssertionError("the last round answers or raises")

    def _limit(self, deadline: float | None) -> list[str]:
        if deadline is None:
            return []
        left = int(1_000 * (deadline - self._clock.monotonic()))
        if left < 0:
            raise Expired(_LATE)
        return [f"SET LOCAL statement_timeout = {max(left, 1)}"]

    def _taken(self, deadline: float | None) -> Connection:
        left = PATIENCE if deadline is None else deadline - self._clock.monotonic()
        if left < 0:
            raise Expired(_LATE)
        try:
            return self._pool.getconn(timeout=max(left, 0.001))
        except psycopg_pool.PoolTimeout as error:
            if deadline is not None:
                raise Expired("All connections to the database stayed busy until the deadline. Try again.") from error
            raise translated(error) from error
        except psycopg.Error as error:
            raise translated(error) from error

    def _give_back(self, connection: Connection) -> None:
        """Without its transaction; the pool replaces one that is broken."""
        if not connection.broken and not connection.closed:
            status = connection.info.transaction_status
            if status is psycopg.pq.TransactionStatus.ACTIVE:
                connection.close()  # Somebody was interrupted in the middle of a statement.
            elif status is not psycopg.pq.TransactionStatus.IDLE:
                try:
                    connection.execute("ROLLBACK")
                except psycopg.Error:
                    connection.close()
        self._pool.putconn(connection)

    def check(self) -> Sequence[str]:
        """Looks for rows that point at nothing; whether pages are sound is for the server's own tools."""
        with self.read() as view:
            return [row[0] for row in view.rows(SQL["problems"])]

    def tidy(self) -> bool:
        """PostgreSQL overwrites what was deleted, and its log, in its own time: nothing waits for us."""
        return True

    def close(self) -> None:
        self._pool.close()
