"""Transactions of a SQL store: everything that SQLite and PostgreSQL write alike."""

from collections.abc import Sequence

from hivelore.indexing.model import ChangeKind
from hivelore.memories.stored import DocumentKey, StoredChunk
from hivelore.memories.whole import WholeMemory
from hivelore.storage.sql.changes import ChangeJournalWriter
from hivelore.storage.sql.embeddings import EmbeddingWriter
from hivelore.storage.sql.events import EventWriter
from hivelore.storage.sql.feedback import FeedbackWriter
from hivelore.storage.sql.folders import FileWriter
from hivelore.storage.sql.identity import IdentityWriter
from hivelore.storage.sql.maintenance import JobWriter
from hivelore.storage.sql.memories import VERSION, MemoryWriter, chunk_params, memory_params, passage_params
from hivelore.storage.sql.observations import observation_params
from hivelore.storage.sql.review import ReviewWriter
from hivelore.storage.sql.sessions import SessionWriter
from hivelore.storage.sql.statements import Param
from hivelore.storage.sql.view import SqlView


class SqlTransaction(
    ChangeJournalWriter,
    EmbeddingWriter,
    EventWriter,
    FeedbackWriter,
    FileWriter,
    IdentityWriter,
    JobWriter,
    MemoryWriter,
    ReviewWriter,
    SessionWriter,
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
        self.record_state(key)
        for stored in self.chunks(key):
            self.drop_passages(key, stored.key)
        about = ("observations", "operational", "evidence", "usefulness", "events", "proposals", "concerned")
        for table in ("chunks", "tags", "versions", *about):
            self.run(f"{table}_delete", {"document": key})
        self.run("memory_delete", {"key": key})
        self.log_change(ChangeKind.FORGOTTEN, key)


def _imported_passage_params(stored: StoredChunk) -> list[dict[str, Param]]:
    params = passage_params(stored.document, stored.key, stored.chunk)
    return [{**passage, "key": key} for passage, key in zip(params, stored.passages, strict=True)]
