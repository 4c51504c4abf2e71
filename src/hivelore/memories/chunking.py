"""Splits texts into chunks (units of the keyword index), passages (units with a vector) and excerpts.

A text of at most ``CHUNK_LENGTH`` characters is one chunk. A longer text is split at markdown headings of level 1 to 3
outside code fences. A section that is still too long is split at the last paragraph end that fits, else line end,
sentence end, space; each further piece begins with the last ``OVERLAP`` characters of the previous one. If no separator
fits, it is split between two graphemes. A single grapheme is never split.

A chunk is shorter than ``MIN_CHUNK_LENGTH`` only if it is the whole text, or stands alone next to a gap or to a
grapheme as long as a chunk. A short section is joined to the neighbour that shares more of its headings. A chunk has
the headings that apply at its beginning. A heading line appears in the text of a chunk only if sections were joined, or
if the section is empty.

Chunks and passages are spans without blanks at their ends. The same text always has the same chunks. A section keeps
its chunks when another section changes, unless one of the two is short.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import regex

from hivelore.memories.model import Chunk, Passage

CHUNK_LENGTH = 2_000
OVERLAP = 100
MIN_CHUNK_LENGTH = 50
PASSAGE_LENGTH = 1_000
"""About the 256 tokens that the shipped model reads. Measurements: docs/decisions/0006."""
PASSAGE_RANGE = (600, 1_200)
EXCERPT_LENGTH = 500
EXCERPT_RANGE = (300, 700)
HEADING_LENGTH = 200
"""A line with more characters after its marks is text, not a heading."""

_PARAGRAPH_ENDS = ("\n\n", "\n\r\n")
_IDEOGRAPHIC_ENDS = ("。", "！", "？")
_CHUNK_ENDS = (_PARAGRAPH_ENDS, ("\n",), (". ",), (" ",), _IDEOGRAPHIC_ENDS)
_PASSAGE_ENDS = tuple(
    regex.compile(end) for end in (r"\n\r?\n", r"\n", r"[.!?]['\")\]]*\s|[。！？]", r"[,;:]\s|[，；：、]", r"\s")
)
_MARKED_LINE = re.compile(r"^ {0,3}(?:(#{1,3})[ \t]+([^\n]*)|(`{3,})([^`\n]*)$|(~{3,})([^\n]*)$)", re.MULTILINE)
_VISIBLE = re.compile(r"\S")
_GRAPHEME = regex.compile(r"\X")
_WINDOW = 128
_BOUNDARY = regex.compile(r"\p{Grapheme_Cluster_Break=Other}{2}")


@dataclass(frozen=True, slots=True)
class _Section:
    start: int
    stop: int
    headings: tuple[str, ...]

    @property
    def is_short(self) -> bool:
        return self.stop - self.start < MIN_CHUNK_LENGTH


def chunk(text: str) -> tuple[Chunk, ...]:
    """Returns the chunks of a text in order; empty for a blank text."""
    start, stop = _trim(text, 0, len(text))
    if start == stop:
        return ()
    if stop - start <= CHUNK_LENGTH:
        sections = [_Section(start, stop, ())]
    else:
        sections = list(_sections(text))
    starts = [section.start for section in sections]
    pieces = [piece for section in _join_short_sections(sections) for piece in _split(text, section)]
    return tuple(
        Chunk(
            index=index,
            start=start,
            stop=stop,
            headings=sections[bisect_right(starts, start) - 1].headings,
            passages=tuple(_split_spans(text, start, stop, PASSAGE_LENGTH, PASSAGE_RANGE)),
        )
        for index, (start, stop) in enumerate(pieces)
    )


def excerpts(text: str, passage: Passage) -> Sequence[Passage]:
    """Splits a passage into shorter spans to show."""
    return tuple(_split_spans(text, passage.start, passage.stop, EXCERPT_LENGTH, EXCERPT_RANGE))


def _sections(text: str) -> Iterator[_Section]:
    """Yields the text before the first heading and below each heading. A heading without any text or lower heading is a
    section."""
    path: list[tuple[int, str]] = []
    above: tuple[str, ...] = ()
    line, body = 0, 0
    for start, stop, level, title in [*_headings(text), (len(text), len(text), 1, "")]:
        if _VISIBLE.search(text, body, start):
            yield _Section(*_trim(text, body, start), tuple(heading for _, heading in path))
        elif path and level <= path[-1][0]:
            yield _Section(*_trim(text, line, body), above)
        while path and path[-1][0] >= level:
            path.pop()
        above = tuple(heading for _, heading in path)
        path.append((level, f"{'#' * level} {title}"))
        line, body = start, stop


def _headings(text: str) -> Iterator[tuple[int, int, int, str]]:
    """Yields the start and stop of the line, level and title of each heading, in order."""
    fence = ""
    for match in _MARKED_LINE.finditer(text):
        marks, title, ticks, after_ticks, tildes, after_tildes = match.groups(default="")
        run, after = (ticks or tildes), (after_ticks or after_tildes)
        if fence:
            if run.startswith(fence) and not after.strip():
                fence = ""
        elif run:
            fence = run
        else:
            title = _title(title)
            if 0 < len(title) <= HEADING_LENGTH:
                yield match.start(), match.end(), len(marks), title


def _title(line: str) -> str:
    """Returns a heading without blanks and closing marks."""
    title = line.strip()
    bare = title.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else title


def _split(text: str, section: _Section) -> Iterator[tuple[int, int]]:
    """Yields pieces of at most ``CHUNK_LENGTH``, each with at least ``MIN_CHUNK_LENGTH`` characters besides the
    overlap."""
    begin = fresh = section.start
    while section.stop - begin > CHUNK_LENGTH and fresh < section.stop:
        cut = _find_cut(text, begin, fresh)
        start, stop = _trim(text, begin, cut)
        yield start, stop
        fresh = _skip_blanks(text, cut, section.stop)
        overlaps = stop - start > OVERLAP and fresh - stop < CHUNK_LENGTH // 2
        begin = _skip_blanks(text, _grapheme_end(text, begin, stop - OVERLAP), fresh) if overlaps else fresh
    if fresh < section.stop:
        yield begin, section.stop


def _find_cut(text: str, begin: int, fresh: int) -> int:
    """Returns the end of the piece from ``begin``: after the best separator that fits. Text before ``fresh`` is
    overlap."""
    lowest = max(fresh, begin + OVERLAP) + MIN_CHUNK_LENGTH
    highest = begin + CHUNK_LENGTH
    for separators in _CHUNK_ENDS:
        end = max(_last_separator_end(text, separator, lowest, highest) for separator in separators)
        if end > 0:
            return end
    if _is_grapheme_boundary(text, highest):
        return highest
    cut = begin
    for end in _grapheme_ends(text, begin):
        if end > highest and cut >= lowest:
            break
        cut = end
    return cut


def _last_separator_end(text: str, separator: str, lowest: int, highest: int) -> int:
    """Returns the end of the last separator that leaves a trimmed piece up to ``highest``; 0 if there is none."""
    stop = highest + len(separator) - len(separator.rstrip())
    while (at := text.rfind(separator, lowest - len(separator), stop)) >= 0:
        end = at + len(separator)
        if not _is_inside_grapheme(text, end):
            return end if text[lowest:end].strip() else 0
        stop = end - 1
    return 0


def _join_short_sections(sections: Sequence[_Section]) -> list[_Section]:
    result: list[_Section] = []
    for section, following in zip(sections, (*sections[1:], None), strict=True):
        previous = result[-1] if result else None
        if previous and (
            previous.is_short or (section.is_short and not _belongs_to_next(following, section, previous))
        ):
            result[-1] = _Section(previous.start, section.stop, previous.headings)
        else:
            result.append(section)
    if len(result) > 1 and result[-1].is_short:
        last = result.pop()
        result[-1] = _Section(result[-1].start, last.stop, result[-1].headings)
    return result


def _belongs_to_next(following: _Section | None, section: _Section, previous: _Section) -> bool:
    """Returns True if a short section joins the following section rather than the previous one."""
    if following is None:
        return False
    if section.stop - previous.start > CHUNK_LENGTH:
        return True
    return _shared_heading_count(section, following) > _shared_heading_count(previous, section)


def _shared_heading_count(one: _Section, other: _Section) -> int:
    pairs = zip(one.headings, other.headings, strict=False)
    return next((depth for depth, (a, b) in enumerate(pairs) if a != b), min(len(one.headings), len(other.headings)))


def _split_spans(text: str, start: int, stop: int, length: int, bounds: tuple[int, int]) -> Iterator[Passage]:
    """Yields adjacent spans of about ``length``, split at the nearest break within bounds."""
    shortest, longest = bounds
    while stop - start > longest:
        highest = min(start + longest, stop - shortest)
        target = min(start + length, highest)
        cut = _nearest_break(text, start + shortest, target, highest)
        if cut is None:
            cut = _grapheme_end(text, start, target)
        first, last = _trim(text, start, cut)
        yield Passage(start=first, stop=last)
        start = _skip_blanks(text, cut, stop)
    if start < stop:
        yield Passage(start=start, stop=stop)


def _nearest_break(text: str, lowest: int, target: int, highest: int) -> int | None:
    """Returns the paragraph end nearest to ``target``, else line, sentence, clause or word end."""
    for pattern in _PASSAGE_ENDS:
        ends = [match.end() for match in pattern.finditer(text, lowest, highest)]
        ends.sort(key=lambda end: abs(end - target))
        for end in ends:
            if not _is_inside_grapheme(text, end):
                return end
    return None


def _trim(text: str, start: int, stop: int) -> tuple[int, int]:
    """Returns the span without blanks at its ends; empty, at ``stop``, for a blank span."""
    first = _skip_blanks(text, start, stop)
    last = first + len(text[first:stop].rstrip())
    return first, last + (last < stop and _is_inside_grapheme(text, last))


def _skip_blanks(text: str, start: int, stop: int) -> int:
    """Returns the start of the first grapheme that is not blank; ``stop`` if there is none."""
    found = _VISIBLE.search(text, start, stop)
    if found is None:
        return stop
    return found.start() - (found.start() > start and _is_inside_grapheme(text, found.start()))


def _grapheme_end(text: str, start: int, at: int) -> int:
    """Returns the first grapheme boundary at or after ``at``; ``start`` is a boundary."""
    if at <= start:
        return start
    if _is_grapheme_boundary(text, at):
        return at
    return next(end for end in _grapheme_ends(text, start) if end >= at)


def _grapheme_ends(text: str, start: int) -> Iterator[int]:
    """Yields the ends of the graphemes from ``start``. Reads small windows, because in a long run of flags each
    grapheme looks back to the first. A window grows only for a grapheme that fills it."""
    size = _WINDOW
    while start < len(text):
        window = text[start : start + size]
        is_last = start + len(window) == len(text)
        known = 0
        for grapheme in _GRAPHEME.finditer(window):
            if grapheme.end() < len(window) or is_last:
                known = grapheme.end()
                yield start + known
        start += known
        size = _WINDOW if known else 2 * size


def _is_inside_grapheme(text: str, at: int) -> bool:
    """Returns True if the characters around ``at`` form one grapheme. Only used next to a blank or a sentence end: two
    characters are not enough to decide for flags, families and Indic syllables."""
    return not _is_grapheme_boundary(text, at) and _GRAPHEME.fullmatch(text[at - 1 : at + 1]) is not None


def _is_grapheme_boundary(text: str, at: int) -> bool:
    """Returns True if the characters around ``at`` never join, in any context."""
    return _BOUNDARY.fullmatch(text, at - 1, at + 1) is not None
