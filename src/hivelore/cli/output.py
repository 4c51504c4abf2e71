"""Output for people and programs: results on stdout, everything else on stderr.

Styles appear only on a terminal, and not with NO_COLOR. Output to a pipe is neither cut nor wrapped. All text is
sanitized, also in a pipe: its reader may be a model, or print it on a terminal.
"""

import json
import os
import shutil
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, Protocol, cast

from hivelore.core.sanitizer import escape_hidden, escaped_json, sanitize

Part = str | tuple[str, str]
"""Part of a line: plain text, or text with a style like ``bold``."""

_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60))
_DATE_FROM = timedelta(days=60)
_LEAST_LAST_COLUMN = 20
_STYLES = {"bold": "1", "dim": "2", "red": "31", "bold red": "1;31", "green": "32", "yellow": "33", "cyan": "36"}
"""Parameters of terminal escape sequences."""


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


def as_json(value: Any) -> None:
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


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print aligned columns; on a terminal the last column is cut to fit."""
    lines = [[" ".join(cell.split()) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in [head, *lines]) for column in range(len(head))]
    if sys.stdout.isatty():
        rest = shutil.get_terminal_size().columns - sum(width + 2 for width in widths[:-1])
        lines = [[*row[:-1], shortened(row[-1], max(rest, _LEAST_LAST_COLUMN))] for row in lines]
    for number, row in enumerate([list(head), *lines]):
        cells = [cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=False)]
        text = "  ".join([*cells, row[-1]])
        say((text, "dim") if number == 0 else text)


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


def field(name: str, value: Any, *, width: int = 20) -> None:
    """Print one named value; the items of a list or an object are joined with commas."""
    if isinstance(value, list):
        value = ", ".join(map(str, cast(list[object], value)))
    elif isinstance(value, dict):
        items = cast(dict[str, object], value).items()
        value = ", ".join(f"{key} {part}" for key, part in items if part is not None)
    say((f"{name:{width}}", "dim"), "-" if value is None else str(value))


def age(instant: str, now: datetime) -> str:
    """Describe how long ago an ISO time was, in one unit; return the date after two months."""
    at = datetime.fromisoformat(instant)
    passed = now - at
    if abs(passed) >= _DATE_FROM:
        return at.date().isoformat()
    seconds = abs(passed).total_seconds()
    unit, size = next(((unit, size) for unit, size in _UNITS if seconds >= size), ("", 0))
    if not unit:
        return "now"
    return f"{seconds // size:.0f} {unit} ago" if passed > timedelta(0) else f"in {seconds // size:.0f} {unit}"
