"""What differs between two statements, in a few words: ``10 min``, ``60 s``."""

import re
from collections.abc import Mapping
from itertools import product

from hivelore.links.quantities import quantities

LONGEST = 40
"""Characters of each side that are shown."""
READ = 2_000
"""Characters of a statement that are compared."""
_WORD = re.compile(r"`[^`\n]{1,60}`|[\w@#+]+(?:[./:_@+-]+[\w@#+]+)*")
_TOKEN = r"[\w@./:+-]{2,40}"
_FROM_TO = re.compile(rf"\bfrom `?({_TOKEN}?)`? (?:(?:over|back|up|down) )?to `?({_TOKEN})(?<![.:])", re.IGNORECASE)
_LOOKS_LIKE_A_NAME = re.compile(r"[\d_/.@:`-]|\w[A-Z]|^[A-Z]")


def difference(older: str, newer: str) -> tuple[str, str] | None:
    """Returns what only the earlier and only the later statement says: two quantities of a kind, what the later one
    names with *from A to B*, or else two names. None if none of these is found."""
    older, newer = older[:READ], newer[:READ]
    return _differing_quantities(older, newer) or _moved(older, newer) or _differing_names(older, newer)


def _moved(older: str, newer: str) -> tuple[str, str] | None:
    for found in _FROM_TO.finditer(newer):
        if re.search(rf"(?<!\w){re.escape(found[1])}(?!\w)", older, re.IGNORECASE):
            return found[1], found[2]
    return None


def _differing_quantities(older: str, newer: str) -> tuple[str, str] | None:
    ours, theirs = quantities(older), quantities(newer)
    only = [one for one in ours if all((one.kind, one.value) != (other.kind, other.value) for other in theirs)]
    new = [one for one in theirs if all((one.kind, one.value) != (other.kind, other.value) for other in ours)]
    pairs = ((one.shown, other.shown) for one, other in product(only, new) if one.kind == other.kind)
    return next(pairs, None)


def _differing_names(older: str, newer: str) -> tuple[str, str] | None:
    ours, theirs = _names(older), _names(newer)
    words = {word.lower() for text in (older, newer) for word in _WORD.findall(text)}
    only = [shown for name, shown in ours.items() if name not in theirs]
    new = [shown for name, shown in theirs.items() if name not in ours and name in words]
    pairs = ((one, other) for one, other in product(only, new) if _shape(one) == _shape(other))
    return next(((one[:LONGEST], other[:LONGEST]) for one, other in pairs), None)


def _names(text: str) -> Mapping[str, str]:
    """Returns the words that look like names, by their lower-case form, in order. The first word of a sentence has a
    capital anyway."""
    found = dict[str, str]()
    for match in _WORD.finditer(text):
        word, before = match[0].strip("`"), text[: match.start()].rstrip()
        begins = not before or before[-1] in ".!?:\n"
        if _LOOKS_LIKE_A_NAME.search(word[1:] if begins else match[0]):
            found.setdefault(word.lower(), word)
    return found


def _shape(name: str) -> tuple[bool, bool, bool]:
    """Returns what two names of the same kind have in common."""
    return name[:1].isupper(), any(sign.isdigit() for sign in name), "/" in name
