"""Views and transactions of a SQLite store."""

# The types of apsw use a Buffer that Python 3.11 does not have.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import apsw
import numpy as np
import orjson
from numpy.typing import NDArray

from hivelore.core.vectors import to_blob
from hivelore.errors import Unavailable
from hivelore.indexing.model import (
    Change,
    ChangeCursor,
    ChangeKind,
    Vector,
)
from hivelore.memories.stored import DocumentKey
from hivelore.storage.sql.statements import Dialect, Params
from hivelore.storage.sql.transaction import SqlTransaction
from hivelore.storage.sql.view import SqlView, load_statements
from hivelore.storage.sqlite import connection as sqlite

SQL = load_statements(
    Dialect(
        package="hivelore.storage.sqlite",
        any="IN (SELECT value FROM json_each(:{name}))",
        same="{column} = :{name}",
        given="",
        join="LEFT JOIN {table} {name} ON {name}.namespace = :namespace AND {name}.document = m.key",
        places={"vectors": "vector", "now": ":now", "greatest": "MAX", "ours": ""},
    )
)

PAGE = 1_000
"""Changes in a batch."""


class SqliteView(SqlView):
    """Implements ``storage.ports.View`` on a connection inside a transaction."""

    SQL = SQL
    dialect = "sqlite"

    def __init__(self, connection: apsw.Connection, namespace: int) -> None:
        self._connection = connection
        self._namespace = namespace

    @property
    def namespace(self) -> int:
        return self._namespace

    def rows(self, sql: str, params: Params | None = None) -> list[Any]:
        # The path of every read: it goes through no other module.
        if not self._connection.in_transaction:
            raise Unavailable(sqlite.OVER)
        try:
            return self._connection.execute(sql, {"namespace": self._namespace, **(params or {})}).fetchall()
        except apsw.Error as error:
            raise sqlite.translated(error) from error

    def stream(self, sql: str, params: Params | None = None) -> Iterator[Any]:
        if not self._connection.in_transaction:
            raise Unavailable(sqlite.OVER)
        return sqlite.rows(self._connection, sql, {"namespace": self._namespace, **(params or {})})

    def array(self, keys: Collection[int] | Collection[str]) -> str:
        return orjson.dumps(list(keys)).decode()

    def vector(self, vector: Vector) -> bytes:
        return to_blob(vector)

    def floats(self, vectors: Sequence[bytes]) -> NDArray[np.float32]:
        return np.frombuffer(b"".join(vectors), "<f4").reshape(len(vectors), -1)

    def change_cursor(self) -> ChangeCursor:
        return ChangeCursor(self.rows(SQL["last_change"])[0][0])

    def changes(self, since: ChangeCursor) -> Iterator[tuple[ChangeCursor, Sequence[Change]]]:
        after = since.upto
        while found := self.rows(SQL["changes"], {"after": after, "limit": PAGE}):
            after = found[-1][0]
            yield ChangeCursor(after), [Change(seq, ChangeKind(kind), DocumentKey(key)) for seq, kind, key in found]


class SqliteTransaction(SqliteView, SqlTransaction):
    """Implements ``storage.ports.Transaction``; the writer begins and ends the transaction."""

    def count(self, name: str, params: Params) -> int:
        self.rows(self.SQL[name], params)
        return self._connection.changes()

    def run_many(self, sql: str, each: Sequence[Params]) -> None:
        for params in each:
            self.rows(sql, params)

    def claim(self, what: bytes) -> None:
        """Does nothing: the writer runs one transaction at a time."""

    def number_from(self, table: str, last: int) -> None:
        """Does nothing: AUTOINCREMENT does it."""

    def savepoint(self) -> AbstractContextManager[object]:
        return self._connection

    def total_changes(self) -> int:
        """Returns the number of rows written through this connection since it was opened."""
        return self._connection.total_changes()
