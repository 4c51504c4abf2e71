"""The PostgreSQL store: snapshots from a pool of connections, transactions on the thread of the caller."""

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TypeVar

import psycopg
from psycopg import errors

from hivelore.core.clock import Clock
from hivelore.core.ids import uuid7
from hivelore.errors import Expired, HiveloreError, Unavailable
from hivelore.search.model import Visibility
from hivelore.storage.null_objects import NullWatch
from hivelore.storage.ports import StoreWatch, Transaction
from hivelore.storage.postgres import row_level_security
from hivelore.storage.postgres.autocommit import PostgresAutocommit
from hivelore.storage.postgres.connection import AGAIN, CLOSED, Connection, our_errors, translated
from hivelore.storage.postgres.pool import CONNECTIONS, TIMELINE, Pool, Script
from hivelore.storage.postgres.view import LATEST_CURSOR, SQL, PostgresTransaction, PostgresView, read_cursor
from hivelore.storage.refusals import database_replaced

T = TypeVar("T")

NAMESPACE = 1
VERIFIED_WITHIN = 2.0
"""Seconds."""
CONCURRENT_TRIES = 4
"""Attempts to run a unit concurrently with others; after that it runs alone."""
# The second part takes the snapshot. For a unit it returns the transaction id and the incarnation of the database.
_NUMBER = (
    "SELECT concat_ws(' ', pg_current_xact_id()::text, "
    "(SELECT value FROM meta WHERE namespace = {namespace} AND name = 'incarnation'))"
)
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "SELECT pg_current_snapshot()::text"
_UNIT = "BEGIN ISOLATION LEVEL REPEATABLE READ"
_ASK = (
    "BEGIN READ ONLY",
    "SELECT pg_sleep({pause}); "
    f"SELECT CASE {TIMELINE} WHEN '{{timeline}}' THEN pg_xact_status('{{number}}'::xid8) END",
)
_PAUSES = (0.0, 0.02, 0.1, 0.5, 1.0, 2.0)
"""Seconds between checks whether a unit was committed, while the server still works on it."""
_LOST = "The connection to the database was lost, and nothing of this was stored. Try again."
_UNKNOWN = (
    "The connection to the database was lost during the commit, so the change may be stored or not. "
    "Check before you try again."
)


