"""Content of .env files, and variables for a shell."""

import re
import shlex
from collections.abc import Collection, Mapping

from hivelore.errors import Conflict, Invalid

_PLAIN = re.compile(r"[A-Za-z0-9_./:@%+,=-]*")
_ASSIGNMENT = re.compile(r"\s*(?P<export>export\s+)?(?P<key>[A-Za-z_][A-Za-z0-9_]*)\s*=[ \t]*(?P<value>.*)", re.DOTALL)
_END_OF_VALUE = re.compile(r"\s*(#.*)?\s*", re.DOTALL)
_SPECIAL_IN_DOUBLE_QUOTES = frozenset('"\\$`')


def set_variables(text: str, values: Mapping[str, str | None]) -> str:
    """Returns the content of a .env file with other values of some variables; None removes one. All other lines stay as
    they are. New variables come last. Raises Invalid for a value that readers of .env files understand differently, and
    Conflict for a text with a quote that hides lines of these variables."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = {key: None if value is None else f"{key}={quote(value)}{newline}" for key, value in values.items()}
    kept: list[str] = []
    done: set[str] = set()
    for statement in _statements(text):
        found = _ASSIGNMENT.match(statement)
        _check_quote(statement, found, values.keys())
        if found is None or found["key"] not in lines:
            kept.append(statement)
        elif (line := lines[found["key"]]) is not None and found["key"] not in done:
            kept.append(f"{found['export'] or ''}{line}")
            done.add(found["key"])
    added = [line for key, line in lines.items() if line is not None and key not in done]
    if added and kept and not kept[-1].endswith("\n"):
        kept[-1] += newline
    return "".join((*kept, *added))


def quote(value: str) -> str:
    """Returns a value as sh, python-dotenv and Docker Compose read it alike. No escapes are used, because these readers
    disagree about them. Raises Invalid for other values."""
    if _PLAIN.fullmatch(value):
        return value
    if "\r" in value:
        raise _unquotable("carriage returns")
    if "${" in value:
        raise _unquotable("${")
    if value.endswith("\\"):
        raise _unquotable("a backslash at the end")
    if "'" not in value:
        if "\\\\" in value:
            raise _unquotable("two backslashes in a row")
        return f"'{value}'"
    if _SPECIAL_IN_DOUBLE_QUOTES & set(value):
        raise _unquotable("a single quote together with a double quote, a backslash, a $ or a backtick")
    return f'"{value}"'


def _unquotable(what: str) -> Invalid:
    return Invalid(
        f"The value cannot be in a .env file: it has {what}, which readers of such files understand differently. Leave "
        "envPath out, or change the value.",
        field="value",
    )


def export_line(key: str, value: str) -> str:
    """Returns the line that sets a variable in a POSIX shell."""
    return f"export {key}={shlex.quote(value)}"


def assigned(text: str) -> frozenset[str]:
    """Returns the variables that a .env file sets."""
    found = map(_ASSIGNMENT.match, _statements(text))
    return frozenset(one["key"] for one in found if one is not None)


def differing(text: str, values: Mapping[str, str | None]) -> frozenset[str]:
    """Returns the variables whose lines ``set_variables`` would change. Raises as that."""
    found: dict[str, list[str]] = {}
    for statement in _statements(text):
        match = _ASSIGNMENT.match(statement)
        _check_quote(statement, match, values.keys())
        if match is not None and match["key"] in values:
            found.setdefault(match["key"], []).append(statement.removeprefix(match["export"] or "").rstrip("\r\n"))
    return frozenset(
        key
        for key, value in values.items()
        if found.get(key, []) != ([] if value is None else [f"{key}={quote(value)}".rstrip("\r\n")])
    )


def _check_quote(statement: str, found: re.Match[str] | None, keys: Collection[str]) -> None:
    """Raises Conflict if it is unclear where a value ends: a variable of ``keys`` has a quote that is never closed, or
    a value of several lines contains assignments and ends within a line, or contains one of ``keys``."""
    if found is None or (mark := found["value"][:1]) not in ("'", '"'):
        return
    rest = _after_quote(found["value"][1:], mark)
    inner = [one["key"] for one in map(_ASSIGNMENT.match, statement.splitlines()[1:]) if one is not None]
    is_ours = found["key"] in keys
    is_unclear = bool(inner) and rest is not None and not _END_OF_VALUE.fullmatch(rest)
    is_hiding = not is_ours and any(one in keys for one in inner)
    if (rest is None and is_ours) or is_unclear or is_hiding:
        raise Conflict(
            f"A quote in the value of {found['key']} is not closed where its line ends, and may hide other variables. "
            "Correct the file by hand."
        )


def _statements(text: str) -> list[str]:
    """Returns the lines of a .env file, where a quoted value of several lines is one line."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    found: list[str] = []
    position = 0
    while position < len(lines):
        stop = _end_of_value(lines, position)
        found.append("".join(lines[position:stop]))
        position = stop
    return found


def _end_of_value(lines: list[str], start: int) -> int:
    """Returns the position after the last line of the value that begins in a line; a quote that is never closed does
    not continue it."""
    found = _ASSIGNMENT.match(lines[start])
    mark = found["value"][:1] if found else ""
    if found is None or mark not in ("'", '"'):
        return start + 1
    rest = found["value"][1:]
    for stop in range(start + 1, len(lines) + 1):
        if _after_quote(rest, mark) is not None:
            return stop
        rest = lines[stop] if stop < len(lines) else ""
    return start + 1


def _after_quote(text: str, mark: str) -> str | None:
    """Returns what follows the closing quote; None if there is none."""
    unescaped = re.sub(r"\\.", "", text, flags=re.DOTALL) if mark == '"' else text
    _, closing, rest = unescaped.partition(mark)
    return rest if closing else None
