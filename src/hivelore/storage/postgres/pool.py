"""A pool of connections to one database, each lent for one transaction."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

import psycopg
import psycopg_pool

from hivelore.errors import Conflict, Expired, HiveloreError, NotFound
from hivelore.storage.postgres import migrations, row_level_security
from hivelore.storage.postgres.connection import (
    Connection,
    connect,
    make_pool,
    our_errors,
    run_script,
    server_name,
    translated,
)
from hivelore.storage.refusals import database_missing

TimeLeft = Callable[[], float | None]
"""Returns how many seconds a call has left; None: it has no deadline."""
Script = tuple[str, str]
"""A script that begins a transaction, in two parts; the time limit is set between them."""

CONNECTIONS = 16
PATIENCE = 10.0
"""Seconds that a call without a deadline waits for a connection."""
TIMELINE = "left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)"
_TOO_LATE = "The deadline passed before the call began."


class Pool:
    """Migrates the database first. Stores of several namespaces may share one pool."""

    def __init__(self, url: str, size: int = CONNECTIONS, *, as_it_is: bool = False, may_create: bool = True) -> None:
        """Raises as ``migrations.migrate``, and Unavailable if the server does not answer. ``as_it_is``: do not
        migrate; raises NotFound if there are no tables, and Conflict if they are of an older version.
        ``may_create``: create missing tables instead of raising Broken."""
        self._url = url
        self.row_level_security = False
        with self.autocommit() as connection:
            if as_it_is:
                _refuse_other_schema(connection, server_name(url))
            else:
                shipped = migrations.shipped()
                if not may_create and len(migrations.missing(connection, shipped)) == len(shipped):
                    raise database_missing(f"The database {server_name(url)} is empty")
                migrations.migrate(
                    connection, migrations.shipped(), lambda: self._set_up_row_level_security(connection)
                )
            self.version = migrations.version(connection)
            self.timeline = _timeline(connection)
        self._pool = make_pool(url, size)
        self._pool.open()

    def _set_up_row_level_security(self, connection: Connection) -> None:
        self.row_level_security = row_level_security.set_up(connection)

    @contextmanager
    def autocommit(self) -> Generator[Connection]:
        """Opens a connection in autocommit mode outside the pool."""
        with our_errors(f"The database {server_name(self._url)}"), connect(self._url) as connection:
            yield connection

    @contextmanager
    def begun(self, begin: Script, left: TimeLeft) -> Generator[tuple[Connection, str]]:
        """Lends a connection inside a transaction, with the result of the script. A connection lost since its last use
        is replaced. At the end, an uncommitted transaction is rolled back."""
        connection, result = self._begin(begin, left)
        try:
            yield connection, result
        finally:
            self._give_back(connection)

    def _begin(self, begin: Script, left: TimeLeft) -> tuple[Connection, str]:
        for others in range(self._pool.max_size, -1, -1):
            connection = self._take(left())
            try:
                return connection, run_script(connection, "; ".join([begin[0], *_limit(left()), begin[1]]))
            except psycopg.Error as error:
                broken = connection.broken
                self._give_back(connection)
                if not broken or not others:
                    raise translated(error) from error
            except HiveloreError:
                self._give_back(connection)
                raise
        raise AssertionError("the last round returns or raises")

    def _take(self, left: float | None) -> Connection:
        if left is not None and left < 0:
            raise Expired(_TOO_LATE)
        try:
            return self._pool.getconn(timeout=PATIENCE if left is None else max(left, 0.001))
        except psycopg_pool.PoolTimeout as error:
            if left is not None:
                raise Expired("All connections to the database stayed busy until the deadline. Try again.") from error
            raise translated(error) from error
        except psycopg.Error as error:
            raise translated(error) from error

    def _give_back(self, connection: Connection) -> None:
        """Rolls back and returns a connection; the pool replaces broken ones."""
        if not connection.broken and not connection.closed:
            status = connection.info.transaction_status
            if status is psycopg.pq.TransactionStatus.ACTIVE:
                connection.close()  # The caller was interrupted during a statement.
            elif status is not psycopg.pq.TransactionStatus.IDLE:
                try:
                    connection.execute("ROLLBACK")
                except psycopg.Error:
                    connection.close()
        self._pool.putconn(connection)

    def close(self) -> None:
        self._pool.close()


def _timeline(connection: Connection) -> str:
    """Returns the timeline, which changes when a standby is promoted; empty if the server does not show it."""
    try:
        row = connection.execute(f"SELECT {TIMELINE}".encode()).fetchone()
    except (psycopg.errors.FeatureNotSupported, psycopg.errors.ObjectNotInPrerequisiteState):
        return ""
    return "" if row is None else row[0]


def _limit(left: float | None) -> list[str]:
    if left is None:
        return []
    if left < 0:
        raise Expired(_TOO_LATE)
    return [f"SET LOCAL statement_timeout = {max(int(1_000 * left), 1)}"]


def rehearse(url: str) -> bool:
    """Returns True if the database has no tables of Hivelore yet; then it creates them and rolls back. Raises as
    ``Pool``."""
    with our_errors(f"The database {server_name(url)}"), connect(url) as connection:
        return migrations.rehearse(connection, migrations.shipped())


def _refuse_other_schema(connection: Connection, where: str) -> None:
    shipped = migrations.shipped()
    missing = migrations.missing(connection, shipped)
    if len(missing) == len(shipped):
        raise NotFound(f"The database {where} has no tables of Hivelore.")
    if missing:
        raise Conflict(
            "This database is of an older version. Open it with a service of this version first: "
            "'hivelore stop', then 'hivelore start'."
        )
