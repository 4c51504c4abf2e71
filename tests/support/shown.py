"""Figures that a test reports: ``make soak`` prints them at its end."""

from collections.abc import Callable, Sequence

Show = Callable[[str, Sequence[str]], None]
"""Takes a heading and the lines below it; those of several tests under one heading are printed together."""
