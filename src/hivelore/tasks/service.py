"""Tasks: sends, claims, progress, results, and what people change."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from hivelore.changes.journal import ChangeJournal
from hivelore.changes.model import BatchKind
from hivelore.core.agents import SERVICE_VIEWER, AgentId, Role, Viewer
from hivelore.core.clock import Clock
from hivelore.core.id_prefix import resolve_id
from hivelore.core.paging import cut_page
from hivelore.core.redaction import Redactor
from hivelore.core.signal import Signal
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Conflict, Forbidden, HiveloreError, Invalid, NotFound, TooLarge
from hivelore.events.log import EventLog
from hivelore.events.model import Event, Level
from hivelore.identity.service import Agents
from hivelore.memories.drafts import AttributedDraft
from hivelore.memories.model import Memory
from hivelore.memories.normalizer import NormalizedDraft, Normalizer, clean_line
from hivelore.memories.service import MemoryService
from hivelore.storage.ports import MemoryStore, Transaction, View
from hivelore.tasks import authority
from hivelore.tasks.costs import NOTHING, DailyLimit, reported, rest, session_of_costs, share_of_day, total
from hivelore.tasks.dependencies import check_acyclic, lock_of, locks_of
from hivelore.tasks.model import (
    DEFAULT_ATTEMPTS,
    FINISHED,
    MAX_DEPENDENCIES,
    MAX_PRIORITY,
    MAX_TAGS,
    MAX_UNFINISHED,
    NAME_LENGTH,
    NOTE_BYTES,
    SUMMARY_LENGTH,
    TEXT_BYTES,
    AgentUsage,
    Attempt,
    ClaimResult,
    CostGroup,
    CostReport,
    ProgressKind,
    Task,
    TaskChange,
    TaskCost,
    TaskCounts,
    TaskDetail,
    TaskFilter,
    TaskId,
    TaskPage,
    TaskProgress,
    TaskSession,
    TaskState,
    Usage,
    UsageTotal,
)
from hivelore.tasks.states import TaskAction, may_apply, next_state
from hivelore.tasks.task_text import is_trivial, memory_key, memory_owner, task_draft

DEFAULT_LEASE = timedelta(minutes=10)
RENEWAL = timedelta(minutes=10)
"""How long a lease lasts at least after a progress."""
OUTAGE = timedelta(seconds=45)
"""After so long without a look at the leases, a process has perhaps been suspended, or without its database."""
GRACE = timedelta(seconds=15)
"""How long leases last at least after an outage: enough for a heartbeat of a runner, which sends one every 10 s."""
MAX_COST_ROWS = 1_000
"""Sessions, attempts and days of one task and agent whose costs are stored."""
MAX_FAILURES = 3
"""Failed tasks that a lead is told of when a session starts."""
MAX_GROUPS = 1_000
MAX_SHOWN_AGENTS = 50
"""Agents whose costs of a day are metrics of their own: each one is a time series of the monitoring system."""
MAX_DAYS = 400
MAX_HELD = 50
"""Tasks that an agent may have claimed at a time, about: claims at the same moment do not see each other."""
MAX_AGENTS = 10_000
"""Agents whose costs of a day are compared with the limit: those with the largest."""
TRIES = 3
_EXHAUSTED_AT_ONCE = 20
_PAGE = 500
_WAKING = (TaskState.OPEN, TaskState.COMPLETED)
"""States after which a task can be claimed: this one, or one that waited for it."""
_AGAIN = 0.2
"""Seconds after which a claim is tried again that lost against others."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an action makes of a task."""

    before: Task | None
    after: Task


@dataclass(frozen=True, slots=True)
class PreparedMemory:
    """The memory of a task after an action."""

    texts: tuple[object, ...]
    """The texts of the task that it was prepared for."""
    draft: NormalizedDraft | None
    """None if the memory does not change."""


Decide = Callable[[View], Outcome]
Effect = Callable[[Transaction, Outcome], object]


def _nothing(tx: Transaction, outcome: Outcome) -> None:
    pass


