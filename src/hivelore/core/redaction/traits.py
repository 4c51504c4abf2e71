"""Traits of candidates: what a secret is recognized by, each as a place in the table of weights.

Most traits occur twice, alone and together with the strength of the value: behind ``commit`` a git hash is usual and a
password is not.
"""

from binascii import crc32
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from hivelore.core.redaction.candidates import Candidate, Region, Spot
from hivelore.core.redaction.matching import compiled
from hivelore.core.redaction.names import kind_of, words_before
from hivelore.core.redaction.shapes import STRENGTHS

TABLE_SIZE: Final = 1 << 16
_SHIFT: Final = 16
_SPREAD: Final = 0x9E3779B1
"""An odd number that mixes the bits of a hash (Knuth, The Art of Computer Programming 3, 6.4)."""
_LONGEST_LINE: Final = 2000
"""Characters of a line that are looked at before and behind a place."""
_MOST_NAMES: Final = 8
"""Telling names that are looked at before and behind a candidate."""
_WORDS_BEFORE: Final = 24
_WORDS_BEHIND: Final = 8
_WORDS = r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^\x00-\x7f]+"
_UNSPACED: Final = "\u0e00"
"""Scripts from here on write words without blanks; their words are read as pairs of characters."""
_OPENING = "\"'`*_ \t\u201c\u201e\u00ab\u300c(<[{"

_Name = tuple[int, int, str]
"""Start, stop and kind."""
_Word = tuple[int, int, str]


@lru_cache(maxsize=4096)
def _hashes(word: str) -> tuple[int, int, int]:
    """Of a word, of its beginning and, where it is long, of its end."""
    low = word.lower()
    ends = low[-5:].encode() if len(low) > 6 else b""
    return crc32(b"w" + low.encode()), crc32(b"p" + low[:5].encode()), crc32(b"s" + ends) if ends else 0


@lru_cache(maxsize=2048)
def _hash(text: str) -> int:
    return crc32(text.encode())


def _place(hashed: int, mixed: int) -> int:
    return ((hashed + mixed) * _SPREAD & 0xFFFFFFFF) >> _SHIFT


class Surroundings:
    """The text around the candidates of a region."""

    def __init__(self, view: str, region: Region) -> None:
        self._view = view
        self._values = [(group[0].start, group[-1].stop) for group in region.groups]
        self._values.sort()
        self._value_starts = [value[0] for value in self._values]
        self._names = sorted({name for cue in region.cues if (name := _named(view, *cue))})
        self._name_starts = [name[0] for name in self._names]
        self._words = list(_words(view, region.start, region.stop, self._values))
        self._starts = [word[0] for word in self._words]

    def kind(self, candidate: Candidate) -> str:
        """The kind of the nearest telling name before it, or else behind it; numbers and phrases are no keys."""
        if candidate.strength in ("digits", "phrase"):
            return "password"
        before, behind = self._names_around(candidate.start)
        kind = next((name[2] for name in (*before, *behind)), "secret")
        return "api-key" if kind == "some-key" else kind

    def _names_around(self, start: int) -> tuple[list[_Name], list[_Name]]:
        """The telling names before a place and behind it, the nearest first."""
        at = bisect_left(self._name_starts, start)
        return self._names[max(0, at - _MOST_NAMES) : at][::-1], self._names[at : at + _MOST_NAMES]

    def traits(self, candidate: Candidate) -> set[int]:
        """Places in the table of weights."""
        return set(self._traits(candidate))

    def _traits(self, candidate: Candidate) -> Iterator[int]:
        view, start, stop = self._view, candidate.start, candidate.stop
        level = (STRENGTHS.index(candidate.strength) + 1) << 24
        end = view.find("\n", stop, stop + _LONGEST_LINE)
        line = _line_start(view, start), min(len(view), stop + _LONGEST_LINE) if end < 0 else end
        for text in _of_value(view[start:stop], candidate):
            yield _place(_hash(text), 0)
        for text in (*_of_sides(view, start, stop, line), *self._of_names(start, stop, line)):
            hashed = _hash(text)
            yield _place(hashed, 0)
            yield _place(hashed, level)
        yield from self._of_words(start, stop, line, level)

    def _of_words(self, start: int, stop: int, line: Spot, level: int) -> Iterator[int]:
        at = bisect_left(self._starts, start)
        for distance, (first, _, word) in enumerate(reversed(self._words[max(0, at - _WORDS_BEFORE) : at])):
            yield from _of_word_above(word, level) if first < line[0] else _of_word_before(word, distance, level)
        for distance, (first, _, word) in enumerate(self._words[at : at + _WORDS_BEHIND]):
            whole, beginning, _ = _hashes(word)
            if first >= line[1]:
                if distance < 6:
                    yield _place(beginning, 6)
            elif first >= stop:
                if distance < 2:
                    yield _place(whole, 7)
                yield _place(beginning, 8)
                yield _place(beginning, level + 8)

    def _of_names(self, start: int, stop: int, line: Spot) -> Iterator[str]:
        """Telling names in its line before and behind it, above it, and at the head of its column."""
        view = self._view
        left = right = above = None
        in_column = False
        before, behind = self._names_around(start)
        for name in before:
            if line[0] <= name[0] and name[1] <= start:
                left = left or name
            elif name[1] <= line[0]:
                above = above or name
                in_column = in_column or _is_in_column(view, name[0], start, line[0])
        for name in behind:
            if stop <= name[0] and name[1] <= line[1]:
                right = right or name
        yield f"has:{left is not None}{right is not None}{above is not None}"
        if left:
            between = view[left[1] : start]
            others = bisect_left(self._value_starts, start) - bisect_left(self._value_starts, left[1])
            signs = "".join(between.split())[:3]
            yield f"left:{left[2]}"
            yield f"left:{_bucket(len(between))}"
            yield f"left:{min(others, 3)}:{_bucket(len(between))}"
            yield f"between:{'words' if any(map(str.isalnum, between)) else signs}"
        if right:
            yield f"right:{right[2]}"
            yield f"right:{_bucket(right[0] - stop)}"
        if above:
            lines = view.count("\n", above[1], start)
            rest = view[above[1] : view.find("\n", above[1])].rstrip()
            yield f"above:{above[2]}:{min(lines, 5)}"
            yield f"heading:{_sign(rest[-1:])}:{min(lines, 3)}"
            yield f"heading:{_bucket(len(rest))}:{min(lines, 2)}"
        if in_column:
            yield "column"


