"""JSON as a text that others wrote: read with the place of each value, and changed where a value changes and nowhere
else. Comments, and commas behind the last of several, are allowed for who allows them; they stay, as all the rest does.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

_SPACE = re.compile(r"[ \t\r\n]*")
_BLANK = re.compile(r"[ \t]*")
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_INDENT = re.compile(r"\n([ \t]+)\S")


@dataclass(frozen=True, slots=True)
class Node:
    """One value: what it is, and from where to where it stands."""

    value: Any
    start: int
    end: int
    parts: tuple["Part", ...] = ()
    """Of an object or a list, in their order."""


@dataclass(frozen=True, slots=True)
class Part:
    name: str | None
    """None in a list."""
    start: int
    """Of the name, where it has one."""
    node: Node
    comma: int | None
    """Where the comma behind it stands, if there is one."""


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number")


_SCALARS = json.JSONDecoder(parse_constant=_refuse)


def parsed(text: str, *, comments: bool) -> Node:
    """Raises ValueError for what is no JSON, or has a name twice in one object: one of the two would be lost."""
    return _Reader(text, comments=comments).whole()


def rewritten(text: str, wanted: Any, *, comments: bool) -> str:
    """The text with another value. Raises ValueError as ``parsed`` does."""
    while True:
        before = parsed(text, comments=comments)
        edited = _edited(text, before, wanted)
        if edited is None:
            return text
        text = edited


class _Reader:
    def __init__(self, text: str, *, comments: bool) -> None:
        self._text = text
        self._comments = comments

    def whole(self) -> Node:
        try:
            node = self._value(self._next(0))
        except RecursionError:
            raise ValueError("it is nested too deeply") from None
        if self._next(node.end) < len(self._text):
            raise self._wrong("nothing more was expected", self._next(node.end))
        return node

    def _value(self, at: int) -> Node:
        if self._text.startswith(("{", "["), at):
            return self._several(at)
        try:
            value, end = _SCALARS.raw_decode(self._text, at)
        except json.JSONDecodeError as error:
            raise self._wrong("a value was expected" if at == error.pos else error.msg, error.pos) from None
        return Node(value, at, end)

    def _several(self, start: int) -> Node:
        """An object or a list."""
        named = self._text[start] == "{"
        close = "}" if named else "]"
        parts: list[Part] = []
        at = self._next(start + 1)
        while not self._text.startswith(close, at):
            if parts and parts[-1].comma is None:
                raise self._wrong(f"',' or '{close}' was expected", at)
            parts.append(self._part(at, named=named))
            last = parts[-1]
            at = self._next(last.node.end if last.comma is None else last.comma + 1)
        if parts and parts[-1].comma is not None and not self._comments:
            raise self._wrong("a value was expected", at)
        if not named:
            return Node([part.node.value for part in parts], start, at + 1, tuple(parts))
        names = [part.name for part in parts]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"the name {twice!r} stands twice in one object")
        return Node({part.name: part.node.value for part in parts}, start, at + 1, tuple(parts))

    def _part(self, at: int, *, named: bool) -> Part:
        name, place = None, at
        if named:
            if not self._text.startswith('"', at):
                raise self._wrong("a name in double quotes was expected", at)
            key = self._value(at)
            name, colon = cast(str, key.value), self._next(key.end)
            if not self._text.startswith(":", colon):
                raise self._wrong("':' was expected", colon)
            place = self._next(colon + 1)
        node = self._value(place)
        after = self._next(node.end)
        return Part(name, at, node, after if self._text.startswith(",", after) else None)

    def _next(self, at: int) -> int:
        """Where the next thing stands that is neither space nor comment."""
        while True:
            at = _end(_SPACE, self._text, at)
            comment = _COMMENT.match(self._text, at) if self._comments else None
            if comment is None:
                return at
            at = comment.end()

    def _wrong(self, what: str, at: int) -> ValueError:
        line = self._text.count("\n", 0, at) + 1
        return ValueError(f"{what}: line {line} column {at - self._text.rfind(chr(10), 0, at)}")


def _edited(text: str, node: Node, wanted: Any) -> str | None:
    """The text with one step done towards another value; None where there is none left to do."""
    if node.value == wanted:
        return None
    if isinstance(wanted, Mapping) and isinstance(node.value, dict):
        return _edited_object(text, node, cast(Mapping[str, Any], wanted))
    if isinstance(wanted, list) and isinstance(node.value, list):
        return _edited_list(text, node, cast(list[Any], wanted))
    return f"{text[: node.start]}{_dumped(text, wanted, _line_indent(text, node.start))}{text[node.end :]}"


def _edited_object(text: str, node: Node, wanted: Mapping[str, Any]) -> str | None:
    for part in node.parts:
        if part.name is None or part.name not in wanted:
            return _without(text, node, part)
        edited = _edited(text, part.node, wanted[part.name])
        if edited is not None:
            return edited
    new = next(name for name in wanted if name not in node.value)
    return _with(text, node, f"{json.dumps(new, ensure_ascii=False)}: ", wanted[new])


def _edited_list(text: str, node: Node, wanted: Sequence[Any]) -> str:
    """Items that are wanted in the same order stay; others go, and what is missing comes to the end."""
    found = 0
    for part in node.parts:
        if found == len(wanted) or part.node.value != wanted[found]:
            return _without(text, node, part)
        found += 1
    return _with(text, node, "", wanted[found])


def _without(text: str, node: Node, part: Part) -> str:
    """Without a part, one comma beside it, and the line or the space that it took. Comments stay."""
    place, after = node.parts.index(part), part.comma
    before = node.parts[place - 1].comma if place and after is None else None
    behind = text[part.node.end :] if after is None else text[part.node.end : after] + text[after + 1 :]
    head = text[: part.start]
    if before is not None:
        head = f"{head[:before]}{head[before + 1 :]}"
    left = head[: _trimmed(head, len(head))]
    rest = behind[_end(_BLANK, behind, 0) :]
    if "\n" in head[len(left) :] and not rest.startswith(("\r", "\n")):
        return head + rest  # What is left of the line must not come behind a comment on the line before.
    return left + behind


def _with(text: str, node: Node, name: str, value: Any) -> str:
    """With one more part, behind the others and the comments there: on the same line, where all of it stands on one."""
    last = node.parts[-1] if node.parts else None
    close = node.end - 1
    place = _trimmed(text, close)
    outer = _line_indent(text, node.start)
    one_line = last is not None and "\n" not in text[node.start : node.end]
    head = text[:place]
    if last is not None and last.comma is None:
        head = f"{text[: last.node.end]},{text[last.node.end : place]}"
    if one_line:
        return f"{head} {name}{json.dumps(value, ensure_ascii=False)}{text[place:]}"
    inner = outer + _unit(text) if last is None else _line_indent(text, last.start)
    comma = "," if last is not None and last.comma is not None else ""
    tail = text[place:] if "\n" in text[place:close] else f"{_end_of_line(text)}{outer}{text[close:]}"
    return f"{head}{_end_of_line(text)}{inner}{name}{_dumped(text, value, inner)}{comma}{tail}"


def _dumped(text: str, value: Any, indent: str) -> str:
    lines = json.dumps(value, ensure_ascii=False, indent=_unit(text)).split("\n")
    return f"{_end_of_line(text)}{indent}".join(lines)


def _unit(text: str) -> str:
    found = _INDENT.search(text)
    return found[1] if found else "  "


def _end_of_line(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _line_indent(text: str, at: int) -> str:
    begin = text.rfind("\n", 0, at) + 1
    return text[begin : _end(_BLANK, text, begin)]


def _trimmed(text: str, at: int) -> int:
    """Where the space before a place begins."""
    return len(text[:at].rstrip(" \t\r\n"))


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return at if found is None else found.end()
