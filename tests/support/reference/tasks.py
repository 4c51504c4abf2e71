"""Tasks of the reference store."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import TypeVar

from hivelore.changes.model import BatchId
from hivelore.core.agents import AgentId
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Conflict, NotFound
from hivelore.search.model import Visibility
from hivelore.tasks.authority import may_see, queue_of
from hivelore.tasks.costs import total
from hivelore.tasks.model import (
    FINISHED,
    MAX_CHAIN,
    MAX_PROGRESS,
    SUMMARY_LENGTH,
    UNFINISHED,
    Attempt,
    CostGroup,
    CostRow,
    Lease,
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
from hivelore.tasks.ports import Queues
from support.reference.state import KeptTask, State

V = TypeVar("V")
N = TypeVar("N", TaskSession, Attempt)


class TasksView:
    """The part of ``storage.ports.View`` that reads tasks."""

    state: State

    def lease_time(self, now: datetime) -> datetime:
        return now

    def task(self, task: TaskId) -> Task | None:
        kept = self.state.tasks.get(task)
        return None if kept is None else kept.task

    def task_with_client_id(self, creator: AgentId | None, client_id: Clean) -> Task | None:
        return next((one for one in self._tasks() if (one.creator, one.client_id) == (creator, client_id)), None)

    def task_of_session(self, session: Clean, agent: AgentId) -> Task | None:
        found = [
            (each.at, one.task.id)
            for one in self.state.tasks.values()
            for each in one.sessions
            if (each.session, each.agent) == (session, agent)
        ]
        return self.task(max(found)[1]) if found else None

    def tasks(self, where: TaskFilter, after: tuple[datetime, TaskId] | None, limit: int) -> Sequence[Task]:
        found = [one for one in self._tasks() if _admits(where, one)]
        found.sort(key=lambda one: (one.created_at, one.id), reverse=True)
        behind = (one for one in found if after is None or (one.created_at, one.id) < after)
        return [_summary(one) for one in behind][:limit]

    def failed_tasks(self, since: datetime, limit: int) -> Sequence[Task]:
        failed = [(one.finished_at, one.id, one) for one in self._tasks() if one.state is TaskState.FAILED]
        found = [(at, task, one) for at, task, one in failed if at is not None and at > since]
        return [_summary(one) for _, _, one in sorted(found, key=lambda one: one[:2], reverse=True)][:limit]

    def tasks_after(self, task: TaskId, limit: int) -> Sequence[Task]:
        return sorted((one for one in self._tasks() if one.id > task), key=lambda one: one.id)[:limit]

    def task_ids_from(self, seen: Visibility, prefix: str, limit: int) -> Sequence[TaskId]:
        found = (one.id for one in self._tasks() if one.id.startswith(prefix) and may_see(seen, one))
        return sorted(found)[:limit]

    def count_unfinished_tasks(self, creator: AgentId, most: int) -> int:
        return min(most, sum(one.creator == creator and one.state not in FINISHED for one in self._tasks()))

    def count_held_tasks(self, agent: AgentId, now: datetime, most: int) -> int:
        leases = (one.lease for one in self._tasks() if one.state is TaskState.RUNNING)
        return min(most, sum(one is not None and one.agent == agent and one.until > now for one in leases))

    def count_tasks(self) -> Mapping[TaskState, int]:
        return {state: sum(one.state is state for one in self._tasks()) for state in UNFINISHED}

    def is_claimable(self, queues: Queues, now: datetime) -> bool:
        return bool(self._claimable(queues, now))

    def next_lease_end(self, queues: Queues, now: datetime) -> datetime | None:
        ends = [one.lease.until for one in self._tasks() if one.lease is not None and _is_running_in(queues, one)]
        return min((end for end in ends if end > now), default=None)

    def exhausted_tasks(self, now: datetime, limit: int) -> Sequence[TaskId]:
        found = [
            (one.lease.until, one.id)
            for one in self._tasks()
            if one.state is TaskState.RUNNING
            and one.lease is not None
            and one.lease.until <= now
            and one.failures + 1 >= one.max_attempts
        ]
        return [task for _, task in sorted(found)][:limit]

    def unmet_dependencies(self, task: TaskId, limit: int) -> Sequence[TaskId]:
        known = self.task(task)
        found = (self.task(one) for one in (() if known is None else dict.fromkeys(known.depends_on)))
        return sorted(one.id for one in found if one is not None and one.state is not TaskState.COMPLETED)[:limit]

    def waiting_for(self, task: TaskId, after: TaskId, limit: int) -> Sequence[TaskId]:
        found = (one.id for one in self._tasks() if task in one.depends_on and one.state is TaskState.WAITING)
        return sorted(one for one in found if one > after)[:limit]

    def is_needed(self, task: TaskId) -> bool:
        return any(task in one.depends_on and one.state is not TaskState.COMPLETED for one in self._tasks())

    def task_progress(self, task: TaskId) -> Sequence[TaskProgress]:
        return self._kept(task, lambda one: one.progress)

    def task_sessions(self, task: TaskId) -> Sequence[TaskSession]:
        return self._kept(task, lambda one: one.sessions)

    def task_attempts(self, task: TaskId) -> Sequence[Attempt]:
        return self._kept(task, lambda one: one.attempts)

    def task_changes(self, batch: BatchId) -> Sequence[TaskChange]:
        known = self.state.batches.get(batch)
        return [] if known is None else sorted(known.task_changes, key=lambda one: one.task)

    def task_costs(self, task: TaskId, agent: AgentId | None = None) -> Sequence[TaskCost]:
        costs = [one for one in self._kept(task, lambda one: one.costs) if agent in (None, one.agent)]
        return sorted(costs, key=lambda one: (one.attempt, one.session, one.day))

    def usage_of_tasks(self, tasks: Collection[TaskId], agent: AgentId | None) -> Sequence[CostRow]:
        costs = {task: self.task_costs(task, agent) for task in sorted(set(tasks))}
        return [CostRow(key=task, usage=total(one.usage for one in found)) for task, found in costs.items() if found]

    def used_on(self, day: date) -> UsageTotal:
        return self.total_cost(day, day, None)

    def cost_groups(
        self, group: CostGroup, first: date, last: date, agent: AgentId | None, limit: int
    ) -> Sequence[CostRow]:
        keys: dict[str, list[UsageTotal]] = {}
        for one in self._costs(first, last, agent):
            key = {CostGroup.TASK: one.task, CostGroup.AGENT: one.agent, CostGroup.DAY: one.day.isoformat()}[group]
            keys.setdefault(key, []).append(one.usage)
        rows = [CostRow(key=key, usage=total(usages)) for key, usages in sorted(keys.items())]
        if group is CostGroup.DAY:
            return rows[::-1][:limit]
        return sorted(rows, key=lambda one: -one.usage.cost_micros)[:limit]

    def total_cost(self, first: date, last: date, agent: AgentId | None) -> UsageTotal:
        return total(one.usage for one in self._costs(first, last, agent))

    def _costs(self, first: date, last: date, agent: AgentId | None) -> Iterable[TaskCost]:
        every = (cost for kept in self.state.tasks.values() for cost in kept.costs)
        return (one for one in every if first <= one.day <= last and agent in (None, one.agent))

    def _tasks(self) -> Iterable[Task]:
        return (one.task for one in self.state.tasks.values())

    def _claimable(self, queues: Queues, now: datetime) -> list[Task]:
        mine = (one for one in self._tasks() if queue_of(one.assignee, one.creator_role) in queues)
        return sorted(
            filter(lambda one: _is_free(one, now), mine), key=lambda one: (-one.priority, one.created_at, one.id)
        )

    def _kept(self, task: TaskId, read: Callable[[KeptTask], Sequence[V]]) -> Sequence[V]:
        kept = self.state.tasks.get(task)
        return [] if kept is None else list(read(kept))


class TasksWriter(TasksView):
    """The part of ``storage.ports.Transaction`` that writes tasks."""

    def add_task(self, task: Task) -> None:
        if task.id in self.state.tasks:
            raise Conflict("Another task has this id.")
        self._refuse_taken_client_id(task)
        self._keep(KeptTask(task))

    def change_task(self, task: Task) -> None:
        if task.id not in self.state.tasks:
            raise NotFound("This task no longer exists.")
        self._refuse_taken_client_id(task)
        self._change(task.id, lambda one: replace(one, task=task))

    def _refuse_taken_client_id(self, task: Task) -> None:
        if task.client_id is not None:
            known = self.task_with_client_id(task.creator, task.client_id)
            if known is not None and known.id != task.id:
                raise Conflict("Another task has this client id.")

    def claim_task(
        self, queues: Queues, token: str, agent: AgentId, runner: Clean | None, now: datetime, lease: timedelta
    ) -> Task | None:
        found = self._claimable(queues, now)
        if not found:
            return None
        claimed = replace(
            found[0],
            state=TaskState.RUNNING,
            attempt=found[0].attempt + 1,
            failures=found[0].failures + (found[0].state is TaskState.RUNNING),
            lease=Lease(token=token, agent=agent, runner=runner, until=now + lease),
            version=found[0].version + 1,
            updated_at=now,
        )
        self.change_task(claimed)
        return claimed

    def renew_task_lease(self, task: TaskId, token: str, now: datetime, lease: timedelta) -> bool:
        known = self.task(task)
        if known is None or known.state is not TaskState.RUNNING or known.lease is None:
            return False
        if known.lease.token != token:
            return False
        self.change_task(replace(known, lease=replace(known.lease, until=max(known.lease.until, now + lease))))
        return True

    def extend_task_leases(self, now: datetime, least: timedelta) -> None:
        for one in list(self._tasks()):
            if one.state is TaskState.RUNNING and one.lease is not None:
                self.change_task(replace(one, lease=replace(one.lease, until=max(one.lease.until, now + least))))

    def open_task(self, task: TaskId, at: datetime) -> bool:
        known = self.task(task)
        if known is None or known.state is not TaskState.WAITING or self.unmet_dependencies(task, 1):
            return False
        self.change_task(replace(known, state=TaskState.OPEN, version=known.version + 1, updated_at=at))
        return True

    def put_task_progress(self, task: TaskId, progress: TaskProgress, keep: int = MAX_PROGRESS) -> None:
        def add(one: KeptTask) -> KeptTask:
            others = (*(each for each in one.progress if each.number != progress.number), progress)
            of_kind = sorted(each.number for each in others if each.kind is progress.kind)[-keep:]
            kept = (each for each in others if each.kind is not progress.kind or each.number in of_kind)
            return replace(one, progress=tuple(sorted(kept, key=lambda each: each.number)))

        self._change(task, add)

    def put_task_session(self, task: TaskId, session: TaskSession, keep: int = MAX_CHAIN) -> None:
        self._change(task, lambda one: replace(one, sessions=_added(one.sessions, session, keep)))

    def put_attempt(self, task: TaskId, attempt: Attempt, keep: int = MAX_CHAIN) -> None:
        self._change(task, lambda one: replace(one, attempts=_added(one.attempts, attempt, keep)))

    def put_task_changes(self, batch: BatchId, changes: Sequence[TaskChange]) -> None:
        known = self.state.batches[batch]
        new = {one.task for one in changes}
        before = tuple(one for one in known.task_changes if one.task not in new)
        after = replace(known, task_changes=(*before, *changes))
        self.state = replace(self.state, batches=self.state.batches.put(batch, after))

    def put_task_cost(self, cost: TaskCost) -> None:
        def key(one: TaskCost) -> tuple[int, str, date]:
            return one.attempt, one.session, one.day

        self._change(
            cost.task,
            lambda one: replace(one, costs=(*(each for each in one.costs if key(each) != key(cost)), cost)),
        )

    def name_task_costs(self, task: TaskId, attempt: int, session: Clean) -> None:
        def name(one: TaskCost) -> TaskCost:
            return replace(one, session=session) if (one.attempt, one.session) == (attempt, "") else one

        self._change(task, lambda one: replace(one, costs=tuple(map(name, one.costs))))

    def drop_task_costs(self, task: TaskId) -> None:
        if task in self.state.tasks:
            self._change(task, lambda one: replace(one, costs=()))

    def drop_task(self, task: TaskId) -> None:
        batches = self.state.batches
        for one in batches.values():
            left = tuple(change for change in one.task_changes if change.task != task)
            batches = batches.put(one.batch.id, replace(one, task_changes=left))
        self.state = replace(self.state, tasks=self.state.tasks.drop(task), batches=batches)

    def prune_tasks(self, before: datetime, limit: int) -> int:
        needed = {one for task in self._tasks() if task.state is not TaskState.COMPLETED for one in task.depends_on}
        old = sorted(
            (one.finished_at, one.id)
            for one in self._tasks()
            if one.finished_at is not None and one.finished_at < before and one.id not in needed
        )[:limit]
        for _, task in old:
            self.drop_task(task)
        return len(old)

    def _keep(self, kept: KeptTask) -> None:
        self.state = replace(self.state, tasks=self.state.tasks.put(kept.task.id, kept))

    def _change(self, task: TaskId, change: Callable[[KeptTask], KeptTask]) -> None:
        self._keep(change(self.state.tasks[task]))


def _added(known: tuple[N, ...], new: N, keep: int) -> tuple[N, ...]:
    kept = [one for one in known if one.number != new.number and one.number > new.number - keep]
    return tuple(sorted([*kept, new], key=lambda one: one.number))


def _is_free(task: Task, now: datetime) -> bool:
    if task.state is not TaskState.RUNNING or task.lease is None:
        return task.state is TaskState.OPEN
    return task.lease.until <= now and task.failures + 1 < task.max_attempts


def _is_running_in(queues: Queues, task: Task) -> bool:
    return task.state is TaskState.RUNNING and queue_of(task.assignee, task.creator_role) in queues


def _summary(task: Task) -> Task:
    def short(text: Clean | None) -> Clean | None:
        return None if text is None else Clean(text[: SUMMARY_LENGTH + 1])

    return replace(
        task,
        text=Clean(task.text[: SUMMARY_LENGTH + 1]),
        progress=short(task.progress),
        output=short(task.output),
        failure=short(task.failure),
    )


def _admits(where: TaskFilter, task: Task) -> bool:
    works_on = task.state is TaskState.RUNNING and task.lease is not None and task.lease.agent == where.agent
    return (
        may_see(where.seen, task)
        and task.state in where.states
        and (where.agent is None or task.assignee == where.agent or works_on)
        and where.creator in (None, task.creator)
        and where.parent in (None, task.parent)
        and where.repo in (None, task.repo)
        and (where.tag is None or where.tag in task.tags)
    )
