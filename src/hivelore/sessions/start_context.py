"""Session-start context: the value of a memory for a session that starts, and the choice of those worth their tokens.

The value is the probability that the memory helps in this session, from a logistic sum of a few features. The weights
in ``FITTED`` were fitted to labelled session starts (``bench/injection/starts.py``); those of signs that the labelled
data lacks were chosen by judgement (docs/decisions/0026).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

import regex

from hivelore.core.token_count import estimate
from hivelore.feedback.model import NO_USAGE, UsageCounts, UsefulnessBounds, usefulness_factor
from hivelore.memories.model import Memory, Source, Trust
from hivelore.observations.naming import Naming
from hivelore.search.tokenizer import distinct_terms

UNKNOWN_NEARNESS = 0.4
"""Nearness to the work assumed if nothing is known about it: the mean of the labelled session starts."""
_FARTHEST = 6.0
"""Log-odds of the relevance below zero at which the nearness is 0."""
LONG = 200
"""Characters from which a longer text is no sign of more content."""
STANDING_CATEGORIES = frozenset({"preference", "instruction", "correction", "convention"})
"""Categories of what a user said about how to work (B07, X21)."""
LABEL_TOKENS = 16
"""Estimated tokens of the label that precedes a note."""

_RULE = regex.compile(
    r"\b(?:always|never|must(?:n['’]t)?|do(?:n['’]?t| not)|please|only|no|not|ever|nothing|ask|stop|before|keep|frozen|"
    r"rules?|forbidden|immer|niemals|nie|nichts?|bitte|nur|keine?[nmrs]?|muss|müssen|erst|vorher|toujours|jamais|"
    r"ne|pas|interdit|siempre|nunca|solo|prohibido)\b|不要|必须|总是|永远|禁止|只",
    regex.IGNORECASE,
)
"""Words of rules."""
_STRICT_RULE = regex.compile(
    r"\b(?:always|never|must(?: not|n['’]t)?|do(?:n['’]?t| not)|immer|niemals|nie|toujours|jamais|siempre|nunca)\b"
    r"|不要|必须|总是|永远|禁止",
    regex.IGNORECASE,
)
"""Words of rules without exception."""
_ADDRESS = regex.compile(
    r"\b(?:i|me|my|mine|you|your|mich|mir|mein\w*|ihr|euch|du|dir|ich|je|moi|mon|vous|tu|yo|mi)\b|我|你",
    regex.IGNORECASE,
)
"""Words with which a person speaks to the agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Log-odds of a memory being useful at a session start."""

    base: float = -5.2
    relevance: float = 2.6
    summary: float = -3.2
    relevant_summary: float = 2.2
    """For a session summary, times its nearness: most earlier sessions do not matter, the right one does."""
    rule: float = 3.5
    address: float = 2.5
    length: float = 2.7
    # Chosen by judgement.
    standing: float = 3.0
    usefulness: float = 1.5
    """At the bound of the usefulness factor, in both directions."""
    access: float = 0.3
    untrusted: float = -0.5
    no_project: float = -0.5
    """For a memory of all projects."""
    fresh_summary: float = 3.0
    """For a session summary of just now; it halves in a day. Work often continues where it stopped."""
    recency: float = 0.3
    """Decides between otherwise equal memories."""


WEIGHTS = Weights()
FITTED = ("base", "relevance", "summary", "relevant_summary", "rule", "address", "length")
"""Weights in the order of ``fitted_features``."""
_HALF_LIFE = timedelta(days=30)
_SUMMARY_HALF_LIFE = timedelta(days=1)
_MANY_ACCESSES = 20
_BOUNDS = UsefulnessBounds()
_UNTRUSTED = (Trust.TOOL_OUTPUT, Trust.WEB)


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A memory of the session's project, or of all projects, that may be injected at a session start."""

    memory: Memory
    text: str
    """The excerpt that would be shown."""
    relevance: float | None
    """Relevance (``search.relevance``) to the work of the session; None if nothing is known about that."""
    use: UsageCounts = NO_USAGE
    standing: bool = False
    """Whether it is a lasting instruction (``is_standing``)."""

    @property
    def author(self) -> str:
        return self.memory.author or self.memory.provenance.actor or ""

    @cached_property
    def tokens(self) -> int:
        return estimate(self.text) + LABEL_TOKENS

    @cached_property
    def terms(self) -> frozenset[str]:
        return frozenset(distinct_terms(self.text))


def is_standing(memory: Memory, naming: Naming) -> bool:
    """Returns True for a user's lasting instruction: its category says so, or a person stated a rule."""
    key = naming.category_key
    if key(memory.category) in map(key, STANDING_CATEGORIES):
        return True
    return memory.provenance.trust is Trust.OPERATOR and _STRICT_RULE.search(memory.content) is not None


def fitted_features(candidate: Candidate) -> tuple[float, ...]:
    """Returns the features of the weights in ``FITTED``."""
    text, relevance = candidate.text, candidate.relevance
    near = UNKNOWN_NEARNESS if relevance is None else nearness(relevance)
    words, is_summary = len(text.split()), candidate.memory.source is Source.SESSION_SUMMARY
    rules = min(4, len(_RULE.findall(text))) / math.sqrt(max(8, words))
    address = min(2, len(_ADDRESS.findall(text))) / 2
    return 1.0, near, float(is_summary), near * is_summary, rules, address, min(len(text), LONG) / LONG


