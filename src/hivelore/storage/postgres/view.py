"""Views and transactions of a PostgreSQL store."""

from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime, timedelta
from hashlib import blake2b
from itertools import count
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg import errors, pq

from hivelore.core.clock import Clock
from hivelore.errors import Expired, HiveloreError, Unavailable
from hivelore.events.model import Event
from hivelore.indexing.model import (
    Change,
    ChangeCursor,
    ChangeKind,
    Deferred,
    ModelKey,
    Vector,
)
from hivelore.links.model import StoredLink
from hivelore.memories.model import Statement, Topic
from hivelore.memories.stored import DocumentKey, PassageKey, Stored
from hivelore.storage.postgres import connection as postgres
from hivelore.storage.postgres import row_level_security
from hivelore.storage.postgres.connection import Connection, dialect
from hivelore.storage.sql.events import event_digest
from hivelore.storage.sql.links import links_digest
from hivelore.storage.sql.memories import statement_digest, topic_digest
from hivelore.storage.sql.statements import Dialect, Params
from hivelore.storage.sql.view import SqlTransaction, SqlView, load_statements

SQL = load_statements(
    Dialect(
        package="hivelore.storage.postgres",
        any="= ANY(:{name})",
        same="md5({column}) = md5(:{name}) AND {column} = :{name}",
        given="OVERRIDING SYSTEM VALUE",
        # A lateral join looks up one key at a time, even if the planner has no statistics of the table.
        join="LEFT JOIN LATERAL ("
        "SELECT * FROM {table} WHERE namespace = :namespace AND document = m.key LIMIT 1) {name} ON TRUE",
        places={
            "vectors": "vectors",  # "vector" is a type of pgvector.
            "now": "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
            "greatest": "GREATEST",
            "ours": "namespace = :namespace AND",
            "claims_at_once": "64",
            "skip_locked": "FOR UPDATE SKIP LOCKED",
        },
    )
)

PAGE = 1_000
"""Approximate number of changes in a batch."""
BATCH = 2_000
"""Rows of a stream that are fetched at a time."""
IN_TRANSACTION = (pq.TransactionStatus.INTRANS, pq.TransactionStatus.ACTIVE, pq.TransactionStatus.INERROR)