class PostgresStore:
    """Implements ``storage.ports.MemoryStore`` on one namespace of a database, in the first schema of the role's
    search path.

    Snapshots and transactions use the isolation level REPEATABLE READ. A unit that conflicts with a concurrent
    change is run again, so no update is lost. A decision that depends on the absence of a row is claimed
    (``PostgresTransaction.claim``) or protected by a unique index. SERIALIZABLE would need neither, at a quarter of the
    speed: all writers conflict in the last pages of the indexes."""

    def __init__(
        self,
        url: str,
        *,
        clock: Clock,
        namespace: int = NAMESPACE,
        connections: int = CONNECTIONS,
        pool: Pool | None = None,
        as_it_is: bool = False,
        may_create: bool = True,
        watch: StoreWatch | None = None,
    ) -> None:
        """``pool``: a shared pool of the same database, which stays open. ``as_it_is``: only read, and change nothing.
        ``may_create``: create missing tables instead of raising Broken."""
        self._clock = clock
        self._watch = watch or NullWatch()
        self._incarnation: str | None = None
        """None until the database has been opened."""
        self._namespace = namespace
        number = _NUMBER.format(namespace=int(namespace))
        self._concurrent: Script = _UNIT, f"LOCK TABLE turn IN ROW SHARE MODE; {number}"
        self._alone: Script = _UNIT, f"LOCK TABLE turn IN EXCLUSIVE MODE; {number}"
        self._pool = Pool(url, connections, as_it_is=as_it_is, may_create=may_create) if pool is None else pool
        self._owns_pool = pool is None
        self._is_closed = False
        if as_it_is:
            return
        try:
            self._incarnation = self.write(self._first_facts)
        except HiveloreError:
            self.close()
            raise

    def _first_facts(self, tx: Transaction) -> str:
        known = tx.setting("incarnation")
        if known and not (isinstance(tx, PostgresTransaction) and tx.renumber_if_restored()):
            return known
        tx.set_setting("incarnation", fresh := uuid7(self._clock.now()))
        return fresh

    @property
    def name(self) -> str:
        return f"postgresql {self._pool.version}"

    @property
    def is_shared(self) -> bool:
        return True

    @property
    def row_level_security(self) -> bool | None:
        return self._pool.row_level_security

    @contextmanager
    def read(self, deadline: float | None = None, *, sees: Visibility | None = None) -> Generator[PostgresView]:
        begin, restricted = _READ, False
        if sees is not None and self._pool.row_level_security:
            begin, restricted = (_READ[0], "; ".join([*row_level_security.begin(sees), _READ[1]])), True
        with self._watched(writing=False), self._begun(begin, deadline) as (connection, snapshot):
            view = PostgresView(connection, self._namespace, read_cursor(snapshot), self._clock, deadline)
            view.is_restricted = restricted
            try:
                with our_errors():
                    yield view
            finally:
                view.end()

    def write(self, work: Callable[[Transaction], T], deadline: float | None = None) -> T:
        with self._watched(writing=True):
            return self._write_with_retries(work, deadline)

    def verify(self) -> None:
        try:
            with self.read(self._clock.monotonic() + VERIFIED_WITHIN) as view:
                known = view.setting("incarnation")
        except (Expired, Unavailable):
            with self._pool.autocommit():  # Raises if the server does not answer; otherwise connections are just busy.
                return
        self._refuse_other(known)

    @contextmanager
    def _watched(self, *, writing: bool) -> Generator[None]:
        try:
            yield
        except HiveloreError as error:
            self._watch.store_failed(error, writing=writing)
            raise
        if writing:
            self._watch.write_done()
        else:
            self._watch.read_done()

    def _refuse_other(self, incarnation: str | None) -> None:
        """Raises Unavailable if the database was replaced: caches of this process are of the opened incarnation."""
        if self._incarnation is not None and incarnation != self._incarnation:
            raise database_replaced()

    def _write_with_retries(self, work: Callable[[Transaction], T], deadline: float | None) -> T:
        tries = 0
        while True:
            alone = tries >= CONCURRENT_TRIES
            try:
                return self._write_once(work, deadline, self._alone if alone else self._concurrent, fresh=tries > 0)
            except AGAIN as error:
                if alone and tries >= 2 * CONCURRENT_TRIES:
                    raise translated(error) from error
                tries += 1

    @contextmanager
    def autocommit(self) -> Generator[PostgresAutocommit]:
        with self._pool.autocommit() as connection:
            yield PostgresAutocommit(connection, self._namespace)

    def _write_once(self, work: Callable[[Transaction], T], deadline: float | None, begin: Script, *, fresh: bool) -> T:
        """``fresh``: this is a retry, so the snapshot shows the change that conflicted with the first attempt."""
        with self._begun(begin, deadline) as (connection, begun):
            number, _, incarnation = begun.partition(" ")
            self._refuse_other(incarnation)
            unit = PostgresTransaction(connection, self._namespace, LATEST_CURSOR, self._clock, deadline)
            unit.doubts_conflicts = not fresh
            try:
                result = work(unit)
            finally:
                unit.end()
            lost = _commit(connection)
        if lost is not None:
            self._confirm_commit(number, deadline, lost)
        return result

    def _confirm_commit(self, number: str, deadline: float | None, lost: psycopg.Error) -> None:
        """Checks the fate of a unit whose connection was lost during its commit. Raises Unavailable if it was
        aborted, or if that is unknown: the server stays away, or a promoted standby does not know the transaction."""
        status = "in progress"
        begin, ask = _ASK
        try:
            for pause in _PAUSES:
                if status == "in progress":
                    asked = ask.format(pause=pause, timeline=self._pool.timeline, number=number)
                    with self._begun((begin, asked), deadline) as (_, status):
                        pass
        except HiveloreError:
            status = "unknown"
        if status != "committed":
            raise Unavailable(_LOST if status == "aborted" else _UNKNOWN) from lost

    def _begun(self, begin: Script, deadline: float | None) -> AbstractContextManager[tuple[Connection, str]]:
        if self._is_closed:
            raise Unavailable(CLOSED)
        return self._pool.begun(begin, lambda: None if deadline is None else deadline - self._clock.monotonic())

    def others(self) -> int:
        """Counts the connections of other Hivelore processes to the same schema, and of running moves to the same
        database, unless their URLs set another ``application_name``."""
        with self.read() as view:
            return view.row("other_connections")[0]

    def check(self) -> Sequence[str]:
        """Finds rows with dangling references. Checking pages is left to the tools of the server."""
        with self.read() as view:
            return [row[0] for row in view.rows(SQL["problems"])]

    def purge_log(self) -> bool:
        """Does nothing: PostgreSQL overwrites deleted rows and its log on its own schedule."""
        return True

    def analyze(self) -> None:
        """Runs ANALYZE, which autovacuum would do minutes later. It skips tables that the role does not own, or on
        which an index is being built."""
        with suppress(HiveloreError), self.autocommit() as connection:
            tables = ", ".join(row[0] for row in connection.rows(SQL["tables"]))
            connection.run(f"ANALYZE (SKIP_LOCKED) {tables}", lambda: False)

    def vacuum(self) -> None:
        """Makes space reusable without locking tables; the files do not shrink."""
        with self.autocommit() as connection:
            tables = ", ".join(row[0] for row in connection.rows(SQL["tables"]))
            connection.run(f"VACUUM (ANALYZE) {tables}", lambda: False)

    def close(self) -> None:
        self._is_closed = True
        if self._owns_pool:
            self._pool.close()


def _commit(connection: Connection) -> psycopg.Error | None:
    """Commits. Returns the error if the connection was lost before the server answered."""
    # An error that ``work`` caught may have aborted the transaction: COMMIT would then roll back silently.
    if connection.info.transaction_status is not psycopg.pq.TransactionStatus.INTRANS:
        raise Unavailable("The database rejected a part of this change, and nothing of it was stored. Try again.")
    try:
        connection.execute("COMMIT")
    except AGAIN:
        raise
    except errors.Error as error:
        if connection.broken:
            return error
        raise translated(error) from error
    return None
