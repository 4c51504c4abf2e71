"""What processes that work on one store tell each other."""

from enum import StrEnum


class Notice(StrEnum):
    AGENTS = "agents"
    """Keys or agents have changed."""
    WAITING = "waiting"
    """More texts wait for a vector than whoever tells it can embed at once."""