class PostgresView(SqlView):
    """Implements ``storage.ports.View`` on a connection that is inside a transaction with one snapshot."""

    SQL = SQL
    dialect = "postgres"
    among = "= ANY (ARRAY ({}))"
    """An array makes the planner start from these keys. Otherwise it may scan an ordered list, skipping all others."""
    doubts_conflicts = False
    """True if a unique violation may be caused by a row newer than this snapshot, so that the unit must be retried."""

    is_restricted = False
    """True if row-level security hides what the viewer may not see."""

    def __init__(
        self, connection: Connection, namespace: int, moment: ChangeCursor, clock: Clock, deadline: float | None
    ) -> None:
        self._connection: Connection | None = connection
        self._namespace = namespace
        self._moment = moment
        self._clock = clock
        self._deadline = deadline
        self._streams = count(1)
        self._pipeline: ExitStack | None = None
        """The pipeline of statements that were sent and not awaited."""
        self._is_unusable = False
        """True after an error in a pipeline: psycopg may wrongly treat a skipped statement as prepared."""

    def end(self) -> None:
        """Detaches the view from its connection at the end of the transaction."""
        self._finish_pipeline()
        if self._is_unusable and self._connection is not None:
            self._connection.close()
        self._connection = None

    @property
    def namespace(self) -> int:
        return self._namespace

    def rows(self, sql: str, params: Params | None = None) -> list[Any]:
        found = self.execute(sql, params)
        return [] if found.description is None else found.fetchall()

    def deferred(self, sql: str, params: Params | None = None) -> Deferred[list[Any]]:
        if self._pipeline is None:
            self._pipeline = pipeline = ExitStack()
            pipeline.enter_context(self._open().pipeline())
        cursor = self._send(sql, params)

        def fetch() -> list[Any]:
            self._await_pipeline()
            with self.our_errors():
                return cursor.fetchall()

        return fetch

    def execute(self, sql: str, params: Params | None) -> postgres.Cursor:
        """Runs a statement and returns its cursor."""
        cursor = self._send(sql, params)
        self._await_pipeline()
        return cursor

    def _await_pipeline(self) -> None:
        """Waits until all statements that were sent have run."""
        pipeline, self._pipeline = self._pipeline, None
        if pipeline is not None:
            with self.our_errors():
                try:
                    pipeline.close()
                except psycopg.Error as error:
                    self._is_unusable = True
                    raise _original_error(error) from None

    def _finish_pipeline(self) -> None:
        """Ends the pipeline and ignores its errors."""
        with suppress(HiveloreError, psycopg.Error):
            self._await_pipeline()

    def _send(self, sql: str, params: Params | None) -> postgres.Cursor:
        """Sends a statement and returns its cursor; without a pipeline it waits for the result. In a query, a text with
        NUL is replaced by NULL, which matches nothing: no table contains such a text."""
        connection = self._open()
        with self.our_errors():
            try:
                return postgres.execute(connection, sql, self._bound(params))
            except psycopg.Error as error:
                # psycopg itself rejects a NUL. An error of the server may belong to an earlier statement.
                if type(error) is not psycopg.DataError or params is None or not sql.startswith(("SELECT", "WITH")):
                    self._is_unusable |= self._pipeline is not None
                    self._finish_pipeline()
                    raise
                return postgres.execute(connection, sql, self._bound(_without_nul(params)))

    def stream(self, sql: str, params: Params | None = None) -> Iterator[Any]:
        connection = self._open()
        self._await_pipeline()
        with self.our_errors(), connection.cursor(f"stream_{next(self._streams)}", withhold=False) as cursor:
            cursor.itersize = BATCH
            cursor.execute(postgres.dialect(sql), self._bound(params), binary=True)
            for row in cursor:
                yield row
                self._open()
                self._await_pipeline()

    @contextmanager
    def our_errors(self) -> Generator[None]:
        """Translates errors of PostgreSQL, except those after which the store runs the whole unit again."""
        try:
            yield
        except postgres.AGAIN:
            raise
        except errors.UniqueViolation as error:
            if self.doubts_conflicts:
                raise errors.SerializationFailure(str(error)) from error
            raise postgres.translated(error) from error
        except psycopg.Error as error:
            raise postgres.translated(error) from error

    def _open(self) -> Connection:
        connection = self._connection
        if connection is None or connection.info.transaction_status not in IN_TRANSACTION:
            raise Unavailable(postgres.OVER)
        if self._deadline is not None and self._clock.monotonic() > self._deadline:
            raise Expired("The call exceeded its deadline. Narrow the query or try again later.")
        return connection

    def _bound(self, params: Params | None) -> Mapping[str, Any]:
        return {"namespace": self._namespace, **(params or {})}

    def array(self, keys: Collection[int] | Collection[str]) -> list[int | str]:
        return list(keys)

    def vector(self, vector: Vector) -> bytes:
        return postgres.packed(vector)

    def floats(self, vectors: Sequence[bytes]) -> NDArray[np.float32]:
        return postgres.unpacked(list(vectors))

    @contextmanager
    def unrestricted(self) -> Generator[None]:
        if not self.is_restricted:
            yield
            return
        connection = self._open()
        self._await_pipeline()
        self.is_restricted = False
        try:
            with self.our_errors():
                postgres.run_script(connection, row_level_security.OUTSIDE)
                yield
        finally:
            self._finish_pipeline()
            self.is_restricted = True
            # An aborted transaction accepts no statements.
            if connection.info.transaction_status is pq.TransactionStatus.INTRANS:
                postgres.run_script(connection, row_level_security.INSIDE)

    def change_cursor(self) -> ChangeCursor:
        return self._moment

    def changes(self, since: ChangeCursor) -> Iterator[tuple[ChangeCursor, Sequence[Change]]]:
        found = self.rows(SQL["changes"], {"upto": since.upto, "open": list(since.open)})
        batch: list[Change] = []
        last = 0
        for tx, seq, kind, document in found:
            if len(batch) >= PAGE and tx > last:
                yield self._cursor_at(since, last), batch
                batch = []
            batch.append(Change(seq, ChangeKind(kind), DocumentKey(document)))
            last = tx
        yield self._moment, batch

    def _cursor_at(self, since: ChangeCursor, last: int) -> ChangeCursor:
        """Returns the cursor after ``since`` and all visible changes up to the transaction ``last``."""
        if last <= since.upto:
            return ChangeCursor(since.upto, tuple(tx for tx in since.open if tx > last or tx in self._moment.open))
        return ChangeCursor(last, tuple(tx for tx in self._moment.open if tx <= last))


