"""Options that several verbs share, and what their values mean."""

import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter, Token

from hivelore.cli import output
from hivelore.cli.clock import now as present
from hivelore.errors import Invalid, TooLarge
from hivelore.local.git_project import project_of

STDIN = "\0"
"""Stands for a lone ``-`` on the command line, which cannot contain it."""
LARGEST_TEXT = 8_000_000
"""Bytes of a text from stdin: more than a memory can have."""

AsJson = Annotated[bool, Parameter(name="--json", help="Print JSON; errors too, on stderr.")]
Speaker = Annotated[str | None, Parameter(help="As whom: the id or name of an agent. Else: local.", metavar="NAME")]
InProject = Annotated[
    str | None,
    Parameter(help="A project's name, * for all of them. Else: the git repository of this folder.", metavar="NAME"),
]
ToProject = Annotated[
    str | None,
    Parameter(help="A project's name, '' for none. Else: the git repository of this folder.", metavar="NAME"),
]
Tags = Annotated[tuple[str, ...], Parameter(name="--tag", help="May come several times.", metavar="TEXT")]
AsOf = Annotated[str | None, Parameter(help="What held then, in the words of then: 7d, 2026-01-31.", metavar="WHEN")]
Superseded = Annotated[bool, Parameter(help="Also what another memory replaced.")]
Shelf = Literal["agent", "swarm"]
Shelves = Literal["all", "agent", "swarm"]
Origin = Literal["manual", "file_index", "session_summary", "task_completion"]

_WHOLE = re.compile(r"^[+-]?[0-9]{1,40}$")
_SPAN = re.compile(r"^(\d{1,6})([mhdw])$")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def whole(_: Any, tokens: Sequence[Token]) -> int:
    """A whole number from a word; the parser by itself would round a fraction."""
    word = tokens[0].value
    if not _WHOLE.match(word):
        raise ValueError(f"{word!r} is no whole number.")
    return int(word)


def text_of(words: Sequence[str], what: str) -> str:
    """The words of a command line as one text; ``-`` alone reads it from stdin."""
    if not words:
        raise Invalid(f"Say {what}, or - to read it from stdin.")
    return read_text() if tuple(words) == (STDIN,) else " ".join(words)


def read_text() -> str:
    """All of stdin, without the newline at its end."""
    if sys.stdin.isatty():
        output.note("Reading from the terminal; Ctrl-D ends it.")
    data = sys.stdin.buffer.read(LARGEST_TEXT + 1)
    if len(data) > LARGEST_TEXT:
        raise TooLarge(f"Stdin has more than {LARGEST_TEXT:,} bytes. Split it.")
    try:
        return data.decode("utf-8-sig").removesuffix("\n")
    except UnicodeDecodeError as error:
        raise Invalid(f"Stdin is not UTF-8 (byte {error.start}).") from None


def project_meant(given: str | None, folder: Path | None = None) -> str | None:
    """The project of a call: as ``given`` (blank: none), else that of ``folder``, else of where we are."""
    if given is not None:
        return given if given.strip() else None
    try:
        return project_of(folder or Path.cwd())
    except OSError:  # The folder we are in is gone.
        return None


def instant_of(text: str | None, field: str) -> datetime | None:
    """An instant of the past, where one is given."""
    return None if text is None else moment(text, present(), past=True, field=field)


def moment(text: str, now: datetime, *, past: bool = False, field: str) -> datetime:
    """An instant from ``2026-01-31``, ``2026-01-31T12:00Z`` or a span like ``90m``, ``12h``, ``7d``, ``2w`` from now
    (``past``: before now)."""
    span = _SPAN.match(text.strip())
    try:
        if span is not None:
            length = timedelta(**{_UNITS[span[2]]: int(span[1])})
            return now - length if past else now + length
        instant = datetime.fromisoformat(text.strip())
        if instant.tzinfo is None:
            output.note(f"{text} has no time zone: taken as UTC.")
            instant = instant.replace(tzinfo=UTC)
        return instant.astimezone(UTC)
    except (ValueError, OverflowError):
        raise Invalid(f"{text!r} is no time. Write 2026-01-31T12:00Z, or 12h, 7d, 2w.", field=field) from None
