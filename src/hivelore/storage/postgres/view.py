"""Reading one snapshot of a PostgreSQL store."""

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
from hivelore.indexing.model import Change, ChangeCursor, ChangeKind, DocumentKey, ModelKey, PassageKey, Stored, Vector
from hivelore.memories.model import Statement, Topic
from hivelore.storage.ports import Deferred
from hivelore.storage.postgres import connection as postgres
from hivelore.storage.postgres import row_level_security
from hivelore.storage.postgres.connection import Connection, dialect
from hivelore.storage.sql import columns, rows
from hivelore.storage.sql.filters import Params
from hivelore.storage.sql.statements import load
from hivelore.storage.sql.transaction import SqlTransaction
from hivelore.storage.sql.view import SqlView

_STATEMENTS = load(("hivelore.storage.sql", "queries.sql"), ("hivelore.storage.postgres", "queries.sql"))
_BY_KEY = (
    "LEFT JOIN LATERAL (SELECT * FROM {table} WHERE namespace = :namespace AND document = m.key LIMIT 1) {name} ON TRUE"
)
"""One after the other, whatever the planner takes the table for that nobody has analysed yet."""
SQL = rows.fill_placeholders(
    _STATEMENTS,
    join=_BY_KEY,
    vectors="vectors",
    given="OVERRIDING SYSTEM VALUE",
    now="(extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
)

PAGE = 1_000
"""About so many changes are in a batch, ..."""
BATCH = 2_000
"""... and so many rows of a stream are fetched at a time."""
IN_TRANSACTION = (pq.TransactionStatus.INTRANS, pq.TransactionStatus.ACTIVE, pq.TransactionStatus.INERROR)


class PostgresView(SqlView):
    """Implements ``storage.ports.View`` on a connection that is inside a transaction with one snapshot."""

    SQL = SQL
    dialect = "postgres"
    among = "= ANY (ARRAY ({}))"
    """These first, then what they are the keys of: else a list in order, of which the planner does not know how much is
    asked for, is walked past all that are not among them."""
    doubts_conflicts = False
    """Whether what is said to be there already may have come after this snapshot: then a newer one is to tell."""

    is_walled = False
    """Whether the database lets through only what a viewer may see."""

    def __init__(
        self, connection: Connection, namespace: int, moment: ChangeCursor, clock: Clock, deadline: float | None
    ) -> None:
        self._connection: Connection | None = connection
        self._namespace = namespace
        self._moment = moment
        self._clock = clock
        self._deadline = deadline
        self._streams = count(1)
        self._under_way: ExitStack | None = None
        """Ends when all that was sent has been answered."""
        self._is_spoilt = False
        """Whether psycopg may take a statement for prepared that the server passed over, as it does after an error."""

    def end(self) -> None:
        """The transaction is over, and the connection is somebody else's."""
        self._settle()
        if self._is_spoilt and self._connection is not None:
            self._connection.close()
        self._connection = None

    @property
    def namespace(self) -> int:
        return self._namespace

    def rows(self, sql: str, params: Params | None = None) -> list[Any]:
        found = self.executed(sql, params)
        return [] if found.description is None else found.fetchall()

    def deferred(self, sql: str, params: Params | None = None) -> Deferred[list[Any]]:
        if self._under_way is None:
            self._under_way = under_way = ExitStack()
            under_way.enter_context(self._open().pipeline())
        asked = self._sent(sql, params)

        def answered() -> list[Any]:
            self._await()
            with self.our_errors():
                return asked.fetchall()

        return answered

    def executed(self, sql: str, params: Params | None) -> postgres.Cursor:
        """The cursor of a statement that ran."""
        cursor = self._sent(sql, params)
        self._await()
        return cursor

    def _await(self) -> None:
        """Until all that was sent has been answered."""
        under_way, self._under_way = self._under_way, None
        if under_way is not None:
            with self.our_errors():
                try:
                    under_way.close()
                except psycopg.Error as error:
                    self._is_spoilt = True
                    raise _what_ended(error) from None

    def _settle(self) -> None:
        """Until nothing is under way, whatever becomes of it."""
        with suppress(HiveloreError, psycopg.Error):
            self._await()

    def _sent(self, sql: str, params: Params | None) -> postgres.Cursor:
        """The cursor of a statement, which is waited for unless others are under way. A text with NUL is in no table:
        who asks for one asks for NULL instead, which is like nothing."""
        connection = self._open()
        with self.our_errors():
            try:
                return postgres.execute(connection, sql, self._bound(params))
            except psycopg.Error as error:
                # psycopg itself refuses a NUL; what the server refuses may be a statement that was sent before.
                if type(error) is not psycopg.DataError or params is None or not sql.startswith(("SELECT", "WITH")):
                    self._is_spoilt |= self._under_way is not None
                    self._settle()
                    raise
                return postgres.execute(connection, sql, self._bound(_without_nul(params)))

    def stream(self, sql: str, params: Params | None = None) -> Iterator[Any]:
        connection = self._open()
        self._await()
        with self.our_errors(), connection.cursor(f"stream_{next(self._streams)}", withhold=False) as cursor:
            cursor.itersize = BATCH
            cursor.execute(postgres.dialect(sql), self._bound(params), binary=True)
            for row in cursor:
                yield row
                self._open()
                self._await()

    @contextmanager
    def our_errors(self) -> Generator[None]:
        """Our words for what PostgreSQL raises, but for what makes the store run the whole unit again."""
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
            raise Expired("The call took longer than its deadline. Narrow the question or try again later.")
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
        if not self.is_walled:
            yield
            return
        connection = self._open()
        self._await()
        self.is_walled = False
        try:
            with self.our_errors():
                postgres.run_script(connection, row_level_security.OUTSIDE)
                yield
        finally:
            self._settle()
            self.is_walled = True
            # One that an error has ended answers nothing any more, and must not be asked.
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
                yield self._reached(since, last), batch
                batch = []
            batch.append(Change(seq, ChangeKind(kind), DocumentKey(document)))
            last = tx
        yield self._moment, batch

    def _reached(self, since: ChangeCursor, last: int) -> ChangeCursor:
        """The moment of who knew ``since`` and was told all that this view shows up to the transaction ``last``."""
        if last <= since.upto:
            return ChangeCursor(since.upto, tuple(tx for tx in since.open if tx > last or tx in self._moment.open))
        return ChangeCursor(last, tuple(tx for tx in self._moment.open if tx <= last))


def _what_ended(error: psycopg.Error) -> psycopg.Error:
    """The error of a statement that was sent before, where it has taken this one with it."""
    before = error.__context__
    return before if isinstance(error, errors.PipelineAborted) and isinstance(before, psycopg.Error) else error


def _without_nul(params: Params) -> dict[str, Any]:
    return {name: None if isinstance(one, str) and "\0" in one else one for name, one in params.items()}


def read_moment(snapshot: str) -> ChangeCursor:
    """What ``pg_current_snapshot`` says: the first transaction that may be open, the first that is not known of, and
    those between them that are open."""
    _, end, still_open = snapshot.split(":")
    return ChangeCursor(int(end) - 1, tuple(map(int, still_open.split(","))) if still_open else ())


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
        self.claim(columns.statement_digest(statement))
        return super().memory_with_statement(statement)

    def fact_at(self, topic: Topic, at: datetime | None) -> Stored | None:
        self.claim(columns.topic_digest(topic))
        return super().fact_at(topic, at)

    def same_event(self, event: Event, within: timedelta) -> Event | None:
        if event.session is not None:
            self.claim(rows.event_digest(event))
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
