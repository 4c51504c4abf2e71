"""Markers: lines in the output of an agent that report observations, events and cooldowns (C05, C06, C42).

    [MEMORY:timing:jellyfin] Takes 60s to start
    [EVENT:warning] The backup is late
    [COOLDOWN:jellyfin:restart] 30

A line may contain one marker; the rest of the line is its text. Markers in code blocks, between backticks and in
quotations are ignored, because there an agent quotes others. The rules of Markdown apply: blocks and quotations may be
inside list items, an unclosed block ends with its item or the text, and backticks pair by runs of equal length. Lines
are parsed one at a time, so backticks pair within a line only.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import cast

from hivelore.events import model
from hivelore.events.model import TEXT_LENGTH, Level
from hivelore.observations.model import SERVICE_LENGTH
from hivelore.observations.naming import DEFAULT_NAMING, Naming

CATEGORIES = ("timing", "dependency", "behavior", "remediation", "maintenance")
"""Default categories (C04); a setting adds others."""
MAX_TEXT = TEXT_LENGTH
"""Longer texts are cut."""
MAX_LINE = 20_000
"""Characters of a line that are parsed."""
MAX_COOLDOWN_MINUTES = model.MAX_COOLDOWN // timedelta(minutes=1)

MAX_NAME = SERVICE_LENGTH
NAME_PATTERN = re.compile(rf"[a-zA-Z0-9_-]{{1,{MAX_NAME}}}")
"""Name of a category or a service in a marker."""

_MARKER = re.compile(r"\[(MEMORY|EVENT|COOLDOWN):([a-zA-Z0-9_-]+)(?::([a-zA-Z0-9_-]+))?\]")
_MALFORMED_MARKER = re.compile(r"\[(?:MEMORY|EVENT|COOLDOWN):[^\[\]]+\]")
_LIST_MARK = re.compile(r"[\s*+>_•-]*(?:[0-9]{1,9}[.)])?[\s*_]*")
"""What may be left of a line without its marker."""
_ITEM = re.compile(r"(?:[-*+]|[0-9]{1,9}[.)])(?: {1,4}|$)")
_FENCE = re.compile(r" *(`{3,}|~{3,})(.*)", re.DOTALL)
_QUOTATION = re.compile(" *>")
_SPAN = re.compile(r"\\[\\`]|(`++)(?:.*?[^`]\1(?!`))?")
"""A code span. Unpaired runs of backticks, and backticks after a backslash, are text."""
_TAB = 4
_INDENTED = 3
"""Spaces allowed before the closing fence of a block."""
_LINE_END = re.compile(r"\r\n|\r|\n")
_MINUTES = re.compile(r"[0-9]{1,7}(?!\S)")


@dataclass(frozen=True, slots=True)
class ObservationMarker:
    """``[MEMORY:category:service] text``; without a service it applies to all services."""

    category: str
    service: str | None
    text: str


@dataclass(frozen=True, slots=True)
class EventMarker:
    """``[EVENT:level:service] text``; the service is optional."""

    level: Level
    service: str | None
    text: str


@dataclass(frozen=True, slots=True)
class CooldownMarker:
    """``[COOLDOWN:service:action] minutes``"""

    service: str
    action: str
    minutes: int


@dataclass(frozen=True, slots=True)
class InvalidMarker:
    """A malformed marker, for the log."""

    marker: str
    why: str


Marker = ObservationMarker | EventMarker | CooldownMarker | InvalidMarker


@dataclass(frozen=True, slots=True)
class _Block:
    """A fenced code block."""

    fence: str
    indent: int
    item: int
    """Column of the list item that contains the block; 0 if there is none."""

    def is_closed_by(self, line: str) -> bool:
        """Returns True for a closing fence, also left of the list item: it is not meant as a new block."""
        mark = _FENCE.fullmatch(line)
        return (
            mark is not None
            and mark[1].startswith(self.fence)
            and not mark[2].strip()
            and mark.start(1) <= max(self.indent, self.item + _INDENTED)
        )

    def holds(self, line: str) -> bool:
        """Returns True if the list item continues with this line."""
        return not line.strip() or _indent(line) >= self.item


class MarkerReader:
    """Finds markers in a text that arrives in pieces of any length. Call ``end`` after the last piece."""

    def __init__(self, categories: Collection[str] = CATEGORIES, naming: Naming = DEFAULT_NAMING) -> None:
        """``categories``: those of ``[MEMORY:category]``, which an agent may write in any spelling."""
        self._categories = categories
        self._naming = naming
        self._category_keys = frozenset(map(naming.category_key, categories))
        self._line = ""
        """Beginning of the unfinished line."""
        self._items: list[int] = []
        """Columns of the list items that contain the last line."""
        self._block: _Block | None = None
        self._ended_with_return = False

    def read(self, piece: str) -> Iterator[Marker]:
        """Yields the markers of the lines that end in this piece."""
        if not piece:
            return
        continued = piece.removeprefix("\n") if self._ended_with_return else piece
        self._ended_with_return = piece.endswith("\r")
        *ended, begun = _LINE_END.split(continued)
        for line in ended:
            self._add(line)
            yield from self._end_line()
        self._add(begun)

    def end(self) -> Iterator[Marker]:
        """Yields the markers of the last line and starts a new text."""
        yield from self._end_line()
        self._items, self._block, self._ended_with_return = [], None, False

    def _end_line(self) -> Iterator[Marker]:
        line, self._line = self._line, ""
        outside_code = self._outside_code(line)
        if found := _MARKER.search(outside_code):
            yield self._parse(found, line[found.end() :].strip())
        elif found := _MALFORMED_MARKER.search(outside_code):
            yield InvalidMarker(found[0][:MAX_NAME], "Use one or two names of letters, digits, _ and -.")

    def _parse(self, found: re.Match[str], text: str) -> Marker:
        marker = _parse_marker(found, text)
        if isinstance(marker, ObservationMarker) and not self._is_known(marker.category):
            known = ", ".join(sorted(self._categories))
            return InvalidMarker(found[0], f"Unknown category {marker.category}. Use one of {known}.")
        return marker

    def _is_known(self, category: str) -> bool:
        return self._naming.category_key(category) in self._category_keys

    def split_line(self, line: str) -> tuple[str, str]:
        """Returns the next whole line up to its marker, and the rest; the rest is empty without a marker."""
        found = _MARKER.search(self._outside_code(line[:MAX_LINE]))
        return (line, "") if found is None else (line[: found.start()], line[found.start() :])

    def _outside_code(self, line: str) -> str:
        """Returns the next line with code spans blanked out; nothing for a line of a quotation or a code block."""
        if self._is_quoted(line.expandtabs(_TAB)):
            return ""
        return _SPAN.sub(lambda span: "`" * len(span[0]), line)

    def _add(self, piece: str) -> None:
        self._line += piece[: MAX_LINE - len(self._line)]

    def _is_quoted(self, line: str) -> bool:
        """Returns True for a quotation, a line of a code block, and its fences. Tracks where code blocks begin and
        end."""
        if self._block is not None:
            if self._block.is_closed_by(line):
                self._block = None
                return True
            if self._block.holds(line):
                return True
            self._block = None
        begin = self._enter_items(line)
        mark = _FENCE.match(line, begin)
        if mark is not None and (mark[1][0] == "~" or "`" not in mark[2]):
            self._block = _Block(mark[1], mark.start(1), self._items[-1] if self._items else 0)
            return True
        return _QUOTATION.match(line, begin) is not None

    def _enter_items(self, line: str) -> int:
        """Updates the list items for a line and returns the column where its content begins."""
        if not line.strip():
            return 0
        place = _indent(line)
        self._items = [column for column in self._items if column <= place]
        while (item := _ITEM.match(line, place)) is not None:
            place = item.end()
            self._items.append(place)
        return place


def remove_markers(text: str) -> str:
    """Returns the text without its markers and their texts: from each marker on, a line is removed. Quoted markers
    stay."""
    if _MARKER.search(text) is None:
        return text
    reader = MarkerReader()
    kept: list[str] = []
    for line in _LINE_END.split(text):
        before, marked = reader.split_line(line)
        if not marked:
            kept.append(line)
        elif not _LIST_MARK.fullmatch(before):
            kept.append(before.rstrip())
    return "\n".join(kept)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _parse_marker(found: re.Match[str], text: str) -> Marker:
    kind, first, second = found.groups()
    if max(len(first), len(second or "")) > MAX_NAME:
        return InvalidMarker(f"{found[0][:MAX_NAME]}...", f"Names have at most {MAX_NAME} characters.")
    if not text:
        return InvalidMarker(found[0], "The text after it is missing.")
    text = text[:MAX_TEXT]
    if kind == "MEMORY":
        return ObservationMarker(first, second, text)
    if kind == "EVENT":
        try:
            return EventMarker(Level(first), second, text)
        except ValueError:
            return InvalidMarker(found[0], f"Unknown level {first}. Use one of {', '.join(Level)}.")
    minutes = _MINUTES.match(text)
    if second is None or minutes is None or not 1 <= int(minutes[0]) <= MAX_COOLDOWN_MINUTES:
        return InvalidMarker(found[0], "Write [COOLDOWN:service:action] minutes, with 1 minute to a year.")
    return CooldownMarker(first, second, int(minutes[0]))


def assistant_texts(event: object) -> Iterator[str]:
    """Yields the text blocks of the assistant in one event of Claude Code's ``stream-json``. Tool results and messages
    of users contain none."""
    if not isinstance(event, dict):
        return
    fields = cast(dict[str, object], event)
    message = fields.get("message")
    if fields.get("type") != "assistant" or not isinstance(message, dict):
        return
    content = cast(dict[str, object], message).get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for block in cast(list[object], blocks) if isinstance(blocks, list) else ():
        block = cast(dict[str, object], block) if isinstance(block, dict) else {}
        text = block.get("text")
        if block.get("type") == "text" and isinstance(text, str):
            yield text
