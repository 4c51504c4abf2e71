"""Beginnings of ids: callers may give one in place of the whole id."""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from hivelore.errors import Invalid

_PREFIX = re.compile(r"[0-9a-f-]{8,35}")
"""The beginning of an id. The first eight characters are the same in ids made within a minute."""
_SHOWN = 3
"""Ids that an error about an ambiguous prefix lists."""
LEAST_PREFIX = 8
"""Characters of the shortest prefix."""

Find = Callable[[str, int], Sequence[str]]
"""Returns the first ids that begin with a prefix and that the caller may see, up to a limit."""


def resolve_id(text: str, find: Find, field: str) -> str:
    """Returns the id that a caller means: the whole id, or at least eight characters of its beginning. A text that
    begins no id is returned in canonical form. Raises Invalid if several ids begin with it."""
    return match_prefix(text, find, field) or canonical_id(text)


def match_prefix(text: str, find: Find, field: str) -> str | None:
    """Returns the only id that begins with the text; None if none does or the text cannot be a prefix. Raises Invalid
    for several."""
    prefix = canonical_id(text)
    found = find(prefix, _SHOWN + 1) if _PREFIX.fullmatch(prefix) else ()
    if len(found) > 1:
        others = " or others" if len(found) > _SHOWN else ""
        ids = ", ".join(found[:_SHOWN])
        raise Invalid(f"Several ids begin with {prefix!r}: {ids}{others}. Use more characters.", field=field)
    return found[0] if found else None


def means(text: str, whole: str) -> bool:
    """Returns True if the text is this id or a beginning of it that is long enough."""
    name = canonical_id(text)
    return name == whole or (_PREFIX.fullmatch(name) is not None and whole.startswith(name))


def canonical_id(text: str) -> str:
    """Returns an id as it is stored."""
    return text.strip().lower()


def shortest_prefix(one: str, others: Iterable[str], least: int = LEAST_PREFIX) -> str:
    """Returns the shortest beginning of an id that no other one shares, of at least ``least`` characters."""
    shared = max((_shared_length(one, other) for other in others if other != one), default=0)
    return one[: max(least, shared + 1)].rstrip("-")


def _shared_length(one: str, other: str) -> int:
    return next((place for place, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), len(other))


def id_made_at(instant: datetime) -> str:
    """Returns the beginning of ids (UUID version 7) that are made in this millisecond."""
    digits = f"{int(instant.timestamp() * 1_000):012x}"
    return f"{digits[:8]}-{digits[8:]}"
