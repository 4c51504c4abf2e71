"""What a test may have to show besides whether it passes: ``make soak`` prints it at its end."""

from collections.abc import Callable, Sequence

Show = Callable[[str, Sequence[str]], None]
"""Takes a heading and the lines below it; those of several tests under one heading are printed together."""
