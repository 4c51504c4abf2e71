"""Options that several verbs share, and parsing of their values."""

import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter, Token

from hivelore.cli import output
from hivelore.errors import Invalid, TooLarge
from hivelore.local.git_project import project_of

STDIN = "\0"
"""Replaces a lone ``-`` on the command line; no argument can contain it."""
LARGEST_TEXT = 8_000_000
"""Most bytes read from stdin for one text; more than a memory may have."""

_WHOLE = re.compile(r"^[+-]?[0-9]{1,40}$")
_DURATION = re.compile(r"^(\d{1,6})([mhdw])$")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def whole_number(_: Any, tokens: Sequence[Token]) -> int:
    """Parse a whole number; cyclopts would round a fraction."""
    word = tokens[0].value
    if not _WHOLE.match(word):
        raise ValueError(f"{word!r} is not a whole number.")
    return int(word)


AsJson = Annotated[bool, Parameter(name="--json", help="Print JSON; errors go to stderr as JSON.")]
ActingAgent = Annotated[str | None, Parameter(help="Agent to act for, by id or name (default: local).", metavar="NAME")]
Reviewer = Annotated[
    str | None, Parameter(help="Agent to act for, by id or name (default: the operator).", metavar="NAME")
]
ALL_PROJECTS = "*"
"""As a project: all of them."""
SearchProject = Annotated[
    str | None,
    Parameter(help="Project name, or * for all projects (default: the current git repository).", metavar="NAME"),
]
TargetProject = Annotated[
    str | None,
    Parameter(help="Project name, or '' for none (default: the current git repository).", metavar="NAME"),
]
Tags = Annotated[tuple[str, ...], Parameter(name="--tag", help="Tag; repeat for several.", metavar="TEXT")]
AsOf = Annotated[str | None, Parameter(help="Show facts valid at this time: 7d (ago), 2026-01-31.", metavar="WHEN")]
Number = Annotated[int | None, Parameter(converter=whole_number)]


def _limit(most: int) -> Parameter:
    return Parameter(alias="-n", help=f"Most results, 1 to {most}.", converter=whole_number)


Limit50 = Annotated[int, _limit(50)]
Limit100 = Annotated[int, _limit(100)]
Limit500 = Annotated[int, _limit(500)]
After = Annotated[str | None, Parameter(help="Start after a page: the value of its `next` (--json).")]
Reason = Annotated[str | None, Parameter(help="Reason; stored in the history.")]
Session = Annotated[str | None, Parameter(name="--session", help="Session of the agent.", metavar="NAME")]
Scope = Literal["agent", "swarm"]
ScopeFilter = Literal["all", "agent", "swarm"]
Source = Literal["manual", "file_index", "session_summary", "task_completion", "lesson"]


def given(**fields: Any) -> dict[str, Any]:
    """Return the fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}


def read_text(words: Sequence[str], what: str) -> str:
    """Join the words of a command line; a lone ``-`` reads the text from stdin."""
    if not words:
        raise Invalid(f"Say {what}, or use - to read it from stdin.")
    return read_stdin() if tuple(words) == (STDIN,) else " ".join(words)


def read_stdin() -> str:
    """Read stdin to its end, without the last newline."""
    if sys.stdin.isatty():
        output.note("Reading from the terminal; Ctrl-D ends it.")
    data = sys.stdin.buffer.read(LARGEST_TEXT + 1)
    if len(data) > LARGEST_TEXT:
        raise TooLarge(f"Stdin has more than {LARGEST_TEXT:,} bytes. Split it.")
    try:
        return data.decode("utf-8-sig").removesuffix("\n")
    except UnicodeDecodeError as error:
        raise Invalid(f"Stdin is not UTF-8 (byte {error.start}).") from None


def resolve_project(given: str | None, folder: Path | None = None) -> str | None:
    """Return the project of a call: ``given`` (blank: none), else that of ``folder`` or the working directory."""
    if given is not None:
        return given if given.strip() else None
    try:
        return project_of(folder or Path.cwd())
    except OSError:  # The working directory was removed.
        return None


def past(text: str | None, field: str) -> str | None:
    """Parse a time whose durations count backwards from now, for JSON."""
    return None if text is None else _json(_parse_time(text, field, past=True))


def future(text: str | None, field: str) -> str | None:
    """Parse a time whose durations count forwards from now, for JSON. Raises Invalid when it has passed."""
    if text is None:
        return None
    instant = _parse_time(text, field, past=False)
    if instant <= output.now():
        raise Invalid(f"The time {text!r} has passed. Use a later time, or a duration from now (12h, 7d).", field=field)
    return _json(instant)


def parse_past(text: str, field: str) -> datetime:
    """Parse a time whose durations count backwards from now."""
    return _parse_time(text, field, past=True)


def _parse_time(text: str, field: str, *, past: bool) -> datetime:
    duration = _DURATION.match(text.strip())
    try:
        if duration is not None:
            length = timedelta(**{_UNITS[duration[2]]: int(duration[1])})
            return output.now() - length if past else output.now() + length
        instant = datetime.fromisoformat(text.strip())
        if instant.tzinfo is None:
            output.note(f"{text} has no time zone: taken as UTC.")
            instant = instant.replace(tzinfo=UTC)
        return instant.astimezone(UTC)
    except (ValueError, OverflowError):
        raise Invalid(
            f"Invalid time {text!r}. Use ISO 8601 (2026-01-31T12:00Z) or a duration (12h, 7d).", field=field
        ) from None


def _json(instant: datetime) -> str:
    return instant.isoformat().replace("+00:00", "Z")
