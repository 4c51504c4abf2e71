"""Connections to one database, each lent for one transaction."""

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

Left = Callable[[], float | None]
"""Tells how many seconds a call has left; None: it has no deadline."""
Script = tuple[str, str]
"""The time limit of a transaction stands between the two parts."""

CONNECTIONS = 16
PATIENCE = 10.0
"""Seconds that who has no deadline waits for a connection."""
TIMELINE = "left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)"
_LATE = "The deadline had passed before the call began."


class Pool:
    """Brings the database to the schema of this code first. Stores of several namespaces may share one."""

    def __init__(self, url: str, size: int = CONNECTIONS, *, as_it_is: bool = False, may_create: bool = True) -> None:
        """Raises as ``migrations.migrate``, and Unavailable where the server does not answer. ``as_it_is``: nothing is
        brought to anything; NotFound where there are no tables, Conflict where they are of an older version.
        ``may_create``: make the tables where there are none, else that is refused as Broken."""
        self._url = url
        self.row_level_security = False
        with self.autocommit() as connection:
            if as_it_is:
                _refuse_other_schema(connection, server_name(url))
            else:
                shipped = migrations.shipped()
                if not may_create and len(migrations.missing(connection, shipped)) == len(shipped):
                    raise database_missing(f"The database {server_name(url)} is empty")
                migrations.migrate(connection, migrations.shipped(), lambda: self._build_wall(connection))
            self.version = migrations.version(connection)
            self.timeline = _timeline(connection)
        self._pool = make_pool(url, size)
        self._pool.open()

    def _build_wall(self, connection: Connection) -> None:
        self.row_level_security = row_level_security.build(connection)

    @contextmanager
    def autocommit(self) -> Generator[Connection]:
        """A connection beside the others, every statement a transaction of its own."""
        with our_errors(f"The database {server_name(self._url)}"), connect(self._url) as connection:
            yield connection

    @contextmanager
    def begun(self, begin: Script, left: Left) -> Generator[tuple[Connection, str]]:
        """A connection that is inside a transaction, and what the script answered; one that was lost since it was used
        last is replaced. What is not committed by then is undone."""
        connection, answer = self._begun(begin, left)
        try:
            yield connection, answer
        finally:
            self._give_back(connection)

    def _begun(self, begin: Script, left: Left) -> tuple[Connection, str]:
        for others in range(self._pool.max_size, -1, -1):
            connection = self._taken(left())
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
        raise AssertionError("the last round answers or raises")

    def _taken(self, left: float | None) -> Connection:
        if left is not None and left < 0:
            raise Expired(_LATE)
        try:
            return self._pool.getconn(timeout=PATIENCE if left is None else max(left, 0.001))
        except psycopg_pool.PoolTimeout as error:
            if left is not None:
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

    def close(self) -> None:
        self._pool.close()


def _timeline(connection: Connection) -> str:
    """Another one since a standby took the place of the server; empty where the server does not tell."""
    try:
        row = connection.execute(f"SELECT {TIMELINE}".encode()).fetchone()
    except (psycopg.errors.FeatureNotSupported, psycopg.errors.ObjectNotInPrerequisiteState):
        return ""
    return "" if row is None else row[0]


def _limit(left: float | None) -> list[str]:
    if left is None:
        return []
    if left < 0:
        raise Expired(_LATE)
    return [f"SET LOCAL statement_timeout = {max(int(1_000 * left), 1)}"]


def rehearse(url: str) -> bool:
    """Whether a database has no tables of ours yet, where they were made and undone again. Raises as ``Pool``."""
    with our_errors(f"The database {server_name(url)}"), connect(url) as connection:
        return migrations.rehearse(connection, migrations.shipped())


def _refuse_other_schema(connection: Connection, where: str) -> None:
    shipped = migrations.shipped()
    missing = migrations.missing(connection, shipped)
    if len(missing) == len(shipped):
        raise NotFound(f"There are no tables of Hivelore in the database {where}.")
    if missing:
        raise Conflict(
            "This database is of an older version. Let a service of this version open it first: "
            "'hivelore stop', then 'hivelore start'."
        )
