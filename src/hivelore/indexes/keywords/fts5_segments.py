"""What FTS5 notes about its segments: which hold words of removed rows, and which are being merged.

The format is that of the structure record in ``fts5_index.c``: four bytes of cookie, four that name the
version which knows of tombstones, then varints.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from hivelore.errors import Broken

_HEAD = 4
_WITH_TOMBSTONES = b"\xff\x00\x00\x01"
_COUNTED = 3
"""Levels, segments and writes, before the first level."""
_PER_SEGMENT = 8
_TOMBSTONE_PAGES = 5
"""The place of this number among those of a segment."""


@dataclass(frozen=True, slots=True)
class Level:
    segments: int
    merging: int
    """How many of them, the oldest ones, a merge that is under way reads."""
    tombstones: bool
    """Whether one holds words of removed rows."""


@dataclass(frozen=True, slots=True)
class Segments:
    levels: tuple[Level, ...]

    @property
    def are_clean(self) -> bool:
        return not any(level.tombstones for level in self.levels)

    @property
    def oldest_are_merging(self) -> bool:
        """Whether what a merge of all segments began with is still being read."""
        used = [place for place, level in enumerate(self.levels) if level.segments]
        return bool(used) and used[-1] > 0 and self.levels[used[-1] - 1].merging > 0

    @property
    def all_are_merging(self) -> bool:
        """Whether a merge under way reads everything but what it has written: no other can begin before its end."""
        total = sum(level.segments for level in self.levels)
        return any(level.merging and level.merging == level.segments == total - 1 for level in self.levels)


def read(record: bytes) -> Segments:
    """The segments of a structure record. Raises Broken where it is none that this code knows."""
    if record[_HEAD : 2 * _HEAD] != _WITH_TOMBSTONES:
        raise Broken("The keyword index is of a kind that this Hivelore does not know. Restore a backup.")
    numbers = _varints(record[2 * _HEAD :])
    count, *_ = [next(numbers) for _ in range(_COUNTED)]
    levels: list[Level] = []
    for _ in range(count):
        merging, segments = next(numbers), next(numbers)
        pages = [[next(numbers) for _ in range(_PER_SEGMENT)][_TOMBSTONE_PAGES] for _ in range(segments)]
        levels.append(Level(segments, merging, any(pages)))
    return Segments(tuple(levels))


def _varints(data: bytes) -> Iterator[int]:
    """SQLite's: seven bits a byte, the highest first; a ninth byte has eight."""
    value, length = 0, 0
    for byte in data:
        length += 1
        if length == 9:
            yield value << 8 | byte
        elif byte < 0x80:
            yield value << 7 | byte
        else:
            value = value << 7 | byte & 0x7F
            continue
        value, length = 0, 0
