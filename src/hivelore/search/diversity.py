"""When two memories say the same, and which of many similar ones to give.

Texts that differ in a number, a version, a path, a "not" or the order of what they share do not say the same, however
much that is: one of them may update the other (``search.recency_conflicts``), and both are given.
"""

from collections.abc import Callable, Sequence

from hivelore.search.tokenizer import distinct_terms, document_terms

OVERLAP = 0.9
"""The least share of terms in common, of all terms of both, of texts that say the same."""
READ = 20_000
"""Longer texts say the same only where they are the same."""
_FIRST = 4

_TURNS = frozenset(("no", "not", "never", "none", "nor", "without", "t", "off", "disabl"))
"""Terms that turn what a sentence says into its opposite; t is that of "don't"."""


def says_the_same(one: str, other: str) -> bool:
    """Whether two texts are the same but for case, blanks, punctuation and a few words that change no fact."""
    if _are_plainly_the_same(one, other):
        return True
    if max(len(one), len(other)) > READ:
        return False
    words, others = distinct_terms(one), distinct_terms(other)
    together, shared = words | others, words & others
    if not shared or len(shared) < OVERLAP * len(together):
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


def varied(scores: Sequence[float], likeness: Callable[[int, int], float], diversity: float, limit: int) -> list[int]:
    """Places of up to ``limit`` of the scores, each with the best balance of a high score and being unlike those before
    it: (1 - diversity) x score - diversity x its greatest likeness (Carbonell and Goldstein's marginal relevance).
    ``diversity`` 0..1; 0 keeps the order of the scores."""
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
