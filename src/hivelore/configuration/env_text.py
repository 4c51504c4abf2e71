"""Content of .env files, and variables for a shell."""

import re
import shlex

_PLAIN = re.compile(r"[A-Za-z0-9_./:@%+,=-]*")
_ASSIGNMENT = re.compile(r"\s*(?P<export>export\s+)?(?P<key>[A-Za-z_][A-Za-z0-9_]*)\s*=[ \t]*(?P<value>.*)", re.DOTALL)
_ESCAPES = {"\\": "\\\\", '"': '\\"', "$": "\\$", "`": "\\`", "\n": "\\n", "\r": "\\r"}


def set_variable(text: str, key: str, value: str | None) -> str:
    """Returns the content of a .env file with another value of a variable; None removes it. All other lines stay as
    they are. A new variable comes last."""
    newline = "\r\n" if "\r\n" in text else "\n"
    kept: list[str] = []
    is_set = value is None
    for statement in _statements(text):
        found = _ASSIGNMENT.match(statement)
        if found is None or found["key"] != key:
            kept.append(statement)
        elif not is_set and value is not None:
            kept.append(f"{found['export'] or ''}{key}={quote(value)}{newline}")
            is_set = True
    if not is_set and value is not None:
        if kept and not kept[-1].endswith("\n"):
            kept[-1] += newline
        kept.append(f"{key}={quote(value)}{newline}")
    return "".join(kept)


def quote(value: str) -> str:
    """Returns a value in one line as .env files write it: plain, in single quotes, or in double quotes with escapes."""
    if _PLAIN.fullmatch(value):
        return value
    if not {"'", "\n", "\r"} & set(value):
        return f"'{value}'"
    return '"' + "".join(_ESCAPES.get(one, one) for one in value) + '"'


def export_line(key: str, value: str) -> str:
    """Returns the line that sets a variable in a POSIX shell."""
    return f"export {key}={shlex.quote(value)}"


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
        if _is_closed(rest, mark):
            return stop
        rest = lines[stop] if stop < len(lines) else ""
    return start + 1


def _is_closed(text: str, mark: str) -> bool:
    unescaped = re.sub(r"\\.", "", text, flags=re.DOTALL) if mark == '"' else text
    return mark in unescaped
