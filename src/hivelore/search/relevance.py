"""Relevance: the probability that a memory helps with a query, 0..1, comparable between stores and queries (X24).

It is a logistic function of the evidence of one hit alone. Other hits, their order and the size of the store do not
count. The constants were fitted in docs/decisions/0025.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass

from hivelore.search.model import Evidence
from hivelore.search.tokenizer import STOP_TERMS, document_terms

FLOOR = 0.2
"""Least relevance of a hit that fits. A missed memory costs more than a wrong one, so it need not be right in most
cases."""
INJECTION_FLOOR = 0.25
"""Least relevance of a hit that is worth giving to somebody who did not ask (N06)."""
POINTER_FLOOR = 0.065
"""Least relevance of a hit that is worth a line with its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelevanceWeights:
    """Constants of the log odds, by kind of evidence."""

    base: float
    cosine: float
    covered: float
    identifier: float
    read: float = 0.0


USUAL_COSINE = 0.35
"""Assumed for a hit that the relevance model read and that has no vector yet."""
WORDS = RelevanceWeights(base=-3.3, cosine=0.0, covered=3.7, identifier=3.4)
"""Without a vector."""
UNREAD = RelevanceWeights(base=-6.1, cosine=10.0, covered=2.9, identifier=2.4)
"""With a vector."""
READ = RelevanceWeights(base=-3.64, cosine=5.07, covered=1.31, identifier=1.3, read=0.63)
"""With a vector, and read by the relevance model."""


def relevance(evidence: Evidence) -> float:
    """Returns the probability that a memory helps with a query, by all that is known of both."""
    cosine, read = evidence.cosine, evidence.read
    weights = READ if read is not None else WORDS if cosine is None else UNREAD
    odds = (
        weights.base
        + weights.cosine * (USUAL_COSINE if cosine is None else max(cosine, 0.0))
        + weights.covered * evidence.covered
        + weights.identifier * evidence.identifier
        + weights.read * (read or 0.0)
    )
    return 1.0 / (1.0 + math.exp(-odds))


_FILLERS = """
ok okay yes yeah yep yup nope sure right correct exactly agreed please thanks thank thx good great nice fine cool
perfect done hi hello hey bye go going ahead continue proceed carry keep now again well let also just too
"""
_UNINFORMATIVE = STOP_TERMS.union(document_terms(_FILLERS))


def asks_something(terms: Iterable[str]) -> bool:
    """Returns False if a query consists of function words ("the of and") or fillers ("yes, do it, thanks"). A text
    that contains all of its words need not be relevant."""
    return not _UNINFORMATIVE.issuperset(terms)


def informative(rarities: Mapping[str, float]) -> Mapping[str, float]:
    """Returns the terms of a query that say what it is about; all if none does."""
    return {term: weight for term, weight in rarities.items() if term not in _UNINFORMATIVE} or rarities


_MARKED = re.compile(
    r"""(?<![\w./:@#-]) ([\w./:@#-]* (?: \d | _ | [./:@#](?=\w) | [a-z](?=[A-Z]) )) [\w./:@#-]*+""", re.VERBOSE
)
"""A run of the characters of names; the group ends with its last digit, sign or capital letter inside a word. A name
begins before that. Each run is matched once, because a look ahead from each word in it would take quadratic time."""
_LONGEST = 80
"""Characters of a name."""
_NAME = re.compile(rf"(?<!\w)\w[\w./:@#-]{{1,{_LONGEST - 2}}}\w")
_ABBREVIATION = re.compile(r"(?<![\w-])[A-Z]{3,}(?![\w-])")
_RUN = re.compile(r"\w(?:[\w./:@#-]*\w)?")
_WORD = re.compile(r"\w+")


def identifiers(text: str) -> frozenset[str]:
    """Returns the names in a text that are no words of a language, such as ``user_id``, ``TICKET-12``, ``main.py`` or
    ``KeyError``, in lower case."""
    marked = ((run.end(1), _NAME.finditer(text, *run.span())) for run in _MARKED.finditer(text))
    names = [name[0] for end, found in marked for name in found if name.start() < end]
    return frozenset(name.casefold() for name in [*names, *_ABBREVIATION.findall(text)])


def identifier_share(names: Set[str], text: str, rarities: Mapping[str, float]) -> float:
    """Returns how rare the rarest name is that a text contains as a whole, 0..1, as a share of the greatest rarity of
    a term of the query. The time does not depend on the number of names."""
    most = max(rarities.values(), default=0.0)
    if most <= 0.0 or not names:
        return 0.0
    held = {name for part in _possible_names(text) if (name := part.casefold()) in names}
    return max((weight for term, weight in rarities.items() for name in held if term in name), default=0.0) / most


def _possible_names(text: str) -> Iterator[str]:
    """Yields each word of a text, and everything from the beginning of one to the end of another that has the length
    and the characters of a name."""
    for run in _RUN.findall(text):
        if run.isalnum():  # Most are, and matching words takes longer.
            yield run
            continue
        words = [word.span() for word in _WORD.finditer(run)]
        for place, (start, end) in enumerate(words):
            yield run[start:end]
            for _, stop in words[place + 1 : place + _LONGEST]:
                if stop - start > _LONGEST:
                    break
                yield run[start:stop]