class TaskService:
    def __init__(
        self,
        *,
        store: MemoryStore,
        memory_service: MemoryService,
        journal: ChangeJournal,
        agents: Agents,
        events: EventLog,
        normalizer: Normalizer,
        redactor: Redactor,
        clock: Clock,
        new_id: Callable[[datetime], TaskId],
        new_token: Callable[[], str],
        limit: DailyLimit,
        signal: Signal,
        publish: Callable[[], None],
    ) -> None:
        """``signal`` wakes those who wait for a task in this process, ``publish`` those in other processes."""
        self._store = store
        self._memory_service = memory_service
        self._journal = journal
        self._agents = agents
        self._events = events
        self._normalizer = normalizer
        self._redactor = redactor
        self._clock = clock
        self._new_id = new_id
        self._new_token = new_token
        self._limit = limit
        self.signal = signal
        self._publish = publish
        self._looked_at: datetime | None = None
        """When this process last looked at the leases."""

    # sending and reading

    def send(
        self,
        text: str,
        viewer: Viewer,
        *,
        assignee: str | None = None,
        parent: str | None = None,
        repo: str | None = None,
        project: str | None = None,
        depends_on: Sequence[str] = (),
        priority: int = 0,
        tags: Sequence[str] = (),
        client_id: str | None = None,
        max_attempts: int = DEFAULT_ATTEMPTS,
        deadline: float | None = None,
    ) -> Task:
        """Stores a task. With the client id of an earlier one of the same sender, returns that one."""
        highest = authority.highest_priority(viewer, MAX_PRIORITY)
        if not -MAX_PRIORITY <= priority <= highest:
            raise Invalid(f"You may give a priority of -{MAX_PRIORITY} to {highest}.", field="priority")
        now = self._clock.now()
        new = Task(
            id=self._new_id(now),
            text=self._text(text, "text", TEXT_BYTES, "Say what is to be done."),
            state=TaskState.OPEN,
            created_at=now,
            updated_at=now,
            creator=viewer.agent,
            creator_role=viewer.role,
            assignee=self._assignee(assignee, viewer),
            parent=None if parent is None else self.resolve(parent, viewer),
            repo=self._line(repo, "repo"),
            project=self._normalizer.project(project),
            priority=priority,
            tags=self._tags(tags),
            depends_on=self._dependencies(depends_on, viewer),
            client_id=self._line(client_id, "clientId"),
            max_attempts=max_attempts,
        )

        def decide(view: View) -> Outcome:
            known = None
            if new.client_id is not None:
                known = view.task_with_client_id(viewer.agent, new.client_id)
            if known is not None:
                if known.text != new.text:
                    raise Conflict("Another task of yours has this clientId. Use a new one for a new task.")
                return Outcome(known, known)
            if new.parent is not None:
                self._visible(view, new.parent, viewer)
            for one in new.depends_on:
                self._visible(view, one, viewer)
            worker = None if authority.may_overrule(viewer) else viewer.agent
            if worker is not None and view.count_unfinished_tasks(worker, MAX_UNFINISHED) >= MAX_UNFINISHED:
                raise Conflict(f"You have {MAX_UNFINISHED:,} unfinished tasks. Cancel some, or wait for them.")
            state = TaskState.WAITING if is_unmet(view, new) else TaskState.OPEN
            return Outcome(None, replace(new, state=state))

        return shown(self._apply(decide, viewer, deadline).after, viewer)

    def get(self, task: TaskId, viewer: Viewer, deadline: float | None = None) -> TaskDetail:
        with self._store.read(deadline, sees=authority.task_visibility(viewer)) as view:
            found = self._visible(view, task, viewer)
            return TaskDetail(
                task=shown(found, viewer),
                progress=tuple(view.task_progress(task)),
                sessions=tuple(one for one in view.task_sessions(task) if authority.sees_sessions(viewer, one.agent)),
                unmet=tuple(view.unmet_dependencies(task, MAX_DEPENDENCIES)),
                usage=total(one.usage for one in view.task_costs(task, _costs_seen(viewer))),
            )

    def page(
        self,
        viewer: Viewer,
        after: tuple[datetime, TaskId] | None,
        limit: int,
        *,
        states: Sequence[TaskState],
        agent: str | None = None,
        creator: str | None = None,
        parent: str | None = None,
        repo: str | None = None,
        tag: str | None = None,
        deadline: float | None = None,
    ) -> TaskPage:
        """Returns a page of tasks, newest first, with shortened texts and their costs."""
        where = TaskFilter(
            seen=authority.task_visibility(viewer),
            states=tuple(states),
            agent=None if agent is None else self._agents.agent(AgentId(agent)).id,
            creator=None if creator is None else self._agents.agent(AgentId(creator)).id,
            parent=None if parent is None else self.resolve(parent, viewer),
            repo=self._line(repo, "repo"),
            tag=self._line(tag, "tag"),
        )
        with self._store.read(deadline, sees=where.seen) as view:
            page, cursor = cut_page(view.tasks(where, after, limit + 1), limit, lambda one: (one.created_at, one.id))
            usage = view.usage_of_tasks([one.id for one in page], _costs_seen(viewer))
        tasks = tuple(_shortened(shown(one, viewer)) for one in page)
        return TaskPage(tasks=tasks, usage=tuple(usage), next=cursor)

    def task(self, task: TaskId, viewer: Viewer) -> Task:
        """Returns a task that the viewer may see. Raises NotFound."""
        with self._store.read(sees=authority.task_visibility(viewer)) as view:
            return self._visible(view, task, viewer)

    def current(self, task: str | None, session: Clean | None, viewer: Viewer) -> Task | None:
        """Returns the task with this id, else the one that this session of the viewer worked on last; None if there is
        none that the viewer may see, or if it is finished or in the hands of another agent."""
        seen = authority.task_visibility(viewer)
        with self._store.read(sees=seen) as view:
            found = None if task is None else view.task(TaskId(task.strip().lower()))
            if found is None and session is not None and viewer.agent is not None:
                found = view.task_of_session(session, viewer.agent)
        if found is None or not authority.may_see(seen, found) or not authority.works_on(viewer, found):
            return None
        return found

    def recent_failures(self, viewer: Viewer) -> Sequence[Task]:
        """Returns the latest tasks that failed within a day, for a lead that was not there; none for others."""
        if viewer.role is not Role.LEAD:
            return ()
        since = self._clock.now() - timedelta(days=1)
        with self._store.read(sees=authority.task_visibility(viewer)) as view:
            return view.failed_tasks(since, MAX_FAILURES)

    def resolve(self, text: str, viewer: Viewer) -> TaskId:
        """Returns the id of the task that a caller means: the whole id, or at least eight characters of its beginning.
        Raises Invalid if several visible ids begin with them."""

        def find_ids(prefix: str, limit: int) -> Sequence[TaskId]:
            seen = authority.task_visibility(viewer)
            with self._store.read(sees=seen) as view:
                return view.task_ids_from(seen, prefix, limit)

        return TaskId(resolve_id(text, find_ids, "task"))

    # work under a lease

    def claim(
        self,
        viewer: Viewer,
        *,
        runner: str | None = None,
        lease: timedelta = DEFAULT_LEASE,
        deadline: float | None = None,
    ) -> ClaimResult:
        """Gives the next task to the agent of the viewer."""
        agent = viewer.agent
        if agent is None:
            raise Forbidden("Only agents claim tasks. Use the key of one, or name one with X-Agent-ID.")
        queues, name = authority.queues_for(viewer.role, agent), self._line(runner, "runner")
        now = self._clock.now()
        self._give_grace(now, deadline)
        with self._store.read(deadline) as view:
            exhausted = view.exhausted_tasks(now, _EXHAUSTED_AT_ONCE)
            refusal = self._limit.refusal(_used_by_agents(view, now.date()), agent) if self._limit.is_set else None
            held = view.count_held_tasks(agent, now, MAX_HELD)
            is_claimable = view.is_claimable(queues, now)
            end = None if is_claimable else view.next_lease_end(queues, now)
            wait = None if end is None else max((end - view.lease_time(now)).total_seconds(), 0.0)
        self._looked_at = now
        self._fail_all(exhausted, deadline)
        if refusal is not None:
            return ClaimResult(task=None, message=refusal, is_over_limit=True)
        if held >= MAX_HELD:
            message = f"You work on {MAX_HELD} tasks already. Complete or release some before you claim more."
            return ClaimResult(task=None, message=message)
        if not is_claimable:
            return ClaimResult(task=None, message="There is no task for you now.", retry_in=wait)
        token = self._new_token()

        def take(tx: Transaction) -> tuple[Task, UsageTotal] | None:
            task = tx.claim_task(queues, token, agent, name, now, lease)
            if task is None:
                return None
            tx.put_attempt(task.id, Attempt(number=task.attempt, token=token, agent=agent, runner=name, at=now))
            spent = total(one.usage for one in tx.task_costs(task.id)) if task.attempt > 1 else NOTHING
            return task, spent

        claimed = self._store.write(take, deadline)
        if claimed is None:
            return ClaimResult(task=None, message="Others were faster. Try again.", retry_in=_AGAIN)
        task, spent = claimed
        message = f"Task {task.id} is yours."
        return ClaimResult(task=shown(task, viewer, token=True), message=message, spent_micros=spent.cost_micros)

    def heartbeat(
        self,
        task: TaskId,
        viewer: Viewer,
        *,
        token: str | None,
        lease: timedelta = DEFAULT_LEASE,
        session: str | None = None,
        deadline: float | None = None,
    ) -> Task:
        """Renews the lease. ``session``: the session that works on the task."""
        name = self._line(session, "sessionId")

        def renew(tx: Transaction) -> Task:
            known = self._held(tx, task, viewer, token)
            self._renew(tx, known, lease)
            renewed = tx.task(task) or known
            after = _in_session(renewed, name, viewer)
            if after is not renewed:
                tx.change_task(after)
            self._note_session(tx, after, name, viewer)
            return after

        return shown(self._store.write(renew, deadline), viewer)

    def progress(
        self,
        task: TaskId,
        text: str,
        viewer: Viewer,
        *,
        token: str | None = None,
        session: str | None = None,
        usage: Usage | None = None,
        deadline: float | None = None,
    ) -> Task:
        """Stores a progress, and renews the lease of the agent that reports it, unless it has a runner."""
        said = self._text(text, "text", NOTE_BYTES, "Say what is done.")
        name, now = self._line(session, "sessionId"), self._clock.now()

        def decide(view: View) -> Outcome:
            known = self._held(view, task, viewer, token, overrule=True)
            if known.state in (TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED):
                raise Conflict(f"The task is {known.state}: it takes no more progress. Send a new task instead.")
            after = replace(known, progress=said, progress_at=now, reporter=viewer.agent or known.reporter)
            return Outcome(known, _in_session(after, name, viewer))

        def store(tx: Transaction, outcome: Outcome) -> None:
            self._add_progress(tx, task, outcome.after.attempt, viewer, ProgressKind.PROGRESS, said, now)
            lease = outcome.after.lease
            # A runner sends heartbeats. Were its lease longer, nobody would go on when it is lost.
            if lease is not None and lease.runner is None and authority.holds(viewer, lease, token):
                self._renew(tx, outcome.after, RENEWAL)
            self._note_session(tx, outcome.after, name, viewer)
            self._note_usage(tx, task, usage, name, viewer, token, now)

        return shown(self._apply(decide, viewer, deadline, effect=store).after, viewer)

    def complete(
        self,
        task: TaskId,
        output: str,
        viewer: Viewer,
        *,
        token: str | None = None,
        session: str | None = None,
        usage: Usage | None = None,
        deadline: float | None = None,
    ) -> Task:
        """Completes a task with its output. Completing it again with the same output changes nothing."""
        said = self._text(output, "output", TEXT_BYTES)
        name, now = self._line(session, "sessionId"), self._clock.now()

        def decide(view: View) -> Outcome:
            known = self._visible(view, task, viewer)
            is_repeated = known.state is TaskState.COMPLETED and (known.output or "") == said
            if is_repeated and self._may_repeat(view, known, viewer, token):
                return Outcome(known, known)
            known = self._held(view, task, viewer, token, overrule=True)
            return Outcome(known, self._finished(known, TaskAction.COMPLETE, viewer, now, output=said, session=name))

        return self._finish(task, decide, viewer, token, said, name, usage, now, deadline)

    def fail(
        self,
        task: TaskId,
        reason: str,
        viewer: Viewer,
        *,
        retry: bool = False,
        token: str | None = None,
        session: str | None = None,
        usage: Usage | None = None,
        deadline: float | None = None,
    ) -> Task:
        """Fails a task. ``retry``: another agent may try it, if an attempt is left."""
        said = self._text(reason, "reason", NOTE_BYTES, "Say what went wrong.")
        name, now = self._line(session, "sessionId"), self._clock.now()

        def decide(view: View) -> Outcome:
            known = self._visible(view, task, viewer)
            is_repeated = known.failure == said and (known.state is TaskState.FAILED or retry)
            if is_repeated and self._may_repeat_failure(view, known, viewer, token):
                return Outcome(known, known)
            known = self._held(view, task, viewer, token, overrule=True)
            failures = known.failures + (known.state is TaskState.RUNNING)
            again = retry and known.state is TaskState.RUNNING and failures < known.max_attempts
            if again:
                after = self._changed(view, known, TaskAction.RETRY, now)
                told = replace(after, failures=failures, failure=said, reporter=viewer.agent or known.reporter)
                return Outcome(known, _in_session(told, name, viewer))
            after = self._finished(known, TaskAction.FAIL, viewer, now, failure=said, session=name)
            return Outcome(known, replace(after, failures=failures))

        return self._finish(task, decide, viewer, token, said, name, usage, now, deadline)

    def finish_known(
        self, task: str, output: str, viewer: Viewer, *, is_failed: bool = False, deadline: float | None = None
    ) -> tuple[Task, Memory | None] | None:
        """Completes or fails the task with this whole id, and returns it with its memory, if the viewer may read that;
        None if there is no such task that the viewer may see."""
        known, seen = TaskId(task.strip().lower()), authority.task_visibility(viewer)
        with self._store.read(deadline, sees=seen) as view:
            found = view.task(known)
        if found is None or not authority.may_see(seen, found):
            return None
        finish = self.fail if is_failed else self.complete
        done = finish(known, output, viewer, deadline=deadline)
        with self._store.read(deadline) as view:
            memory = _memory_of(view, done)
        is_seen = done.assignee is None or viewer.agent == done.assignee or viewer.role is Role.OPERATOR
        return done, memory if is_seen else None

    def release(
        self,
        task: TaskId,
        viewer: Viewer,
        *,
        token: str | None = None,
        session: str | None = None,
        usage: Usage | None = None,
        deadline: float | None = None,
    ) -> Task:
        """Gives a claimed task back, which counts as no failure."""
        name, now = self._line(session, "sessionId"), self._clock.now()

        def decide(view: View) -> Outcome:
            known = self._held(view, task, viewer, token, overrule=True)
            return Outcome(known, self._changed(view, _in_session(known, name, viewer), TaskAction.RELEASE, now))

        def store(tx: Transaction, outcome: Outcome) -> None:
            self._note_session(tx, outcome.after, name, viewer)
            self._note_usage(tx, task, usage, name, viewer, token, now)

        return shown(self._apply(decide, viewer, deadline, effect=store).after, viewer)

    def fail_exhausted(self, deadline: float | None = None) -> int:
        """Fails tasks whose last lease ended and that have no attempts left. Returns how many."""
        now = self._clock.now()
        self._give_grace(now, deadline)
        with self._store.read(deadline) as view:
            found = view.exhausted_tasks(now, _EXHAUSTED_AT_ONCE)
        self._looked_at = now
        self._fail_all(found, deadline)
        return len(found)

    def _give_grace(self, now: datetime, deadline: float | None) -> None:
        """Extends all leases if this process was just started, or may have been away: agents could not renew theirs.
        Each process does so for itself, because it does not know whether agents reached another one."""
        if self._looked_at is None or now - self._looked_at > OUTAGE:
            self._store.write(lambda tx: tx.extend_task_leases(now, GRACE), deadline)

    def _fail_all(self, exhausted: Sequence[TaskId], deadline: float | None) -> None:
        for task in exhausted:
            with suppress(Conflict, NotFound):  # Another process was faster.
                self._fail_exhausted(task, deadline)

    def _fail_exhausted(self, task: TaskId, deadline: float | None) -> None:
        now = self._clock.now()

        def decide(view: View) -> Outcome:
            known = view.task(task)
            is_exhausted = (
                known is not None
                and known.state is TaskState.RUNNING
                and known.lease is not None
                and known.lease.until <= view.lease_time(now)
                and known.failures + 1 >= known.max_attempts
            )
            if known is None or not is_exhausted:
                raise Conflict("The task is not exhausted.")
            why = Clean(
                f"The lease of attempt {known.attempt} ended without a result. {known.failures + 1} attempts failed."
            )
            after = self._finished(known, TaskAction.FAIL, SERVICE_VIEWER, now, failure=why)
            return Outcome(known, replace(after, failures=known.failures + 1))

        event = self._failure_event(task)
        self._apply(decide, SERVICE_VIEWER, deadline, effect=lambda tx, _: tx.log_events([event]))

    # changes of people

    def pause(self, task: TaskId, viewer: Viewer, deadline: float | None = None) -> Task:
        """Pauses a task; the agent that works on it loses the lease."""
        return self._manage(task, TaskAction.PAUSE, viewer, deadline)

    def resume(self, task: TaskId, viewer: Viewer, deadline: float | None = None) -> Task:
        """Resumes a paused or failed task. A failed one gets all its attempts again."""
        return self._manage(task, TaskAction.RESUME, viewer, deadline)

    def cancel(self, task: TaskId, viewer: Viewer, deadline: float | None = None) -> Task:
        """Cancels a task. That can be undone."""
        return self._manage(task, TaskAction.CANCEL, viewer, deadline)

    def _manage(self, task: TaskId, action: TaskAction, viewer: Viewer, deadline: float | None) -> Task:
        now = self._clock.now()

        def decide(view: View) -> Outcome:
            known = self._managed(view, task, viewer)
            if action is TaskAction.CANCEL and known.state is TaskState.CANCELLED:
                return Outcome(known, known)
            after = self._changed(view, known, action, now)
            if action is TaskAction.RESUME and known.state is TaskState.FAILED:
                after = replace(after, failures=0, finished_at=None)
            return Outcome(known, replace(after, finished_at=now) if action is TaskAction.CANCEL else after)

        def keep(tx: Transaction, outcome: Outcome) -> None:
            if action is TaskAction.CANCEL:
                self._journal_change(tx, outcome, viewer)

        return shown(self._apply(decide, viewer, deadline, effect=keep).after, viewer)

    def edit(
        self,
        task: TaskId,
        viewer: Viewer,
        *,
        priority: int | None = None,
        tags: Sequence[str] | None = None,
        depends_on: Sequence[str] | None = None,
        deadline: float | None = None,
    ) -> Task:
        """Changes a task that is not running or finished. That can be undone."""
        highest = authority.highest_priority(viewer, MAX_PRIORITY)
        if priority is not None and not -MAX_PRIORITY <= priority <= highest:
            raise Invalid(f"You may give a priority of -{MAX_PRIORITY} to {highest}.", field="priority")
        labels = None if tags is None else self._tags(tags)
        needed = None if depends_on is None else self._dependencies(depends_on, viewer)
        now = self._clock.now()

        def decide(view: View) -> Outcome:
            known = self._managed(view, task, viewer)
            wanted = replace(
                known,
                priority=known.priority if priority is None else priority,
                tags=known.tags if labels is None else labels,
                depends_on=known.depends_on if needed is None else needed,
            )
            if wanted == known:
                return Outcome(known, known)
            for one in () if needed is None else needed:
                self._visible(view, one, viewer)
            check_no_cycle(view, wanted)
            return Outcome(known, self._changed(view, wanted, TaskAction.EDIT, now))

        def journal(tx: Transaction, outcome: Outcome) -> None:
            self._journal_change(tx, outcome, viewer)

        return shown(self._apply(decide, viewer, deadline, effect=journal).after, viewer)

    def delete(self, task: TaskId, viewer: Viewer, deadline: float | None = None) -> None:
        """Deletes a task with its progress and costs. Its memory stays, unless it is forgotten, too."""

        def drop(tx: Transaction) -> None:
            self._visible(tx, task, viewer)
            tx.claim(lock_of(task))
            if tx.is_needed(task):
                raise Conflict(
                    "Other tasks that are not completed depend on this one. Change what they depend on, or delete them "
                    "first."
                )
            tx.drop_task(task)

        self._store.write(drop, deadline)

    # costs

    def costs(
        self, group: CostGroup, viewer: Viewer, *, first: date | None, last: date | None, deadline: float | None = None
    ) -> CostReport:
        """Returns the costs of some days (default: the last 30), of the agent of a worker or of all agents."""
        until = last or self._clock.now().date()
        since = first or date.fromordinal(max(until.toordinal() - 29, 1))
        if not timedelta() <= until - since <= timedelta(days=MAX_DAYS):
            raise Invalid(f"The days are a span of at most {MAX_DAYS}, and the first one comes first.", field="first")
        agent = _costs_seen(viewer)
        with self._store.read(deadline, sees=authority.task_visibility(viewer)) as view:
            rows = view.cost_groups(group, since, until, agent, MAX_GROUPS + 1)
            everything = view.total_cost(since, until, agent)
        shown_rows = rows[:MAX_GROUPS]
        if group is CostGroup.AGENT:
            names = self._agents.names([AgentId(one.key) for one in shown_rows])
            shown_rows = [replace(one, name=names.get(AgentId(one.key))) for one in shown_rows]
        return CostReport(rows=tuple(shown_rows), total=everything, is_cut=len(rows) > MAX_GROUPS)

    def usage_today(self, viewer: Viewer) -> Sequence[AgentUsage]:
        """Returns what the agents with the largest costs used today (UTC), and what all others used together. Workers
        see their own agent alone."""
        day, agent = self._clock.now().date(), _costs_seen(viewer)
        with self._store.read(sees=authority.task_visibility(viewer)) as view:
            rows = view.cost_groups(CostGroup.AGENT, day, day, agent, MAX_SHOWN_AGENTS)
            everything = view.total_cost(day, day, agent)
        names = self._agents.names([AgentId(one.key) for one in rows])
        found = [AgentUsage(AgentId(one.key), names.get(AgentId(one.key), ""), one.usage) for one in rows]
        others = rest(everything, (one.usage for one in rows))
        return found if others == NOTHING else [*found, AgentUsage(None, "", others)]

    def drop_costs(self, task: TaskId, viewer: Viewer, deadline: float | None = None) -> None:
        """Deletes the costs of a task, because they were reported wrongly."""

        def drop(tx: Transaction) -> None:
            self._visible(tx, task, viewer)
            tx.drop_task_costs(task)

        self._store.write(drop, deadline)
        self.wake()

    def counts(self) -> TaskCounts:
        with self._store.read() as view:
            return TaskCounts(view.count_tasks(), view.used_on(self._clock.now().date()))

    # steps

    def _apply(
        self,
        decide: Decide,
        viewer: Viewer,
        deadline: float | None,
        *,
        effect: Effect = _nothing,
        always: Effect = _nothing,
    ) -> Outcome:
        """Decides on a snapshot, prepares the memory of the task, and decides again in the transaction, which stores
        both. If the task has changed meanwhile, all is done again. ``effect`` belongs to a change of the task,
        ``always`` also to a repetition that changes nothing."""
        for number in range(TRIES):
            is_last = number == TRIES - 1
            outcome = self._apply_once(decide, viewer, deadline, effect=effect, always=always, is_last=is_last)
            if outcome is not None:
                return outcome
        raise Conflict("The task was changed by others at the same time. Try again.")

    def _apply_once(
        self,
        decide: Decide,
        viewer: Viewer,
        deadline: float | None,
        *,
        effect: Effect,
        always: Effect,
        is_last: bool,
    ) -> Outcome | None:
        """Returns None if the texts of the task have changed since they were prepared. ``is_last``: prepares them again
        then, in the transaction."""
        with self._store.read(deadline) as view:
            expected = decide(view)
            draft = self._draft(view, expected)
        prepared = self._prepare(expected, draft)

        def work(tx: Transaction) -> Outcome | None:
            outcome = decide(tx)
            if prepared.texts != _texts(outcome.after) and not is_last:
                return None
            if outcome.after is not outcome.before:
                put_changed_task(tx, outcome.before, outcome.after)
                effect(tx, outcome)
                self._open_dependents(tx, outcome)
                self.store_memory(tx, outcome, prepared)
            else:  # Nothing but what ``always`` stores keeps others from deleting the task.
                tx.claim(lock_of(outcome.after.id))
            always(tx, outcome)
            return outcome

        outcome = self._store.write(work, deadline)
        if outcome is not None and outcome.after is not outcome.before:
            self._memory_service.note_written(viewer)
            if outcome.after.state in _WAKING:
                self.wake()
        return outcome

    def _draft(self, view: View, outcome: Outcome) -> AttributedDraft | None:
        """Returns the memory of a task; None if it does not change. A trivial task has only the memory of an earlier
        state that was not trivial."""
        now, before, after = self._clock.now(), outcome.before, outcome.after
        draft = task_draft(after, now)
        is_same = after is before or (before is not None and task_draft(before, now) == draft)
        return None if is_same or (is_trivial(after) and _memory_of(view, after) is None) else draft

    def _prepare(self, outcome: Outcome, draft: AttributedDraft | None) -> PreparedMemory:
        prepared = None if draft is None else self._memory_service.prepare(draft, SERVICE_VIEWER)
        return PreparedMemory(_texts(outcome.after), prepared)

    def prepare_memory(self, view: View, outcome: Outcome) -> PreparedMemory:
        """Prepares the memory of a task before the transaction that changes it, for ``store_memory``."""
        return self._prepare(outcome, self._draft(view, outcome))

    def store_memory(self, tx: Transaction, outcome: Outcome, prepared: PreparedMemory | None) -> None:
        """Stores the memory of a task. There may be many texts about an unfinished one: each replaces the one before,
        but neither a result nor what others wrote. A memory that was prepared for other texts is prepared again."""
        if prepared is None or prepared.texts != _texts(outcome.after):
            prepared = self.prepare_memory(tx, outcome)
        memory = prepared.draft
        if memory is None:
            return
        if outcome.after.state in FINISHED:
            self._memory_service.remember_within(tx, memory, SERVICE_VIEWER)
            return
        was_unfinished = outcome.before is not None and outcome.before.state not in FINISHED
        self._memory_service.replace_within(tx, memory, SERVICE_VIEWER, drops_last=was_unfinished)

    def wake(self) -> None:
        """Wakes those who wait for a task."""
        self.signal.notify()
        self._publish()

    def _finish(
        self,
        task: TaskId,
        decide: Decide,
        viewer: Viewer,
        token: str | None,
        said: Clean,
        session: Clean | None,
        usage: Usage | None,
        now: datetime,
        deadline: float | None,
    ) -> Task:
        event = self._failure_event(task)

        def store(tx: Transaction, outcome: Outcome) -> None:
            self._note_session(tx, outcome.after, session, viewer)
            if outcome.after.state is TaskState.FAILED:
                tx.log_events([event])

        try:
            done = self._apply(
                decide,
                viewer,
                deadline,
                effect=store,
                always=lambda tx, _: self._note_usage(tx, task, usage, session, viewer, token, now),
            )
            return shown(done.after, viewer)
        except Conflict as error:
            if said and self._keep_late(task, said, session, usage, viewer, token, now):
                raise Conflict(f"{error} Your result was kept as a late progress of the task.") from None
            raise

    def _keep_late(
        self,
        task: TaskId,
        said: Clean,
        session: Clean | None,
        usage: Usage | None,
        viewer: Viewer,
        token: str | None,
        now: datetime,
    ) -> bool:
        """Keeps the first result of an attempt that lost its lease. Returns False if the viewer made no attempt, or if
        another result of it was kept before."""

        def keep(tx: Transaction) -> bool:
            tx.claim(lock_of(task))
            known = tx.task(task)
            if known is None or not authority.may_see(authority.task_visibility(viewer), known):
                return False
            attempt = _attempt_of(tx.task_attempts(task), viewer, token)
            if attempt is None:
                return False
            with suppress(Invalid):  # The result is worth more than its costs.
                self._note_usage(tx, task, usage, session, viewer, token, now)
            late = (one for one in tx.task_progress(task) if one.kind is ProgressKind.LATE)
            known_text = next((one.text for one in late if one.attempt == attempt.number), None)
            if known_text is None:
                self._add_progress(tx, task, attempt.number, viewer, ProgressKind.LATE, said, now)
            return known_text in (None, said)

        try:
            return self._store.write(keep)
        except HiveloreError:
            return False

    def _failure_event(self, task: TaskId) -> Event:
        """Returns the event by which leads learn of a failure. It has no text of the task, which not all may see."""
        text = f"Task {task} failed. 'hivelore task show {task}' (get-task) shows why; resume it to try again."
        return self._events.build(Level.ERROR, text, SERVICE_VIEWER)

    def _open_dependents(self, tx: Transaction, outcome: Outcome) -> None:
        """Opens the tasks that waited for a completed one."""
        now = self._clock.now()
        is_done = outcome.after.state is TaskState.COMPLETED
        if not is_done or (outcome.before is not None and outcome.before.state is TaskState.COMPLETED):
            return
        after = TaskId("")
        while waiting := tx.waiting_for(outcome.after.id, after, _PAGE):
            for one in waiting:  # Another task that it waits for may be completed at the same time.
                tx.claim(lock_of(one))
                tx.open_task(one, now)
            after = waiting[-1]

    def _finished(
        self,
        task: Task,
        action: TaskAction,
        viewer: Viewer,
        now: datetime,
        *,
        output: Clean | None = None,
        failure: Clean | None = None,
        session: Clean | None = None,
    ) -> Task:
        return replace(
            _in_session(task, session, viewer),
            state=next_state(task.state, action, is_unmet=False),
            output=output or task.output,
            failure=failure or (None if action is TaskAction.COMPLETE else task.failure),
            reporter=viewer.agent or task.reporter,
            lease=None,
            finished_at=now,
            updated_at=now,
            version=task.version + 1,
        )

    def _changed(self, view: View, task: Task, action: TaskAction, now: datetime) -> Task:
        """Returns the task after an action that does not finish it, or cancels it."""
        waits = may_apply(task.state, action) and is_unmet(view, task)
        state = next_state(task.state, action, is_unmet=waits)
        return replace(task, state=state, lease=None, updated_at=now, version=task.version + 1)

    def _visible(self, view: View, task: TaskId, viewer: Viewer) -> Task:
        found = view.task(task)
        if found is None or not authority.may_see(authority.task_visibility(viewer), found):
            raise NotFound("No task has this id. 'hivelore task list' (GET /api/tasks) shows them.")
        return found

    def _held(self, view: View, task: TaskId, viewer: Viewer, token: str | None, *, overrule: bool = False) -> Task:
        """Returns a task whose lease the viewer holds; with ``overrule``, leads and operators need none."""
        known = self._visible(view, task, viewer)
        if known.state is TaskState.RUNNING and authority.holds(viewer, known.lease, token):
            return known
        if overrule and token is None and authority.may_overrule(viewer):
            return known
        if _attempt_of(view.task_attempts(task), viewer, token) is None:
            if known.state is TaskState.RUNNING:
                raise Forbidden("Another agent works on this task. Only the agent that claimed it reports its results.")
            raise Conflict(f"The task is {known.state}, and you have not claimed it. Claim it first.")
        now = f"it is {known.state}" if known.state is not TaskState.RUNNING else "another attempt works on it"
        raise Conflict(f"You do not hold the lease of this task any more: {now}. Stop working on it.")

    def _managed(self, view: View, task: TaskId, viewer: Viewer) -> Task:
        known = self._visible(view, task, viewer)
        if not authority.may_manage(viewer, known):
            raise Forbidden("Only its sender, a lead or an operator may change this task.")
        return known

    def _may_repeat(self, view: View, task: Task, viewer: Viewer, token: str | None) -> bool:
        """Returns True if the viewer may have stored the result of a finished task."""
        attempt = _attempt_of(view.task_attempts(task.id), viewer, token)
        is_last = attempt is not None and attempt.number == task.attempt
        return is_last or authority.may_overrule(viewer)

    def _may_repeat_failure(self, view: View, task: Task, viewer: Viewer, token: str | None) -> bool:
        """Returns True if the viewer failed an earlier attempt, or may have failed the task."""
        if task.state is TaskState.FAILED:
            return self._may_repeat(view, task, viewer, token)
        if task.state is TaskState.RUNNING and authority.holds(viewer, task.lease, token):
            return False
        return _attempt_of(view.task_attempts(task.id), viewer, token) is not None

    def _renew(self, tx: Transaction, task: Task, lease: timedelta) -> None:
        if task.lease is not None and task.lease.token is not None:
            tx.renew_task_lease(task.id, task.lease.token, self._clock.now(), lease)

    def _note_session(self, tx: Transaction, task: Task, session: Clean | None, viewer: Viewer) -> None:
        """Adds a session that was reported to the chain, unless it is the newest one of this attempt."""
        if session is None:
            return
        known = tx.task_sessions(task.id)
        newest = known[-1] if known else None
        if newest is not None and (newest.session, newest.agent, newest.attempt) == (
            session,
            viewer.agent,
            task.attempt,
        ):
            return
        number = 1 if newest is None else newest.number + 1
        new = TaskSession(
            number=number, session=session, agent=viewer.agent, attempt=task.attempt, at=self._clock.now()
        )
        tx.put_task_session(task.id, new)

    def _note_usage(
        self,
        tx: Transaction,
        task: TaskId,
        usage: Usage | None,
        session: Clean | None,
        viewer: Viewer,
        token: str | None,
        now: datetime,
    ) -> None:
        """Stores what a session used for the attempt of the viewer, else for the last one. ``session``: the one that
        the report names beside the usage."""
        known = tx.task(task)
        if usage is None or known is None:
            return
        attempts = tx.task_attempts(task)
        mine = _attempt_of(attempts, viewer, token)
        number = known.attempt if mine is None else mine.number
        agent = next((one.agent for one in attempts if one.number == number), viewer.agent)
        if agent is None:
            raise Invalid("No agent has worked on this task, so it has no costs.", field="usage")
        every = tx.task_costs(task)
        costs = [one for one in every if one.attempt == number]
        named = self._line(usage.session_id, "sessionId") or session or _newest_session(tx, task, number)
        of = session_of_costs(named, costs)
        if of and not any(one.session == of for one in costs):  # The reports so far named no session.
            tx.name_task_costs(task, number, of)
            costs = [replace(one, session=one.session or of) for one in costs]
        costs = [one for one in costs if one.session == of]
        if not costs and sum(one.agent == agent for one in every) >= MAX_COST_ROWS:
            most = f"{MAX_COST_ROWS:,} sessions, attempts and days"
            raise TooLarge(f"A task has costs of at most {most} of an agent.", field="usage")
        day = now.date()
        share = share_of_day(reported(usage), costs, day)
        tx.put_task_cost(TaskCost(task=task, attempt=number, session=of, day=day, agent=agent, usage=share))

    def _add_progress(
        self,
        tx: Transaction,
        task: TaskId,
        attempt: int,
        viewer: Viewer,
        kind: ProgressKind,
        text: Clean,
        now: datetime,
    ) -> None:
        known = tx.task_progress(task)
        number = known[-1].number + 1 if known else 1
        tx.put_task_progress(
            task, TaskProgress(number=number, at=now, actor=viewer.agent, attempt=attempt, kind=kind, text=text)
        )

    def _journal_change(self, tx: Transaction, outcome: Outcome, viewer: Viewer) -> None:
        before = outcome.before
        if before is None:
            return
        is_private = before.assignee is not None
        batch = self._journal.new_batch(BatchKind.ASSIGNED, viewer, changes=1, is_private=is_private)
        if batch is not None:
            tx.put_batch(batch)
            tx.put_task_changes(batch.id, [change_of(before, outcome.after.version)])

    # input

    def _text(self, text: str, field: str, most: int, hint: str | None = None) -> Clean:
        """Returns a text after redaction. ``hint``: it must not be empty."""
        _check_bytes(text, field, most)
        clean = Clean(self._redactor.clean(text, field=field).strip())
        _check_bytes(clean, field, most)
        if hint is not None and not clean:
            raise Invalid(f"{field} is empty. {hint}", field=field)
        return clean

    def _line(self, text: str | None, field: str) -> Clean | None:
        return clean_line(self._redactor, text, field, NAME_LENGTH)

    def _tags(self, tags: Sequence[str]) -> tuple[Clean, ...]:
        if len(tags) > MAX_TAGS:
            raise TooLarge(f"A task has at most {MAX_TAGS} tags.", field="tags")
        cleaned = (self._line(tag, "tags") for tag in tags)
        return tuple(dict.fromkeys(tag for tag in cleaned if tag is not None))

    def _dependencies(self, depends_on: Sequence[str], viewer: Viewer) -> tuple[TaskId, ...]:
        if len(depends_on) > MAX_DEPENDENCIES:
            raise TooLarge(f"A task depends on at most {MAX_DEPENDENCIES} others.", field="dependsOn")
        return tuple(dict.fromkeys(self.resolve(one, viewer) for one in depends_on))

    def _assignee(self, assignee: str | None, viewer: Viewer) -> AgentId | None:
        if assignee is None:
            return None
        agent = self._agents.agent(AgentId(assignee))
        if not authority.may_assign(viewer, agent):
            raise Forbidden("Only leads and operators assign tasks to a lead. Leave the assignee out.")
        return agent.id


