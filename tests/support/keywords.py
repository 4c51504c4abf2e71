"""A store and a keyword index on it, driven by short lists of terms."""

from dataclasses import dataclass

from hivelore.indexes.ports import KeywordIndex
from hivelore.indexing.model import Candidates, KeywordEntry
from hivelore.memories.model import Memory
from hivelore.memories.stored import ChunkKey, DocumentKey, Stored
from hivelore.search.model import Filter
from hivelore.storage.ports import MemoryStore, Transaction
from support.memories import EVERYTHING, a_memory, document, whole
from support.stores import chunks

Terms = tuple[str, ...]


@dataclass(frozen=True)
class Columns:
    own: Terms = ()
    context: Terms = ()
    header: Terms = ()


def own(terms: str) -> Columns:
    return Columns(own=tuple(terms.split()))


def entry(stored: Stored, chunk: ChunkKey, columns: Columns) -> KeywordEntry:
    return KeywordEntry(chunk, stored.key, columns.own, columns.context, columns.header)


@dataclass
class Indexed:
    """A store and the keyword index that goes with it."""

    store: MemoryStore
    index: KeywordIndex

    def add(self, *columns: Columns | str, memory: Memory | None = None) -> Stored:
        """Adds a document with one chunk for each of these, indexed in the same transaction."""
        of_chunks = [own(one) if isinstance(one, str) else one for one in columns]
        content, pieces = document(*(f"chunk {number}" for number in range(len(columns))))
        plain = a_memory(content) if memory is None else memory
        spans = pieces if memory is None else whole(memory.content)

        def add_chunks(tx: Transaction) -> Stored:
            stored = tx.add(plain, spans)
            keys = [chunk.key for chunk in tx.chunks(stored.key)]
            self.index.put(tx, [entry(stored, key, one) for key, one in zip(keys, of_chunks, strict=True)])
            return stored

        stored = self.store.write(add_chunks)
        self.settle()
        return stored

    def settle(self) -> None:
        """Completes all pending work of the engine."""
        while self.index.compact(self.store):
            pass

    def put(self, stored: Stored, chunk: ChunkKey, columns: Columns | str) -> None:
        terms = own(columns) if isinstance(columns, str) else columns
        self.store.write(lambda tx: self.index.put(tx, [entry(stored, chunk, terms)]))
        self.settle()

    def remove(self, *keys: ChunkKey) -> None:
        self.store.write(lambda tx: self.index.remove(tx, keys))
        self.settle()

    def chunk_keys(self, stored: Stored) -> list[ChunkKey]:
        return [chunk.key for chunk in chunks(self.store, stored.key)]

    def search(self, terms: str, where: Filter = EVERYTHING, limit: int = 100) -> Candidates:
        with self.store.read() as view:
            return self.index.search(view, terms.split(), where, limit)

    def weight(self, terms: str) -> float:
        with self.store.read() as view:
            return sum(self.index.rarities(view, terms.split()).values())

    def found(self, terms: str, where: Filter = EVERYTHING, limit: int = 100) -> list[DocumentKey]:
        return [candidate.document for candidate in self.search(terms, where, limit)]