def _original_error(error: psycopg.Error) -> psycopg.Error:
    """Returns the error of an earlier statement in the pipeline, if it aborted this one."""
    before = error.__context__
    return before if isinstance(error, errors.PipelineAborted) and isinstance(before, psycopg.Error) else error


def _without_nul(params: Params) -> dict[str, Any]:
    return {name: None if isinstance(one, str) and "\0" in one else one for name, one in params.items()}


def read_cursor(snapshot: str) -> ChangeCursor:
    """Parses ``pg_current_snapshot``: the oldest open transaction, the next one to be assigned, and the open ones
    between them."""
    _, end, still_open = snapshot.split(":")
    return ChangeCursor(int(end) - 1, tuple(map(int, still_open.split(","))) if still_open else ())


CLAIMS = 4_096
"""Slots for claims. More slots mean fewer conflicts between units that claim different things."""
_RENUMBER = ("restored_terms", "restored_dropped", "restored_change", "restored_filling", "restored_segment")
"""Statements that make the rows of a restored dump older than every transaction of this server."""
LATEST_CURSOR = ChangeCursor(2**63 - 1)
"""The cursor of a transaction, which also sees its own rows."""


class PostgresTransaction(PostgresView, SqlTransaction):
    """Implements ``storage.ports.Transaction``; the store begins and ends the transaction."""

    def count(self, name: str, params: Params) -> int:
        return self.execute(self.SQL[name], params).rowcount

    def run_many(self, sql: str, each: Sequence[Params]) -> None:
        if len(each) == 1:
            self.execute(sql, each[0])
        elif each:
            connection = self._open()
            self._await_pipeline()
            with self.our_errors(), connection.cursor() as cursor:
                cursor.executemany(dialect(sql), [self._bound(params) for params in each])

    def renumber_if_restored(self) -> bool:
        """Renumbers the logs of a restored dump, whose transaction ids may lie in the future of this server. Returns
        True if it was one."""
        restored = bool(self.row("is_restored")[0])
        for name in _RENUMBER if restored else ():
            self.run(name, {})
        return restored

    def claim(self, what: bytes) -> None:
        # An older snapshot does not see later commits, but changing a row that they changed fails and is retried.
        number = int.from_bytes(blake2b(what, digest_size=2).digest()) % CLAIMS
        self.run("claim", {"number": number})

    def number_from(self, table: str, last: int) -> None:
        self.run("number_from", {"table": table, "last": last})

    def memory_with_statement(self, statement: Statement) -> Stored | None:
        self.claim(statement_digest(statement))
        return super().memory_with_statement(statement)

    def fact_at(self, topic: Topic, at: datetime | None) -> Stored | None:
        self.claim(topic_digest(topic))
        return super().fact_at(topic, at)

    def same_events(self, event: Event, within: timedelta, limit: int) -> Sequence[Event]:
        if event.session is not None:
            self.claim(event_digest(event))
        return super().same_events(event, within, limit)

    def put_link(self, link: StoredLink) -> None:
        for document in (link.source, link.target):
            self.claim(links_digest(document))
        super().put_link(link)

    def forget(self, key: DocumentKey) -> None:
        self.claim(links_digest(key))  # Another transaction may be about to link it.
        super().forget(key)

    def _around(self, document: DocumentKey, topic: bytes, since: datetime) -> tuple[Stored | None, Stored | None]:
        self.claim(topic)
        return super()._around(document, topic, since)

    def _embedded(self, model: ModelKey, passages: Sequence[PassageKey]) -> dict[PassageKey, DocumentKey]:
        found = dict(self.rows(self.SQL["passages_embedded"], {"model": model, "passages": list(passages)}))
        return {passage: found[passage] for passage in passages if passage in found}

    @contextmanager
    def savepoint(self) -> Generator[None]:
        self.execute("SAVEPOINT unit", None)
        try:
            yield
        except psycopg.Error:
            raise  # The whole unit is run again or fails.
        except BaseException:
            self.execute("ROLLBACK TO SAVEPOINT unit", None)
            raise
        self.execute("RELEASE SAVEPOINT unit", None)
