"""When a passage that could not be embedded is tried again: soon at first, then ever more seldom, and never not at all,
for what a server refuses today it may embed tomorrow."""

from datetime import timedelta

FIRST_RETRY_PAUSE = timedelta(seconds=30)
LONGEST_RETRY_PAUSE = timedelta(days=1)
_GROWTH = 4


def retry_pause(failures: int) -> timedelta:
    """How long a passage waits after so many failures in a row, from 1 on."""
    grown = FIRST_RETRY_PAUSE * _GROWTH ** min(max(failures - 1, 0), 20)
    return min(grown, LONGEST_RETRY_PAUSE)
