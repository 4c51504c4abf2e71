"""Whether what was found is worth saying to somebody who did not ask for it (N06).

The score of a hit says which of the hits is best, and the best of nothing is still the best. ``fit_score`` measures how
far a hit has to do with the question at all, on one scale for every store and question. The figures behind the
constants, and the limits of the signal, are in docs/decisions/0008.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hivelore.indexing.model import DocumentKey, Vector
from hivelore.memories.model import Memory
from hivelore.search.model import Query, Score
from hivelore.search.ranking import Ranked
from hivelore.search.tokenizer import STOP_TERMS, distinct_terms, document_terms

FLOOR = 0.70
"""An answer is worth giving unasked when its best hit fits at least so well."""
COMPANION_FLOOR = 0.40
"""In such an answer, a hit that fits at least so well is worth giving, too."""
AMONG = 10
"""So many of the best hits are looked at for the one that fits best, however few are asked for."""

_NODS = """
ok okay yes yeah yep yup nope sure right correct exactly agreed please thanks thank thx good great nice fine cool
perfect done hi hello hey bye go going ahead continue proceed carry keep now again well let also just too
"""
_SAY_NOTHING = STOP_TERMS.union(document_terms(_NODS))
_ANSWERED = 1.5
_SCALE = 1.15
_BY_WORDS_ALONE = 7 / 6


def asks_something(terms: Iterable[str]) -> bool:
    """Whether a question of these terms asks for anything: not one that is but grammar ("the of and") or moves a talk
    on ("go on", "yes, do it, thanks"). What has all of its words need not have to do with anything."""
    return not _SAY_NOTHING.issuperset(terms)


def fit_score(cosine: float | None, answered: float) -> float:
    """How well a hit fits a question, 0..3. ``cosine`` is that of its nearest passage, ``answered`` its keyword score
    as a share of what all words of the question weigh.

    1.15 x cosine x (1 + 1.5 answered): words and meaning have to agree. Without a cosine the words alone have to say
    more.
    """
    share = min(max(answered, 0.0), 1.0)
    if cosine is None:
        return _BY_WORDS_ALONE * share
    return _SCALE * max(cosine, 0.0) * (1.0 + _ANSWERED * share)


def is_relevant(own: float, best: float) -> bool:
    """Whether a hit is worth giving unasked. ``best`` is the fit of the one that fits best."""
    return best >= FLOOR and own >= COMPANION_FLOOR


DUPLICATE_OVERLAP = 0.9
"""The least share of terms in common, of all terms of both, of texts that say the same."""
LONGEST_COMPARED = 20_000
"""Longer texts say the same only where they are the same."""
_FIRST = 4

_TURNS = frozenset(("no", "not", "never", "none", "nor", "without", "t", "off", "disabl"))
"""Terms that turn what a sentence says into its opposite; t is that of "don't"."""


def are_duplicates(one: str, other: str) -> bool:
    """Whether two texts are the same but for case, blanks, punctuation and a few words that change no fact."""
    if _are_plainly_the_same(one, other):
        return True
    if max(len(one), len(other)) > LONGEST_COMPARED:
        return False
    words, others = distinct_terms(one), distinct_terms(other)
    together, shared = words | others, words & others
    if not shared or len(shared) < DUPLICATE_OVERLAP * len(together):
        return False
    if any(term in _TURNS or not term.isalpha() for term in together - shared):
        return False
    return _of(shared, one) == _of(shared, other)


def _of(shared: frozenset[str], text: str) -> list[str]:
    return [term for term in document_terms(text) if term in shared]


def _are_plainly_the_same(one: str, other: str) -> bool:
    """But for case and blanks. Most texts differ in their first words, and then no more of them is looked at."""
    return _first_words(one) == _first_words(other) and one.casefold().split() == other.casefold().split()


def _first_words(text: str) -> list[str]:
    return [word.casefold() for word in text.split(maxsplit=_FIRST)[:_FIRST]]


def diversify(
    scores: Sequence[float], likeness: Callable[[int, int], float], diversity: float, limit: int
) -> list[int]:
    """Places of up to ``limit`` of the scores, each with the best balance of a high score and being unlike those before
    it: (1 - diversity) x score - diversity x its greatest likeness (Carbonell and Goldstein's marginal relevance).
    ``diversity`` 0..1; 0 keeps the order of the scores."""
    left = list(range(len(scores)))
    nearest = [0.0] * len(scores)
    select_hits: list[int] = []
    while left and len(select_hits) < limit:
        best = max(left, key=lambda place: (1.0 - diversity) * scores[place] - diversity * nearest[place])
        left.remove(best)
        select_hits.append(best)
        for place in left:
            nearest[place] = max(nearest[place], likeness(best, place))
    return select_hits


LIKE_LENGTH = 0.85
"""How long the shorter of two texts that may say the same is at least, as a part of the longer one."""
LIKE_COSINE = 0.05
"""How far the cosines to the question, of two texts that may say the same, lie apart at most."""
LIKE_VECTORS = 0.9
"""The least cosine between the nearest passages of two texts that may say the same, where no more than their number is
at stake."""
VARIED_AMONG = 50
"""So many of the best, without copies, are looked at where unlike ones are asked for."""

Vectors = Callable[[Sequence[DocumentKey]], Mapping[DocumentKey, Vector]]
"""The nearest passage of each, as far as it has a vector."""
Memories = Callable[[Sequence[DocumentKey]], Mapping[DocumentKey, Memory]]


@dataclass(frozen=True, slots=True)
class Selection:
    key: DocumentKey
    score: Score
    fit: float
    fits: bool
    alike: int


def select_hits(
    ranked: Sequence[Ranked],
    query: Query,
    terms: Collection[str],
    vectors: Vectors,
    memories: Memories,
) -> list[Selection]:
    """Up to ``query.limit`` of the ranked ones, best first. ``terms`` are those of the question."""
    asks = asks_something(terms)
    best = max((_fit(one, asks) for one in ranked[: max(query.limit, AMONG)]), default=0.0)
    if query.diversity > 0.0:
        memories([one.key for one in ranked[:VARIED_AMONG]])  # at once: most of them are compared
        distinct = _distinct(ranked, max(query.limit, VARIED_AMONG), vectors, memories)
        distinct = _varied(distinct, query, vectors)[: query.limit]
    else:
        distinct = _distinct(ranked, query.limit, vectors, memories)
    found: list[Selection] = []
    for one, alike in distinct:
        own = _fit(one, asks)
        if is_relevant(own, best) or not query.only_fitting:
            found.append(Selection(one.key, one.score, own, is_relevant(own, best), alike))
    return found


def is_crowded_by_duplicates(best: Sequence[Selection], ranked: int, limit: int) -> bool:
    """Whether copies took so much room among the ``ranked`` ones that others, or newer copies, may have had none: half
    of it, or some that the answer wants."""
    copies = sum(one.alike for one in best)
    left = ranked - copies
    return copies > 0 and (left < limit or left <= copies)


def _fit(one: Ranked, asks: bool) -> float:
    return fit_score(one.cosine, one.answered) if asks else 0.0


def _varied(distinct: Sequence[tuple[Ranked, int]], query: Query, vectors: Vectors) -> list[tuple[Ranked, int]]:
    """With unlike ones first; those without a vector are like nothing."""
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
    """The first ``limit`` that do not say the same as one before them, and how many of all after each do."""
    likely = _likely(ranked)
    kept: list[int] = []
    originals: list[int | None] = []
    for place in range(len(ranked)):
        if len(kept) == limit:
            originals += _further(ranked, kept, likely[place:], vectors, memories)
            break
        rivals = [other for other in kept if likely[place, other]]
        originals.append(_original(ranked, place, rivals, memories))
        if originals[-1] is None:
            kept.append(place)
    alike = Counter(originals)
    return [(ranked[place], alike[place]) for place in kept]


def _likely(ranked: Sequence[Ranked]) -> NDArray[np.bool_]:
    """Which may say the same as which. Most are told apart by their lengths and cosines, without looking at texts."""
    lengths = np.array([one.features.length for one in ranked], float)
    cosines = np.array([one.cosine for one in ranked], float)
    are_far = abs(cosines[:, None] - cosines) > LIKE_COSINE  # False of those without one, which is NaN here
    likely = (lengths[:, None] >= LIKE_LENGTH * lengths) & ~are_far
    return likely & likely.T


def _further(
    ranked: Sequence[Ranked], kept: Sequence[int], likely: NDArray[np.bool_], vectors: Vectors, memories: Memories
) -> list[int | None]:
    """Of each of the last ones, whose rows ``likely`` has, which of those that are kept it says the same as. Nobody is
    shown them, so texts are read only where vectors are nearly the same, too, and all at once."""
    first = len(ranked) - len(likely)
    places: list[list[int]] = np.argwhere(likely[:, kept]).tolist()
    pairs = [(first + row, kept[column]) for row, column in places]
    known = vectors(_keys(ranked, pairs))
    pairs = [
        (place, it) for place, it in pairs if _likeness(known, ranked[place].key, ranked[it].key, 1.0) >= LIKE_VECTORS
    ]
    memories(_keys(ranked, pairs))
    rivals: dict[int, list[int]] = {}
    for place, it in pairs:
        rivals.setdefault(place, []).append(it)
    return [_original(ranked, place, rivals.get(place, ()), memories) for place in range(first, len(ranked))]


def _keys(ranked: Sequence[Ranked], pairs: Sequence[tuple[int, int]]) -> list[DocumentKey]:
    return [ranked[place].key for place in {place for pair in pairs for place in pair}]


def _original(ranked: Sequence[Ranked], place: int, rivals: Sequence[int], memories: Memories) -> int | None:
    """The first of the rivals that says the same."""
    if not rivals:
        return None
    texts = memories([ranked[it].key for it in (place, *rivals)])
    text = texts[ranked[place].key].content
    return next((it for it in rivals if are_duplicates(texts[ranked[it].key].content, text)), None)
