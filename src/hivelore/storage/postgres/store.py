"""The PostgreSQL store: snapshots from a pool of connections, units of work in the thread of the caller."""

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
from hivelore.storage.postgres.pool import CONNECTIONS, TIMELINE, Left, Pool, Script
from hivelore.storage.postgres.view import EVERYTHING, SQL, PostgresTransaction, PostgresView, read_moment
from hivelore.storage.refusals import database_replaced

T = TypeVar("T")

NAMESPACE = 1
VERIFIED_WITHIN = 2.0
"""Seconds."""
TRIES_BESIDE_OTHERS = 4
"""So often a unit is run beside others that may get in its way; then alone."""
# In the second part the snapshot is taken; of a unit it tells by which number the server knows it, and of which
# incarnation the database is.
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
"""Seconds between asking whether a unit was kept, while the server is still at it."""
_LOST = "The connection to the database was lost, and nothing of this was stored. Try again."
_UNKNOWN = (
    "The connection to the database was lost while this was being stored: it may be there or not. "
    "Look for what you wrote before trying again."
)


class PostgresStore:
    """Implements ``storage.ports.MemoryStore`` on one namespace of a database, in the first schema of the role's
    search path.

    Snapshots and units of work are transactions of isolation level REPEATABLE READ. A unit that would change what
    another has changed since it began is run again, so nothing is lost; what it decides by something not being there
    is claimed (``PostgresTransaction.claim``), or kept apart by a unique index. SERIALIZABLE would do that for all
    there is, at a quarter of the speed: every writer meets every other in the last pages of the indexes."""

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
        """``pool``: one of the same database that is shared with others, and stays open. ``as_it_is``: for reading
        alone; nothing of the database is changed. ``may_create``: make the tables where there are none, else that is
        refused."""
        self._clock = clock
        self._watch = watch or NullWatch()
        self._incarnation: str | None = None
        """None until it is known which one was opened."""
        self._namespace = namespace
        number = _NUMBER.format(namespace=int(namespace))
        self._workers: Script = _UNIT, f"LOCK TABLE turn IN ROW SHARE MODE; {number}"
        self._alone: Script = _UNIT, f"LOCK TABLE turn IN EXCLUSIVE MODE; {number}"
        self._pool = Pool(url, connections, as_it_is=as_it_is, may_create=may_create) if pool is None else pool
        self._is_mine = pool is None
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
        walled = sees is not None and self._pool.row_level_security
        begin = (
            (_READ[0], "; ".join([*row_level_security.begin(sees), _READ[1]])) if sees is not None and walled else _READ
        )
        with self._watched(writing=False), self._begun(begin, deadline) as (connection, snapshot):
            view = PostgresView(connection, self._namespace, read_moment(snapshot), self._clock, deadline)
            view.is_walled = walled
            try:
                with our_errors():
                    yield view
            finally:
                view.end()

    def write(self, work: Callable[[Transaction], T], deadline: float | None = None) -> T:
        with self._watched(writing=True):
            return self._written(work, deadline)

    def verify(self) -> None:
        try:
            with self.read(self._clock.monotonic() + VERIFIED_WITHIN) as view:
                known = view.setting("incarnation")
        except (Expired, Unavailable):
            with self._pool.autocommit():  # Tells a server that does not answer from connections that are all busy.
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
        """What this process knows is of the incarnation that it opened."""
        if self._incarnation is not None and incarnation != self._incarnation:
            raise database_replaced()

    def _written(self, work: Callable[[Transaction], T], deadline: float | None) -> T:
        tries = 0
        while True:
            alone = tries >= TRIES_BESIDE_OTHERS
            try:
                return self._tried(work, deadline, self._alone if alone else self._workers, fresh=tries > 0)
            except AGAIN as error:
                if alone and tries >= 2 * TRIES_BESIDE_OTHERS:
                    raise translated(error) from error
                tries += 1

    @contextmanager
    def autocommit(self) -> Generator[PostgresAutocommit]:
        with self._pool.autocommit() as connection:
            yield PostgresAutocommit(connection, self._namespace)

    def _tried(self, work: Callable[[Transaction], T], deadline: float | None, begin: Script, *, fresh: bool) -> T:
        """``fresh``: the unit was run before, so that its snapshot shows what was in its way."""
        with self._begun(begin, deadline) as (connection, begun):
            number, _, incarnation = begun.partition(" ")
            self._refuse_other(incarnation)
            unit = PostgresTransaction(connection, self._namespace, EVERYTHING, self._clock, deadline)
            unit.doubts_conflicts = not fresh
            try:
                answer = work(unit)
            finally:
                unit.end()
            lost = _commit(connection)
        if lost is not None:
            self._see_that_it_was_kept(number, deadline, lost)
        return answer

    def _see_that_it_was_kept(self, number: str, deadline: float | None, lost: psycopg.Error) -> None:
        """Ask what became of a unit whose connection was lost at its end. Raises Unavailable where nothing of it is
        there, or where nobody can tell: the server stays away, or is another one, to which the number says nothing."""
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
        return self._pool.begun(begin, self._left(deadline))

    def _left(self, deadline: float | None) -> Left:
        return lambda: None if deadline is None else deadline - self._clock.monotonic()

    def others(self) -> int:
        """How many connections other Hivelores have to the same schema, and those that move a swarm to the same
        database, as far as their URLs do not name them otherwise (``application_name``)."""
        with self.read() as view:
            return view.row("others")[0]

    def check(self) -> Sequence[str]:
        """Looks for rows that point at nothing; whether pages are sound is for the server's own tools."""
        with self.read() as view:
            return [row[0] for row in view.rows(SQL["problems"])]

    def purge_log(self) -> bool:
        """PostgreSQL overwrites what was deleted, and its log, in its own time: nothing waits for us."""
        return True

    def analyze(self) -> None:
        """Let the planner know what is in the tables now: autovacuum tells it minutes later. Tables are left out
        that the role does not own, or on which an index is being made, which may take hours."""
        with suppress(HiveloreError), self.autocommit() as apart:
            tables = ", ".join(row[0] for row in apart.rows(SQL["tables"]))
            apart.run(f"ANALYZE (SKIP_LOCKED) {tables}", lambda: False)

    def vacuum(self) -> None:
        """What others run on is not locked: the server keeps the room, to use it again."""
        with self.autocommit() as apart:
            tables = ", ".join(row[0] for row in apart.rows(SQL["tables"]))
            apart.run(f"VACUUM (ANALYZE) {tables}", lambda: False)

    def close(self) -> None:
        self._is_closed = True
        if self._is_mine:
            self._pool.close()


def _commit(connection: Connection) -> psycopg.Error | None:
    """What it was that took the connection before the server answered."""
    # An error that work has caught may have ended the transaction: COMMIT would then undo it without a word.
    if connection.info.transaction_status is not psycopg.pq.TransactionStatus.INTRANS:
        raise Unavailable("The database refused a part of this, and nothing of it was stored. Try again.")
    try:
        connection.execute("COMMIT")
    except AGAIN:
        raise
    except errors.Error as error:
        if connection.broken:
            return error
        raise translated(error) from error
    return None
