"""Markers: what an agent says of its work by the way, in lines of its own words (C05, C06, C42).

    [MEMORY:timing:jellyfin] Takes 60s to start
    [EVENT:warning] The backup is late
    [COOLDOWN:jellyfin:restart] 30

One marker a line, anywhere in it; what follows it on the line is its text. None counts in a code block, between
backticks or in a quotation, where an agent shows what others said.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import cast

from hivelore.domain import cooldown
from hivelore.domain.event_log import TEXT_LENGTH, Level

CATEGORIES = ("timing", "dependency", "behavior", "remediation", "maintenance")
"""C04; a setting may name more."""
LONGEST = TEXT_LENGTH
"""Characters of a text that are kept."""
LONGEST_LINE = 20_000
"""Of a longer line only the beginning is looked at."""
LONGEST_COOLDOWN = cooldown.LONGEST // timedelta(minutes=1)
"""Minutes."""

MARKABLE = re.compile(r"[a-zA-Z0-9_-]{1,100}")
"""What a category or a service is called in a marker."""

_MARKER = re.compile(rf"\[(MEMORY|EVENT|COOLDOWN):({MARKABLE.pattern})(?::({MARKABLE.pattern}))?\]")
_FENCE = re.compile(r"[ \t]{0,12}(`{3,}|~{3,})(.*)", re.DOTALL)
_QUOTATION = re.compile(r"[ \t]{0,12}>")
_LINE_END = re.compile(r"\r\n|\r|\n")
_MINUTES = re.compile(r"[0-9]{1,7}(?!\S)")


@dataclass(frozen=True, slots=True)
class Noticed:
    """``[MEMORY:category:service] text``; without a service it holds for all."""

    category: str
    service: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Happened:
    """``[EVENT:level:service] text``; the service may be left out."""

    level: Level
    service: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Cooling:
    """``[COOLDOWN:service:action] minutes``"""

    service: str
    action: str
    minutes: int


@dataclass(frozen=True, slots=True)
class Wrong:
    """What was meant as a marker and is none, for the log."""

    marker: str
    why: str


Marker = Noticed | Happened | Cooling | Wrong


class Reader:
    """Finds markers in one text that arrives in pieces of any length; ``end`` it after the last."""

    def __init__(self, categories: Collection[str] = CATEGORIES) -> None:
        self._categories = frozenset(categories)
        self._line = ""
        """That has begun, as far as it is looked at."""
        self._fence: str | None = None
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
        self._fence, self._ended_with_return = None, False

    def _end_line(self) -> Iterator[Marker]:
        line, self._line = self._line, ""
        if self._is_of_others(line):
            return
        for found in _MARKER.finditer(line):
            if line.count("`", 0, found.start()) % 2 == 0:
                yield _understood(found, line[found.end() :].strip(), self._categories)
                return

    def _add(self, piece: str) -> None:
        self._line += piece[: LONGEST_LINE - len(self._line)]

    def _is_of_others(self, line: str) -> bool:
        """Whether an agent shows a line as what others said: a quotation, or in a code block, which may begin or end
        here."""
        mark = _FENCE.match(line)
        if self._fence is not None:
            if mark is not None and mark[1].startswith(self._fence) and not mark[2].strip():
                self._fence = None
            return True
        if mark is not None and (mark[1][0] == "~" or "`" not in mark[2]):
            self._fence = mark[1]
            return True
        return _QUOTATION.match(line) is not None


def _understood(found: re.Match[str], text: str, categories: Collection[str]) -> Marker:
    kind, first, second = found.groups()
    if not text:
        return Wrong(found[0], "Nothing stands behind it.")
    text = text[:LONGEST]
    if kind == "MEMORY":
        if first not in categories:
            return Wrong(found[0], f"There is no category {first}; there are {', '.join(sorted(categories))}.")
        return Noticed(first, second, text)
    if kind == "EVENT":
        try:
            return Happened(Level(first), second, text)
        except ValueError:
            return Wrong(found[0], f"There is no level {first}; there are {', '.join(Level)}.")
    minutes = _MINUTES.match(text)
    if second is None or minutes is None or not 1 <= int(minutes[0]) <= LONGEST_COOLDOWN:
        return Wrong(found[0], "It is written [COOLDOWN:service:action] minutes, with 1 at least and a year at most.")
    return Cooling(first, second, int(minutes[0]))


def texts(event: object) -> Iterator[str]:
    """The blocks in which the assistant itself speaks, of one event of Claude Code's ``stream-json``: none in what
    tools answered or users said."""
    if not isinstance(event, dict):
        return
    told = cast(dict[str, object], event)
    message = told.get("message")
    if told.get("type") != "assistant" or not isinstance(message, dict):
        return
    content = cast(dict[str, object], message).get("content")
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else cast(list[object], content or ()):
        block = cast(dict[str, object], block) if isinstance(block, dict) else {}
        text = block.get("text")
        if block.get("type") == "text" and isinstance(text, str):
            yield text
