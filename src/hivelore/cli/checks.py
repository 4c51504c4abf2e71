"""What an examination finds."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    OK = "ok"
    WARNING = "warning"
    """It works, but not as well or as safely as it should."""
    ERROR = "error"
    """Something does not work."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. What is not ``ok`` comes with a remedy."""

    name: str
    level: Level
    what: str
    remedy: str | None = None

    def __post_init__(self) -> None:
        if (self.remedy is None) != (self.level is Level.OK):
            raise ValueError("a remedy belongs to what is not well, and only there")


def ok(name: str, what: str) -> Finding:
    return Finding(name, Level.OK, what)


def warning(name: str, what: str, remedy: str) -> Finding:
    return Finding(name, Level.WARNING, what, remedy)


def error(name: str, what: str, remedy: str) -> Finding:
    return Finding(name, Level.ERROR, what, remedy)
