"""Who says again what was said just now: a hook may report at the end of a turn what a stream told already."""

from datetime import datetime, timedelta

REPEAT_WINDOW = timedelta(hours=1)
"""The same words of the same session within it were said once."""


def is_repeated(session: str | None, at: datetime, before: str | None, before_at: datetime) -> bool:
    """Whether the same words of these two sessions at these two instants are of one telling. Without a session nobody
    can say so."""
    return session is not None and session == before and abs(at - before_at) < REPEAT_WINDOW
