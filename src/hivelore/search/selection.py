"""Selection of hits: relevance floor, duplicates and diversity.

Scores compare hits with each other, so even an irrelevant best hit may score high. ``fit_score`` is absolute: it
measures relevance on one scale for all stores and queries (N06). docs/decisions/0008 has the constants and the limits.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hivelore.indexing.model import Vector
from hivelore.memories.model import Memory
from hivelore.memories.stored import DocumentKey
from hivelore.search.model import Query, Score
from hivelore.search.ranking import Ranked
from hivelore.search.tokenizer import STOP_TERMS, distinct_terms, document_terms

# Relevance floor.

FLOOR = 0.70
"""Least fit of the best hit of an answer that is worth injecting."""
COMPANION_FLOOR = 0.40
"""Least fit of the other hits in such an answer."""
AMONG = 10
"""Number of hits among which the best fit is searched, even for a smaller limit."""

_FILLERS = """
ok okay yes yeah yep yup nope sure right correct exactly agreed please thanks thank thx good great nice fine cool
perfect done hi hello hey bye go going ahead continue proceed carry keep now again well let also just too
"""
_UNINFORMATIVE = STOP_TERMS.union(document_terms(_FILLERS))
_ANSWERED = 1.5
_SCALE = 1.15
_KEYWORDS_ONLY = 7 / 6


def asks_something(terms: Iterable[str]) -> bool:
    """Returns False if a query consists of function words ("the of and") or fillers ("yes, do it, thanks"). A text
    that contains all of its words need not be relevant."""
    return not _UNINFORMATIVE.issuperset(terms)


def fit_score(cosine: float | None, answered: float) -> float:
    """Returns the absolute relevance of a hit, 0..3: 1.15 x cosine x (1 + 1.5 answered).

    ``cosine``: that of its nearest passage. ``answered``: its keyword score as a share of the weight of all query
    terms. Words and meaning have to agree; without a cosine the words need to match better.
    """
    share = min(max(answered, 0.0), 1.0)
    if cosine is None:
        return _KEYWORDS_ONLY * share
    return _SCALE * max(cosine, 0.0) * (1.0 + _ANSWERED * share)


def is_relevant(own: float, best: float) -> bool:
    """Returns True if a hit is worth injecting. ``best``: the best fit of the answer."""
    return best >= FLOOR and own >= COMPANION_FLOOR


# Duplicates.

DUPLICATE_OVERLAP = 0.9
"""Least share of common terms in all terms of two duplicates."""
LONGEST_COMPARED = 20_000
"""Characters. Longer texts are duplicates only if they are equal."""
_FIRST = 4
"""Words that are compared first, because most texts differ there."""
_NEGATIONS = frozenset(("no", "not", "never", "none", "nor", "without", "t", "off", "disabl"))
"""Terms that reverse the meaning of a sentence; t is that of "don't"."""


def are_duplicates(one: str, other: str) -> bool:
    """Returns True if two texts are equal except for case, white space, punctuation and a few words that change no
    fact."""
    if _first_words(one) == _first_words(other) and one.casefold().split() == other.casefold().split():
        return True
    if max(len(one), len(other)) > LONGEST_COMPARED:
        return False
    words, others = distinct_terms(one), distinct_terms(other)
    together, shared = words | others, words & others
    if not shared or len(shared) < DUPLICATE_OVERLAP * len(together):
        return False
    if any(term in _NEGATIONS or not term.isalpha() for term in together - shared):
        return False
    in_order = ([term for term in document_terms(text) if term in shared] for text in (one, other))
    return next(in_order) == next(in_order)


def _first_words(text: str) -> list[str]:
    return [word.casefold() for word in text.split(maxsplit=_FIRST)[:_FIRST]]


# Selection.

LIKE_LENGTH = 0.85
"""Least ratio of the lengths of two possible duplicates."""
LIKE_COSINE = 0.05
"""Largest difference between the cosines to the query of two possible duplicates."""
LIKE_VECTORS = 0.9
"""Least cosine between two possible duplicates that are only counted, not shown."""
VARIED_AMONG = 50
"""Number of best hits without duplicates among which diversity chooses."""

Vectors = Callable[[Sequence[DocumentKey]], Mapping[DocumentKey, Vector]]
"""Returns the vector of the nearest passage of each document that has one."""
Memories = Callable[[Sequence[DocumentKey]], Mapping[DocumentKey, Memory]]


@dataclass(frozen=True, slots=True)
class Selection:
    """A hit of the answer."""

    key: DocumentKey
    score: Score
    fit: float
    fits: bool
    alike: int
    """Number of its duplicates that were left out."""


def select_hits(
    ranked: Sequence[Ranked],
    query: Query,
    terms: Collection[str],
    vectors: Vectors,
    memories: Memories,
) -> list[Selection]:
    """Returns up to ``query.limit`` of the ranked candidates, best first. ``terms``: those of the query."""
    asks = asks_something(terms)
    fits = [fit_score(one.cosine, one.answered) if asks else 0.0 for one in ranked[: max(query.limit, AMONG)]]
    best = max(fits, default=0.0)
    if query.diversity > 0.0:
        memories([one.key for one in ranked[:VARIED_AMONG]])  # One read, because most of them are compared.
        distinct = _distinct(ranked, max(query.limit, VARIED_AMONG), vectors, memories)
        distinct = _diversified(distinct, query, vectors)[: query.limit]
    else:
        distinct = _distinct(ranked, query.limit, vectors, memories)
    found: list[Selection] = []
    for one, alike in distinct:
        own = fit_score(one.cosine, one.answered) if asks else 0.0
        if is_relevant(own, best) or not query.only_fitting:
            found.append(Selection(one.key, one.score, own, is_relevant(own, best), alike))
    return found


def is_crowded_by_duplicates(best: Sequence[Selection], ranked: int, limit: int) -> bool:
    """Returns True if at least half of the ``ranked`` candidates are duplicates, or fewer than ``limit`` are distinct.
    Other memories, or newer duplicates, may then be missing among the candidates."""
    copies = sum(one.alike for one in best)
    left = ranked - copies
    return copies > 0 and (left < limit or left <= copies)


def diversify(
    scores: Sequence[float], likeness: Callable[[int, int], float], diversity: float, limit: int
) -> list[int]:
    """Returns the positions of up to ``limit`` scores by marginal relevance (Carbonell and Goldstein).

    Each next one has the greatest (1 - diversity) x score - diversity x its greatest likeness to those before it.
    ``diversity``: 0..1; 0 keeps the order of the scores.
    """
    left = list(range(len(scores)))
    nearest = [0.0] * len(scores)
    chosen: list[int] = []
    while left and len(chosen) < limit:
        best = max(left, key=lambda place: (1.0 - diversity) * scores[place] - diversity * nearest[place])
        left.remove(best)
        chosen.append(best)
        for place in left:
            nearest[place] = max(nearest[place], likeness(best, place))
    return chosen


def _diversified(distinct: Sequence[tuple[Ranked, int]], query: Query, vectors: Vectors) -> list[tuple[Ranked, int]]:
    known = vectors([one.key for one, _ in distinct])

    def likeness(one: int, other: int) -> float:
        return _likeness(known, distinct[one][0].key, distinct[other][0].key, 0.0)

    scores = [one.score.total for one, _ in distinct]
    return [distinct[place] for place in diversify(scores, likeness, query.diversity, len(distinct))]


def _likeness(known: Mapping[DocumentKey, Vector], one: DocumentKey, other: DocumentKey, unknown: float) -> float:
    a, b = known.get(one), known.get(other)
    return unknown if a is None or b is None else float(a @ b)


def _distinct(
    ranked: Sequence[Ranked],
    limit: int,
    vectors: Vectors,
    memories: Memories,
) -> list[tuple[Ranked, int]]:
    """Returns the first ``limit`` candidates that are no duplicates of one before them, each with the number of its
    duplicates among all others."""
    likely = _possible_duplicates(ranked)
    kept: list[int] = []
    originals: list[int | None] = []
    for place in range(len(ranked)):
        if len(kept) == limit:
            originals += _originals_of_rest(ranked, kept, likely[place:], vectors, memories)
            break
        rivals = [other for other in kept if likely[place, other]]
        originals.append(_original(ranked, place, rivals, memories))
        if originals[-1] is None:
            kept.append(place)
    alike = Counter(originals)
    return [(ranked[place], alike[place]) for place in kept]


def _possible_duplicates(ranked: Sequence[Ranked]) -> NDArray[np.bool_]:
    """Returns a matrix of the pairs whose lengths and cosines are similar. Most pairs need no further comparison."""
    lengths = np.array([one.features.length for one in ranked], float)
    cosines = np.array([one.cosine for one in ranked], float)
    are_far = abs(cosines[:, None] - cosines) > LIKE_COSINE  # False for candidates without a cosine, which is NaN here.
    likely = (lengths[:, None] >= LIKE_LENGTH * lengths) & ~are_far
    return likely & likely.T


def _originals_of_rest(
    ranked: Sequence[Ranked], kept: Sequence[int], likely: NDArray[np.bool_], vectors: Vectors, memories: Memories
) -> list[int | None]:
    """Returns the original of each of the last candidates, whose rows ``likely`` has. They are not shown, so their
    texts are read, in one query, only if the vectors are similar too."""
    first = len(ranked) - len(likely)
    places: list[list[int]] = np.argwhere(likely[:, kept]).tolist()
    pairs = [(first + row, kept[column]) for row, column in places]
    if pairs:
        known = vectors(_keys_of(ranked, pairs))
        pairs = [
            (place, it)
            for place, it in pairs
            if _likeness(known, ranked[place].key, ranked[it].key, 1.0) >= LIKE_VECTORS
        ]
    rivals: dict[int, list[int]] = {}
    if pairs:
        memories(_keys_of(ranked, pairs))
        for place, it in pairs:
            rivals.setdefault(place, []).append(it)
    return [_original(ranked, place, rivals.get(place, ()), memories) for place in range(first, len(ranked))]


def _keys_of(ranked: Sequence[Ranked], pairs: Sequence[tuple[int, int]]) -> list[DocumentKey]:
    return [ranked[place].key for place in {place for pair in pairs for place in pair}]


def _original(ranked: Sequence[Ranked], place: int, rivals: Sequence[int], memories: Memories) -> int | None:
    """Returns the first rival that is a duplicate."""
    if not rivals:
        return None
    texts = memories([ranked[it].key for it in (place, *rivals)])
    text = texts[ranked[place].key].content
    return next((it for it in rivals if are_duplicates(texts[ranked[it].key].content, text)), None)