def _of_word_above(word: str, level: int) -> Iterator[int]:
    """Of a word in a line above."""
    if len(word) > 2 or not word.isascii():
        _, beginning, end = _hashes(word)
        yield _place(beginning, 1)
        yield _place(beginning, level + 1)
        if end:
            yield _place(end, 1)


def _of_word_before(word: str, distance: int, level: int) -> Iterator[int]:
    """Of a word before it in its line; ``distance``: words between."""
    whole, beginning, end = _hashes(word)
    if distance < 3:
        yield _place(whole, 2 + distance)
        yield _place(whole, level + 2 + distance)
    if distance < 10:
        yield _place(whole, 5)
        yield _place(beginning, 5)
        yield _place(beginning, level + 5)
        if end:
            yield _place(end, 5)
            yield _place(end, level + 5)


def _of_value(value: str, candidate: Candidate) -> Iterator[str]:
    size, strength, shape = len(value), candidate.strength, candidate.shape
    signs = [char for char in value if not char.isalnum()]
    digits = sum(map(str.isdigit, value))
    runs: list[str] = compiled("[A-Z]+|[a-z]+|[0-9]+|[^A-Za-z0-9]+").findall(value[:40])
    sorts = "".join("A" if run.isupper() else "a" if run.isalpha() else "0" if run.isdigit() else "!" for run in runs)
    length = size // 2 if size < 24 else size // 8 + 12 if size < 80 else 99
    yield "any"
    yield f"strength:{strength}"
    yield f"shape:{shape}:{strength}"
    yield f"length:{length}:{strength}"
    yield f"sorts:{sorts[:5]}"
    yield f"first:{_sign(value[0])}"
    yield f"last:{_sign(value[-1])}"
    yield f"counts:{min(len(signs), 4)}:{min(digits, 6)}"
    yield f"signs:{''.join(sorted(set(signs)))[:4]}"
    yield f"changes:{min(9, 10 * len(runs) // min(size, 40))}:{shape}"
    if len(runs) > 1 and runs[0].isalpha() and not runs[1].isalnum():
        yield f"prefix:{runs[0].lower()}{runs[1]}"


def _of_sides(view: str, start: int, stop: int, line: Spot) -> Iterator[str]:
    before = view[max(line[0], start - 24) : start].rstrip(_OPENING)
    after = view[stop : min(line[1], stop + 24)]
    yield f"before:{_sign(before[-1:])}"
    yield f"behind:{_sign(after.lstrip()[:1])}"
    yield f"touches:{view[start - 1] if start > line[0] else ''}"
    yield f"touched:{_sign(after[:1])}"
    yield f"ends:{not after.strip(' .,;)*|!?')}"
    word = before.rstrip(f":=- {_OPENING}")
    if word and not word[-1].isascii():
        yield f"script:{word[-1:]}"
        yield f"script:{word[-2:]}"
        yield f"script:{word[-3:]}"


def _line_start(view: str, at: int) -> int:
    least = max(0, at - _LONGEST_LINE)
    line = view.rfind("\n", least, at)
    return line + 1 if line >= 0 else least


def _sign(char: str) -> str:
    return "a" if char.isalnum() else char


def _words(view: str, start: int, stop: int, values: Sequence[Spot]) -> Iterator[_Word]:
    """The words of a region outside of its candidates."""
    index = 0
    for match in compiled(_WORDS).finditer(view, start, stop):
        first, last = match.span()
        while index < len(values) and values[index][1] <= first:
            index += 1
        if index < len(values) and values[index][0] <= first < values[index][1]:
            continue
        if match[0][0] < _UNSPACED:
            yield first, last, match[0]
        else:
            for at in range(first, last - 1):
                yield at, at + 2, view[at : at + 2]


def _is_in_column(view: str, name: int, start: int, line: int) -> bool:
    """Whether a name stands above, at the same distance from its line's start or in the same cell."""
    first = _line_start(view, name)
    if abs((name - first) - (start - line)) < 2:
        return True
    heading, row = view[first:name].lstrip("|"), view[line:start].lstrip("|")
    return start > line and any(heading.count(sign) == row.count(sign) > 0 for sign in "|,\t;")


def _bucket(distance: int) -> int:
    return distance if distance < 4 else 4 + (distance > 7) + (distance > 15) + (distance > 30) + (distance > 60)


def _named(view: str, start: int, stop: int) -> _Name | None:
    """The whole name that a cue stands in, and its kind. None where it announces no secret."""
    before = view[max(0, start - 32) : start]
    letters = before.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
    first = start - len(before) + len(letters)
    behind = compiled(r"[\w-]{0,32}+").match(view, stop)
    last = behind.end() if behind else stop
    name = view[first:last]
    kind = kind_of(name) or kind_of(words_before(view, first) + name)
    return (first, last, kind) if kind else None
