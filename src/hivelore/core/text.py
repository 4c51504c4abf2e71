"""Texts that are safe to keep, and those that are safe to show."""

from typing import NewType

Clean = NewType("Clean", str)
"""A text that went through ``core.redaction``: valid Unicode without NUL, secrets masked.
Stores, indexes, embedders and logs accept nothing else."""
Harmless = NewType("Harmless", str)
"""A text that went through ``core.sanitizer``: it passes for nothing but what was kept, and takes over no
terminal. Fences and terminals accept nothing else."""


def in_one_line(text: str) -> str:
    """Whatever breaks a line or is blank is one space; none at the ends."""
    return " ".join(text.split())
