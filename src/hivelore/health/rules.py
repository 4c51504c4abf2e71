"""When a failure counts: passing errors, lasting ones, and how long a background worker rests after a failure."""

CONFIRMED = 0.5
"""Seconds after which a failure that was met again, with no success between, is a problem: one that passes is not."""
LASTING = 30.0
"""Seconds after which a problem does not go away by waiting."""
STUCK = 3
"""Unexpected failures in a row after which a background worker is a problem of the service."""
PASSING_PAUSE = 0.5
"""Seconds before work is tried again that lacked something it depends on."""
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0


def is_confirmed(began: float, last: float) -> bool:
    """``began`` and ``last``: the first and the last failure since the last success, in seconds."""
    return last - began >= CONFIRMED


def is_lasting(began: float, now: float) -> bool:
    return now - began >= LASTING


def is_stuck(unexpected: int) -> bool:
    """``unexpected``: how many times in a row a worker ended with an error that nobody foresaw."""
    return unexpected >= STUCK


def pause(failures: int) -> float:
    """Seconds before a worker is restarted that has failed unexpectedly so often in a row."""
    return min(FIRST_PAUSE * 2.0 ** min(max(failures - 1, 0), 16), LONGEST_PAUSE)
