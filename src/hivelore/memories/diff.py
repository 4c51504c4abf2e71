"""What is different between two versions of a memory, field by field, for people and programs (unified diff)."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from difflib import unified_diff
from itertools import takewhile
from operator import eq

from hivelore.memories.model import Version
from hivelore.search.model import Difference

_FIELDS = {
    "name": "name",
    "content": "content",
    "summary": "summary",
    "category": "category",
    "tags": "tags",
    "scope": "scope",
    "project": "project",
    "expires_at": "expiresAt",
    "subject": "subject",
    "valid_from": "validFrom",
}
"""What of a version may differ, and how JSON calls it."""
_MAX_COMPARED_LINES = 2_000
"""So many lines that differ, of both texts together, are compared with each other, which takes time with the square of
them; more are shown as replaced."""
_CONTEXT = 3


def difference(older: Version, newer: Version) -> Difference:
    """A field that is a list has an item a line."""
    fields = {
        told: "\n".join(_diff_lines(before, after, f"version {older.number}", f"version {newer.number}"))
        for name, told in _FIELDS.items()
        if (before := _lines(getattr(older, name))) != (after := _lines(getattr(newer, name)))
    }
    return Difference(older=older.number, newer=newer.number, fields=fields)


def _lines(value: str | Sequence[str] | datetime | None) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str):
        return value.split("\n")
    return [value.isoformat().replace("+00:00", "Z")] if isinstance(value, datetime) else list(value)


def _diff_lines(before: Sequence[str], after: Sequence[str], name: str, other: str) -> Iterator[str]:
    alike = _common_prefix_length(before, after)
    shorter = min(len(before), len(after)) - alike
    behind = min(_common_prefix_length(before[::-1], after[::-1]), shorter)
    if len(before) + len(after) - 2 * (alike + behind) <= _MAX_COMPARED_LINES:
        # What is alike at both ends is left out but for the context: it is most of a long text.
        first = max(alike - _CONTEXT, 0)
        skipped = max(behind - _CONTEXT, 0)
        parts = before[first : len(before) - skipped], after[first : len(after) - skipped]
        for line in unified_diff(*parts, name, other, n=_CONTEXT, lineterm=""):
            yield _shift_heading(line, first) if line.startswith("@@") else line
        return
    yield from (f"--- {name}", f"+++ {other}")
    gone, come = before[alike : len(before) - behind], after[alike : len(after) - behind]
    yield f"@@ -{alike + 1},{len(gone)} +{alike + 1},{len(come)} @@"
    yield from (f"-{line}" for line in gone)
    yield from (f"+{line}" for line in come)


def _common_prefix_length(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines at the beginning are the same."""
    return sum(1 for _ in takewhile(bool, map(eq, one, other)))


def _shift_heading(heading: str, by: int) -> str:
    """The heading of a hunk, so many lines further down."""
    _, old, new, _ = heading.split(" ")
    return f"@@ -{_shift_span(old[1:], by)} +{_shift_span(new[1:], by)} @@"


def _shift_span(span: str, by: int) -> str:
    start, comma, length = span.partition(",")
    return f"{int(start) + by}{comma}{length}"
