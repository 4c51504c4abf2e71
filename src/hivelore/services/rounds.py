"""Telling a supervisor how each round of a worker went that goes on by itself."""

from collections.abc import Callable

Report = Callable[[Exception | None], object]
"""Is told None where a round went well, else why it did not."""


def unreported(_: Exception | None) -> None:
    """To nobody."""
