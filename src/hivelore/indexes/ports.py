"""Ports of the indexes: keyword search and vector search."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from hivelore.indexing.model import (
    Candidates,
    ChunkKey,
    DocumentKey,
    KeywordEntry,
    Neighbours,
    Vector,
)
from hivelore.search.model import Filter
from hivelore.storage.ports import MemoryStore, Transaction, View


class KeywordIndex(Protocol):
    """Finds chunks by their terms (``search.tokenizer``). An engine knows its own store's transactions."""

    @property
    def name(self) -> str: ...

    def put(self, tx: Transaction, entries: Sequence[KeywordEntry]) -> None:
        """Index chunks, in place of what was indexed for them."""
        ...

    def remove(self, tx: Transaction, chunks: Sequence[ChunkKey]) -> None:
        """Unknown ones are passed over. They are found no more; their terms may stay in the engine's pages."""
        ...

    def forget(self, tx: Transaction, chunks: Sequence[ChunkKey]) -> None:
        """As ``remove``; and what was ever removed is to be wiped, by steps of ``purge_step``."""
        ...

    def is_purged(self, view: View) -> bool:
        """Whether nothing is left to wipe."""
        ...

    def purge_step(self, tx: Transaction) -> None:
        """A step of wiping, short enough to be taken beside the calls; nothing where ``is_purged``. A killed process
        goes on where it was. The last step is done when ``is_purged``."""
        ...

    def compact(self, store: MemoryStore) -> bool:
        """Do one short step of what keeps searches quick as the index grows; False where there was nothing to do. Not
        inside a unit of work: it reads and writes in its own. A killed process goes on where it was."""
        ...

    def clear(self, tx: Transaction) -> None:
        """Remove all there is of this index."""
        ...

    def unindexed_documents(self, view: View, after: DocumentKey, limit: int) -> Sequence[DocumentKey]:
        """Up to ``limit`` documents behind ``after``, ascending, of which a chunk is not indexed. Reads all chunks
        where none is missing."""
        ...

    def orphaned_chunks(self, view: View, limit: int) -> Sequence[ChunkKey]:
        """Up to ``limit`` indexed chunks that are not in the store. Reads the whole index where there are none."""
        ...

    def load(self, view: View) -> None:
        """Read into memory what searches need there. They do so themselves where nobody has, each within its own
        deadline, and anew where that was too short."""
        ...

    def search(self, view: View, terms: Sequence[str], where: Filter, limit: int) -> Candidates:
        """Documents with any of the terms that pass the filter, one candidate each, best first."""
        ...

    def rarities(self, view: View, terms: Sequence[str]) -> Mapping[str, float]:
        """How much each term says (``search.tokenizer.rarity``) among all indexed chunks, above 0. A score over their
        sum says how much of the question a candidate answers: about 1 for one with every term."""
        ...


class VectorIndex(Protocol):
    """Finds the passages nearest to a vector, among those that pass a filter, never after it."""

    @property
    def name(self) -> str: ...

    @property
    def ready(self) -> bool:
        """False while it is still being built; ``nearest`` then raises Unavailable."""
        ...

    def build(self, view: View) -> bool:
        """Read what is there already; may take a while, beside calls of ``follow``. False where it does
        not fit: the engine then stays not ready."""
        ...

    def follow(self, view: View) -> None:
        """Apply every change that the view shows. Idempotent; safe from many threads."""
        ...

    def maintain(self, store: MemoryStore, stopping: Callable[[], bool]) -> bool:
        """Do what keeps searches quick as the vectors grow; False where there was nothing to do. Not beside a view or a
        unit of work of the same thread, and it may take hours: until ``stopping``. A killed process goes on where it
        was."""
        ...

    def nearest(
        self, view: View, query: Vector, where: Filter, limit: int, also: Collection[DocumentKey] = ()
    ) -> Neighbours:
        """The best passage of each of the ``limit`` nearest documents, and of each in ``also`` that passes
        the filter and has a vector; by cosine, ties by passage key. The cosines of the nearest are exact; of what is
        there only for ``also`` they are good to 0.01, since no place among the nearest depends on them. The mean and
        the deviation are good to 0.01 as well; the count may be off by a tenth where there are very many. Call
        ``follow`` with the same view before."""
        ...
