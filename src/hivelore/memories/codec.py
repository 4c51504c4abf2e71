"""Instants as JSON."""

from datetime import UTC, datetime
from typing import Any

from hivelore.errors import Invalid

Object = dict[str, Any]


def instant(value: datetime | None) -> str | None:
    if value is None:
        return None
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def told(value: datetime | None, field: str) -> str | None:
    """An instant from a caller, who has to say its zone."""
    if value is not None and value.tzinfo is None:
        raise Invalid(f"{field} needs a time zone, like 2026-01-31T12:00:00Z.", field=field)
    try:
        return instant(value)
    except OverflowError:
        raise Invalid(f"{field} is no year of the calendar in UTC.", field=field) from None
