"""Writing to a PostgreSQL store inside one unit of work."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from hashlib import blake2b

import psycopg

from hivelore.events.model import Event
from hivelore.indexing.model import ChangeCursor, DocumentKey, ModelKey, PassageKey, Stored
from hivelore.memories.model import Statement, Topic
from hivelore.storage.postgres.connection import dialect
from hivelore.storage.postgres.view import PostgresView
from hivelore.storage.sql import digests, events
from hivelore.storage.sql.transaction import SqlTransaction
from hivelore.storage.sql.where import Params

CLAIMS = 4_096
"""More make two units that claim different things meet less often."""
_RENUMBER = ("restored_terms", "restored_dropped", "restored_change", "restored_filling", "restored_segment")
"""Statements after which the rows of a dump that was read in are older than every transaction of this server."""
EVERYTHING = ChangeCursor(2**63 - 1)
"""What a transaction reads it shows, its own rows too."""


class PostgresTransaction(PostgresView, SqlTransaction):
    """Implements ``storage.ports.Transaction``; the store opens and ends the transaction around it."""

    def count(self, name: str, params: Params) -> int:
        return self.executed(self.SQL[name], params).rowcount

    def run_many(self, sql: str, each: Sequence[Params]) -> None:
        if len(each) == 1:
            self.executed(sql, each[0])
        elif each:
            connection = self._open()
            self._await()
            with self.our_errors(), connection.cursor() as cursor:
                cursor.executemany(dialect(sql), [self._bound(params) for params in each])

    def renumber_if_restored(self) -> bool:
        """See that no row of a log is of a transaction that is still to come. Answers whether there was one."""
        restored = bool(self.row("is_restored")[0])
        for name in _RENUMBER if restored else ():
            self.run(name, {})
        return restored

    def claim(self, what: bytes) -> None:
        # Read in an older snapshot, what others have committed since is not there; to change a row that they have
        # changed since is refused.
        number = int.from_bytes(blake2b(what, digest_size=2).digest()) % CLAIMS
        self.run("claim", {"number": number})

    def number_from(self, table: str, last: int) -> None:
        self.run("number_from", {"table": table, "last": last})

    def memory_with_statement(self, statement: Statement) -> Stored | None:
        self.claim(digests.statement_digest(statement))
        return super().memory_with_statement(statement)

    def fact_at(self, topic: Topic, at: datetime | None) -> Stored | None:
        self.claim(digests.topic_digest(topic))
        return super().fact_at(topic, at)

    def same_event(self, event: Event, within: timedelta) -> Event | None:
        if event.session is not None:
            self.claim(events.event_digest(event))
        return super().same_event(event, within)

    def _around(self, document: DocumentKey, topic: bytes, since: datetime) -> tuple[Stored | None, Stored | None]:
        self.claim(topic)
        return super()._around(document, topic, since)

    def _embedded(self, model: ModelKey, passages: Sequence[PassageKey]) -> dict[PassageKey, DocumentKey]:
        found = dict(self.rows(self.SQL["passages_embedded"], {"model": model, "passages": list(passages)}))
        return {passage: found[passage] for passage in passages if passage in found}

    @contextmanager
    def savepoint(self) -> Generator[None]:
        self.executed("SAVEPOINT unit", None)
        try:
            yield
        except psycopg.Error:
            raise  # The whole unit is run again, or lost.
        except BaseException:
            self.executed("ROLLBACK TO SAVEPOINT unit", None)
            raise
        self.executed("RELEASE SAVEPOINT unit", None)
