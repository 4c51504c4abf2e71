"""What a query asks for: which terms of a question, or of something pasted, are looked for, and what is read of it for
its meaning."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest

from hivelore.search.tokenizer import STOP_TERMS, query_token_terms, spaceless_units, tokenize

QUERY_LIMIT = 32
PASTE = 128
"""A query with more different terms than this is no question but something pasted."""
GIST = 500
"""Characters of each end of something pasted that are read for their meaning."""
ENOUGH = 3
"""A first or last paragraph with fewer terms is a greeting or a call; the next one counts with it."""

_OF_A_LINE = 6
"""So many of the terms of something long a text has that is about one line of it."""
_LOOKED_UP = 1_024
"""Terms of something long that are looked up for how rare they are."""
_REPEATED = 3
"""What is there more often than this is no telling part of something pasted."""
_NOWHERE = " "
"""No text has this one."""

_BLANK_LINE = re.compile(r"\n\s*\n")


@dataclass(frozen=True, slots=True)
class QueryAnalysis:
    """What of a text is looked for."""

    terms: Sequence[str]
    words: int
    """That they are of: a name is one, whatever its parts."""
    are_all: bool
    """False: there are more, as in something pasted, which no answer has anything like all of."""

    def weight(self, rarities: Mapping[str, float]) -> float:
        """What a full answer weighs, whose terms have these ``rarities``: all of them, or those of one line of many."""
        said = rarities.values()
        return sum(said) if self.are_all else sum(nlargest(_OF_A_LINE, said))


Rarities = Callable[[Sequence[str]], Mapping[str, float]]
"""How much each of some terms says (``search.tokenizer.rarity``)."""


def query_terms(text: str, limit: int = QUERY_LIMIT) -> list[str]:
    """Those of ``analyze_query``, where nothing is known of how rare they are."""
    return [*analyze_query(text, limit).terms]


def analyze_query(text: str, limit: int = QUERY_LIMIT, rarities: Rarities | None = None) -> QueryAnalysis:
    """The different terms to look for, in order, at most ``limit``; a text may match with any of them.

    Stop words are left out unless there is nothing else. Of too many, the rarest that any text has stay where
    ``rarities`` are known, else those that are repeated, look like a name or a number, or are long. Of something pasted
    half are of the first and last paragraphs, where a question stands; a line that tells of an error may be anywhere.
    """
    counts = Counter(_asked_for(text))
    if len(counts) <= limit:
        return QueryAnalysis([*counts], _words(text), are_all=True)
    is_pasted = len(counts) > PASTE or _is_long(text)
    if rarities is not None:
        best = _rarest(_at_the_ends(text, counts, limit // 2) if is_pasted else [], counts, limit, rarities)
    elif is_pasted:
        best = _at_the_ends(text, counts, limit)
    else:
        best = sorted(counts, key=lambda term: (-counts[term], term.isalpha(), -len(term)))[:limit]
    chosen = set(best)
    return QueryAnalysis([term for term in counts if term in chosen], len(chosen), are_all=False)


def _words(text: str) -> int:
    """Of a script without spaces, its terms."""
    told = {token: [term for term in query_token_terms(token) if term not in STOP_TERMS] for token in tokenize(text)}
    known = {token: terms for token, terms in told.items() if terms} or told
    return sum(1 if spaceless_units(token) is None else len(terms) for token, terms in known.items())


def _at_the_ends(text: str, counts: Mapping[str, int], limit: int) -> list[str]:
    paragraphs = [_informative(paragraph) for paragraph in _BLANK_LINE.split(text)]
    paragraphs = paragraphs if any(paragraphs) else [list(counts)]
    last = _nearest([terms[::-1] for terms in reversed(paragraphs)], limit // 2)
    return [*_nearest(paragraphs, limit - limit // 2), *last]


def _rarest(ends: Sequence[str], counts: Mapping[str, int], limit: int, rarities: Rarities) -> list[str]:
    """Those that no text has say nothing."""
    # What comes again and again is the frame; numbers are those of lines. Of the rest the last first.
    words = [term for term in [*counts][::-1] if not (term.isdigit() or (ends and counts[term] > _REPEATED))]
    says = rarities([*dict.fromkeys([*ends, *words[:_LOOKED_UP]]), _NOWHERE])
    known = {term: rare for term, rare in says.items() if rare < says[_NOWHERE]}
    best = [*(term for term in ends if term in known), *sorted(known, key=lambda term: -known[term])]
    return [*dict.fromkeys(best or [*ends, *words])][:limit]


def text_to_embed(text: str) -> str:
    """What of a question is read for its meaning. All of it, but of something pasted only as much as a model reads: its
    last paragraphs that say something, and its first."""
    if not _is_long(text) and (len(text) <= 2 * GIST or len(set(_informative(text))) <= PASTE):
        return text
    paragraphs = _BLANK_LINE.split(text.strip())
    last = "\n\n".join(reversed(_telling(reversed(paragraphs))))
    first = "\n\n".join(_telling(paragraphs))
    return f"{last[-GIST:]}\n\n{first[:GIST]}"


def _is_long(text: str) -> bool:
    """Longer than a question is, in several paragraphs: that says enough, whatever the words."""
    return len(text) > 2 * GIST and _BLANK_LINE.search(text) is not None


def _telling(paragraphs: Iterable[str]) -> list[str]:
    """As few of the first ones as have enough terms together."""
    told: list[str] = []
    terms = 0
    for paragraph in paragraphs:
        told.append(paragraph)
        terms += len(_informative(paragraph))
        if terms >= ENOUGH:
            break
    return told


def _asked_for(text: str) -> list[str]:
    return _informative(text) or [term for token in tokenize(text) for term in query_token_terms(token)]


def _informative(text: str) -> list[str]:
    """Without stop words."""
    return [term for token in tokenize(text) for term in query_token_terms(token) if term not in STOP_TERMS]


def _nearest(paragraphs: Iterable[Sequence[str]], limit: int) -> Iterable[str]:
    """The first different terms, from as few paragraphs as will do."""
    terms: dict[str, None] = {}
    for paragraph in paragraphs:
        for term in paragraph:
            if len(terms) < limit:
                terms[term] = None
        if len(terms) >= ENOUGH:
            break
    return terms
