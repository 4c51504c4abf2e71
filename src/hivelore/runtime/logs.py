"""The log of a service: one line an entry, as text or JSON. Entries name ids, never contents."""

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

SLOW_REQUEST = 2.0
"""Seconds after which a request is logged as slow."""
_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
_LOG = logging.getLogger("hivelore")


class LogStyle(NamedTuple):
    level: int
    as_json: bool


def parse_style(text: str) -> LogStyle:
    """Parse a level, with ``,json`` or ``,text`` after it. Raises ValueError."""
    level, _, form = (part.strip().lower() for part in text.partition(","))
    if level not in _LEVELS or form not in ("", "text", "json"):
        raise ValueError(f"{text!r} is not a level ({', '.join(_LEVELS)}), nor a level and a format (info,json)")
    return LogStyle(_LEVELS[level], form == "json")


def configure(style: LogStyle) -> None:
    """Write the log of this process to stderr, which is ``service.log`` when it runs in the background.

    Other libraries log warnings and errors only. Handlers that are already installed stay.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonFormatter() if style.as_json else _TextFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    _LOG.setLevel(style.level)


def log_event(message: str, level: int = logging.INFO, **fields: object) -> None:
    """Log a message with named values."""
    _LOG.log(level, message, extra={"fields": fields})


class _TextFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        values = "".join(f" {name}={value}" for name, value in _fields(record).items())
        return f"{_time(record)} {record.levelname} {record.name}: {super().format(record)}{values}"


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": super().format(record),
            **_fields(record),
        }
        return json.dumps(entry, default=str)


def _fields(record: logging.LogRecord) -> Mapping[str, object]:
    return getattr(record, "fields", {})


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
