"""The default keyword engine: postings in ordinary tables, the newest chunks in memory, scored with numpy."""

from collections.abc import Mapping, Sequence
from threading import Lock

from hivelore.indexes.keywords.postings import compaction, sql
from hivelore.indexes.keywords.postings.compaction import Compaction, Sizes
from hivelore.indexes.keywords.postings.segment import Counted, counted
from hivelore.indexes.keywords.postings.snapshot import IndexSnapshot, rarities, scored
from hivelore.indexes.keywords.postings.sql import Now
from hivelore.indexing.model import Candidates, ChunkKey, DocumentKey, KeywordEntry
from hivelore.search.model import Filter
from hivelore.storage.ports import MemoryStore, Transaction, View
from hivelore.storage.sql.transaction import SqlTransaction
from hivelore.storage.sql.view import SqlView


class Postings:
    """BM25 scores equal to those of ``Fts5``, except for terms that occur more than 127 times in a chunk. It needs a
    SQL store.

    A search inside a transaction loads the whole index again, because its uncommitted state must not be shared."""

    name = "postings"

    def __init__(self, sizes: Sizes | None = None) -> None:
        self._state: IndexSnapshot | None = None
        self._following = Lock()
        self._compaction = Compaction(sizes or Sizes())
        self._weighed: tuple[Now, dict[str, float]] | None = None
        """Rarities of the terms of the last search, which callers usually request next."""

    # writing

    def put(self, tx: Transaction, entries: Sequence[KeywordEntry]) -> None:
        unit = sql.writable(tx)
        for entry in entries:
            fresh = counted(entry)
            # Most chunks are new, and then one statement is enough.
            if _add(unit, fresh):
                continue
            ((slot, *known),) = sql.ask(unit, "of_chunk", chunk=fresh.chunk)
            if tuple(known) != (fresh.document, fresh.length, fresh.terms, fresh.counts):
                _drop(unit, slot)
                _add(unit, fresh)

    def remove(self, tx: Transaction, chunks: Sequence[ChunkKey]) -> None:
        unit = sql.writable(tx)
        for chunk in chunks:
            for row in sql.ask(unit, "of_chunk", chunk=chunk):
                _drop(unit, row[0])

    def forget(self, tx: Transaction, chunks: Sequence[ChunkKey]) -> None:
        self.remove(tx, chunks)
        compaction.request_purge(sql.writable(tx))

    def is_purged(self, view: View) -> bool:
        return compaction.is_purged(sql.readable(view))

    def purge_step(self, tx: Transaction) -> None:
        compaction.purge_step(sql.writable(tx))

    def compact(self, store: MemoryStore) -> bool:
        with store.read() as view:
            snapshot = sql.readable(view)
            self._as_of(snapshot, sql.now(snapshot)).documents.survey(snapshot)
        return self._compaction.step(store)

    def clear(self, tx: Transaction) -> None:
        compaction.clear(sql.writable(tx))

    # comparing

    def unindexed_documents(self, view: View, after: DocumentKey, limit: int) -> Sequence[DocumentKey]:
        found = sql.ask(sql.readable(view), "missing", after=after, limit=limit)
        return [DocumentKey(row[0]) for row in found]

    def orphaned_chunks(self, view: View, limit: int) -> Sequence[ChunkKey]:
        return [ChunkKey(row[0]) for row in sql.ask(sql.readable(view), "strays", limit=limit)]

    # searching

    def load(self, view: View) -> None:
        snapshot = sql.readable(view)
        self._as_of(snapshot, sql.now(snapshot))

    def search(self, view: View, terms: Sequence[str], where: Filter, limit: int) -> Candidates:
        if not terms or limit < 1:
            return Candidates.of(())
        snapshot = sql.readable(view)
        now = sql.now(snapshot)
        state = self._as_of(snapshot, now)
        matches = state.matches(snapshot, terms, now)
        weights = rarities(terms, matches)
        self._weighed = now, weights
        found = scored(terms, matches, weights, state.admission(snapshot, where, now))
        while True:
            best = found.best(limit)
            gone = self._gone(snapshot, state, best)
            if not gone:
                return best
            found.drop(gone)

    @staticmethod
    def _gone(view: SqlView, state: IndexSnapshot, found: Candidates) -> Sequence[int]:
        """Returns the chunks that no longer exist although their terms do: the store decides."""
        doubtful = state.documents.may_have_lost(found.documents)
        if not doubtful:
            return ()
        return [row[0] for row in sql.ask(view, "gone", chunks=view.array(found.chunks[doubtful].tolist()))]

    def rarities(self, view: View, terms: Sequence[str]) -> Mapping[str, float]:
        snapshot = sql.readable(view)
        now = sql.now(snapshot)
        weighed = self._weighed
        if weighed is None or weighed[0] != now or isinstance(view, SqlTransaction):
            weights: dict[str, float] = {}
        else:
            weights = weighed[1]
        if not all(term in weights for term in terms):
            weights = rarities(terms, self._as_of(snapshot, now).matches(snapshot, terms, now))
        return {term: weights[term] for term in terms}

    def _as_of(self, view: SqlView, now: Now) -> IndexSnapshot:
        if isinstance(view, SqlTransaction):
            return IndexSnapshot.loaded(view, now)
        state = self._state
        if state is None or state.now != now:
            with self._following:
                state = self._state
                if state is None or state.now.incarnation != now.incarnation:
                    state = self._state = IndexSnapshot.loaded(view, now)
                elif now.generation < state.now.generation:
                    return state.older(view, now)
                elif _is_newer(now, state.now):
                    state = self._state = state.followed(view, now)
        return state


def _is_newer(one: Now, other: Now) -> bool:
    ours = one.changes.number, one.rows.number, one.drops.number, one.generation
    theirs = other.changes.number, other.rows.number, other.drops.number, other.generation
    return ours != theirs and ours[0] >= theirs[0] and ours[2] >= theirs[2] and ours[3] >= theirs[3]


def _add(unit: SqlTransaction, fresh: Counted) -> bool:
    """Indexes a chunk; returns False if it is indexed already."""
    params = {"chunk": fresh.chunk, "document": fresh.document, "length": fresh.length}
    return bool(sql.ask(unit, "put", terms=fresh.terms, counts=fresh.counts, **params))


def _drop(unit: SqlTransaction, slot: int) -> None:
    number = sql.ask(unit, "drop", slot=slot)[0][0]
    sql.ask(unit, "mark_dropped", number=number, slot=slot)
