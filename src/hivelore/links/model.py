"""Values of the links between memories (X23)."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

from hivelore.core.agents import AgentId
from hivelore.core.text import Clean
from hivelore.core.values import Value, written
from hivelore.memories.model import Memory, MemoryId
from hivelore.memories.stored import DocumentKey


class LinkKind(StrEnum):
    """How the source of a link relates to its target. The source is the later statement."""

    SAME_AS = "same-as"
    UPDATES = "updates"
    CONFLICTS_WITH = "conflicts-with"
    MAY_UPDATE = "may-update"
    """The judge is not sure whether the source updates or contradicts the target. The certainty is the probability of
    either."""


DOUBTS = (LinkKind.MAY_UPDATE, LinkKind.CONFLICTS_WITH)
"""Kinds of links that only order memories: the target may still hold."""


class Link(Value, frozen=True, kw_only=True, omit_defaults=True):
    """What the contradiction judge found about two memories. It changes neither of them."""

    source: MemoryId
    """The later statement."""
    target: MemoryId
    kind: LinkKind
    certainty: float
    """Probability that the kind is right, 0 to 1."""
    why: Clean
    """What differs, such as ``npm -> pnpm``; may be empty."""
    model: Clean
    """Name of the model that judged."""
    at: datetime
    """When it was judged."""
    rejected_at: datetime | None = written(None)
    """Since when it does not count because somebody rejected it. The judge does not make it again."""
    rejected_by: AgentId | None = written(None)
    """None: not rejected, or rejected by an operator who did not act for an agent."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.certainty <= 1.0:
            raise ValueError("a certainty is 0 to 1")
        if self.source == self.target:
            raise ValueError("a memory has no link to itself")
        for instant in (self.at, self.rejected_at):
            if instant is not None and instant.tzinfo is not UTC:
                raise ValueError("instants are in UTC")

    @property
    def counts(self) -> bool:
        return self.rejected_at is None


@dataclass(frozen=True, slots=True)
class StoredLink:
    """A link with the keys of its memories in this store."""

    source: DocumentKey
    target: DocumentKey
    link: Link


@dataclass(frozen=True, slots=True)
class LaterStatement:
    """A memory that says since when an earlier one no longer holds, or may say so."""

    memory: Memory
    at: datetime
    """When it was stated."""
    is_certain: bool = True
    """False if it only may update or contradict the earlier one."""


class Successor(NamedTuple):
    """A memory that updates an earlier one. Successors are sorted by what counts most: those that hold, then the latest
    statement, then the greatest id, so that the order in which a store received them does not matter."""

    holds: bool
    """False if it was not stated yet, has expired or was replaced."""
    since: datetime
    """Since when it holds. ``links.decisions.stated_at`` also regards when its text was changed."""
    id: MemoryId
    key: DocumentKey


class LinkedMemory(Value, frozen=True, kw_only=True):
    """A link of a memory, and the memory at its other end."""

    link: Link
    other: MemoryId
    name: Clean
    """Of the other memory."""
    stated_at: datetime
    """Since when the other memory holds."""


class LinkPage(Value, frozen=True, kw_only=True):
    """The links of one memory, the latest judged first."""

    links: tuple[LinkedMemory, ...]
