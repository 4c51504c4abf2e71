"""Keyword engine of the reference store: scores every indexed chunk as SQLite FTS5 does."""

from collections.abc import Mapping, Sequence
from heapq import nsmallest
from typing import Final

from hivelore.core.values import replace
from hivelore.indexing.model import Candidate, Candidates, KeywordEntry
from hivelore.memories.stored import ChunkKey, DocumentKey
from hivelore.search.model import Filter
from hivelore.search.tokenizer import rarity
from hivelore.storage.ports import MemoryStore, Transaction, View
from support.reference.state import Counted, Document, State
from support.reference.transaction import ReferenceTransaction
from support.reference.view import ReferenceView

OWN: Final = 1.0
CONTEXT: Final = 0.5
HEADER: Final = 1.0

# The constants of bm25() in SQLite's fts5_aux.c.
SATURATION: Final = 1.2
LENGTH_SHARE: Final = 0.75


class ReferenceKeywords:
    """Scores are those of ``-bm25(table, 1.0, 0.5, 1.0)`` for columns own, context and header: over all
    indexed chunks, whatever the filter. Candidates with equal scores: the older one first."""

    @property
    def name(self) -> str:
        return "exact"

    def put(self, tx: Transaction, entries: Sequence[KeywordEntry]) -> None:
        self.remove(tx, [entry.chunk for entry in entries])
        transaction = _writable(tx)
        state = transaction.state
        terms, length = state.terms, state.indexed_length
        for entry in entries:
            counted = _counted(entry)
            terms, length = terms.put(entry.chunk, counted), length + counted.length
        transaction.state = replace(state, terms=terms, indexed_length=length)

    def remove(self, tx: Transaction, chunks: Sequence[ChunkKey]) -> None:
        transaction = _writable(tx)
        state = transaction.state
        terms, length = state.terms, state.indexed_length
        for chunk in chunks:
            if counted := terms.get(chunk):
                terms, length = terms.drop(chunk), length - counted.length
        transaction.state = replace(state, terms=terms, indexed_length=length)

    def forget(self, tx: Transaction, chunks: Sequence[ChunkKey]) -> None:
        self.remove(tx, chunks)

    def is_purged(self, view: View) -> bool:
        """Returns True: a removed entry leaves no trace in a state."""
        del view
        return True

    def purge_step(self, tx: Transaction) -> None:
        """Removed entries leave nothing to purge."""

    def compact(self, store: MemoryStore) -> bool:
        """The reference has no segments."""
        del store
        return False

    def clear(self, tx: Transaction) -> None:
        self.remove(tx, list(dict(_writable(tx).state.terms.items())))

    def unindexed_documents(self, view: View, after: DocumentKey, limit: int) -> Sequence[DocumentKey]:
        state = _readable(view).state
        lacking = (
            key
            for key, document in state.documents.items()
            if key > after and any(chunk.key not in state.terms for chunk in document.chunks)
        )
        return nsmallest(limit, lacking)

    def orphaned_chunks(self, view: View, limit: int) -> Sequence[ChunkKey]:
        state = _readable(view).state
        there = {chunk.key for document in state.documents.values() for chunk in document.chunks}
        return nsmallest(limit, (chunk for chunk in state.terms if chunk not in there))

    def load(self, view: View) -> None:
        """The index is always in memory."""

    def search(self, view: View, terms: Sequence[str], where: Filter, limit: int) -> Candidates:
        state = _readable(view).state
        best: dict[DocumentKey, Candidate] = {}
        for chunk, score in _scores(state, terms).items():
            key = state.terms[chunk].document
            document = state.documents.get(key)
            if document is None or not _holds(document, chunk) or not where.admits(document.memory):
                continue
            rival = best.get(key)
            if rival is None or (score, -chunk) > (rival.score, -rival.chunk):
                best[key] = Candidate(key, chunk, score)
        found = sorted(best.values(), key=lambda candidate: (-candidate.score, candidate.document))
        return Candidates.of(found[:limit], self.rarities(view, terms))

    def rarities(self, view: View, terms: Sequence[str]) -> Mapping[str, float]:
        state = _readable(view).state
        return {term: rarity(len(state.terms), len(_having(state, term))) for term in terms}


def _counted(entry: KeywordEntry) -> Counted:
    frequencies: dict[str, float] = {}
    for weight, column in ((OWN, entry.own), (CONTEXT, entry.context), (HEADER, entry.header)):
        for term in column:
            frequencies[term] = frequencies.get(term, 0.0) + weight
    return Counted(entry.document, frequencies, len(entry.own) + len(entry.context) + len(entry.header))


def _scores(state: State, terms: Sequence[str]) -> dict[ChunkKey, float]:
    scores: dict[ChunkKey, float] = {}
    if not state.indexed_length:
        return scores
    average_length = state.indexed_length / len(state.terms)
    for term in terms:
        hits = _having(state, term)
        rare = rarity(len(state.terms), len(hits))
        for chunk, row in hits:
            frequency = row.frequencies[term]
            dampening = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * row.length / average_length)
            part = rare * (frequency * (SATURATION + 1) / (frequency + dampening))
            scores[chunk] = scores.get(chunk, 0.0) + part
    return scores


def _having(state: State, term: str) -> Sequence[tuple[ChunkKey, Counted]]:
    return [(chunk, row) for chunk, row in state.terms.items() if term in row.frequencies]


def _holds(document: Document, chunk: ChunkKey) -> bool:
    return any(stored.key == chunk for stored in document.chunks)


def _readable(view: View) -> ReferenceView:
    if not isinstance(view, ReferenceView):
        raise TypeError(f"ReferenceKeywords searches views of an ReferenceStore, not a {type(view).__name__}")
    return view


def _writable(tx: Transaction) -> ReferenceTransaction:
    if not isinstance(tx, ReferenceTransaction):
        raise TypeError(f"ReferenceKeywords writes in transactions of an ReferenceStore, not in a {type(tx).__name__}")
    return tx
