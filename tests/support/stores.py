"""All stores and keyword engines for the contract suite. One line adds a new one."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, Phase, settings

from hivelore.core.clock import Clock
from hivelore.core.values import replace
from hivelore.indexes.keywords.fts5 import Fts5
from hivelore.indexes.keywords.postings.compaction import Sizes
from hivelore.indexes.keywords.postings.engine import Postings
from hivelore.indexes.ports import KeywordIndex
from hivelore.indexing.model import BEGINNING, Change, ChangeCursor
from hivelore.memories.model import Action, Chunk, Memory, Version
from hivelore.memories.stored import DocumentKey, Stored, StoredChunk
from hivelore.search.model import Filter
from hivelore.storage.ports import MemoryStore, View
from hivelore.storage.sqlite import migrations
from hivelore.storage.sqlite.connection import connect
from hivelore.storage.sqlite.store import SqliteStore
from support import partitions, postgres
from support.laws import examples
from support.memories import EVERYTHING, whole
from support.places import IN_MEMORY
from support.reference.keywords import ReferenceKeywords
from support.reference.store import ReferenceStore

OpenStore = Callable[[Path, Clock], MemoryStore]
"""Opens the store that lies in a folder, and makes it where there is none."""

Fresh = Callable[[], AbstractContextManager[MemoryStore]]
"""Opens a new, empty store and closes it at the end."""


@dataclass(frozen=True)
class StoreKind:
    open: OpenStore
    durable: bool
    """Whether opening the same folder again finds everything."""
    kept: Callable[[Path], bytes] = lambda folder: b""
    """All that lies of it where it is kept."""
    in_files: bool = False
    """Whether these are files in the folder, so that what was deleted has to be wiped from them."""


def in_files(folder: Path) -> bytes:
    return b"\n".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


@dataclass(frozen=True)
class KeywordKind:
    store: str
    """The kind of store it works on."""
    index: Callable[[], KeywordIndex]


@cache
def _empty_database() -> bytes:
    """The file of a database without rows: its migrations take most of the time in which a new store opens."""
    with TemporaryDirectory(dir=IN_MEMORY) as folder:
        with closing(connect(path := Path(folder) / "hivelore.db")) as connection:
            migrations.migrate(connection, migrations.shipped())
        return path.read_bytes()


def _open_sqlite(folder: Path, clock: Clock) -> SqliteStore:
    path = folder / "hivelore.db"
    if not path.exists():
        path.write_bytes(_empty_database())
    return SqliteStore(path, clock=clock)


STORES: Mapping[str, StoreKind] = {
    "reference": StoreKind(lambda folder, clock: ReferenceStore(clock), durable=False),
    "sqlite": StoreKind(
        _open_sqlite,
        durable=True,
        kept=in_files,
        in_files=True,
    ),
    "postgres": StoreKind(postgres.open_store, durable=True, kept=postgres.kept),
    "postgres, partitioned": StoreKind(partitions.open_store, durable=False),
}

AT_ONCE = Sizes(newest=1, segment=2, alike=2, postings=3)
"""Every chunk becomes part of a segment as soon as the index settles."""

AT_ONCE_IN_FEW_STEPS = replace(AT_ONCE, postings=50)
"""For a store that is slow to begin a unit of work."""

KEYWORDS: Mapping[str, KeywordKind] = {
    "exact": KeywordKind("reference", ReferenceKeywords),
    "fts5": KeywordKind("sqlite", Fts5),
    "postings": KeywordKind("sqlite", Postings),
    "postings, gathered at once": KeywordKind("sqlite", lambda: Postings(AT_ONCE)),
    "postings on postgres": KeywordKind("postgres", Postings),
    "postings on postgres, gathered at once": KeywordKind("postgres", lambda: Postings(AT_ONCE_IN_FEW_STEPS)),
}

law = settings(
    deadline=None,
    max_examples=examples(30),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
"""Opens a separate store for each example of a law, so that a failing example is reproducible."""


def add(store: MemoryStore, memory: Memory, chunks: Sequence[Chunk] | None = None) -> Stored:
    """Adds a memory in a separate transaction, by default as one chunk with one passage."""
    return store.write(lambda tx: tx.add(memory, whole(memory.content) if chunks is None else chunks))


def change(
    store: MemoryStore,
    key: DocumentKey,
    memory: Memory,
    chunks: Sequence[Chunk] | None = None,
    action: Action = Action.EDITED,
) -> None:
    store.write(lambda tx: tx.change(key, memory, chunks, action))


def forget(store: MemoryStore, key: DocumentKey) -> None:
    store.write(lambda tx: tx.forget(key))


def present(store: MemoryStore, memory: Memory) -> Stored:
    """Returns the current state of a stored memory."""
    with store.read() as view:
        stored = view.get(memory.id)
    assert stored is not None
    return stored


def chunks(store: MemoryStore, key: DocumentKey) -> Sequence[StoredChunk]:
    with store.read() as view:
        return view.chunks(key)


def history(store: MemoryStore, key: DocumentKey) -> Sequence[Version]:
    with store.read() as view:
        return view.history(key)


def listed(store: MemoryStore, where: Filter = EVERYTHING) -> Sequence[Memory]:
    with store.read() as view:
        return view.page(where, None, 1_000)


def read_changes(view: View, since: ChangeCursor = BEGINNING) -> list[Change]:
    """Returns the changes that a view shows and ``since`` does not."""
    return [change for _, batch in view.changes(since) for change in batch]
