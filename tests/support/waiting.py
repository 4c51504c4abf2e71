"""Waiting for another thread or process that sends no signal."""

from collections.abc import Callable
from threading import Event


def until(condition: Callable[[], bool], meanwhile: Callable[[], object] = lambda: Event().wait(0.02)) -> None:
    """Look again and again; the time-out of the test ends what never comes."""
    while not condition():
        meanwhile()
