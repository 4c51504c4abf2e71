"""Tasks, and their dependencies, progress, sessions, attempts, changes and costs."""

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime, timedelta
from heapq import merge
from itertools import islice

from hivelore.changes.model import BatchId
from hivelore.core.agents import AgentId
from hivelore.core.text import Clean
from hivelore.errors import NotFound
from hivelore.search.model import Visibility
from hivelore.storage.sql.statements import (
    INSTANT,
    MICROSECOND,
    PLAIN,
    ROLES,
    TEXTS,
    Codec,
    Columns,
    Param,
    SqlReader,
    SqlWriter,
    Table,
    after_position,
    begins_with,
    codes,
    from_micros,
    plain,
    to_json,
    to_micros,
)
from hivelore.tasks.authority import queue_of
from hivelore.tasks.dependencies import lock_of
from hivelore.tasks.model import (
    COUNTERS,
    MAX_CHAIN,
    MAX_PROGRESS,
    SUMMARY_LENGTH,
    UNFINISHED,
    Attempt,
    CostGroup,
    CostRow,
    Lease,
    ProgressKind,
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

STATE = {
    TaskState.OPEN: 1,
    TaskState.WAITING: 2,
    TaskState.RUNNING: 3,
    TaskState.PAUSED: 4,
    TaskState.COMPLETED: 5,
    TaskState.FAILED: 6,
    TaskState.CANCELLED: 7,
}
"""The statements name these numbers; unfinished ones are below 5."""


def _creator_key(task: Task) -> str:
    return task.creator or ""


def _queue(task: Task) -> str:
    return queue_of(task.assignee, task.creator_role)


TASK = Table(
    Task,
    "task",
    "id",
    "creator_key queue",
    id=PLAIN,
    text=PLAIN,
    state=codes(STATE),
    created_at=INSTANT,
    updated_at=INSTANT,
    **plain("version creator assignee"),
    creator_role=ROLES,
    **plain("parent repo project priority"),
    tags=TEXTS,
    depends_on=TEXTS,
    **plain("client_id attempt failures max_attempts session session_agent progress"),
    progress_at=INSTANT,
    **plain("output failure reporter"),
    finished_at=INSTANT,
    lease=Columns(
        Lease,
        None,
        token=PLAIN.named("lease_token"),
        agent=PLAIN.named("lease_agent"),
        runner=PLAIN.named("lease_runner"),
        until=INSTANT.named("lease_until"),
    ),
)
PROGRESS = Table(
    TaskProgress,
    "task_progress",
    "task number",
    number=PLAIN,
    at=INSTANT,
    actor=PLAIN,
    attempt=PLAIN,
    kind=codes({ProgressKind.PROGRESS: 1, ProgressKind.LATE: 2}),
    text=PLAIN,
)
SESSION = Table(TaskSession, "task_session", "task number", **plain("number session agent attempt"), at=INSTANT)
ATTEMPT = Table(Attempt, "task_attempt", "task number", **plain("number token agent runner"), at=INSTANT)
CHANGE = Table(
    TaskChange,
    "task_change",
    "batch task",
    task=PLAIN,
    state=codes(STATE),
    priority=PLAIN,
    tags=TEXTS,
    depends_on=TEXTS,
    after=PLAIN,
)
COST = Table(
    TaskCost,
    "task_cost",
    "task attempt session day",
    **plain("task attempt session"),
    day=Codec(date.fromisoformat, date.isoformat),
    agent=PLAIN,
    usage=Columns(UsageTotal, None, **plain(" ".join(COUNTERS))),
)
_LONG = ("text", "progress", "output", "failure")
SUMMARY = ", ".join(
    f"substr(ta.{name}, 1, {SUMMARY_LENGTH + 1})" if name in _LONG else f"ta.{name}" for name in TASK.names
)
"""The columns of a task with shortened texts."""
COST_SUMS = ", ".join(f"COALESCE(SUM(tc.{name}), 0)" for name in COUNTERS)
COST_ORDERS = {one: "tc.day DESC" if one is CostGroup.DAY else "SUM(tc.cost_micros) DESC, 1" for one in CostGroup}


_WORKED_ON = "ta.lease_agent = :agent AND ta.state = 3"


def task_conditions(where: TaskFilter) -> list[tuple[str, dict[str, Param]]]:
    """Returns a filter, except for states, as disjoint conditions, each of which an index can scan in order."""
    sql, params = "", dict[str, Param]()
    if where.parent is not None:
        sql, params = f"{sql} AND ta.parent = :parent", {**params, "parent": where.parent}
    if where.repo is not None:
        sql, params = f"{sql} AND ta.repo = :repo", {**params, "repo": where.repo}
    if where.tag is not None:
        # Every tag follows a comma then. A quotation mark within a tag follows a backslash.
        sql += " AND REPLACE(',' || SUBSTR(ta.tags, 2), :tag, '') <> ',' || SUBSTR(ta.tags, 2)"
        params = {**params, "tag": f",{to_json([where.tag])[1:-1]}"}
    if where.creator is not None:
        sql, params = f"{sql} AND ta.creator_key = :sender", {**params, "sender": where.creator}
    of_agent = [""]
    if where.agent is not None:
        of_agent = [
            " AND ta.assignee = :agent",
            f" AND {_WORKED_ON} AND (ta.assignee IS NULL OR ta.assignee <> :agent)",
        ]
        params = {**params, "agent": where.agent}
    own = {**params, "own": where.seen.own} if where.seen.own is not None else params
    return [(f"{sql}{mine}{seen}", own) for mine in of_agent for seen in _seen_parts(where.seen)]


def _seen_parts(seen: Visibility) -> list[str]:
    """Returns what a viewer may see as disjoint conditions."""
    if seen.others:
        return [""]
    parts = [" AND ta.assignee IS NULL"] if seen.swarm else []
    if seen.own is not None:
        parts.append(" AND ta.assignee = :own")
        parts.append(" AND ta.creator_key = :own AND ta.assignee IS NOT NULL AND ta.assignee <> :own")
        if not seen.swarm:
            parts.append(" AND ta.creator_key = :own AND ta.assignee IS NULL")
    return parts


def seen_condition(seen: Visibility) -> tuple[str, dict[str, Param]]:
    if seen.others:
        return "", {}
    pool = "ta.assignee IS NULL" if seen.swarm else "1 = 0"
    return f" AND ({pool} OR ta.assignee = :own OR ta.creator_key = :own)", {"own": seen.own or "-"}


def _task_params(task: Task) -> dict[str, Param]:
    return {**TASK.params(task), "creator_key": _creator_key(task), "queue": _queue(task)}


def _queues(queues: Queues) -> dict[str, Param]:
    return dict(zip(("own", "pool", "own_of_workers", "pool_of_workers"), queues, strict=True))


def _days(first: date, last: date, agent: AgentId | None) -> dict[str, Param]:
    days: dict[str, Param] = {"first": first.isoformat(), "last": last.isoformat()}
    return days if agent is None else {**days, "agent": agent}


def cost_condition(agent: AgentId | None) -> str:
    return "" if agent is None else "AND tc.agent = :agent"


def _total(row: Sequence[int]) -> UsageTotal:
    return UsageTotal(**dict(zip(COUNTERS, map(int, row), strict=True)))


class TaskReader(SqlReader):
    """Implements ``tasks.ports.TaskReads``."""

    TABLES = (TASK, PROGRESS, SESSION, ATTEMPT, CHANGE, COST)

    def lease_time(self, now: datetime) -> datetime:
        return from_micros(self.row("lease_time", now=to_micros(now))[0])

    def task(self, task: TaskId) -> Task | None:
        return self.read_one(TASK, "task_by_id", id=task)

    def task_with_client_id(self, creator: AgentId | None, client_id: Clean) -> Task | None:
        return self.read_one(TASK, "task_by_client_id", creator=creator or "", client_id=client_id)

    def task_of_session(self, session: Clean, agent: AgentId) -> Task | None:
        return self.read_one(TASK, "task_by_session", session=session, agent=agent)

    def tasks(self, where: TaskFilter, after: tuple[datetime, TaskId] | None, limit: int) -> Sequence[Task]:
        behind, position = after_position("ta.created_at, ta.id", after)
        pages: list[list[Task]] = []
        for state in dict.fromkeys(where.states):
            for sql, params in task_conditions(where):
                statement = self.SQL["task_list"].replace("{task_filter}", sql + behind)
                named: dict[str, Param] = {**params, **position, "state": STATE[state], "limit": limit}
                pages.append(TASK.read_all(self.rows(statement, named)))
        newest = merge(*pages, key=lambda one: (one.created_at, one.id), reverse=True)
        return list(islice(newest, limit))

    def failed_tasks(self, since: datetime, limit: int) -> Sequence[Task]:
        return self.read_all(TASK, "tasks_failed", since=to_micros(since), limit=limit)

    def tasks_after(self, task: TaskId, limit: int) -> Sequence[Task]:
        return self.read_all(TASK, "tasks_after", after=task, limit=limit)

    def task_ids_from(self, seen: Visibility, prefix: str, limit: int) -> Sequence[TaskId]:
        sql, params = seen_condition(seen)
        begins, ends = begins_with("ta.id", prefix)
        statement = self.SQL["task_ids"].replace("{task_filter}", sql + begins)
        return [TaskId(row[0]) for row in self.rows(statement, {**params, **ends, "limit": limit})]

    def count_unfinished_tasks(self, creator: AgentId, most: int) -> int:
        return self.row("task_count", creator=creator, most=most)[0]

    def count_held_tasks(self, agent: AgentId, now: datetime, most: int) -> int:
        return self.row("task_held", agent=agent, now=to_micros(now), most=most)[0]

    def count_tasks(self) -> Mapping[TaskState, int]:
        found = dict(self.rows(self.SQL["tasks_counts"]))
        return {state: found.get(STATE[state], 0) for state in UNFINISHED}

    def is_claimable(self, queues: Queues, now: datetime) -> bool:
        return self.row("task_claimable", **_queues(queues), now=to_micros(now)) is not None

    def next_lease_end(self, queues: Queues, now: datetime) -> datetime | None:
        end = self.row("task_next_end", **_queues(queues), now=to_micros(now))[0]
        return None if end is None else from_micros(end)

    def exhausted_tasks(self, now: datetime, limit: int) -> Sequence[TaskId]:
        rows = self.rows(self.SQL["tasks_exhausted"], {"now": to_micros(now), "limit": limit})
        return [TaskId(row[0]) for row in rows]

    def unmet_dependencies(self, task: TaskId, limit: int) -> Sequence[TaskId]:
        return [TaskId(row[0]) for row in self.rows(self.SQL["task_unmet"], {"id": task, "limit": limit})]

    def waiting_for(self, task: TaskId, after: TaskId, limit: int) -> Sequence[TaskId]:
        rows = self.rows(self.SQL["tasks_waiting"], {"id": task, "after": after, "limit": limit})
        return [TaskId(row[0]) for row in rows]

    def is_needed(self, task: TaskId) -> bool:
        return self.row("task_needed", id=task) is not None

    def task_progress(self, task: TaskId) -> Sequence[TaskProgress]:
        return self.read_all(PROGRESS, "task_progress", id=task)

    def task_sessions(self, task: TaskId) -> Sequence[TaskSession]:
        return self.read_all(SESSION, "task_sessions", id=task)

    def task_attempts(self, task: TaskId) -> Sequence[Attempt]:
        return self.read_all(ATTEMPT, "task_attempts", id=task)

    def task_changes(self, batch: BatchId) -> Sequence[TaskChange]:
        return self.read_all(CHANGE, "task_changes", batch=batch)

    def task_costs(self, task: TaskId, agent: AgentId | None = None) -> Sequence[TaskCost]:
        statement = self.SQL["task_costs"].replace("{cost_filter}", cost_condition(agent))
        of_agent: dict[str, Param] = {} if agent is None else {"agent": agent}
        return COST.read_all(self.rows(statement, {"id": task, **of_agent}))

    def usage_of_tasks(self, tasks: Collection[TaskId], agent: AgentId | None) -> Sequence[CostRow]:
        of_agent: dict[str, Param] = {} if agent is None else {"agent": agent}
        rows = self.rows(self._costs("cost_of_tasks", agent), {"tasks": self.array(tasks), **of_agent})
        return [CostRow(key=key, usage=_total(sums)) for key, *sums in rows]

    def used_on(self, day: date) -> UsageTotal:
        return self.total_cost(day, day, None)

    def cost_groups(
        self, group: CostGroup, first: date, last: date, agent: AgentId | None, limit: int
    ) -> Sequence[CostRow]:
        statement = self._costs("cost_groups", agent).replace("{cost_key}", group.value)
        statement = statement.replace("{cost_order}", COST_ORDERS[group])
        rows = self.rows(statement, {**_days(first, last, agent), "limit": limit})
        return [CostRow(key=key, usage=_total(sums)) for key, *sums in rows]

    def total_cost(self, first: date, last: date, agent: AgentId | None) -> UsageTotal:
        return _total(self.rows(self._costs("cost_sum", agent), _days(first, last, agent))[0])

    def _costs(self, name: str, agent: AgentId | None) -> str:
        return self.SQL[name].replace("{cost_sums}", COST_SUMS).replace("{cost_filter}", cost_condition(agent))


class TaskWriter(TaskReader, SqlWriter):
    """Implements ``tasks.ports.TaskWrites``."""

    def add_task(self, task: Task) -> None:
        with self.savepoint():
            self.run("task_add", _task_params(task))
        self._put_dependencies(task)

    def change_task(self, task: Task) -> None:
        with self.savepoint():
            if not self.count("task_change", _task_params(task)):
                raise NotFound("This task no longer exists.")
        self._put_dependencies(task)

    def _put_dependencies(self, task: Task) -> None:
        self.run("task_dependencies_delete", {"id": task.id})
        depends_on = dict.fromkeys(task.depends_on)
        self.run_each("task_dependency_put", [{"task": task.id, "depends_on": one} for one in depends_on])

    def claim_task(
        self, queues: Queues, token: str, agent: AgentId, runner: Clean | None, now: datetime, lease: timedelta
    ) -> Task | None:
        return self.read_one(
            TASK,
            "task_claim",
            **_queues(queues),
            token=token,
            agent=agent,
            runner=runner,
            now=to_micros(now),
            length=lease // MICROSECOND,
        )

    def renew_task_lease(self, task: TaskId, token: str, now: datetime, lease: timedelta) -> bool:
        length = lease // MICROSECOND
        return self.count("task_renew", {"id": task, "token": token, "now": to_micros(now), "length": length}) > 0

    def extend_task_leases(self, now: datetime, least: timedelta) -> None:
        self.run("task_leases_extend", {"now": to_micros(now), "length": least // MICROSECOND})

    def open_task(self, task: TaskId, at: datetime) -> bool:
        return self.count("task_open", {"id": task, "at": to_micros(at)}) > 0

    def put_task_progress(self, task: TaskId, progress: TaskProgress, keep: int = MAX_PROGRESS) -> None:
        params = {**PROGRESS.params(progress), "task": task}
        self.run("task_progress_put", params)
        self.run("task_progress_trim", {"task": task, "kind": params["kind"], "keep": keep})

    def put_task_session(self, task: TaskId, session: TaskSession, keep: int = MAX_CHAIN) -> None:
        self.run("task_session_put", {**SESSION.params(session), "task": task})
        self.run("task_session_trim", {"task": task, "last": session.number - keep})

    def put_attempt(self, task: TaskId, attempt: Attempt, keep: int = MAX_CHAIN) -> None:
        self.run("task_attempt_put", {**ATTEMPT.params(attempt), "task": task})
        self.run("task_attempt_trim", {"task": task, "last": attempt.number - keep})

    def put_task_changes(self, batch: BatchId, changes: Sequence[TaskChange]) -> None:
        self.run_each("task_change_put", [{**CHANGE.params(one), "batch": batch} for one in changes])

    def put_task_cost(self, cost: TaskCost) -> None:
        self.run("task_cost_put", COST.params(cost))

    def name_task_costs(self, task: TaskId, attempt: int, session: Clean) -> None:
        self.run("task_costs_name", {"id": task, "attempt": attempt, "session": session})

    def drop_task_costs(self, task: TaskId) -> None:
        self.run("task_costs_delete", {"id": task})

    def drop_task(self, task: TaskId) -> None:
        for name in ("dependencies", "progress", "sessions", "attempts", "changes", "costs"):
            self.run(f"task_{name}_delete", {"id": task})
        self.run("task_delete", {"id": task})

    def prune_tasks(self, before: datetime, limit: int) -> int:
        old = self.rows(self.SQL["tasks_old"], {"before": to_micros(before), "limit": limit})
        for (task,) in old:
            self.claim(lock_of(TaskId(task)))
            self.drop_task(TaskId(task))
        return len(old)
