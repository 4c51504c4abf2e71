"""Types of texts that are safe to store and safe to show."""

from typing import NewType

Clean = NewType("Clean", str)
"""A text that went through ``core.redaction``: valid Unicode without NUL, private text removed, secrets masked.
Stores, indexes, embedders and logs accept nothing else."""
Harmless = NewType("Harmless", str)
"""A text that went through ``core.sanitizer``: a model cannot mistake it for instructions, and it contains no terminal
controls. Fences and terminals accept nothing else."""


def counted(number: int, one: str, many: str | None = None) -> str:
    """Returns a number with its noun: ``1 file``, ``1,200 files``. ``many``: the plural, unless it ends with an s."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def in_one_line(text: str) -> str:
    """Replaces line breaks and white space by single spaces, and strips the ends."""
    return " ".join(text.split())
