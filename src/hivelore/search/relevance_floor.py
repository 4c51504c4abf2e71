"""Whether what was found is worth saying to somebody who did not ask for it (N06).

The score of a hit says which of the hits is best, and the best of nothing is still the best. ``fit`` says how far a hit
has to do with the question at all, on one scale for every store and question. The figures behind the constants, and
what the signal cannot see, are in docs/decisions/0008.
"""

from collections.abc import Iterable

from hivelore.search.tokenizer import STOP_TERMS, document_terms

FLOOR = 0.70
"""An answer is worth giving unasked when its best hit fits at least so well."""
COMPANY = 0.40
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


def says_something(terms: Iterable[str]) -> bool:
    """Whether a question of these terms asks for anything: not one that is but grammar ("the of and") or moves a talk
    on ("go on", "yes, do it, thanks"). What has all of its words need not have to do with anything."""
    return not _SAY_NOTHING.issuperset(terms)


def fit(cosine: float | None, answered: float) -> float:
    """How well a hit fits a question, 0..3. ``cosine`` is that of its nearest passage, ``answered`` its keyword score
    as a share of what all words of the question weigh.

    1.15 x cosine x (1 + 1.5 answered): words and meaning have to agree. Without a cosine the words alone have to say
    more.
    """
    share = min(max(answered, 0.0), 1.0)
    if cosine is None:
        return _BY_WORDS_ALONE * share
    return _SCALE * max(cosine, 0.0) * (1.0 + _ANSWERED * share)


def fits(own: float, best: float) -> bool:
    """Whether a hit is worth giving unasked. ``best`` is the fit of the one that fits best."""
    return best >= FLOOR and own >= COMPANY
