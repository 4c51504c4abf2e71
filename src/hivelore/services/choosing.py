"""Which of the ranked candidates an answer gives: those that fit, none twice, and not more than there is room for."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hivelore.domain.index import DocumentKey, Vector
from hivelore.domain.memory import Memory
from hivelore.domain.search import Excerpt, Hit, Query, Score
from hivelore.policies.silence import AMONG, fit, fits, says_something
from hivelore.policies.tokens import estimate
from hivelore.policies.variety import says_the_same, varied
from hivelore.services.updates import Ranked

LIKE_LENGTH = 0.85
"""How long the shorter of two texts that may say the same is at least, as a part of the longer one."""
LIKE_COSINE = 0.05
"""How far the cosines to the question, of two texts that may say the same, lie apart at most."""
VARIED_AMONG = 50
"""So many of the best are looked at where unlike ones are asked for."""
LEAST_SHOWN = 20
"""Tokens of its passage that the first hit shows, however small the budget."""

Vectors = Callable[[Sequence[DocumentKey]], Mapping[DocumentKey, Vector]]
"""The nearest passage of each, as far as it has a vector."""
Memories = Callable[[Sequence[DocumentKey]], Mapping[DocumentKey, Memory]]


@dataclass(frozen=True, slots=True)
class Signal:
    """What was found of a candidate, before it was compared with the others."""

    cosine: float | None
    """None: it has no vector, or there are none."""
    answered: float
    """Its keyword score as a share of what all words of the question weigh."""


@dataclass(frozen=True, slots=True)
class Chosen:
    key: DocumentKey
    score: Score
    fit: float
    fits: bool
    alike: int


def chosen(
    ranked: Sequence[Ranked],
    query: Query,
    terms: Collection[str],
    signal: Callable[[DocumentKey], Signal],
    vectors: Vectors,
    memories: Memories,
) -> list[Chosen]:
    """Up to ``query.limit`` of the ranked ones, best first. ``terms`` are those of the question."""
    asks = says_something(terms)
    best = max((_fit(signal(one.key), asks) for one in ranked[: max(query.limit, AMONG)]), default=0.0)
    if query.diversity > 0.0:
        ranked = _varied(ranked[: max(query.limit, VARIED_AMONG)], query, vectors)
    found: list[Chosen] = []
    for one, alike in _distinct(ranked, query.limit, signal, memories):
        own = _fit(signal(one.key), asks)
        if fits(own, best) or not query.only_fitting:
            found.append(Chosen(one.key, one.score, own, fits(own, best), alike))
    return found


def _fit(signal: Signal, asks: bool) -> float:
    return fit(signal.cosine, signal.answered) if asks else 0.0


def _varied(ranked: Sequence[Ranked], query: Query, vectors: Vectors) -> list[Ranked]:
    """The ranked ones with unlike ones first; those without a vector are like nothing."""
    known = vectors([one.key for one in ranked])

    def likeness(one: int, other: int) -> float:
        a, b = known.get(ranked[one].key), known.get(ranked[other].key)
        return 0.0 if a is None or b is None else float(a @ b)

    places = varied([one.score.total for one in ranked], likeness, query.diversity, len(ranked))
    return [ranked[place] for place in places]


def _distinct(
    ranked: Sequence[Ranked], limit: int, signal: Callable[[DocumentKey], Signal], memories: Memories
) -> Iterator[tuple[Ranked, int]]:
    """The first ``limit`` that do not say the same as one before them, and how many after each do."""
    kept: list[tuple[Ranked, float | None]] = []
    alike: dict[DocumentKey, int] = {}
    for one in ranked:
        if len(kept) == limit:
            break
        length, cosine = one.standing.length, signal(one.key).cosine
        # Most are told apart by their lengths and cosines, without looking at the texts.
        rivals = [
            other
            for other, its in kept
            if (cosine is None or its is None or -LIKE_COSINE <= cosine - its <= LIKE_COSINE)
            and length >= LIKE_LENGTH * other.standing.length
            and other.standing.length >= LIKE_LENGTH * length
        ]
        same = _the_same(one, rivals, memories) if rivals else None
        if same is None:
            kept.append((one, cosine))
        else:
            alike[same.key] = alike.get(same.key, 0) + 1
    for one, _ in kept:
        yield one, alike.get(one.key, 0)


def _the_same(one: Ranked, rivals: Sequence[Ranked], memories: Memories) -> Ranked | None:
    """The first of the rivals that says the same."""
    texts = memories([one.key, *(rival.key for rival in rivals)])
    return next((it for it in rivals if says_the_same(texts[it.key].content, texts[one.key].content)), None)


def within(hits: Sequence[Hit], budget: int | None) -> list[Hit]:
    """The hits whose names and passages take up to ``budget`` tokens together, in their order: what is too long for the
    rest is left out. Of the first one, a part of the passage is shown where not all of it has room."""
    if budget is None or not hits:
        return list(hits)
    first = _shortened(hits[0], max(budget - estimate(hits[0].memory.name), LEAST_SHOWN))
    left = budget - _cost(first)
    shown = [first]
    for hit in hits[1:]:
        cost = _cost(hit)
        if cost <= left:
            left -= cost
            shown.append(hit)
    return shown


def _cost(hit: Hit) -> int:
    return estimate(hit.memory.name) + estimate(hit.passage.content)


def _shortened(hit: Hit, tokens: int) -> Hit:
    return replace(hit, passage=replace(hit.passage, content=_beginning(hit.passage, tokens)))


def _beginning(passage: Excerpt, tokens: int) -> str:
    """As many of its words as have room, with an ellipsis where some have not."""
    text = passage.content
    if estimate(text) <= tokens:
        return text
    low, high = 0, len(text)
    while low < high:  # The longest beginning that has room, ellipsis included.
        middle = (low + high + 1) // 2
        low, high = (middle, high) if estimate(text[:middle]) < tokens else (low, middle - 1)
    end = max(text.rfind(" ", low // 2, low + 1), text.rfind("\n", low // 2, low + 1))
    return text[: end if end > 0 else low].rstrip(" ,;:-\n") + "…"
