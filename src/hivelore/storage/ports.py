"""Ports of the stores: views, transactions, stores, and what watches and connects them.

Each capability declares in its ``ports`` which reads and writes it needs; a store implements all of them. Instants are
UTC. A port raises errors of ``hivelore.errors`` only. Lists are read in pages: ``after`` is the position of the last
item of the previous page, None for the first page.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol, TypeVar

from hivelore.changes.ports import ChangeJournalReads, ChangeJournalWrites
from hivelore.configuration.ports import ConfigReads, ConfigWrites
from hivelore.embeddings.ports import EmbeddingReads, EmbeddingWrites
from hivelore.errors import HiveloreError
from hivelore.events.ports import EventReads, EventWrites
from hivelore.feedback.ports import FeedbackReads, FeedbackWrites
from hivelore.folders.ports import FileReads, FileWrites
from hivelore.identity.ports import IdentityReads, IdentityWrites, ProfileReads, ProfileWrites
from hivelore.indexing.ports import ChangeLogReads
from hivelore.links.ports import LinkReads, LinkWrites
from hivelore.maintenance.ports import JobReads, JobWrites
from hivelore.memories.ports import MemoryReads, MemoryWrites
from hivelore.memories.whole import Counts
from hivelore.observations.ports import ObservationReads, ObservationWrites
from hivelore.repos.ports import RepoReads, RepoWrites
from hivelore.review.ports import ReviewReads, ReviewWrites
from hivelore.search.model import Visibility
from hivelore.sessions.ports import SessionReads, SessionWrites
from hivelore.setup_scripts.ports import SetupScriptReads, SetupScriptWrites

T = TypeVar("T")


class SettingReads(Protocol):
    """Named settings of this store."""

    def setting(self, name: str) -> str | None:
        """Returns a small named fact of this store (``incarnation``, ``model.active_model``, ...)."""
        ...


class SettingWrites(Protocol):
    """Named settings and leases of this store."""

    def set_setting(self, name: str, value: str) -> None: ...

    def acquire_lease(self, name: str, holder: str, now: datetime, lease: timedelta) -> bool:
        """Acquires or renews a named lease; returns False if another holder has it. A lease of no time releases it. A
        shared store uses its own clock."""
        ...


class View(
    MemoryReads,
    ChangeLogReads,
    EmbeddingReads,
    ObservationReads,
    FeedbackReads,
    EventReads,
    ReviewReads,
    LinkReads,
    ChangeJournalReads,
    ConfigReads,
    RepoReads,
    SetupScriptReads,
    SessionReads,
    FileReads,
    IdentityReads,
    ProfileReads,
    JobReads,
    SettingReads,
    Protocol,
):
    """One consistent snapshot of the store, for reading: the reads of every capability."""

    def counts(self) -> Counts:
        """Counts the rows of every kind."""
        ...


class Transaction(
    View,
    MemoryWrites,
    EmbeddingWrites,
    ObservationWrites,
    FeedbackWrites,
    EventWrites,
    ReviewWrites,
    LinkWrites,
    ChangeJournalWrites,
    ConfigWrites,
    RepoWrites,
    SetupScriptWrites,
    SessionWrites,
    FileWrites,
    IdentityWrites,
    ProfileWrites,
    JobWrites,
    SettingWrites,
    Protocol,
):
    """One atomic unit of reads and writes. Its reads see what it has written."""


class Snapshots(Protocol):
    """A store that is only read."""

    @property
    def name(self) -> str:
        """The engine for people: ``sqlite 3.54.1``."""
        ...

    def read(self, deadline: float | None = None, *, sees: Visibility | None = None) -> AbstractContextManager[View]:
        """Opens a snapshot. ``deadline`` is on the clock of ``Clock.monotonic``; past it, Expired is raised. ``sees``
        is the widest visibility of the caller: row-level security enforces it in addition to the filters."""
        ...

    def close(self) -> None:
        """Waits until acknowledged writes are stored, then releases the store. Closing twice is allowed."""
        ...


class MemoryStore(Snapshots, Protocol):
    """Stores memories and everything else of a swarm. It applies filters, but makes no decisions."""

    @property
    def is_shared(self) -> bool:
        """True if several processes may use it at the same time, so that exclusive work needs a lease."""
        ...

    @property
    def row_level_security(self) -> bool | None:
        """True if the engine enforces ``sees`` of ``read``; None: this kind of engine cannot."""
        ...

    def write(self, work: Callable[[Transaction], T], deadline: float | None = None) -> T:
        """Runs ``work`` as one transaction and returns its result once it is durable. ``work`` has no other effects and
        may run twice. An error it raises rolls the transaction back and is raised here."""
        ...

    def verify(self) -> None:
        """Checks that the database answers and is still the one that was opened; meant for about one call a second.
        Raises Unavailable if not; from then on ``write`` raises it too."""
        ...

    def check(self) -> Sequence[str]:
        """Checks the integrity of the data; returns one sentence per problem."""
        ...

    def purge_log(self) -> bool:
        """Erases deleted data from the files of the store, such as its write-ahead log. Returns False if a reader still
        needs them: try again later."""
        ...

    def analyze(self) -> None:
        """Refreshes the statistics of the query planner, after a bulk load. An engine that needs none, or lacks the
        right, does nothing."""
        ...

    def vacuum(self) -> None:
        """Reclaims unused disk space; may take a while and blocks writes. Raises Unavailable."""
        ...


class StoreWatch(Protocol):
    """Receives the outcome of every read and write of a store."""

    def read_done(self) -> None: ...

    def write_done(self) -> None: ...

    def store_failed(self, error: HiveloreError, *, writing: bool) -> None:
        """``error.cause`` is set if the database failed, and None if the work of the caller failed."""
        ...


class Notification(StrEnum):
    """A message between the processes that share a store."""

    AGENTS = "agents"
    """Keys or agents have changed."""
    WAITING = "waiting"
    """More passages wait for vectors than the sender can embed at once."""


class Notifier(Protocol):
    """Wakes the other processes that share a store. Notifications may be lost or come without a reason: receivers would
    notice the change a little later anyway."""

    def subscribe(self, notice: Notification, listener: Callable[[], object]) -> None:
        """Calls ``listener`` on the thread of ``run`` when another process publishes ``notice``. Subscribe before
        ``run``."""
        ...

    def run(self) -> None:
        """Sends and receives until closed. May be called again after it raised."""
        ...

    def publish(self, notice: Notification) -> None:
        """Sends a notification soon, without waiting or raising. Call it after the transaction."""
        ...

    def close(self) -> None:
        """Waits for ``run`` to end. Closing twice is allowed."""
        ...