def nearness(relevance: float) -> float:
    """Returns the log-odds of a relevance, from 0 (farthest) to about 2: between memories of little relevance, too, the
    greater one counts."""
    bounded = min(max(relevance, 1e-6), 1.0 - 1e-6)
    return max(0.0, 1.0 + math.log(bounded / (1.0 - bounded)) / _FARTHEST)


def value(candidate: Candidate, now: datetime, weights: Weights = WEIGHTS) -> float:
    """Returns the probability, 0..1, that the memory helps in the session."""
    memory = candidate.memory
    total = sum(
        getattr(weights, name) * feature for name, feature in zip(FITTED, fitted_features(candidate), strict=True)
    )
    total += weights.standing * candidate.standing
    total += weights.usefulness * (usefulness_factor(candidate.use, _BOUNDS) - 1.0) / (_BOUNDS.most - 1.0)
    total += weights.access * min(memory.access_count, _MANY_ACCESSES) / _MANY_ACCESSES
    total += weights.no_project * (memory.project is None)
    total += weights.untrusted * (memory.provenance.trust in _UNTRUSTED)
    age = max(now - memory.updated_at, timedelta())
    total += weights.recency * 0.5 ** (age / _HALF_LIFE)
    if memory.source is Source.SESSION_SUMMARY:
        total += weights.fresh_summary * 0.5 ** (age / _SUMMARY_HALF_LIFE)
    return 1.0 / (1.0 + math.exp(-total))


LEAST_VALUE = 0.01
"""Least value of any injected memory."""
FULL_PRICE = 0.15
"""Value that a memory needs once ``FULL_SHARE`` of the tokens is used; before that, less."""
FULL_SHARE = 0.4
AUTHOR_SHARE = 0.5
"""Share of the tokens for one author while memories of others are worth theirs."""
_OF_ONE_AUTHOR = 40
_COMPARED = 120
"""Most memories, of one author and of all, that are compared with each other; those of the highest value."""


def price(spent: int, tokens: int) -> float:
    """Returns the value that the next memory needs. The first tokens are cheap: a small store is worth reading, and a
    long context is not."""
    used = min(1.0, spent / (FULL_SHARE * tokens)) if tokens else 1.0
    return max(LEAST_VALUE, FULL_PRICE * used * used)


def choose(
    candidates: Iterable[Candidate],
    tokens: int,
    now: datetime,
    injected: Sequence[Candidate] = (),
    weights: Weights = WEIGHTS,
) -> Sequence[Candidate]:
    """Returns the candidates worth their tokens, most valuable first: within ``tokens``, without repetitions, and with
    at most ``AUTHOR_SHARE`` by one author as long as others have something to say. The order of the candidates does not
    matter. ``injected``: memories that the model gets anyway; repeating them is worth nothing."""
    pool = _best(candidates, now, weights)
    novelty = [1.0] * len(pool)
    for one in injected:
        _reduce_novelty(novelty, pool, one)
    chosen, spent, by_author = list[Candidate](), 0, dict[str, int]()
    limits = (AUTHOR_SHARE * tokens, float(tokens)) if len({one.author for _, one in pool}) > 1 else (float(tokens),)
    left = set(range(len(pool)))
    for limit in limits:
        waiting = set(left)
        while waiting:
            place = max(waiting, key=lambda each: (pool[each][0] * novelty[each], -each))
            worth, one = pool[place][0] * novelty[place], pool[place][1]
            if worth < price(spent, tokens):
                break
            waiting.remove(place)
            used = by_author.get(one.author, 0) + one.tokens
            if spent + one.tokens > tokens or used > limit:
                continue
            left.remove(place)
            chosen.append(one)
            spent, by_author[one.author] = spent + one.tokens, used
            _reduce_novelty(novelty, pool, one)
    return chosen


def _best(candidates: Iterable[Candidate], now: datetime, weights: Weights) -> list[tuple[float, Candidate]]:
    """Returns the most valuable candidates with their values, best first, of no author too many."""
    valued = [(value(one, now, weights), one) for one in candidates]
    valued.sort(key=lambda pair: (-pair[0], -pair[1].memory.updated_at.timestamp(), pair[1].memory.id))
    by_author, best = dict[str, int](), list[tuple[float, Candidate]]()
    for worth, one in valued:
        if worth < LEAST_VALUE or len(best) == _COMPARED:
            break
        by_author[one.author] = count = by_author.get(one.author, 0) + 1
        if count <= _OF_ONE_AUTHOR:
            best.append((worth, one))
    return best


def _reduce_novelty(novelty: list[float], pool: Sequence[tuple[float, Candidate]], chosen: Candidate) -> None:
    for place, (_, one) in enumerate(pool):
        novelty[place] = min(novelty[place], 1.0 - overlap(one.terms, chosen.terms) ** 2)


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Returns the share of the shorter text's terms that the other contains."""
    shorter = min(len(one), len(other))
    return len(one & other) / shorter if shorter else 0.0
