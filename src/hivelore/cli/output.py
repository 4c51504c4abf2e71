"""Output for people and programs: results on stdout, everything else on stderr.

Styles appear only on a terminal, and not with NO_COLOR. Output to a pipe is neither cut nor wrapped. All text is
sanitized, also in a pipe: its reader may be a model, or print it on a terminal.
"""

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import Any, Literal, NamedTuple, Protocol, cast
from unicodedata import combining, east_asian_width

from hivelore.core.id_prefix import shortest_prefix
from hivelore.core.sanitizer import escape_hidden, escaped_json, sanitize

Json = Mapping[str, Any]
Part = str | tuple[str, str]
"""Part of a line: plain text, or text with a style like ``bold``."""

_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60))
_DATE_FROM = timedelta(days=60)
_LEAST_LAST_COLUMN = 20
_STYLES = {"bold": "1", "dim": "2", "red": "31", "bold red": "1;31", "green": "32", "yellow": "33", "cyan": "36"}
"""Parameters of terminal escape sequences."""
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LEAST_ID = 23
"""Characters of a short id: the time in milliseconds and 26 random bits, so that ids of one bulk write differ too. A
table shows more of ids that share them."""


class Column(NamedTuple):
    """A column of a table: its heading, the field of a row that it shows, and how."""

    head: str
    value: str | Callable[[Json], Any] = ""
    """Name of the field, or a function of the row. Empty: the field that is named like the heading."""
    kind: Literal["text", "id", "age"] = "text"
    missing: str = ""
    """What stands for None."""

    def read(self, row: Json) -> Any:
        value = row[self.value or self.head] if isinstance(self.value, str) else self.value(row)
        return self.missing if value is None else value


_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def now() -> datetime:
    """Return the current time; the only place where the command line reads a clock."""
    return datetime.now(UTC)


def say(*parts: Part) -> None:
    """Print one line of a result."""
    if not sys.stdout.isatty():
        print(_plain(parts))
        return
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") in ("dumb", "unknown"):
        print(_plain(parts))
        return
    print("".join(sanitize(part) if isinstance(part, str) else _styled(*part) for part in parts))


def _styled(text: str, style: str) -> str:
    return f"\x1b[{_STYLES[style]}m{sanitize(text)}\x1b[0m" if style else sanitize(text)


def _plain(parts: Sequence[Part]) -> str:
    return sanitize("".join(part if isinstance(part, str) else part[0] for part in parts))


def say_fenced(text: str) -> None:
    """Print a text that the service has sanitized and fenced; the fence stays."""
    print(escape_hidden(text))


def note(text: str) -> None:
    """Print a remark about a result or about progress."""
    print(sanitize(text), file=sys.stderr)


def print_json(value: Any) -> None:
    """Print a result as JSON."""
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    text = json.dumps(value, ensure_ascii=not utf8, indent=2)
    print(escaped_json(text))


def fail(message: str, code: str, *, as_json: bool, **details: Any) -> None:
    """Print an error: one sentence, or a JSON object, on stderr."""
    if as_json:
        print(json.dumps({"code": code, "detail": message, **details}), file=sys.stderr)
    else:
        note(f"hivelore: {message}")


def result(answer: Any, as_json: bool, *parts: Part) -> None:
    """Print the answer of an operation as JSON, or one line about it."""
    if as_json:
        print_json(answer)
    else:
        say(*parts)


def page(
    answer: Json,
    name: str,
    as_json: bool,
    columns: Sequence[Column],
    *,
    empty: str,
    more: str = "",
    title: Callable[[Json], str] | None = None,
) -> None:
    """Print a page as JSON or as a table. ``name``: field of its rows; ``more``: how to see the next page; ``title``:
    see ``show_table``."""
    if as_json:
        print_json(answer)
        return
    if answer[name]:
        show_table(columns, answer[name], title)
    else:
        note(empty)
    note_more(answer, more)


def note_more(answer: Json, how: str) -> None:
    if answer.get("next") is not None:
        note(f"There are more: {how}.")


