"""Pages of lists: the cursor (``next``) that follows a page, and the position at which the following page begins.

A cursor is an instant and an id, in characters that need no escape in a URL.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import quote, unquote

from hivelore.errors import Invalid

V = TypeVar("V")
Position = tuple[datetime, Any]
"""An instant and an id of the list's own type."""


def cut_page(found: Sequence[V], limit: int, position: Callable[[V], Position]) -> tuple[tuple[V, ...], str | None]:
    """Returns the first ``limit`` items, and the cursor of the following page if more were found."""
    page = tuple(found[:limit])
    return page, cursor_of(*position(page[-1])) if page and len(found) > limit else None


def cursor_of(at: datetime, key: str) -> str:
    return f"{at.astimezone(UTC).isoformat().replace('+00:00', 'Z')}~{quote(key, safe='')}"


def position_of(cursor: str | None) -> Position | None:
    """Reads a cursor. Raises Invalid."""
    if cursor is None:
        return None
    at, _, key = cursor.partition("~")
    try:
        position = datetime.fromisoformat(at)
        if position.tzinfo is not None and key:
            return position.astimezone(UTC), unquote(key, errors="strict")
    except (ValueError, OverflowError):
        pass
    raise invalid_cursor()


def invalid_cursor() -> Invalid:
    return Invalid("after is not the `next` of a page. Start again without it.", field="after")
