"""The default keyword engine: postings in ordinary tables, the newest chunks in memory, scored with numpy."""

from collections.abc import Callable, Mapping, Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from hivelore.indexes.attributes import Mask
from hivelore.indexes.keywords.postings import compaction, sql
from hivelore.indexes.keywords.postings.compaction import Compaction, Sizes
from hivelore.indexes.keywords.postings.segment import Counted, Keys, Matches, Places, SegmentView, count_terms
from hivelore.indexes.keywords.postings.snapshot import IndexSnapshot
from hivelore.indexes.keywords.postings.sql import Now
from hivelore.indexes.top_k import at_least
from hivelore.indexing.model import Candidates, KeywordEntry
from hivelore.memories.stored import ChunkKey, DocumentKey
from hivelore.search.model import Filter
from hivelore.search.tokenizer import rarity
from hivelore.storage.ports import MemoryStore, Transaction, View
from hivelore.storage.sql.view import SqlTransaction, SqlView

# The constants of bm25() in SQLite's fts5_aux.c.
SATURATION = 1.2
LENGTH_SHARE = 0.75

AMPLE = 2
"""Chunks to consider per requested document: some share a document, some are not admitted."""
WIDENING = 16
"""Factor by which that grows if it was not enough."""

Scores = NDArray[np.float64]
Admits = Callable[[Keys, NDArray[np.int32]], Mask]
"""Returns a mask of the admitted documents; the second argument has their positions in ``Documents``."""


def rarities(terms: Sequence[str], matches: Sequence[Matches]) -> dict[str, float]:
    """Returns the rarity of each term among all living chunks."""
    chunks = sum([one.living.chunks for one in matches])
    having = [one.having(terms) for one in matches]
    return {term: rarity(chunks, sum(counts)) for term, *counts in zip(terms, *having, strict=True)}


def average_length(matches: Sequence[Matches]) -> float:
    chunks = sum([one.living.chunks for one in matches])
    return sum([one.living.length for one in matches]) / chunks if chunks else 0.0


class Scored:
    """The scores of all chunks: 0 for chunks without any of the terms and for dead ones."""

    def __init__(self, parts: Sequence[SegmentView], scores: Sequence[Scores], admits: Admits) -> None:
        self._parts = parts
        self._starts = np.cumsum([0, *(len(one) for one in scores)])
        self._scores = np.concatenate([np.empty(0), *scores])
        self._admits = admits

    def drop(self, chunks: Sequence[int]) -> None:
        """Sets the scores of these chunks to 0."""
        for number, part in enumerate(self._parts):
            start, stop = self._starts[number : number + 2]
            self._scores[start:stop][np.isin(part.rows.chunks[: stop - start], chunks)] = 0.0

    def best(self, limit: int) -> Candidates:
        """Returns the best ``limit`` admitted documents by their best chunk; among ties the older first."""
        take = AMPLE * limit
        while True:
            at = self._top(take)
            chunks, documents, admitted = self._looked_up(at)
            scores, chunks, documents = self._scores[at][admitted], chunks[admitted], documents[admitted]
            order = np.lexsort((chunks, -scores))
            documents, first = np.unique(documents[order], return_index=True)
            if len(documents) >= limit or take >= len(self._scores):
                break
            take *= WIDENING
        first = order[first]
        last = np.lexsort((documents, -scores[first]))[:limit]
        return Candidates(documents[last], chunks[first][last], scores[first][last])

    def _top(self, take: int) -> Places:
        """Returns the positions of the best ``take`` positive scores and of all ties with the last one."""
        at = at_least(self._scores, take)
        return at[self._scores[at] > 0.0]

    def _looked_up(self, at: Places) -> tuple[Keys, Keys, Mask]:
        """Returns the chunk and document of each position, and a mask of the admitted ones."""
        ends = np.searchsorted(at, self._starts)
        chunks, documents = np.empty(len(at), np.int64), np.empty(len(at), np.int64)
        known = np.empty(len(at), np.int32)
        for number, part in enumerate(self._parts):
            of_part = slice(ends[number], ends[number + 1])
            places = at[of_part] - self._starts[number]
            chunks[of_part] = part.rows.chunks[places]
            documents[of_part] = part.rows.documents[places]
            known[of_part] = part.at[places]
        return chunks, documents, self._admits(documents, known)


def scored(terms: Sequence[str], matches: Sequence[Matches], weights: dict[str, float], admits: Admits) -> Scored:
    """Scores every living chunk. A repeated term counts each time."""
    average = average_length(matches)
    scores = [_scores(terms, one, weights, average) for one in matches]
    return Scored([one.part for one in matches], scores, admits)


