"""Ports of the indexes: keyword search and vector search."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from hivelore.indexing.model import (
    Candidates,
    KeywordEntry,
    Neighbours,
    Vector,
)
from hivelore.memories.stored import ChunkKey, DocumentKey
from hivelore.search.model import Filter
from hivelore.storage.ports import MemoryStore, Transaction, View


class KeywordIndex(Protocol):
    """Finds chunks by their terms (``search.tokenizer``). An engine requires transactions of its kind of store."""

    @property
    def name(self) -> str: ...

    def put(self, tx: Transaction, entries: Sequence[KeywordEntry]) -> None:
        """Indexes chunks, replacing their earlier entries."""
        ...

    def remove(self, tx: Transaction, chunks: Sequence[ChunkKey]) -> None:
        """Removes chunks from search results; their terms may stay in the engine's pages. Ignores unknown chunks."""
        ...

    def forget(self, tx: Transaction, chunks: Sequence[ChunkKey]) -> None:
        """Removes chunks, and requests that all removed terms be purged by ``purge_step``."""
        ...

    def is_purged(self, view: View) -> bool:
        """Returns True if no terms are left to purge."""
        ...

    def purge_step(self, tx: Transaction) -> None:
        """Purges some removed terms, in a step short enough to run between calls. Does nothing if ``is_purged``.
        After a crash it continues where it stopped."""
        ...

    def compact(self, store: MemoryStore) -> bool:
        """Does one short step of compaction; returns False if there was nothing to do. It opens its own
        transactions, so never call it inside one. After a crash it continues where it stopped."""
        ...

    def clear(self, tx: Transaction) -> None:
        """Removes the whole index."""
        ...

    def unindexed_documents(self, view: View, after: DocumentKey, limit: int) -> Sequence[DocumentKey]:
        """Returns up to ``limit`` documents behind ``after``, ascending, with a chunk that is not indexed. Reads all
        chunks if none is missing."""
        ...

    def orphaned_chunks(self, view: View, limit: int) -> Sequence[ChunkKey]:
        """Returns up to ``limit`` indexed chunks that no longer exist. Reads the whole index if there are none."""
        ...

    def load(self, view: View) -> None:
        """Loads the data that searches need in memory. Otherwise the first search loads it within its own deadline, and
        the next one starts over if that was too short."""
        ...

    def search(self, view: View, terms: Sequence[str], where: Filter, limit: int) -> Candidates:
        """Returns documents with any of the terms that pass the filter, one candidate each, best first, and the
        rarities of the terms."""
        ...

    def rarities(self, view: View, terms: Sequence[str]) -> Mapping[str, float]:
        """Returns the rarity of each term among all indexed chunks (``search.tokenizer.rarity``), above 0. A score
        divided by their sum is the share of the query that a candidate covers: about 1 for one with every term."""
        ...


class VectorIndex(Protocol):
    """Finds the passages nearest to a vector among those that pass a filter. The filter applies before the search."""

    @property
    def name(self) -> str: ...

    @property
    def ready(self) -> bool:
        """False while the index is being built; ``nearest`` then raises Unavailable."""
        ...

    def build(self, view: View) -> bool:
        """Reads all stored vectors; may take a while, concurrently with ``follow``. Returns False if they do not fit;
        then the engine stays not ready."""
        ...

    def follow(self, view: View) -> None:
        """Applies every change that the view shows. Idempotent and thread-safe."""
        ...

    def maintain(self, store: MemoryStore, stopping: Callable[[], bool]) -> bool:
        """Maintains what keeps searches fast; returns False if there was nothing to do. It may take hours, until
        ``stopping``. Never call it while the thread has an open view or transaction. After a crash it continues
        where it stopped."""
        ...

    def nearest(
        self, view: View, query: Vector, where: Filter, limit: int, also: Collection[DocumentKey] = ()
    ) -> Neighbours:
        """Returns the best passage of each of the ``limit`` nearest documents, and of each document in ``also`` that
        passes the filter and has a vector, by cosine, then by passage key.

        Cosines of the nearest are exact. Cosines of the others, the mean and the deviation have an error of up to 0.01.
        The count may be off by a tenth if it is very large. It follows the view first."""
        ...
