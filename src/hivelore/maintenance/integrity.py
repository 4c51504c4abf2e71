"""Checks the data for damage and the indexes for missing entries, which it repairs."""

from collections.abc import Callable, Sequence

from hivelore.embeddings.queue import EmbeddingQueue
from hivelore.indexing.rebuild import IndexRebuild
from hivelore.maintenance.model import IntegrityReport
from hivelore.storage.ports import MemoryStore

QUEUE_BATCH = 1_000
"""Passages queued for embedding per transaction."""


class IntegrityCheck:
    def __init__(
        self,
        damage: Callable[[], Sequence[str]],
        store: MemoryStore,
        index_rebuild: IndexRebuild,
        embedding: EmbeddingQueue,
    ) -> None:
        """``damage``: returns damage to the data, see ``Monitor.check``."""
        self._damage = damage
        self._store = store
        self._index_rebuild = index_rebuild
        self._embedding = embedding

    def check(self) -> IntegrityReport:
        """Checks the store and, if it is sound, starts repairs of missing index entries. Raises Unavailable if reading,
        writing or searching fails."""
        problems = self._damage()
        if problems:
            return IntegrityReport(problems=tuple(problems))
        with self._store.read() as view:
            counts = view.counts()
            lacking, lost = self._index_rebuild.missing_count(view), view.count_lost_vectors()
        repairs: list[str] = []
        if lacking:
            self._index_rebuild.request_repair()
            repairs.append(
                f"The keyword index lacks words of {lacking:,} of {counts.memories:,} memories. They are indexed again "
                "while the service runs; pendingKeywords of its status counts down."
            )
        if lost:
            self._queue_lost()
            repairs.append(
                f"The vectors of {lost:,} of {counts.passages:,} passages are missing. They are queued; "
                "pendingEmbeddings of the status counts down."
            )
        return IntegrityReport(repairs=tuple(repairs), failed=self._embedding.failing())

    def _queue_lost(self) -> None:
        while self._store.write(lambda tx: tx.requeue_lost(QUEUE_BATCH)) == QUEUE_BATCH:
            pass
        self._embedding.wake()
