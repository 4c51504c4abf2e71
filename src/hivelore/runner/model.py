"""Values of the runner: programs, tasks, usage and limits."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum


class Program(StrEnum):
    """An agent program that the runner can start."""

    CLAUDE = "claude"
    CODEX = "codex"


@dataclass(frozen=True, slots=True)
class Usage:
    """What a run used."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float = 0.0
    """0 if the program does not report it."""

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.cost_usd + other.cost_usd,
        )

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens


NO_USAGE = Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedTask:
    """A task that this runner works on, under a lease."""

    id: str
    text: str
    lease: str
    """Token that proves the lease."""
    attempt: int = 1
    lease_time: timedelta = timedelta(minutes=2)
    """Time for which the lease was given."""
    repo: str | None = None
    session: str | None = None
    """Newest session of the agent program that worked on this task before."""
    parent_session: str | None = None
    """Newest session of the task that this one continues."""
    handover: str = ""
    """What was reported of earlier work on this task, and of its parent."""
    spent_usd: float = 0.0
    """What earlier attempts of the task have cost."""


LEAST_COST = 0.000_001
"""The smallest amount of US dollars that a run can be limited to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """Limits of the work on one task."""

    time: timedelta | None = None
    """For one attempt."""
    cost_usd: float | None = None
    """For all attempts together."""

    def after(self, spent_usd: float) -> "RunLimits | None":
        """Returns the limits of the next attempt of a task that has cost something before; None if nothing is left."""
        if self.cost_usd is None:
            return self
        left = self.cost_usd - spent_usd
        return None if left < LEAST_COST else RunLimits(time=self.time, cost_usd=left)
