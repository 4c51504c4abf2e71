"""BM25 over the segments of an index, with the scores of SQLite's FTS5, for many chunks at once."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hivelore.indexes.attributes import Mask
from hivelore.indexes.keywords.postings.segment import Keys, LiveChunks, Places, SegmentView
from hivelore.indexes.top_k import at_least
from hivelore.indexing.model import Candidates
from hivelore.search.tokenizer import rarity

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


@dataclass(frozen=True, slots=True)
class Matches:
    """The chunks of one segment that contain terms: for each term its positions, ascending, and counts in halves. A
    count of 0 is that of a purged chunk."""

    part: SegmentView
    living: LiveChunks
    postings: dict[str, tuple[Places, NDArray[np.uint8]]]

    def having(self, term: str) -> int:
        """Counts the living chunks with a term."""
        if term not in self.postings:
            return 0
        places, counts = self.postings[term]
        if self.living.dead is None:
            return int(np.count_nonzero(counts))
        return int(np.count_nonzero(counts * ~self.living.dead[places]))


def rarities(terms: Iterable[str], matches: Sequence[Matches]) -> dict[str, float]:
    """Returns the rarity of each term among all living chunks."""
    chunks = sum(one.living.chunks for one in matches)
    return {term: rarity(chunks, sum(one.having(term) for one in matches)) for term in terms}


def average_length(matches: Sequence[Matches]) -> float:
    chunks = sum(one.living.chunks for one in matches)
    return sum(one.living.length for one in matches) / chunks if chunks else 0.0


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
