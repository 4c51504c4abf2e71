"""Ports of tasks, their progress, sessions, attempts and costs."""

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Protocol

from hivelore.changes.model import BatchId
from hivelore.core.agents import AgentId
from hivelore.core.text import Clean
from hivelore.search.model import Visibility
from hivelore.tasks.model import (
    MAX_CHAIN,
    MAX_PROGRESS,
    Attempt,
    CostGroup,
    CostRow,
    Task,
    TaskChange,
    TaskCost,
    TaskFilter,
    TaskId,
    TaskProgress,
    TaskSession,
    TaskState,
    UsageTotal,
)

Queues = tuple[str, str, str, str]
"""The queues of an agent (``authority.queues_for``)."""


class TaskReads(Protocol):
    """Tasks, and what belongs to them."""

    def lease_time(self, now: datetime) -> datetime:
        """Returns the time by which leases are given and end. A shared store uses its own clock, because the clocks of
        the processes that share it may differ."""
        ...

    def task(self, task: TaskId) -> Task | None: ...

    def task_with_client_id(self, creator: AgentId | None, client_id: Clean) -> Task | None: ...

    def task_of_session(self, session: Clean, agent: AgentId) -> Task | None:
        """Returns the task that a session worked on last, as its agent reported."""
        ...

    def tasks(self, where: TaskFilter, after: tuple[datetime, TaskId] | None, limit: int) -> Sequence[Task]:
        """Returns a page of tasks, newest first, then by id, with texts of at most ``SUMMARY_LENGTH`` + 1
        characters."""
        ...

    def failed_tasks(self, since: datetime, limit: int) -> Sequence[Task]:
        """Returns the tasks that failed after an instant, the latest first, then by id, with texts as short as those of
        ``tasks``."""
        ...

    def tasks_after(self, task: TaskId, limit: int) -> Sequence[Task]:
        """Returns a page of all tasks, by id. The first page begins after an empty id."""
        ...

    def task_ids_from(self, seen: Visibility, prefix: str, limit: int) -> Sequence[TaskId]:
        """Returns the first ids that begin with a text that is not empty."""
        ...

    def count_unfinished_tasks(self, creator: AgentId, most: int) -> int:
        """Counts the unfinished tasks that an agent sent, up to ``most``."""
        ...

    def count_held_tasks(self, agent: AgentId, now: datetime, most: int) -> int:
        """Counts the tasks on which an agent works under a lease that has not ended, up to ``most``."""
        ...

    def count_tasks(self) -> Mapping[TaskState, int]:
        """Counts the tasks of each unfinished state."""
        ...

    def is_claimable(self, queues: Queues, now: datetime) -> bool:
        """Returns True if a task of these queues can be claimed now."""
        ...

    def next_lease_end(self, queues: Queues, now: datetime) -> datetime | None:
        """Returns when the next lease of a task of these queues ends; None if there is none."""
        ...

    def exhausted_tasks(self, now: datetime, limit: int) -> Sequence[TaskId]:
        """Returns tasks whose last lease has ended and that have no attempts left, those whose lease ended first."""
        ...

    def unmet_dependencies(self, task: TaskId, limit: int) -> Sequence[TaskId]:
        """Returns the first tasks that a task depends on and that are not completed, by id."""
        ...

    def waiting_for(self, task: TaskId, after: TaskId, limit: int) -> Sequence[TaskId]:
        """Returns a page of the waiting tasks that depend on a task, by id."""
        ...

    def is_needed(self, task: TaskId) -> bool:
        """Returns True if a task that is not completed depends on this one."""
        ...

    def task_progress(self, task: TaskId) -> Sequence[TaskProgress]:
        """Returns the latest progress texts and late results, oldest first."""
        ...

    def task_sessions(self, task: TaskId) -> Sequence[TaskSession]:
        """Returns the latest sessions, oldest first."""
        ...

    def task_attempts(self, task: TaskId) -> Sequence[Attempt]:
        """Returns the latest attempts, oldest first."""
        ...

    def task_changes(self, batch: BatchId) -> Sequence[TaskChange]:
        """Returns the changes of a batch, by task."""
        ...

    def task_costs(self, task: TaskId, agent: AgentId | None = None) -> Sequence[TaskCost]:
        """Returns the costs of a task, by attempt, session and day. ``agent``: only those of one agent."""
        ...

    def usage_of_tasks(self, tasks: Collection[TaskId], agent: AgentId | None) -> Sequence[CostRow]:
        """Returns what tasks used, by task, without those that used nothing. ``agent``: only what this agent used."""
        ...

    def used_on(self, day: date) -> UsageTotal:
        """Returns what all tasks used on a day."""
        ...

    def cost_groups(
        self, group: CostGroup, first: date, last: date, agent: AgentId | None, limit: int
    ) -> Sequence[CostRow]:
        """Returns the costs of some days by task, agent or day: the latest days first, else the largest amounts of
        money first, then by key. ``agent``: only those of one agent."""
        ...

    def total_cost(self, first: date, last: date, agent: AgentId | None) -> UsageTotal:
        """Returns the costs of some days together."""
        ...