def show_table(columns: Sequence[Column], rows: Sequence[Json], title: Callable[[Json], str] | None = None) -> None:
    """Print rows as a table. ``title`` returns that of the group of a row, and stands once above consecutive rows."""
    values = [[column.read(row) for column in columns] for row in rows]
    ids = [value for line in values for column, value in zip(columns, line, strict=True) if column.kind == "id"]
    short = short_ids(ids)

    def cell(column: Column, value: Any) -> str:
        return short[value] if column.kind == "id" else age(value) if column.kind == "age" and value else str(value)

    lines = [[cell(*each) for each in zip(columns, line, strict=True)] for line in values]
    table([column.head for column in columns], lines, [] if title is None else [title(row) for row in rows])


def difference(found: Json, as_json: bool) -> None:
    """Print the difference between two versions."""
    if as_json:
        print_json(found)
        return
    if not found["fields"]:
        note(f"Versions {found['from']} and {found['to']} are the same.")
    for name, text in found["fields"].items():
        say((name, "bold"))
        for line in text.split("\n"):
            say((line, _DIFF_STYLES.get(line[:1], "")))


def short_ids(ids: Iterable[str | None]) -> dict[str | None, str]:
    """Return the beginning of each id that no other one shares. Anything else, such as a name, stays whole."""
    known = sorted({one for one in ids if one is not None})
    short: dict[str | None, str] = {}
    for position, one in enumerate(known):
        neighbors = (*known[max(position - 1, 0) : position], *known[position + 1 : position + 2])
        short[one] = shortest_prefix(one, neighbors, _LEAST_ID) if _ID.fullmatch(one) else one
    return short


def short_id(one: str) -> str:
    return short_ids([one])[one]


def table(head: Sequence[str], rows: Sequence[Sequence[str]], titles: Sequence[str] = ()) -> None:
    """Print aligned columns; on a terminal the last column is cut to fit. ``titles``: for each row that of its group,
    which stands once above consecutive rows."""
    lines = [[" ".join(cell.split()) for cell in row] for row in rows]
    widths = [max(_width(row[column]) for row in [head, *lines]) for column in range(len(head))]
    if sys.stdout.isatty():
        rest = shutil.get_terminal_size().columns - sum(width + 2 for width in widths[:-1])
        lines = [[*row[:-1], _fitted(row[-1], max(rest, _LEAST_LAST_COLUMN))] for row in lines]
    for number, row in enumerate([list(head), *lines]):
        cells = [cell + " " * (width - _width(cell)) for cell, width in zip(row[:-1], widths, strict=False)]
        text = "  ".join([*cells, row[-1]]).rstrip()
        if number and titles and (number == 1 or titles[number - 1] != titles[number - 2]):
            say((titles[number - 1], "bold"))
        say((text, "dim") if number == 0 else text)


def _width(text: str) -> int:
    """Return the number of columns that a text takes on a terminal: two for a Chinese character."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def _fitted(text: str, columns: int) -> str:
    """Return the text, cut to the columns of a terminal that it may take."""
    if _width(text) <= columns:
        return text
    kept = sum(end < columns for end in accumulate(map(_width, text)))
    return text[:kept].rstrip() + "…"


class Advance(Protocol):
    """Shows the amount done and, once it is known, the total."""

    def __call__(self, done: float, total: float | None = None, /) -> None: ...


@contextmanager
def progress(label: str, total: float | None) -> Generator[Advance]:
    """Show a progress bar on stderr, if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _done, _total=None: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done, total=None: bar.update(task, completed=done, total=total)


def shortened(text: str, length: int) -> str:
    """Return the text on one line, cut to ``length`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def show_fields(fields: Mapping[str, Any], width: int = 20) -> None:
    """Print named values, without those that are None or empty. Items of a list or an object are joined with commas."""
    for name, value in fields.items():
        if value not in (None, "", [], {}):
            say((f"{name:{width}}", "dim"), _describe(value))


def _describe(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, cast(list[object], value)))
    if isinstance(value, dict):
        items = cast(dict[str, object], value).items()
        return ", ".join(f"{key} {part}" for key, part in items if part is not None)
    return str(value)


def age(instant: str) -> str:
    """Describe how long ago an ISO time was, in one unit; return the date after two months."""
    at = datetime.fromisoformat(instant)
    passed = now() - at
    if abs(passed) >= _DATE_FROM:
        return at.date().isoformat()
    seconds = abs(passed).total_seconds()
    unit, size = next(((unit, size) for unit, size in _UNITS if seconds >= size), ("", 0))
    if not unit:
        return "now"
    return f"{seconds // size:.0f} {unit} ago" if passed > timedelta(0) else f"in {seconds // size:.0f} {unit}"
