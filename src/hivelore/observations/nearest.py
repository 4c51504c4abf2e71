"""Nearest texts: which known texts an observation is compared with, so that a flood does not compare all with all."""

from collections import Counter
from collections.abc import Callable, Set
from typing import Generic, TypeVar

from hivelore.core.text import Clean

T = TypeVar("T")
Terms = Callable[[Clean], Set[str]]
"""Returns the terms of a text. Texts without a common term are not near each other."""


class NearestTexts(Generic[T]):
    """Inverted index of texts by their terms."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._known: list[tuple[Clean, int, T]] = []
        """The texts, with their numbers of terms."""
        self._by_term: dict[str, list[int]] = {}

    def add(self, text: Clean, value: T) -> None:
        terms = self._terms(text)
        for term in terms:
            self._by_term.setdefault(term, []).append(len(self._known))
        self._known.append((text, len(terms), value))

    def find(self, text: Clean, limit: int, fits: Callable[[T], bool]) -> list[T]:
        """Returns up to ``limit`` values that fit, those first whose texts have the largest share of terms in common
        with the given one, then by text."""
        terms = self._terms(text)
        common = Counter[int]()
        for term in terms:
            common.update(self._by_term.get(term, ()))
        by_share: dict[float, list[int]] = {}
        for at, count in common.items():
            share = count / (len(terms) + self._known[at][1] - count)
            by_share.setdefault(share, []).append(at)
        found: list[T] = []
        for share in sorted(by_share, reverse=True):
            for at in sorted(by_share[share], key=lambda one: self._known[one][0]):
                value = self._known[at][2]
                if fits(value):
                    found.append(value)
                    if len(found) == limit:
                        return found
        return found