class TaskWrites(Protocol):
    """Tasks, and what belongs to them."""

    def add_task(self, task: Task) -> None:
        """Adds a task with its dependencies. Raises Conflict if its id is taken, or if another task of its sender has
        the client id."""
        ...

    def change_task(self, task: Task) -> None:
        """Replaces a task with its dependencies. Raises NotFound if it was deleted, and Conflict as ``add_task``."""
        ...

    def claim_task(
        self, queues: Queues, token: str, agent: AgentId, runner: Clean | None, now: datetime, lease: timedelta
    ) -> Task | None:
        """Gives the first claimable task of these queues to an agent, in one statement; None if there is none. Tasks
        that others are claiming are skipped. First are those of the highest priority, then the oldest. A task whose
        lease has ended counts one failure, and is given again if it has another attempt left."""
        ...

    def renew_task_lease(self, task: TaskId, token: str, now: datetime, lease: timedelta) -> bool:
        """Makes a lease last at least so long from now on. Returns False if it is not the current one."""
        ...

    def extend_task_leases(self, now: datetime, least: timedelta) -> None:
        """Makes every lease last at least so long from now on, also those that have ended."""
        ...

    def open_task(self, task: TaskId, at: datetime) -> bool:
        """Makes a waiting task open if all tasks that it depends on are completed. Returns False if not."""
        ...

    def put_task_progress(self, task: TaskId, progress: TaskProgress, keep: int = MAX_PROGRESS) -> None:
        """Inserts or replaces a progress text, and deletes all but the latest of its kind."""
        ...

    def put_task_session(self, task: TaskId, session: TaskSession, keep: int = MAX_CHAIN) -> None:
        """Inserts or replaces a session, and deletes all but the latest."""
        ...

    def put_attempt(self, task: TaskId, attempt: Attempt, keep: int = MAX_CHAIN) -> None:
        """Inserts or replaces an attempt, and deletes all but the latest."""
        ...

    def put_task_changes(self, batch: BatchId, changes: Sequence[TaskChange]) -> None:
        """Adds changes to a batch, which ``drop_batch`` deletes with it."""
        ...

    def put_task_cost(self, cost: TaskCost) -> None:
        """Inserts or replaces the costs of a session, an attempt and a day."""
        ...

    def name_task_costs(self, task: TaskId, attempt: int, session: Clean) -> None:
        """Moves the costs of the unknown session of an attempt to a session that has no costs yet."""
        ...

    def drop_task_costs(self, task: TaskId) -> None:
        """Deletes the costs of a task. Dropping twice is allowed."""
        ...

    def drop_task(self, task: TaskId) -> None:
        """Deletes a task with all that belongs to it. Dropping twice is allowed."""
        ...

    def prune_tasks(self, before: datetime, limit: int) -> int:
        """Deletes up to ``limit`` tasks that were finished before an instant and that are not needed, the oldest first.
        Returns how many."""
        ...
