"""Views and transactions of a SQL store: everything that SQLite and PostgreSQL read and write alike."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hivelore.indexing.model import Change, ChangeCursor, ChangeKind
from hivelore.memories.stored import DocumentKey, StoredChunk
from hivelore.memories.whole import Counts, WholeMemory
from hivelore.storage.sql.changes import ChangeJournalReader, ChangeJournalWriter
from hivelore.storage.sql.configuration import ConfigReader, ConfigWriter
from hivelore.storage.sql.embeddings import EmbeddingWriter
from hivelore.storage.sql.events import EventReader, EventWriter
from hivelore.storage.sql.feedback import USEFULNESS, FeedbackReader, FeedbackWriter
from hivelore.storage.sql.folders import FileReader, FileWriter
from hivelore.storage.sql.identity import IdentityReader, IdentityWriter
from hivelore.storage.sql.links import LinkReader, LinkWriter
from hivelore.storage.sql.maintenance import JobReader, JobWriter
from hivelore.storage.sql.memories import (
    MEMORY_COLUMNS,
    VERSION,
    MemoryWriter,
    chunk_params,
    memory_params,
    passage_params,
)
from hivelore.storage.sql.observations import OPERATIONAL, ObservationReader, observation_params
from hivelore.storage.sql.profiles import ProfileReader, ProfileWriter
from hivelore.storage.sql.repos import RepoReader, RepoWriter
from hivelore.storage.sql.review import ReviewReader, ReviewWriter
from hivelore.storage.sql.sessions import SessionReader, SessionWriter
from hivelore.storage.sql.setup_scripts import SetupScriptReader, SetupScriptWriter
from hivelore.storage.sql.statements import Dialect, Param, Table, load_dialect


class SqlView(
    ChangeJournalReader,
    ConfigReader,
    EventReader,
    FeedbackReader,
    FileReader,
    IdentityReader,
    JobReader,
    LinkReader,
    ObservationReader,
    RepoReader,
    ProfileReader,
    ReviewReader,
    SessionReader,
    SetupScriptReader,
):
    """Implements ``storage.ports.View`` except for the change log."""

    @abstractmethod
    def change_cursor(self) -> ChangeCursor: ...

    @abstractmethod
    def changes(self, since: ChangeCursor) -> Iterator[tuple[ChangeCursor, Sequence[Change]]]: ...

    def counts(self) -> Counts:
        """Columns memories, past versions, characters of each, then the other counts by name."""
        memories, past, characters, of_past, *others = map(int, self.row("counts"))
        names = (name for name in Counts.__slots__ if name not in ("memories", "versions", "characters"))
        return Counts(
            memories=memories,
            versions=memories + past,
            characters=characters + of_past,
            **dict(zip(names, others, strict=True)),
        )


def load_statements(dialect: Dialect) -> Mapping[str, str]:
    """Returns the statements of a store in a dialect."""
    tables: dict[str, Table[Any]] = {table.name: table for each in SqlView.__mro__ for table in _tables(each)}
    places = {
        "memory_columns": MEMORY_COLUMNS,
        "operational_columns": OPERATIONAL.listed("o"),
        "usefulness_columns": USEFULNESS.listed("u"),
    }
    return load_dialect(dialect, tables, places)


def _tables(reader: type) -> tuple[Table[Any], ...]:
    return vars(reader).get("TABLES", ())


class SqlTransaction(
    ChangeJournalWriter,
    ConfigWriter,
    EmbeddingWriter,
    EventWriter,
    FeedbackWriter,
    FileWriter,
    IdentityWriter,
    JobWriter,
    LinkWriter,
    MemoryWriter,
    RepoWriter,
    ProfileWriter,
    ReviewWriter,
    SessionWriter,
    SetupScriptWriter,
    SqlView,
):
    """Implements ``storage.ports.Transaction`` except for the change log: what concerns several capabilities."""

    def import_memories(self, memories: Sequence[WholeMemory]) -> None:
        with self.savepoint():
            self.import_rows(
                "memory", [{**memory_params(one.memory, one.history[-1].action), "key": one.key} for one in memories]
            )
            for one in memories:
                self.put_tags(one.key, one.memory)
                past = [{**VERSION.params(version), "document": one.key} for version in one.history[:-1]]
                self.run_each("version_import", past)
                self.run_each("observation_insert", [observation_params(one.key, each) for each in one.observations])
                self.put_evidence(one.key, (), one.evidence)
            self.put_operational({one.key: one.memory.operational for one in memories})
            chunks = [stored for one in memories for stored in one.chunks]
            self.import_rows("chunk", [{**chunk_params(one.document, one.chunk), "key": one.key} for one in chunks])
            self.import_rows("passage", [params for one in chunks for params in _imported_passage_params(one)])
        for one in memories:
            self.record_new(one.key)
        self.log_changes(ChangeKind.CREATED, [one.key for one in memories])

    def forget(self, key: DocumentKey) -> None:
        if self.row("memory_exists", key=key) is None:
            return
        self.record_removal(key)
        for stored in self.chunks(key):
            self.drop_passages(key, stored.key)
        about = ("observations", "operational", "evidence", "usefulness", "events", "proposals", "concerned")
        for table in ("chunks", "tags", "versions", *about, "links", "compared", "judged"):
            self.run(f"{table}_delete", {"document": key})
        self.run("memory_delete", {"key": key})
        self.log_change(ChangeKind.FORGOTTEN, key)


def _imported_passage_params(stored: StoredChunk) -> list[dict[str, Param]]:
    params = passage_params(stored.document, stored.key, stored.chunk)
    return [{**passage, "key": key} for passage, key in zip(params, stored.passages, strict=True)]
