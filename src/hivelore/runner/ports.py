"""What the runner needs from the service and from this machine."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from hivelore.runner.model import ClaimedTask, Usage


class ServiceClient(Protocol):
    """Calls of the REST interface, as ``python.client.Client`` makes them."""

    url: str

    def call(
        self, method: str, path: str, *, body: Mapping[str, Any] | None = None, query: Mapping[str, Any] | None = None
    ) -> Any:
        """Returns the answer as JSON. Raises HiveloreError."""
        ...


@dataclass(frozen=True, slots=True)
class NoTask:
    """Why there is no task now."""

    message: str = ""
    is_refused: bool = False
    """True if tasks are refused for a while, such as after the daily limit of costs."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the service that can be repeated without a further effect."""

    method: str
    path: str
    body: Mapping[str, Any] = field(repr=False)
    verbatim: frozenset[str] = frozenset()
    """Fields of the body that are no text, such as the token of a lease. In all others secrets are masked when the
    call is kept."""


class TaskQueue(Protocol):
    """Tasks of the service, for one agent. All methods raise HiveloreError; Unavailable means that it may work later,
    Conflict or NotFound that the task is no longer that of this runner."""

    def claim(self, wait: float) -> ClaimedTask | NoTask:
        """Waits up to ``wait`` seconds for a task."""
        ...

    def heartbeat(self, task: ClaimedTask, session: str | None) -> None:
        """Extends the lease."""
        ...

    def knowledge(self, task: ClaimedTask) -> str:
        """Returns Relevant Past Knowledge (B11) with its heading, fenced; empty if there is none."""
        ...

    def state(self, task: ClaimedTask) -> str:
        """Returns the state of a task in the words of the service."""
        ...

    # Calls, which are kept and repeated when the service is away.

    def progress_call(self, task: ClaimedTask, text: str, session: str | None, usage: Usage | None) -> Call: ...

    def complete_call(self, task: ClaimedTask, output: str, session: str | None, usage: Usage | None) -> Call: ...

    def fail_call(
        self, task: ClaimedTask, reason: str, session: str | None, usage: Usage | None, *, may_retry: bool
    ) -> Call:
        """Fails an attempt. Where the lease was lost, the service refuses and keeps the reason as late progress."""
        ...

    def release_call(self, task: ClaimedTask, session: str | None = None, usage: Usage | None = None) -> Call:
        """Gives the task back, which counts as no failed attempt. ``usage``: what was not reported with a progress."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A workspace that is ready for a task."""

    folder: Path
    """Where the agent program is started. The same for each run of a task on this host: programs keep conversations by
    folder."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Variables from the configuration of the agent."""
    notes: tuple[str, ...] = ()


class Workspace(Protocol):
    def prepare(self, task: ClaimedTask, is_stopped: Callable[[], bool]) -> Prepared:
        """Prepares folders, repositories, configuration, identity and setup (D60). Raises HiveloreError, also soon
        after ``is_stopped`` returns True: then no process that it has started is left."""
        ...


class PromptSource(Protocol):
    """Texts of the service for an agent program (C21)."""

    def system_prompt(self, task: ClaimedTask) -> str: ...

    def operational_context(self) -> tuple[str, str]:
        """Returns the environment and the operational block; each may be empty."""
        ...


class TranscriptSource(Protocol):
    """Conversations of the agent program."""

    def has(self, session: str, folder: Path, stopping: Callable[[], bool], /) -> bool:
        """Returns True if the program can resume a session in a folder. A source that stores conversations elsewhere
        puts them where the program looks for them first, until ``stopping`` returns True."""
        ...

    def storing(self, session: Callable[[], str | None], folder: Path, /) -> AbstractContextManager[None]:
        """While the block runs, stores what a session writes, where this is turned on, and the rest at its end.
        ``session`` returns the id of the newest session of a program in a folder, as soon as it is known."""
        ...

    def usage_before(self, session: str) -> Usage:
        """Returns what a session has used so far, for programs that report the sum of a session."""
        ...
