"""What people and programs see: results on stdout, everything else on stderr.

Styles only on a terminal, and none with NO_COLOR; nothing is cut or wrapped where a program reads. All of it is
harmless, wherever it goes: who reads a pipe may be a model, or show it on a terminal.
"""

import json
import shutil
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from hivelore.core.sanitizer import escape_hidden, escaped_json, sanitize

if TYPE_CHECKING:
    from hivelore.python.jobs import Advance

Part = str | tuple[str, str]
"""A piece of a line: plain, or with a style like ``bold``."""

_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60))
_DATE_FROM = timedelta(days=60)
_LEAST_LAST_COLUMN = 20


def say(*parts: Part) -> None:
    """One line of a result."""
    if not sys.stdout.isatty():
        print(_plain(parts))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    if console.no_color or not console.is_terminal:
        print(_plain(parts))
        return
    shown = [sanitize(part) if isinstance(part, str) else (sanitize(part[0]), part[1]) for part in parts]
    console.print(Text.assemble(*shown), soft_wrap=True)


def _plain(parts: Sequence[Part]) -> str:
    return sanitize("".join(part if isinstance(part, str) else part[0] for part in parts))


def say_fenced(text: str) -> None:
    """A text that the service has made harmless and put into a fence, which stays."""
    print(escape_hidden(text))


def note(text: str) -> None:
    """Something about a result, or about how it goes."""
    print(sanitize(text), file=sys.stderr)


def as_json(value: Any) -> None:
    """A result for programs."""
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    text = json.dumps(value, ensure_ascii=not utf8, indent=2)
    print(escaped_json(text))


def fail(message: str, code: str, *, as_json: bool, **details: Any) -> None:
    """Why nothing came of it: one sentence, or a JSON object, on stderr."""
    if as_json:
        print(json.dumps({"code": code, "detail": message, **details}), file=sys.stderr)
    else:
        note(f"hivelore: {message}")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Aligned columns; on a terminal the last one is cut to its width."""
    lines = [[" ".join(cell.split()) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in [head, *lines]) for column in range(len(head))]
    if sys.stdout.isatty():
        rest = shutil.get_terminal_size().columns - sum(width + 2 for width in widths[:-1])
        lines = [[*row[:-1], shortened(row[-1], max(rest, _LEAST_LAST_COLUMN))] for row in lines]
    for number, row in enumerate([list(head), *lines]):
        cells = [cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=False)]
        text = "  ".join([*cells, row[-1]])
        say((text, "dim") if number == 0 else text)


@contextmanager
def progress(label: str, total: float | None) -> "Generator[Advance]":
    """A bar on stderr; call what is handed out with how much is done, and of how much where that is known later.
    Nothing is shown without a terminal."""
    if not sys.stderr.isatty():
        yield lambda _done, _total=None: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done, total=None: bar.update(task, completed=done, total=total)


def shortened(text: str, length: int) -> str:
    """On one line and at most ``length`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def age(instant: datetime, now: datetime) -> str:
    """How long ago, in one unit; the date where that says more."""
    passed = now - instant
    if abs(passed) >= _DATE_FROM:
        return instant.date().isoformat()
    seconds = abs(passed).total_seconds()
    unit, size = next(((unit, size) for unit, size in _UNITS if seconds >= size), ("", 0))
    if not unit:
        return "now"
    return f"{seconds // size:.0f} {unit} ago" if passed > timedelta(0) else f"in {seconds // size:.0f} {unit}"
