"""Markers: what an agent says of its work by the way, in lines of its own words (C05, C06, C42).

    [MEMORY:timing:jellyfin] Takes 60s to start
    [EVENT:warning] The backup is late
    [COOLDOWN:jellyfin:restart] 30

One marker a line, anywhere in it; what follows it on the line is its text. None counts in a code block, between
backticks or in a quotation, where an agent shows what others said. As in Markdown these may stand in list items, a
block that is never closed ends with its item or else with the text, and backticks count by pairs of runs of one length;
but only within a line, as lines are understood as they come.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import cast

from hivelore.events import model
from hivelore.events.model import TEXT_LENGTH, Level
from hivelore.observations.model import SERVICE_LENGTH

CATEGORIES = ("timing", "dependency", "behavior", "remediation", "maintenance")
"""C04; a setting may name more."""
MAX_TEXT = TEXT_LENGTH
"""Characters of a text that are kept."""
MAX_LINE = 20_000
"""Of a longer line only the beginning is looked at."""
MAX_COOLDOWN_MINUTES = model.MAX_COOLDOWN // timedelta(minutes=1)
"""Minutes."""

MAX_NAME = SERVICE_LENGTH
NAME_PATTERN = re.compile(rf"[a-zA-Z0-9_-]{{1,{MAX_NAME}}}")
"""What a category or a service is called in a marker."""

_MARKER = re.compile(r"\[(MEMORY|EVENT|COOLDOWN):([a-zA-Z0-9_-]+)(?::([a-zA-Z0-9_-]+))?\]")
_MALFORMED_MARKER = re.compile(r"\[(?:MEMORY|EVENT|COOLDOWN):[^\[\]]+\]")
_ITEM = re.compile(r"(?:[-*+]|[0-9]{1,9}[.)])(?: {1,4}|$)")
_FENCE = re.compile(r" *(`{3,}|~{3,})(.*)", re.DOTALL)
_QUOTATION = re.compile(" *>")
_SPAN = re.compile(r"\\[\\`]|(`++)(?:.*?[^`]\1(?!`))?")
"""Between runs of as many backticks; a run without its like is text, as is a backtick behind a backslash."""
_TAB = 4
_INDENTED = 3
"""Blanks that may stand before the fence that closes a block."""
_LINE_END = re.compile(r"\r\n|\r|\n")
_MINUTES = re.compile(r"[0-9]{1,7}(?!\S)")


@dataclass(frozen=True, slots=True)
class ObservationMarker:
    """``[MEMORY:category:service] text``; without a service it holds for all."""

    category: str
    service: str | None
    text: str


@dataclass(frozen=True, slots=True)
class EventMarker:
    """``[EVENT:level:service] text``; the service may be left out."""

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
    """What was meant as a marker and is none, for the log."""

    marker: str
    why: str


Marker = ObservationMarker | EventMarker | CooldownMarker | InvalidMarker


@dataclass(frozen=True, slots=True)
class _Block:
    """Code between fences."""

    fence: str
    indent: int
    item: int
    """The column at which the list item begins that it stands in; 0: in none."""

    def is_closed_by(self, line: str) -> bool:
        """Also by a fence that stands before the item: nobody means a new block with it."""
        mark = _FENCE.fullmatch(line)
        return (
            mark is not None
            and mark[1].startswith(self.fence)
            and not mark[2].strip()
            and mark.start(1) <= max(self.indent, self.item + _INDENTED)
        )

    def holds(self, line: str) -> bool:
        """Whether the list item goes on with this line."""
        return not line.strip() or _indent(line) >= self.item


class MarkerReader:
    """Finds markers in one text that arrives in pieces of any length; ``end`` it after the last."""

    def __init__(self, categories: Collection[str] = CATEGORIES) -> None:
        self._categories = frozenset(categories)
        self._line = ""
        """That has begun, as far as it is looked at."""
        self._items: list[int] = []
        """The columns at which the list items begin that the last line stood in."""
        self._block: _Block | None = None
        self._ended_with_return = False

    def read(self, piece: str) -> Iterator[Marker]:
        """The markers of the lines that this piece ends."""
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
        """Those of the last line; what is read next is another text."""
        yield from self._end_line()
        self._items, self._block, self._ended_with_return = [], None, False

    def _end_line(self) -> Iterator[Marker]:
        line, self._line = self._line, ""
        if self._is_of_others(line.expandtabs(_TAB)):
            return
        said = _SPAN.sub(lambda span: "`" * len(span[0]), line)
        if found := _MARKER.search(said):
            yield _parse_marker(found, line[found.end() :].strip(), self._categories)
        elif found := _MALFORMED_MARKER.search(said):
            yield InvalidMarker(found[0][:MAX_NAME], "The names in it, two at most, are of a-z, digits, _ and -.")

    def _add(self, piece: str) -> None:
        self._line += piece[: MAX_LINE - len(self._line)]

    def _is_of_others(self, line: str) -> bool:
        """Whether an agent shows a line as what others said: a quotation, or in a code block, which may begin or end
        here."""
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
        """Leave the list items that are over and enter those that begin here; where what stands in them begins."""
        if not line.strip():
            return 0
        place = _indent(line)
        self._items = [column for column in self._items if column <= place]
        while (item := _ITEM.match(line, place)) is not None:
            place = item.end()
            self._items.append(place)
        return place


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _parse_marker(found: re.Match[str], text: str, categories: Collection[str]) -> Marker:
    kind, first, second = found.groups()
    if max(len(first), len(second or "")) > MAX_NAME:
        return InvalidMarker(f"{found[0][:MAX_NAME]}...", f"A name in it has at most {MAX_NAME} characters.")
    if not text:
        return InvalidMarker(found[0], "Nothing stands behind it.")
    text = text[:MAX_TEXT]
    if kind == "MEMORY":
        if first not in categories:
            return InvalidMarker(found[0], f"There is no category {first}; there are {', '.join(sorted(categories))}.")
        return ObservationMarker(first, second, text)
    if kind == "EVENT":
        try:
            return EventMarker(Level(first), second, text)
        except ValueError:
            return InvalidMarker(found[0], f"There is no level {first}; there are {', '.join(Level)}.")
    minutes = _MINUTES.match(text)
    if second is None or minutes is None or not 1 <= int(minutes[0]) <= MAX_COOLDOWN_MINUTES:
        return InvalidMarker(
            found[0], "It is written [COOLDOWN:service:action] minutes, with 1 at least and a year at most."
        )
    return CooldownMarker(first, second, int(minutes[0]))


def assistant_texts(event: object) -> Iterator[str]:
    """The blocks in which the assistant itself speaks, of one event of Claude Code's ``stream-json``: none in what
    tools answered or users said."""
    if not isinstance(event, dict):
        return
    told = cast(dict[str, object], event)
    message = told.get("message")
    if told.get("type") != "assistant" or not isinstance(message, dict):
        return
    content = cast(dict[str, object], message).get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for block in cast(list[object], blocks) if isinstance(blocks, list) else ():
        block = cast(dict[str, object], block) if isinstance(block, dict) else {}
        text = block.get("text")
        if block.get("type") == "text" and isinstance(text, str):
            yield text
