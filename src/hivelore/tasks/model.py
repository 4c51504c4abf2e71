"""Values of tasks, of the leases under which agents work on them, and of their costs (D20)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Annotated, NewType

from msgspec import Meta

from hivelore.core.agents import AgentId, Role
from hivelore.core.text import Clean
from hivelore.core.values import Request, Value, json_names
from hivelore.memories.model import MemoryId
from hivelore.search.model import Visibility

TaskId = NewType("TaskId", str)
"""A UUID (version 7) in its lower-case text form."""

TEXT_BYTES = 65_536
"""Bytes of UTF-8 in the text and in the output of a task."""
NOTE_BYTES = 16_384
"""Bytes of UTF-8 in a progress and in the reason of a failure."""
NAME_LENGTH = 200
"""Characters of a repository, a client id, a runner and a session."""
MAX_DEPENDENCIES = 100
MAX_TAGS = 20
MAX_PRIORITY = 100
MAX_ATTEMPTS = 20
DEFAULT_ATTEMPTS = 3
MAX_PROGRESS = 50
"""Latest progress texts, and latest late results, that a task keeps."""
MAX_CHAIN = 50
"""Latest sessions, and latest attempts, that a task keeps."""
MAX_UNFINISHED = 1_000
"""Unfinished tasks that a worker may have sent."""
SUMMARY_LENGTH = 300
"""Characters of the texts of a task in lists."""


class TaskState(StrEnum):
    OPEN = "open"
    """An agent may claim it."""
    WAITING = "waiting"
    """A task that it depends on is not completed."""
    RUNNING = "running"
    """An agent has claimed it. If the lease has ended, another agent may claim it."""
    PAUSED = "paused"
    """It waits until a person or a lead resumes it."""
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


FINISHED = frozenset({TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED})
UNFINISHED = tuple(state for state in TaskState if state not in FINISHED)


class Lease(Value, frozen=True, kw_only=True):
    """The right of one agent to work on a task for some time."""

    token: str | None
    """Proves the lease. Only the answer to the claim shows it."""
    agent: AgentId
    runner: Clean | None
    """The process or host that works on the task, as it names itself."""
    until: datetime

    def __post_init__(self) -> None:
        if self.until.tzinfo is not UTC:
            raise ValueError("instants are in UTC")


_TASK_NAMES = json_names(
    parent="parentTaskId",
    session="sessionId",
    session_agent="sessionAgentId",
    creator="creatorId",
    reporter="reporterId",
)


class Task(Value, frozen=True, kw_only=True, rename=_TASK_NAMES):
    """Work that an agent is to do."""

    id: TaskId
    text: Clean
    state: TaskState
    created_at: datetime
    updated_at: datetime
    version: int = 1
    """Number of changes of the state and of what was asked for."""
    creator: AgentId | None
    """None: an operator who did not act for an agent."""
    creator_role: Role
    assignee: AgentId | None = None
    """The agent that is to do it; None: any agent of the swarm."""
    parent: TaskId | None = None
    repo: Clean | None = None
    """Name of the repository to work in."""
    project: Clean | None = None
    """Project of the memories that the task leaves."""
    priority: int = 0
    """Tasks of higher priority are claimed first."""
    tags: tuple[Clean, ...] = ()
    depends_on: tuple[TaskId, ...] = ()
    """Tasks that have to be completed before."""
    client_id: Clean | None = None
    """Sending a task again with the id that its sender gave it changes nothing."""
    attempt: int = 0
    """Number of the last claim."""
    failures: int = 0
    """Attempts that failed, or whose lease ended."""
    max_attempts: int = DEFAULT_ATTEMPTS
    """Failures after which the task is failed."""
    lease: Lease | None = None
    session: Clean | None = None
    """The newest session of the agent program, from which the work can be resumed (D21). Workers see only their own."""
    session_agent: AgentId | None = None
    """The agent that reported the session."""
    progress: Clean | None = None
    """The last progress."""
    progress_at: datetime | None = None
    output: Clean | None = None
    failure: Clean | None = None
    """Why it failed, or the last attempt of it."""
    reporter: AgentId | None = None
    """The agent that last reported progress or a result; None if none but operators did."""
    finished_at: datetime | None = None

    def __post_init__(self) -> None:
        instants = (self.created_at, self.updated_at, self.progress_at, self.finished_at)
        if any(at is not None and at.tzinfo is not UTC for at in instants):
            raise ValueError("instants are in UTC")


class ProgressKind(StrEnum):
    PROGRESS = "progress"
    LATE = "late"
    """The result of an attempt whose lease was lost. An attempt leaves at most one."""


class TaskProgress(Value, frozen=True, kw_only=True):
    """A progress text of a task."""

    number: int
    at: datetime
    actor: AgentId | None
    """None: an operator who did not act for an agent."""
    attempt: int
    """The attempt of a late result; else the last one at that time, 0 before the first one."""
    kind: ProgressKind
    text: Clean


class TaskSession(Value, frozen=True, kw_only=True):
    """A session of the agent program that worked on a task."""

    number: int
    session: Clean
    agent: AgentId | None
    """The agent that reported it."""
    attempt: int
    at: datetime


class Attempt(Value, frozen=True, kw_only=True):
    """A claim of a task."""

    number: int
    token: str
    agent: AgentId
    runner: Clean | None
    at: datetime


class TaskDetail(Value, frozen=True, kw_only=True):
    """A task with the latest progress texts and sessions, oldest first."""

    task: Task
    progress: tuple[TaskProgress, ...] = ()
    sessions: tuple[TaskSession, ...] = ()
    unmet: tuple[TaskId, ...] = ()
    """Tasks that it still waits for."""
    usage: "UsageTotal"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFilter:
    """Selects tasks. Fields that are None admit all."""

    seen: Visibility
    states: tuple[TaskState, ...] = tuple(TaskState)
    agent: AgentId | None = None
    """Only tasks that are assigned to this agent or that it works on."""
    creator: AgentId | None = None
    parent: TaskId | None = None
    repo: Clean | None = None
    tag: Clean | None = None


class TaskPage(Value, frozen=True, kw_only=True):
    """Tasks, newest first. Their texts are shortened to 300 characters."""

    tasks: tuple[Task, ...]
    usage: tuple["CostRow", ...] = ()
    """What these tasks used, as far as the viewer may see it; without those that used nothing."""
    next: str | None


class ClaimResult(Value, frozen=True, kw_only=True):
    """A claimed task with its lease, or why there is none."""

    task: Task | None
    message: str
    retry_in: float | None = None
    """Seconds after which a lease ends, so that there may be a task."""
    is_over_limit: bool = False
    """True if the daily limit of costs is used up."""
    spent_micros: int = 0
    """Millionths of a US dollar that earlier attempts of the task have cost."""


@dataclass(frozen=True, slots=True)
class TaskChange:
    """What a change of a person replaced."""

    task: TaskId
    state: TaskState
    priority: int
    tags: tuple[Clean, ...]
    depends_on: tuple[TaskId, ...]
    after: int
    """The version of the task after the change; detects later changes."""


# costs

MAX_TOKENS = 10**9
MAX_COST = 1_000.0
"""What one session may report for one attempt."""
MICROS = 1_000_000

Tokens = Annotated[int, Meta(ge=0, le=MAX_TOKENS)]


class Usage(Request, frozen=True, kw_only=True):
    """The tokens and the money that a session of an agent program has used for a task so far."""

    session_id: str | None = None
    """None: the newest session of the task."""
    input_tokens: Tokens = 0
    output_tokens: Tokens = 0
    cache_read_tokens: Tokens = 0
    cache_write_tokens: Tokens = 0
    cost_usd: Annotated[float, Meta(ge=0, le=MAX_COST)] = 0.0


class UsageTotal(Value, frozen=True, kw_only=True):
    """Tokens and money."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_micros: int = 0
    """Millionths of a US dollar."""

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens


