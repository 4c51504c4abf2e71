"""Beginnings of ids: callers may give one in place of the whole id."""

import re
from collections.abc import Sequence

from hivelore.errors import Invalid

_PREFIX = re.compile(r"[0-9a-f-]{8,35}")
"""The beginning of an id. The first eight characters are the same in ids made within a minute."""
_SHOWN = 3
"""Ids that an error about an ambiguous prefix lists."""
MATCHES = _SHOWN + 1
"""Number of ids to look for: enough to report an ambiguous prefix."""


def prefix_of(text: str) -> str | None:
    """Returns the prefix that a caller gave in place of an id; None if the text cannot be one."""
    prefix = text.strip().lower()
    return prefix if _PREFIX.fullmatch(prefix) else None


def resolve_prefix(prefix: str, found: Sequence[str], field: str) -> str:
    """Returns the only id that begins with a prefix, or the prefix itself if there is none.

    ``found``: the first ``MATCHES`` ids that begin with it and that the caller may see. Raises Invalid for several.
    """
    if len(found) > 1:
        others = " or others" if len(found) > _SHOWN else ""
        ids = ", ".join(found[:_SHOWN])
        raise Invalid(f"Several ids begin with {prefix!r}: {ids}{others}. Use more characters.", field=field)
    return found[0] if found else prefix