def shown(task: Task, viewer: Viewer, *, token: bool = False) -> Task:
    """Returns what the viewer may see of a task. ``token``: with the token of its lease."""
    if task.lease is not None and not token:
        task = replace(task, lease=replace(task.lease, token=None))
    if task.session is not None and not authority.sees_sessions(viewer, task.session_agent):
        task = replace(task, session=None, session_agent=None)
    return task


def _memory_of(view: View, task: Task) -> Memory | None:
    known = view.memories_with_external_id(memory_owner(task), memory_key(task))
    return next((one.memory for one in known if one.memory.source_task_id == task.id), None)


def _in_session(task: Task, session: Clean | None, viewer: Viewer) -> Task:
    """Returns the task with the session that the viewer reports; the same object if it is known."""
    if session is None or (task.session, task.session_agent) == (session, viewer.agent):
        return task
    return replace(task, session=session, session_agent=viewer.agent)


def _costs_seen(viewer: Viewer) -> AgentId | None:
    """Returns the agent whose costs the viewer sees; None for all."""
    return viewer.agent if viewer.role is Role.WORKER else None


def _used_by_agents(view: View, day: date) -> Mapping[AgentId, UsageTotal]:
    rows = view.cost_groups(CostGroup.AGENT, day, day, None, MAX_AGENTS)
    return {AgentId(one.key): one.usage for one in rows}