COUNTERS = UsageTotal.__struct_fields__


class TaskCost(Value, frozen=True, kw_only=True):
    """What a session used for an attempt of a task on one day."""

    task: TaskId
    attempt: int
    session: Clean
    """Empty if the session is not known."""
    day: date
    agent: AgentId
    usage: UsageTotal


class CostGroup(StrEnum):
    TASK = "task"
    AGENT = "agent"
    DAY = "day"


class CostRow(Value, frozen=True, kw_only=True):
    """The costs of a task, an agent or a day."""

    key: str
    usage: UsageTotal
    name: str | None = None
    """Name of the agent."""


class CostReport(Value, frozen=True, kw_only=True):
    rows: tuple[CostRow, ...]
    total: UsageTotal
    is_cut: bool = False
    """True if there are more rows."""


@dataclass(frozen=True, slots=True)
class AgentUsage:
    """What the tasks of an agent used on a day."""

    agent: AgentId | None
    """None: all other agents together."""
    name: str
    usage: UsageTotal


@dataclass(frozen=True, slots=True)
class TaskCounts:
    unfinished: Mapping[TaskState, int]
    today: UsageTotal
    """What all tasks used on this day (UTC)."""


class Knowledge(Value, frozen=True, kw_only=True):
    """What earlier work teaches about a task (B11)."""

    text: str | None
    """Text for the context of the agent, with the heading Relevant Past Knowledge; None if nothing is known."""
    memories: tuple[MemoryId, ...] = ()