def _scores(terms: Sequence[str], one: Matches, weights: dict[str, float], average: float) -> Scores:
    """Returns the scores of one segment, (size or less,)."""
    postings = [(weights[term], *one.postings[term]) for term in terms if term in one.postings]
    if not postings or not average:  # Without living chunks there is no average length.
        return np.empty(0)
    slope, base = SATURATION * LENGTH_SHARE / average, SATURATION * (1 - LENGTH_SHARE)
    places = np.concatenate([places for _, places, _ in postings]).astype(np.intp, copy=False)
    scores = np.concatenate([counts for _, _, counts in postings]) * 0.5
    scores /= (one.part.rows.lengths * slope + base).take(places) + scores
    start = 0
    for weight, of_term, _ in postings:
        stop = start + len(of_term)
        scores[start:stop] *= weight * (SATURATION + 1)
        start = stop
    scores = np.bincount(places, scores).astype(np.float64, copy=False)
    if one.living.dead is not None:
        scores[one.living.dead[: len(scores)]] = 0.0
    return scores


class Postings:
    """BM25 scores equal to those of ``Fts5``, except for terms that occur more than 127 times in a chunk. It needs a
    SQL store.

    A search inside a transaction loads the whole index again, because its uncommitted state must not be shared."""

    name = "postings"

    def __init__(self, sizes: Sizes | None = None) -> None:
        self._state: IndexSnapshot | None = None
        self._following = Lock()
        self._compaction = Compaction(sizes or Sizes())

    # writing

    def put(self, tx: Transaction, entries: Sequence[KeywordEntry]) -> None:
        unit = sql.require_transaction(tx)
        for entry in entries:
            fresh = count_terms(entry)
            # Most chunks are new, and then one statement is enough.
            if _add(unit, fresh):
                continue
            ((slot, *known),) = sql.run(unit, "of_chunk", chunk=fresh.chunk)
            if tuple(known) != (fresh.document, fresh.length, fresh.terms, fresh.counts):
                _drop(unit, slot)
                _add(unit, fresh)

    def remove(self, tx: Transaction, chunks: Sequence[ChunkKey]) -> None:
        unit = sql.require_transaction(tx)
        for chunk in chunks:
            for row in sql.run(unit, "of_chunk", chunk=chunk):
                _drop(unit, row[0])

    def forget(self, tx: Transaction, chunks: Sequence[ChunkKey]) -> None:
        self.remove(tx, chunks)
        compaction.request_purge(sql.require_transaction(tx))

    def is_purged(self, view: View) -> bool:
        return compaction.is_purged(sql.require_view(view))

    def purge_step(self, tx: Transaction) -> None:
        compaction.purge_step(sql.require_transaction(tx))

    def compact(self, store: MemoryStore) -> bool:
        with store.read() as view:
            snapshot = sql.require_view(view)
            self._as_of(snapshot, sql.now(snapshot)).documents.survey(snapshot)
        return self._compaction.step(store)

    def clear(self, tx: Transaction) -> None:
        compaction.clear(sql.require_transaction(tx))

    # comparing

    def unindexed_documents(self, view: View, after: DocumentKey, limit: int) -> Sequence[DocumentKey]:
        found = sql.run(sql.require_view(view), "missing", after=after, limit=limit)
        return [DocumentKey(row[0]) for row in found]

    def orphaned_chunks(self, view: View, limit: int) -> Sequence[ChunkKey]:
        return [ChunkKey(row[0]) for row in sql.run(sql.require_view(view), "strays", limit=limit)]

    # searching

    def load(self, view: View) -> None:
        snapshot = sql.require_view(view)
        self._as_of(snapshot, sql.now(snapshot))

    def search(self, view: View, terms: Sequence[str], where: Filter, limit: int) -> Candidates:
        if not terms or limit < 1:
            return Candidates.of(())
        snapshot = sql.require_view(view)
        now = sql.now(snapshot)
        state = self._as_of(snapshot, now)
        matches = state.matches(snapshot, terms, now)
        weights = rarities(terms, matches)
        found = scored(terms, matches, weights, state.admission(snapshot, where, now))
        while True:
            best = found.best(limit)
            gone = self._gone(snapshot, state, best)
            if not gone:
                return Candidates(best.documents, best.chunks, best.scores, weights)
            found.drop(gone)

    @staticmethod
    def _gone(view: SqlView, state: IndexSnapshot, found: Candidates) -> Sequence[int]:
        """Returns the chunks that no longer exist although their terms do: the store decides."""
        doubtful = state.documents.may_have_lost(found.documents)
        if not doubtful:
            return ()
        return [row[0] for row in sql.run(view, "gone", chunks=view.array(found.chunks[doubtful].tolist()))]

    def rarities(self, view: View, terms: Sequence[str]) -> Mapping[str, float]:
        snapshot = sql.require_view(view)
        now = sql.now(snapshot)
        return rarities(terms, self._as_of(snapshot, now).matches(snapshot, terms, now))

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
    return bool(sql.run(unit, "put", terms=fresh.terms, counts=fresh.counts, **params))


def _drop(unit: SqlTransaction, slot: int) -> None:
    number = sql.run(unit, "drop", slot=slot)[0][0]
    sql.run(unit, "mark_dropped", number=number, slot=slot)
