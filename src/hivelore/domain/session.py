"""A conversation that an agent has somewhere, as far as it has to be known to be of use in it and not to repeat
ourselves."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from hivelore.domain.agent import AgentId
from hivelore.domain.memory import MemoryId
from hivelore.domain.search import RecallId
from hivelore.domain.text import Clean
from hivelore.domain.transcript import EventId

TOLD_LENGTH = 500
"""Of what was told in a session, so much is known at most: the newest."""
GOAL_LENGTH = 1_000
SHOWN_LENGTH = 500
"""Likewise of what was ever shown in it."""


def session_name(program: str, session: str, subagent: str | None) -> Clean:
    """What a session of a program is kept under, or that of a sub-agent in it."""
    name = f"{program}:{session}"
    return Clean(name if subagent is None else f"{name}:{subagent}")


class Told(NamedTuple):
    """A memory as the model has seen it."""

    memory: MemoryId
    version: int
    event: EventId
    """With the reply to which it was told."""


class Shown(NamedTuple):
    """A memory that was told, whether the model still knows it or not."""

    memory: MemoryId
    recall: RecallId | None
    """None: nobody asked for it, it was just new."""
    event: EventId
    at: datetime
    """UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    agent: AgentId
    id: Clean
    """Program and session, and of a sub-agent what it is called in there: one for each that remembers by itself what it
    was told."""
    updated_at: datetime
    """UTC."""
    begun_at: datetime | None = None
    """UTC, by the clock of the service, when it first heard of it; None: nobody has noted that."""
    goal: Clean | None = None
    """What was asked for first."""
    asked: Clean | None = None
    """What was asked for last."""
    briefed: EventId | None = None
    """With the reply to which what is known of the project was told."""
    told: tuple[Told, ...] = ()
    """Oldest first."""
    shown: tuple[Shown, ...] = ()
    """Oldest first."""
