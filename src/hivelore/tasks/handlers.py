"""Answers the operations of tasks."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from hivelore.core.operation import Call
from hivelore.core.paging import position_of
from hivelore.tasks.model import ClaimResult, CostReport, Knowledge, Task, TaskDetail, TaskId, TaskPage
from hivelore.tasks.operations import (
    ClaimTask,
    EditTask,
    FailTask,
    FinishTask,
    GetCosts,
    Heartbeat,
    ListTasks,
    NamedTask,
    ReleaseTask,
    SendTask,
    StoreProgress,
)

if TYPE_CHECKING:
    from hivelore.runtime.app import Application


def _which(app: Application, task: str, call: Call) -> TaskId:
    return app.tasks.resolve(task, call.viewer)


def send_task(app: Application, request: SendTask, call: Call) -> Task:
    return app.tasks.send(
        request.text,
        call.viewer,
        assignee=request.assignee,
        parent=request.parent,
        repo=request.repo,
        project=request.project or call.project,
        depends_on=request.depends_on,
        priority=request.priority,
        tags=request.tags,
        client_id=request.client_id,
        max_attempts=request.max_attempts,
        deadline=call.deadline,
    )


def get_task(app: Application, request: NamedTask, call: Call) -> TaskDetail:
    return app.tasks.get(_which(app, request.task, call), call.viewer, call.deadline)


def list_tasks(app: Application, request: ListTasks, call: Call) -> TaskPage:
    after = position_of(request.after)
    return app.tasks.page(
        call.viewer,
        None if after is None else (after[0], TaskId(after[1])),
        request.limit,
        states=request.state,
        agent=request.agent,
        creator=request.creator,
        parent=request.parent,
        repo=request.repo,
        tag=request.tag,
        deadline=call.deadline,
    )


def claim_task(app: Application, request: ClaimTask, call: Call) -> ClaimResult:
    lease = timedelta(seconds=request.lease_seconds)
    return app.tasks.claim(call.viewer, runner=request.runner, lease=lease, deadline=call.deadline)


def renew_task(app: Application, request: Heartbeat, call: Call) -> Task:
    return app.tasks.heartbeat(
        _which(app, request.task, call),
        call.viewer,
        token=request.lease_token,
        lease=timedelta(seconds=request.lease_seconds),
        session=request.session_id,
        deadline=call.deadline,
    )


def store_progress(app: Application, request: StoreProgress, call: Call) -> Task:
    return app.tasks.progress(
        _which(app, request.task, call),
        request.text,
        call.viewer,
        token=request.lease_token,
        session=request.session_id,
        usage=request.usage,
        deadline=call.deadline,
    )


def finish_task(app: Application, request: FinishTask, call: Call) -> Task:
    return app.tasks.complete(
        _which(app, request.task, call),
        request.output,
        call.viewer,
        token=request.lease_token,
        session=request.session_id,
        usage=request.usage,
        deadline=call.deadline,
    )


def fail_task(app: Application, request: FailTask, call: Call) -> Task:
    return app.tasks.fail(
        _which(app, request.task, call),
        request.reason,
        call.viewer,
        retry=request.retry,
        token=request.lease_token,
        session=request.session_id,
        usage=request.usage,
        deadline=call.deadline,
    )


def release_task(app: Application, request: ReleaseTask, call: Call) -> Task:
    which = _which(app, request.task, call)
    return app.tasks.release(
        which,
        call.viewer,
        token=request.lease_token,
        session=request.session_id,
        usage=request.usage,
        deadline=call.deadline,
    )


def cancel_task(app: Application, request: NamedTask, call: Call) -> Task:
    return app.tasks.cancel(_which(app, request.task, call), call.viewer, call.deadline)


def pause_task(app: Application, request: NamedTask, call: Call) -> Task:
    return app.tasks.pause(_which(app, request.task, call), call.viewer, call.deadline)


def resume_task(app: Application, request: NamedTask, call: Call) -> Task:
    return app.tasks.resume(_which(app, request.task, call), call.viewer, call.deadline)


def edit_task(app: Application, request: EditTask, call: Call) -> Task:
    return app.tasks.edit(
        _which(app, request.task, call),
        call.viewer,
        priority=request.priority,
        tags=request.tags,
        depends_on=request.depends_on,
        deadline=call.deadline,
    )


def delete_task(app: Application, request: NamedTask, call: Call) -> None:
    app.tasks.delete(_which(app, request.task, call), call.viewer, call.deadline)


def drop_costs(app: Application, request: NamedTask, call: Call) -> None:
    app.tasks.drop_costs(_which(app, request.task, call), call.viewer, call.deadline)


def get_knowledge(app: Application, request: NamedTask, call: Call) -> Knowledge:
    task = app.tasks.task(_which(app, request.task, call), call.viewer)
    found = app.injection.knowledge(task.text, task.project, call.viewer, call.deadline, without_task=task.id)
    return Knowledge(text=found.text, memories=tuple(note.memory.id for note in found.notes))


def get_costs(app: Application, request: GetCosts, call: Call) -> CostReport:
    return app.tasks.costs(request.by, call.viewer, first=request.first, last=request.last, deadline=call.deadline)