def _newest_session(view: View, task: TaskId, attempt: int) -> Clean | None:
    """Returns the newest session that was reported for an attempt."""
    found = [one.session for one in view.task_sessions(task) if one.attempt == attempt]
    return found[-1] if found else None


def change_of(task: Task, after: int) -> TaskChange:
    """Returns what a change replaces. ``after``: the version of the task after it."""
    return TaskChange(task.id, task.state, task.priority, task.tags, task.depends_on, after)


def is_unmet(view: View, task: Task) -> bool:
    """Returns True if a task that this one depends on is not completed. A completed one may have been deleted since."""
    needed = (view.task(one) for one in task.depends_on)
    return any(one is not None and one.state is not TaskState.COMPLETED for one in needed)


def check_no_cycle(view: View, task: Task) -> None:
    """Raises Conflict if the task would depend on itself."""

    def read(one: TaskId) -> Sequence[TaskId]:
        found = view.task(one)
        return () if found is None else found.depends_on

    check_acyclic(task.id, task.depends_on, read)


def put_changed_task(tx: Transaction, before: Task | None, after: Task) -> None:
    """Stores a task, and claims what the change depends on."""
    for lock in locks_of(before, after):
        tx.claim(lock)
    if before is None:
        tx.add_task(after)
    else:
        tx.change_task(after)


def _shortened(task: Task) -> Task:
    def short(text: Clean | None) -> Clean | None:
        return text if text is None or len(text) <= SUMMARY_LENGTH else Clean(f"{text[: SUMMARY_LENGTH - 1]}…")

    return replace(
        task,
        text=short(task.text),
        progress=short(task.progress),
        output=short(task.output),
        failure=short(task.failure),
    )


def _texts(task: Task) -> tuple[object, ...]:
    """Returns what decides the memory of a task."""
    return task.id, task.state, task.text, task.progress, task.output, task.failure, task.reporter


def _attempt_of(attempts: Sequence[Attempt], viewer: Viewer, token: str | None) -> Attempt | None:
    """Returns the last attempt that the viewer made, or the one with a token."""
    mine = [one for one in attempts if viewer.agent == one.agent and token in (None, one.token)]
    return mine[-1] if mine else None


def _check_bytes(text: str, field: str, most: int) -> None:
    size = len(text.encode(errors="surrogatepass"))
    if size > most:
        raise TooLarge(f"{field} has {size:,} bytes; at most {most:,}.", field=field)
