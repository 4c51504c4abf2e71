"""What differs between two statements, in a few words: ``10 min``, ``60 s``."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

LONGEST = 40
"""Characters of each side that are shown."""
READ = 2_000
"""Characters of a statement that are compared."""

_UNITS: Mapping[str, tuple[str, float]] = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), ("time", 0.001)),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), ("time", 1.0)),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), ("time", 60.0)),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), ("time", 3_600.0)),
    **dict.fromkeys(("d", "day", "days"), ("time", 86_400.0)),
    **dict.fromkeys(("week", "weeks"), ("time", 604_800.0)),
    **dict.fromkeys(("b", "byte", "bytes"), ("size", 1.0)),
    **dict.fromkeys(("kb", "kib"), ("size", 1_024.0)),
    **dict.fromkeys(("mb", "mib"), ("size", 1_024.0**2)),
    **dict.fromkeys(("gb", "gib"), ("size", 1_024.0**3)),
    **dict.fromkeys(("tb", "tib"), ("size", 1_024.0**4)),
    **dict.fromkeys(("%", "percent"), ("percent", 1.0)),
}
_QUANTITY = re.compile(r"(?<![\w.])(\d{1,15}(?:[.,]\d+)*)(?:\s?(%|[a-zA-Z]+)(?!\w))?")
_NAME = re.compile(r"`[^`\n]{1,40}`|[\w@/+#-]+(?:[.:][\w@/+#-]+)*")
_IS_NAME = re.compile(r"[`\d_/.@:-]|\w[A-Z]")


class Quantity(NamedTuple):
    shown: str
    kind: str
    """``time``, ``size``, ``percent``, or the word after a bare number."""
    value: float


def difference(older: str, newer: str) -> tuple[str, str] | None:
    """Returns what only the earlier and only the later statement says: two quantities of a kind, or else two names.
    None if neither is found."""
    older, newer = older[:READ], newer[:READ]
    return _differing_quantities(older, newer) or _differing_names(older, newer)


def _differing_quantities(older: str, newer: str) -> tuple[str, str] | None:
    ours, theirs = list(_quantities(older)), list(_quantities(newer))
    for one in ours:
        others = [other for other in theirs if other.kind == one.kind]
        if others and all(other.value != one.value for other in others):
            known = {each.value for each in ours if each.kind == one.kind}
            new = [other for other in others if other.value not in known]
            if new:
                return one.shown, new[0].shown
    return None


def _quantities(text: str) -> Iterator[Quantity]:
    for found in _QUANTITY.finditer(text):
        number, word = found[1], found[2] or ""
        kind, factor = _UNITS.get(word.lower(), (word.lower(), 1.0))
        digits = number.replace(",", "")
        if digits.count(".") <= 1:
            shown = found[0].strip() if word.lower() in _UNITS else number
            yield Quantity(shown, kind, float(digits) * factor)
        else:
            yield Quantity(number, "version", hash(digits))


def _differing_names(older: str, newer: str) -> tuple[str, str] | None:
    ours, theirs = _names(older), _names(newer)
    only, new = [one for one in ours if one not in theirs], [one for one in theirs if one not in ours]
    if not only or not new:
        return None
    best = next(((a, b) for a in only for b in new if _is_named(ours[a]) and _is_named(theirs[b])), None)
    if best is None:
        return None
    return ours[best[0]][:LONGEST], theirs[best[1]][:LONGEST]


def _names(text: str) -> Mapping[str, str]:
    """Returns the words of a text by their lower-case form, in order."""
    words = (found[0].strip("`-/:.") for found in _NAME.finditer(text))
    return {word.lower(): word for word in reversed([word for word in words if word])}


def _is_named(word: str) -> bool:
    """Returns True for words that look like a name: with a capital, a digit or a sign."""
    return bool(_IS_NAME.search(word)) or word[:1].isupper()
