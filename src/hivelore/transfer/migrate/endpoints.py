"""Source and target of a migration: parsing locations, locking, and checks before a run."""

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hivelore.configuration.entry_changes import NEWEST_KEY
from hivelore.core.clock import Clock
from hivelore.embeddings.active_model import SERVING
from hivelore.errors import Broken, Busy, Invalid, NotFound
from hivelore.indexes.ports import KeywordIndex
from hivelore.local import endpoint
from hivelore.local.lock import EMBEDDED, Lock, Owner, held_by, read_owner
from hivelore.models.quota import SPENT
from hivelore.runtime.app import REDACTION_KEY
from hivelore.runtime.clock import SystemClock
from hivelore.runtime.engines import keyword_engines, postgres_package
from hivelore.runtime.settings import Settings, database_at
from hivelore.storage.migration_state import fitting, origin_of
from hivelore.storage.ports import MemoryStore, Snapshots
from hivelore.storage.sqlite.store import SqliteSource, SqliteStore
from hivelore.transfer.migrate.migrator import Migrator, Progress

if TYPE_CHECKING:
    from hivelore.storage.postgres.store import PostgresStore

SETTINGS = (SERVING, REDACTION_KEY, SPENT, NEWEST_KEY)
"""Settings that belong to the swarm."""
_CONNECTIONS = 2

Holder = Callable[[], str | None]
"""Returns who else may write to a store; None if nobody."""


@dataclass(frozen=True, slots=True, repr=False)
class DatabaseLocation:
    """Path of a SQLite file, or URL of a PostgreSQL database, which may contain a password."""

    where: Path | str

    def __str__(self) -> str:
        if isinstance(self.where, Path):
            return str(self.where)
        with postgres_package():
            from hivelore.storage.postgres.connection import server_name
        return server_name(self.where)


@dataclass(frozen=True, slots=True)
class MigrationSource:
    place: DatabaseLocation
    store: Snapshots
    holder: Holder


@dataclass(frozen=True, slots=True)
class MigrationTarget:
    place: DatabaseLocation
    store: MemoryStore
    engines: Sequence[KeywordIndex]


def parse_location(text: str) -> DatabaseLocation:
    """Parses a PostgreSQL URL, a SQLite file, or the folder of one."""
    where = database_at(text)
    if isinstance(where, str):
        return DatabaseLocation(where)
    is_folder = where.is_dir() or (not where.exists() and not where.suffix)
    return DatabaseLocation(where / endpoint.DATABASE if is_folder else where)


def configured_location(settings: Settings) -> DatabaseLocation:
    """Returns the database location of these settings."""
    where = settings.postgres_url or settings.database_path
    if where is None:
        raise Invalid("HIVELORE_DATABASE=memory: exists only inside its process, so it cannot be moved.")
    return DatabaseLocation(where)


@contextmanager
def open_source(place: DatabaseLocation, settings: Settings) -> Generator[MigrationSource]:
    """Opens the source. An unused SQLite file is locked and upgraded to the current schema, as at every start."""
    clock = SystemClock()
    if not isinstance(place.where, Path):
        with _postgres_source(place, place.where, clock) as end:
            yield end
        return
    if not place.where.is_file():
        raise NotFound(f"There is no database {place.where}.")
    with ExitStack() as stack:
        claim = _HomeLock(_lock_folder(place.where, settings), clock)
        stack.callback(claim.release)
        if claim.refusal() is None:
            SqliteStore(place.where, clock=clock).close()
        yield MigrationSource(
            place, stack.enter_context(closing(SqliteSource(place.where, clock=clock))), claim.refusal
        )


@contextmanager
def open_source_read_only(place: DatabaseLocation, settings: Settings) -> Generator[MigrationSource]:
    """Opens the source without locking or changing it."""
    clock = SystemClock()
    if not isinstance(place.where, Path):
        with _postgres_source(place, place.where, clock) as end:
            yield end
        return
    home = _lock_folder(place.where, settings)
    with closing(SqliteSource(place.where, clock=clock)) as store:
        yield MigrationSource(place, store, lambda: _describe_holder(home))


