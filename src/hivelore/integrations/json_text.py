"""Edits JSON text: only the text of changed values changes.

Comments and trailing commas are accepted on request, and stay, like all other text.
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
    """A value and its position in the text."""

    value: Any
    start: int
    end: int
    parts: tuple["Part", ...] = ()
    """Members of an object or items of a list, in order."""


@dataclass(frozen=True, slots=True)
class Part:
    name: str | None
    """None in a list."""
    start: int
    """Start of the name, if it has one."""
    node: Node
    comma: int | None
    """Position of the comma after it, if there is one."""


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number")


_SCALARS = json.JSONDecoder(parse_constant=_refuse)


def parse(text: str, *, comments: bool) -> Node:
    """Parse text. Raises ValueError if it is not JSON, or if an object has a name twice."""
    return _Reader(text, comments=comments).read()


def rewrite(text: str, wanted: Any, *, comments: bool) -> str:
    """Return the text with another value. Raises ValueError like ``parse``."""
    while True:
        before = parse(text, comments=comments)
        edited = _edit(text, before, wanted)
        if edited is None:
            return text
        text = edited


class _Reader:
    def __init__(self, text: str, *, comments: bool) -> None:
        self._text = text
        self._comments = comments

    def read(self) -> Node:
        try:
            node = self._value(self._next(0))
        except RecursionError:
            raise ValueError("it is nested too deeply") from None
        if self._next(node.end) < len(self._text):
            raise self._error("nothing more was expected", self._next(node.end))
        return node

    def _value(self, at: int) -> Node:
        if self._text.startswith(("{", "["), at):
            return self._container(at)
        try:
            value, end = _SCALARS.raw_decode(self._text, at)
        except json.JSONDecodeError as error:
            raise self._error("a value was expected" if at == error.pos else error.msg, error.pos) from None
        return Node(value, at, end)

    def _container(self, start: int) -> Node:
        """Read an object or a list."""
        named = self._text[start] == "{"
        close = "}" if named else "]"
        parts: list[Part] = []
        at = self._next(start + 1)
        while not self._text.startswith(close, at):
            if parts and parts[-1].comma is None:
                raise self._error(f"',' or '{close}' was expected", at)
            parts.append(self._part(at, named=named))
            last = parts[-1]
            at = self._next(last.node.end if last.comma is None else last.comma + 1)
        if parts and parts[-1].comma is not None and not self._comments:
            raise self._error("a value was expected", at)
        if not named:
            return Node([part.node.value for part in parts], start, at + 1, tuple(parts))
        names = [part.name for part in parts]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"an object has the name {twice!r} twice")
        return Node({part.name: part.node.value for part in parts}, start, at + 1, tuple(parts))

    def _part(self, at: int, *, named: bool) -> Part:
        name, place = None, at
        if named:
            if not self._text.startswith('"', at):
                raise self._error("a name in double quotes was expected", at)
            key = self._value(at)
            name, colon = cast(str, key.value), self._next(key.end)
            if not self._text.startswith(":", colon):
                raise self._error("':' was expected", colon)
            place = self._next(colon + 1)
        node = self._value(place)
        after = self._next(node.end)
        return Part(name, at, node, after if self._text.startswith(",", after) else None)

    def _next(self, at: int) -> int:
        """Return the position after spaces and comments."""
        while True:
            at = _end(_SPACE, self._text, at)
            comment = _COMMENT.match(self._text, at) if self._comments else None
            if comment is None:
                return at
            at = comment.end()

    def _error(self, what: str, at: int) -> ValueError:
        line = self._text.count("\n", 0, at) + 1
        return ValueError(f"{what}: line {line} column {at - self._text.rfind(chr(10), 0, at)}")


def _edit(text: str, node: Node, wanted: Any) -> str | None:
    """Return the text after one edit towards the wanted value; None if nothing is left to edit."""
    if node.value == wanted:
        return None
    if isinstance(wanted, Mapping) and isinstance(node.value, dict):
        return _edit_object(text, node, cast(Mapping[str, Any], wanted))
    if isinstance(wanted, list) and isinstance(node.value, list):
        return _edit_list(text, node, cast(list[Any], wanted))
    return f"{text[: node.start]}{_dump(text, wanted, _line_indent(text, node.start))}{text[node.end :]}"


def _edit_object(text: str, node: Node, wanted: Mapping[str, Any]) -> str | None:
    for part in node.parts:
        if part.name is None or part.name not in wanted:
            return _remove(text, node, part)
        edited = _edit(text, part.node, wanted[part.name])
        if edited is not None:
            return edited
    new = next(name for name in wanted if name not in node.value)
    return _append(text, node, f"{json.dumps(new, ensure_ascii=False)}: ", wanted[new])


def _edit_list(text: str, node: Node, wanted: Sequence[Any]) -> str:
    """Keep wanted items in the same order, remove the others, and append the missing ones."""
    found = 0
    for part in node.parts:
        if found == len(wanted) or part.node.value != wanted[found]:
            return _remove(text, node, part)
        found += 1
    return _append(text, node, "", wanted[found])


def _remove(text: str, node: Node, part: Part) -> str:
    """Remove a part with one comma and its line or space. Comments stay."""
    place, after = node.parts.index(part), part.comma
    before = node.parts[place - 1].comma if place and after is None else None
    behind = text[part.node.end :] if after is None else text[part.node.end : after] + text[after + 1 :]
    head = text[: part.start]
    if before is not None:
        head = f"{head[:before]}{head[before + 1 :]}"
    left = head[: _trimmed_length(head, len(head))]
    rest = behind[_end(_BLANK, behind, 0) :]
    if "\n" in head[len(left) :] and not rest.startswith(("\r", "\n")):
        return head + rest  # The rest of the line must not follow a comment on the line before.
    return left + behind


def _append(text: str, node: Node, name: str, value: Any) -> str:
    """Append a part after the others and their comments; on the same line if all of them are on one line."""
    last = node.parts[-1] if node.parts else None
    close = node.end - 1
    place = _trimmed_length(text, close)
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
    return f"{head}{_end_of_line(text)}{inner}{name}{_dump(text, value, inner)}{comma}{tail}"


def _dump(text: str, value: Any, indent: str) -> str:
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


def _trimmed_length(text: str, at: int) -> int:
    """Return the length of the text before a position, without trailing space."""
    return len(text[:at].rstrip(" \t\r\n"))


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return at if found is None else found.end()
