"""Instants as JSON."""

from datetime import UTC, datetime
from typing import Any

Object = dict[str, Any]


def instant(value: datetime | None) -> str | None:
    if value is None:
        return None
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
