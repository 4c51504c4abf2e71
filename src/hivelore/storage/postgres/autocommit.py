"""PostgreSQL connections in autocommit mode."""

from collections.abc import Callable
from select import select
from typing import Any

from psycopg import errors, pq

from hivelore.errors import Unavailable
from hivelore.storage.postgres.connection import Connection, execute, our_errors, translated
from hivelore.storage.sql.statements import Params

POLL = 0.2
"""Seconds between two checks whether to stop."""


class PostgresAutocommit:
    """Implements ``storage.sql.statements.Autocommit``."""

    def __init__(self, connection: Connection, namespace: int) -> None:
        self._connection = connection
        self._namespace = namespace

    @property
    def namespace(self) -> int:
        return self._namespace

    def rows(self, sql: str, params: Params | None = None) -> list[Any]:
        with our_errors():
            found = execute(self._connection, sql, {"namespace": self._namespace, **(params or {})})
            return found.fetchall() if found.description else []

    def run(self, sql: str, stopping: Callable[[], bool]) -> bool:
        # Polled, because psycopg would block until the end. A server continues its statement after the client left.
        with our_errors():
            connection = self._connection.pgconn
            connection.send_query(sql.encode())
            connection.flush()
            while connection.is_busy():
                if stopping():
                    self._connection.close()
                    return False
                if select([connection.socket], [], [], POLL)[0]:
                    connection.consume_input()
            result = connection.get_result()
        if result is None:
            raise Unavailable("The connection to the database was lost.")
        while connection.get_result() is not None:
            pass
        if result.status != pq.ExecStatus.COMMAND_OK:
            raise translated(errors.error_from_result(result))
        return True
