"""Checking the data for damage, and the indexes for what they lack; what they lack is repaired."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hivelore.embeddings.queue import EmbeddingQueue
from hivelore.indexing.rebuild import IndexRebuild
from hivelore.storage.ports import MemoryStore

QUEUE_BATCH = 1_000
"""Passages that are put into the embedding queue in one unit of work."""


@dataclass(frozen=True, slots=True)
class IntegrityReport:
    """What was found, one sentence each."""

    problems: Sequence[str]
    """Damage to the data, which nobody but an operator can repair."""
    repairs: Sequence[str]
    """What an index lacked, and what is done about it."""
    failed: int = 0
    """Passages that could not be embedded, and are tried again."""


class IntegrityCheck:
    def __init__(
        self,
        damage: Callable[[], Sequence[str]],
        store: MemoryStore,
        index_rebuild: IndexRebuild,
        embedding: EmbeddingQueue,
    ) -> None:
        """``damage``: what is damaged, see ``Monitor.check``."""
        self._damage = damage
        self._store = store
        self._index_rebuild = index_rebuild
        self._embedding = embedding

    def check(self) -> IntegrityReport:
        """Compare the indexes with the store where the store itself is sound, and let what is missing be made anew.
        Raises Unavailable where reading, writing or searching does not work."""
        problems = self._damage()
        if problems:
            return IntegrityReport(problems, ())
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
                f"The vectors of {lost:,} of {counts.passages:,} passages are missing. They wait for new ones; "
                "pendingEmbeddings of the status counts down."
            )
        return IntegrityReport((), repairs, self._embedding.failing())

    def _queue_lost(self) -> None:
        while self._store.write(lambda tx: tx.requeue_lost(QUEUE_BATCH)) == QUEUE_BATCH:
            pass
        self._embedding.wake()