@contextmanager
def open_target(place: DatabaseLocation, settings: Settings) -> Generator[MigrationTarget]:
    """Opens the target. Raises Busy if another process uses it."""
    clock = SystemClock()
    engines = keyword_engines(settings.model_copy(update={"database": str(place.where)}))
    if not isinstance(place.where, Path):
        with closing(_open_postgres(place.where, clock)) as store:
            _refuse_others(store.others())
            yield MigrationTarget(place, store, engines)
        return
    endpoint.make_home(place.where.parent)
    with ExitStack() as stack:
        claim = _HomeLock(_lock_folder(place.where, settings), clock)
        stack.callback(claim.release)
        claim.acquire()
        yield MigrationTarget(place, stack.enter_context(closing(SqliteStore(place.where, clock=clock))), engines)


def examine_target(place: DatabaseLocation, settings: Settings, source: Snapshots) -> str:
    """Describes the target without changing it. Raises the foreseeable errors of a migration."""
    clock = SystemClock()
    keyword_engines(settings.model_copy(update={"database": str(place.where)}))
    with source.read() as view:
        origin = origin_of(view)
    if isinstance(place.where, Path):
        home = _lock_folder(place.where, settings)
        owner = None if home is None else read_owner(home)
        if owner is not None:
            raise held_by(owner)
        if not place.where.exists():
            folder = next(one for one in place.where.parents if one.exists())
            if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
                raise Broken(f"The folder {folder} is not writable.")
            return "will be created"
        with closing(SqliteSource(place.where, clock=clock)) as store:
            return _describe_target(store, origin)
    with postgres_package():
        from hivelore.storage.postgres.pool import rehearse
    if rehearse(place.where):
        return "gets its tables"
    with closing(_open_postgres(place.where, clock, as_it_is=True)) as store:
        _refuse_others(store.others())
        return _describe_target(store, origin)


def build_migrator(source: MigrationSource, target: MigrationTarget, progress: Progress) -> Migrator:
    return Migrator(source.store, target.store, target.engines, SystemClock(), settings=SETTINGS, progress=progress)


def _open_postgres(url: str, clock: Clock, *, as_it_is: bool = False) -> "PostgresStore":
    """Connects under a distinct application name, so that these connections are not counted as others."""
    with postgres_package():
        from hivelore.storage.postgres.connection import with_application_name
        from hivelore.storage.postgres.store import PostgresStore
    url = with_application_name(url, f"hivelore move {os.getpid()}")
    return PostgresStore(url, clock=clock, connections=_CONNECTIONS, as_it_is=as_it_is)


@contextmanager
def _postgres_source(place: DatabaseLocation, url: str, clock: Clock) -> Generator[MigrationSource]:
    with closing(_open_postgres(url, clock, as_it_is=True)) as store:
        yield MigrationSource(place, store, lambda: _describe_connections(store.others()))


def _describe_connections(connections: int) -> str | None:
    return f"Other Hivelore processes have {connections} connections to this database." if connections else None


def _refuse_others(connections: int) -> None:
    if connections:
        raise Busy(f"{_describe_connections(connections)} Stop them first.")


def _describe_target(store: Snapshots, origin: str) -> str:
    with store.read() as view:
        state = fitting(view, origin)
    if state is None:
        return "is empty"
    return "is partly copied" if state.finished_at is None else f"is complete since {state.finished_at}"


def _lock_folder(path: Path, settings: Settings) -> Path | None:
    """Returns the folder whose lock protects a file; None if no service would use the file."""
    if settings.database_path == path:
        return settings.home
    return path.parent if path.name == endpoint.DATABASE else None


def _describe_holder(home: Path | None) -> str | None:
    owner = None if home is None else read_owner(home)
    return None if owner is None else str(held_by(owner))


class _HomeLock:
    """Lock of a data directory, taken as soon as it is free."""

    def __init__(self, home: Path | None, clock: Clock) -> None:
        self._home = home
        self._clock = clock
        self._lock: Lock | None = None

    def acquire(self) -> None:
        """Raises Busy if another process holds it."""
        if self._home is not None and self._lock is None:
            started = self._clock.now().isoformat()
            self._lock = Lock(self._home, Owner(pid=os.getpid(), kind=EMBEDDED, url=None, started_at=started))

    def refusal(self) -> str | None:
        """Returns the holder; None once it is acquired or not needed."""
        try:
            self.acquire()
        except Busy as busy:
            return str(busy)
        return None

    def release(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None
