"""Writing to a SQLite store inside one unit of work."""

from collections.abc import Sequence
from contextlib import AbstractContextManager

from hivelore.storage.sql.transaction import SqlTransaction
from hivelore.storage.sql.where import Params
from hivelore.storage.sqlite.view import SqliteView


class SqliteTransaction(SqliteView, SqlTransaction):
    """Implements ``storage.ports.Transaction``; the writer opens and ends the transaction around it."""

    def count(self, name: str, params: Params) -> int:
        self.rows(self.SQL[name], params)
        return self._connection.changes()

    def run_many(self, sql: str, each: Sequence[Params]) -> None:
        for params in each:
            self.rows(sql, params)

    def claim(self, what: bytes) -> None:
        """Units are run one after the other."""

    def number_from(self, table: str, last: int) -> None:
        """SQLite does that by itself (AUTOINCREMENT)."""

    def savepoint(self) -> AbstractContextManager[object]:
        return self._connection

    def total_changes(self) -> int:
        """Rows written through this connection since it was opened."""
        return self._connection.total_changes()
