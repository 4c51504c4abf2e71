"""The present: the one place where the command line looks at a clock."""

from datetime import UTC, datetime


def now() -> datetime:
    return datetime.now(UTC)
