"""Ports of evidence of use, and of the recall log."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from hivelore.feedback.model import UsageCounts
from hivelore.feedback.recalls import Evidence, Recall, RecallFilter
from hivelore.memories.model import Memory
from hivelore.memories.stored import DocumentKey
from hivelore.search.model import Filter, RecallId


class FeedbackReads(Protocol):
    """Evidence of use, and the recall log."""

    def evidence(self, document: DocumentKey) -> Sequence[Evidence]:
        """Returns the effective evidence about a memory, in the order of ``feedback.recalls.together``."""
        ...

    def evidence_of(self, documents: Collection[DocumentKey]) -> Mapping[DocumentKey, Sequence[Evidence]]:
        """Returns evidence by document; documents without any are omitted."""
        ...

    def most_used(self, where: Filter, limit: int) -> Sequence[tuple[Memory, UsageCounts]]:
        """Returns the memories with the most deliberate evidence (opened, cited, applied, rated either way), most
        first, then the latest key. Memories without any are omitted."""
        ...

    def recalls(self, where: RecallFilter, after: tuple[datetime, RecallId] | None, limit: int) -> Sequence[Recall]:
        """Returns a page of the recall log, newest first, then by id. Scores have 32-bit precision."""
        ...

    def recall_times(
        self, documents: Collection[DocumentKey], since: datetime, limit: int
    ) -> Mapping[DocumentKey, Sequence[datetime]]:
        """Returns when recalls of agents returned these documents, newest first, among the ``limit`` newest recalls of
        agents at ``since`` or later. Documents without any are omitted."""
        ...


class FeedbackWrites(Protocol):
    """Evidence of use, and the recall log."""

    def add_evidence(self, found: Mapping[DocumentKey, Sequence[Evidence]]) -> None:
        """Merges evidence into what is stored (``feedback.recalls.together``), without a new version. Ignores unknown
        keys."""
        ...

    def drop_evidence(self, key: DocumentKey) -> None:
        """Deletes the evidence about a memory. Dropping twice is allowed."""
        ...

    def log_recalls(self, entries: Sequence[Recall]) -> None:
        """Appends to the recall log. A hit is shown while its memory exists, never for a later memory with the same id.
        Withheld hits of an entry count as forgotten, at the ranks that its hits leave out."""
        ...

    def drop_recalls(self, recalls: Collection[RecallId], since: datetime) -> None:
        """Deletes recalls whose memories nobody received, of those answered at ``since`` or later. Ignores unknown
        ids."""
        ...

    def prune_recalls(self, before: datetime, keep: int, limit: int) -> int:
        """Deletes up to ``limit`` recalls, oldest first, that are older than ``before`` or not among the ``keep``
        newest. Returns how many; fewer than ``limit``: none are left."""
        ...
