"""Ports of the change journal."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from hivelore.changes.model import Batch, BatchFilter, BatchId, Preimage
from hivelore.memories.model import MemoryId
from hivelore.memories.stored import DocumentKey


class ChangeJournalReads(Protocol):
    """Batches of changes, and the pre-images that undo them."""

    def batch(self, batch: BatchId) -> Batch | None: ...

    def batches(self, where: BatchFilter, after: tuple[datetime, BatchId] | None, limit: int) -> Sequence[Batch]:
        """Returns a page of batches, newest first, then by id."""
        ...

    def changed_ids_from(self, prefix: str, where: BatchFilter, limit: int) -> Sequence[MemoryId]:
        """Returns the ids that begin with a prefix, of memories that the batches changed, in order. The prefix is not
        empty."""
        ...

    def preimage(self, batch: BatchId, document: DocumentKey) -> Preimage | None: ...

    def preimages(self, batch: BatchId) -> Sequence[Preimage]:
        """Returns the pre-images of a batch, by key."""
        ...

    def last_preimage(self, memory: MemoryId) -> Preimage | None:
        """Returns the pre-image of a memory in the newest batch before which it existed."""
        ...


class ChangeJournalWrites(Protocol):
    """Batches of changes, and the pre-images that undo them."""

    def put_batch(self, batch: Batch, preimages: Sequence[Preimage] = ()) -> None:
        """Inserts or replaces a batch. Adds ``preimages`` to it, in place of earlier ones of the same memories."""
        ...

    def drop_batch(self, batch: BatchId) -> None:
        """Deletes a batch with its pre-images. Dropping twice is allowed."""
        ...

    def drop_preimages(self, document: DocumentKey) -> None:
        """Deletes the pre-images of a memory, and of every memory that was decided or judged again together with it,
        transitively. The batches stay, without their reasons. Dropping twice is allowed."""
        ...

    def prune_batches(self, before: datetime, limit: int) -> int:
        """Deletes up to ``limit`` batches older than ``before`` with their pre-images, oldest first. Returns how
        many."""
        ...
