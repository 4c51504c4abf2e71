"""Differences between two versions of a memory, per field, as unified diffs."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from difflib import unified_diff
from itertools import takewhile
from operator import eq

from hivelore.memories.model import Version
from hivelore.search.model import Difference

FieldValue = str | Sequence[str] | datetime | None
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
"""Fields of a version that may differ, with their JSON names."""
_MAX_COMPARED_LINES = 2_000
"""Maximum differing lines to compare, because the time is quadratic. Longer differences are shown as a replacement."""
_CONTEXT = 3


def difference(older: Version, newer: Version) -> Difference:
    """Compares two versions."""
    values = {label: (getattr(older, name), getattr(newer, name)) for name, label in _FIELDS.items()}
    return compare_values(older.number, newer.number, values)


def compare_values(older: int, newer: int, values: Mapping[str, tuple[FieldValue, FieldValue]]) -> Difference:
    """Compares the older and the newer value of each field. A list has one item per line."""
    fields = {
        label: "\n".join(_diff_lines(before, after, f"version {older}", f"version {newer}"))
        for label, pair in values.items()
        if (before := _lines(pair[0])) != (after := _lines(pair[1]))
    }
    return Difference(older=older, newer=newer, fields=fields)


def _lines(value: FieldValue) -> list[str]:
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
        # Equal lines at both ends are most of a long text; only their context is shown.
        first = max(alike - _CONTEXT, 0)
        skipped = max(behind - _CONTEXT, 0)
        parts = before[first : len(before) - skipped], after[first : len(after) - skipped]
        for line in unified_diff(*parts, name, other, n=_CONTEXT, lineterm=""):
            yield _shift_heading(line, first) if line.startswith("@@") else line
        return
    yield from (f"--- {name}", f"+++ {other}")
    removed, added = before[alike : len(before) - behind], after[alike : len(after) - behind]
    yield f"@@ -{alike + 1},{len(removed)} +{alike + 1},{len(added)} @@"
    yield from (f"-{line}" for line in removed)
    yield from (f"+{line}" for line in added)


def _common_prefix_length(one: Sequence[str], other: Sequence[str]) -> int:
    """Returns the number of equal lines at the beginning."""
    return sum(1 for _ in takewhile(bool, map(eq, one, other)))


def _shift_heading(heading: str, by: int) -> str:
    """Shifts the line numbers in the heading of a hunk."""
    _, old, new, _ = heading.split(" ")
    return f"@@ -{_shift_span(old[1:], by)} +{_shift_span(new[1:], by)} @@"


def _shift_span(span: str, by: int) -> str:
    start, comma, length = span.partition(",")
    return f"{int(start) + by}{comma}{length}"
