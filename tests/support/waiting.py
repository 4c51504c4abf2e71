"""Waiting for another thread or process that sends no signal."""

from collections.abc import Callable
from threading import Event


def until(condition: Callable[[], bool], meanwhile: Callable[[], object] = lambda: Event().wait(0.02)) -> None:
    """Polls until the condition holds; the time-out of the test limits the wait."""
    while not condition():
        meanwhile()
