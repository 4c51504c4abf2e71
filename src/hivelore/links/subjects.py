"""Subjects that are suggested for memories that update each other."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import islice, pairwise

from hivelore.links.validity import outlives
from hivelore.memories.model import Memory
from hivelore.search.tokenizer import STOP_TERMS, query_token_terms

LEAST_MEMBERS = 3
"""Memories of a chain without a subject for which a new subject is suggested."""
MOST_MEMBERS = 20
"""Memories of a chain for which a subject is suggested. A longer one is rather a topic than one fact."""
MOST_WORDS = 3
SEPARATOR = "."
_READ = 2_000
"""Characters of a statement that are read."""
_WORD = re.compile(r"(?<!\w)[^\W\d_]{2,24}(?!\w)")
"""Letters only: what has digits is rather a value or a name than what a fact is about, and may be part of a secret."""
_MASK = re.compile(r"\[[a-z0-9-]{2,24}:[0-9a-f]{4}\]")

Rarities = Callable[[Sequence[str]], Mapping[str, float]]
"""Returns how rare each term is."""


def chain_subject(members: Sequence[Memory], dates: Sequence[datetime], rarities: Rarities) -> str | None:
    """Returns the subject to suggest for the members of a chain, the earliest first: that of some of them, or a new one
    if enough have none. None without a suggestion: also if the last one would not outlive the others, or if the order
    is not that of time. ``dates``: when each was stated. Facts with a subject keep their own start."""
    known = {one.subject for one in members if one.subject is not None}
    starts = [at if one.subject is None else one.holds_since for one, at in zip(members, dates, strict=True)]
    if len(members) > MOST_MEMBERS or len(known) > 1 or any(one >= other for one, other in pairwise(starts)):
        return None
    if not all(outlives(members[-1], one) for one in members):
        return None
    if known:
        return next(iter(known)) if any(one.subject is None for one in members) else None
    return suggest_subject([one.content for one in members], rarities) if len(members) >= LEAST_MEMBERS else None


def suggest_subject(statements: Sequence[str], rarities: Rarities) -> str | None:
    """Returns a key of the rarest words that all statements share, in the order of the first statement. None if they
    share none."""
    first, *others = (_words(text) for text in statements)
    shared = {term: word for term, word in first.items() if all(term in words for words in others)}
    known = rarities(list(shared))
    rarest = set(islice(sorted(shared, key=lambda term: -known.get(term, 0.0)), MOST_WORDS))
    return SEPARATOR.join(word for term, word in shared.items() if term in rarest) or None


def _words(text: str) -> Mapping[str, str]:
    """Returns the informative words of a statement in lower case, by their terms, in order."""
    found = dict[str, str]()
    for match in _WORD.finditer(_MASK.sub(" ", text[:_READ])):
        word = match[0].casefold()
        terms = query_token_terms(word)
        if terms and terms[0] not in STOP_TERMS:
            found.setdefault(terms[0], word)
    return found
