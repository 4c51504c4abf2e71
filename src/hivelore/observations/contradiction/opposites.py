"""Opposites that rarely contradict, but prevent two notes from being equal.

*Safe* and *breaks* may be about different things, so such a pair is uncertain if nothing else decides.
"""

import regex

from hivelore.observations.contradiction.doubts import word_denials
from hivelore.observations.contradiction.statement import ParsedNote
from hivelore.observations.contradiction.words import stems, words_of

_OPPOSED = """
max maximum maximal | min minimum minimal
at_most up_to no_more_than not_more_than no_longer_than no_later_than höchstens | at_least no_less_than
  not_less_than no_fewer_than no_earlier_than mindestens
safe safely harmless fine | break broken broke corrupt damage destroy ruin wreck crash fail lose lost kill hurt
work works working | broken
grow rise climb increase leak | stable constant flat steady unchanged shrink fall
often usually mostly | seldom rarely hardly
"""
_OPPOSED_BUT_FOR_A_LIMIT = """
clear flush wipe erase empty reset discard drop | preserve keep kept retain survive untouched intact
"""
"""Opposites that agree with a limit: kept for a week, dropped after a week."""
_DENIALS = words_of(
    """
    не нет ни нельзя não nem niet geen nooit inte ikke aldri nie nigdy nelze není nincs non değil yok δεν μην
    όχι לא אין لا ليس لن नहीं मत
    """
)
"""Negations of languages without other known words."""
_DENYING = regex.compile("ない|なく|ません|せず|않|없|못|아니")

_Side = frozenset[tuple[str, ...]]


def opposed(older: ParsedNote, newer: ParsedNote, texts: tuple[str, str], *, agrees: bool) -> str | None:
    """Returns the words with which one note may state the opposite of the other; None if there are none. ``agrees``:
    they have a common quantity."""
    for one, other in _TABLE if agrees else _TABLE + _LIMITS:
        for first, second in ((one, other), (other, one)):
            ours, theirs = _found(older, first), _found(newer, second)
            is_mixed = _found(older, second) or _found(newer, first)
            if ours and theirs and not is_mixed and len(word_denials(older)) % 2 == len(word_denials(newer)) % 2:
                return f"{ours} against {theirs}"
    denials = [_denials(reading, text) for reading, text in zip((older, newer), texts, strict=True)]
    return "one of them may deny it" if denials[0] % 2 != denials[1] % 2 else None


def _found(reading: ParsedNote, side: _Side) -> str:
    words = reading.words
    roots = [stems(word) for word in words]
    for at in range(len(words)):
        for length in (3, 2, 1):
            if sum(roots[at : at + length], ()) in side:
                return " ".join(words[at : at + length])
    return ""


def _denials(reading: ParsedNote, text: str) -> int:
    return sum(word in _DENIALS for word in reading.words) + len(_DENYING.findall(text))


def _side(words: str) -> _Side:
    return frozenset(stems(word) for word in words.split())


def _table(pairs: str) -> list[tuple[_Side, _Side]]:
    lines = pairs.strip().replace("\n  ", " ").splitlines()
    return [(_side(one), _side(other)) for one, other in (line.split("|") for line in lines)]


_TABLE, _LIMITS = _table(_OPPOSED), _table(_OPPOSED_BUT_FOR_A_LIMIT)
