"""The operations of tasks and their costs (D20)."""

from datetime import date
from typing import Annotated

from msgspec import Meta

from hivelore.core.agents import Role
from hivelore.core.capabilities import Capability
from hivelore.core.operation import Lane, Operation, Waiting, delete, get, patch, post
from hivelore.core.tool import OBJECT, OBJECTS, TEXT, Reply, Tool
from hivelore.core.values import Request, json_names
from hivelore.tasks.model import (
    DEFAULT_ATTEMPTS,
    MAX_ATTEMPTS,
    MAX_PRIORITY,
    UNFINISHED,
    ClaimResult,
    CostGroup,
    CostReport,
    Knowledge,
    Task,
    TaskDetail,
    TaskPage,
    TaskState,
    Usage,
)

LONGEST_WAIT = 30.0
"""Seconds that a claim waits at most. The caller then asks again, which also finds a task of which it did not hear."""
_LEASE = Annotated[int, Meta(ge=5, le=86_400)]
_PRIORITY = Annotated[int, Meta(ge=-MAX_PRIORITY, le=MAX_PRIORITY)]


class SendTask(Request, frozen=True, rename=json_names(parent="parentTaskId")):
    text: Annotated[str, Meta(description="What is to be done. At most 65,536 bytes of UTF-8.")]
    assignee: Annotated[str | None, Meta(description="Agent, by name or id. Default: any agent of the swarm.")] = None
    parent: Annotated[str | None, Meta(description="The task whose work and session this one continues.")] = None
    repo: Annotated[str | None, Meta(description="Name of the repository to work in.")] = None
    depends_on: Annotated[tuple[str, ...], Meta(description="Tasks that have to be completed before.")] = ()
    priority: _PRIORITY = 0
    tags: tuple[str, ...] = ()
    client_id: Annotated[str | None, Meta(description="Sending again with this id changes nothing.")] = None
    max_attempts: Annotated[int, Meta(ge=1, le=MAX_ATTEMPTS)] = DEFAULT_ATTEMPTS
    project: str | None = None


class NamedTask(Request, frozen=True, rename=json_names(task="taskId")):
    task: str


class ListTasks(Request, frozen=True, kw_only=True, rename=json_names(parent="parentTaskId")):
    state: Annotated[
        tuple[TaskState, ...], Meta(description="States, several times. Default: all unfinished ones.")
    ] = UNFINISHED
    agent: Annotated[str | None, Meta(description="Only tasks that are assigned to this agent, or that it does.")] = (
        None
    )
    creator: Annotated[str | None, Meta(description="Only tasks that this agent sent.")] = None
    parent: str | None = None
    repo: str | None = None
    tag: str | None = None
    limit: Annotated[int, Meta(ge=1, le=200)] = 50
    after: str | None = None


class ClaimTask(Request, frozen=True, kw_only=True):
    wait: Annotated[float, Meta(ge=0, le=LONGEST_WAIT, description="Seconds to wait for a task.")] = 0.0
    lease_seconds: _LEASE = 600
    runner: Annotated[str | None, Meta(description="The process or host that will do it, for people.")] = None


class Heartbeat(Request, frozen=True, kw_only=True, rename=json_names(task="taskId")):
    task: str
    lease_token: str | None = None
    lease_seconds: _LEASE = 600
    session_id: str | None = None


class StoreProgress(Request, frozen=True, rename=json_names(task="taskId")):
    task: str
    text: Annotated[str, Meta(description="What is done and what is left. At most 16,384 bytes.")]
    lease_token: str | None = None
    session_id: str | None = None
    usage: Usage | None = None


class FinishTask(Request, frozen=True, rename=json_names(task="taskId")):
    task: str
    output: Annotated[str, Meta(description="The result. At most 65,536 bytes.")] = ""
    lease_token: str | None = None
    session_id: str | None = None
    usage: Usage | None = None


class FailTask(Request, frozen=True, rename=json_names(task="taskId")):
    task: str
    reason: Annotated[str, Meta(description="What went wrong. At most 16,384 bytes.")]
    retry: Annotated[bool, Meta(description="Another agent may try it, if an attempt is left.")] = False
    lease_token: str | None = None
    session_id: str | None = None
    usage: Usage | None = None


class ReleaseTask(Request, frozen=True, rename=json_names(task="taskId")):
    task: str
    lease_token: str | None = None
    session_id: str | None = None
    usage: Usage | None = None


class EditTask(Request, frozen=True, kw_only=True, rename=json_names(task="taskId")):
    task: str
    priority: _PRIORITY | None = None
    tags: tuple[str, ...] | None = None
    depends_on: tuple[str, ...] | None = None


class GetCosts(Request, frozen=True, kw_only=True):
    by: CostGroup = CostGroup.DAY
    first: Annotated[date | None, Meta(description="First day (UTC). Default: 30 days until the last one.")] = None
    last: Annotated[date | None, Meta(description="Last day (UTC). Default: today.")] = None


def _about(task: Task) -> Reply:
    return Reply(f"The task is {task.state}.", {"task": task})


def _claim_reply(found: ClaimResult) -> Reply:
    return Reply(found.message, {} if found.task is None else {"task": found.task})


def _page_reply(page: TaskPage) -> Reply:
    more = "" if page.next is None else " There are more: pass next as after."
    data = {"tasks": page.tasks, **({} if page.next is None else {"next": page.next})}
    return Reply(f"{len(page.tasks)} tasks, newest first.{more}", data)


def _pause(found: ClaimResult) -> float | None:
    if found.task is not None or found.is_over_limit:
        return None
    return LONGEST_WAIT if found.retry_in is None else found.retry_in


_TASK = {"task": OBJECT}
_SWARM = Capability.SWARM
_ID = {"taskId": ""}

SEND_TASK = Operation(
    name="send_task",
    verb="task send",
    summary="Sends a task to an agent, or to whichever agent of the swarm is free. With a ``client_id`` that the "
    "caller used before, returns that task.",
    request=SendTask,
    response=Task,
    handler="hivelore.tasks.handlers:send_task",
    lane=Lane.WRITE,
    http=post("/api/tasks", status=201),
    tool=Tool(
        name="send-task",
        description="Send a task to another agent, or to any agent that is free.",
        arguments={
            "text": "what is to be done, complete without this conversation",
            "assignee": "agent, by name; default: any",
            "parentTaskId": "task that it continues",
            "repo": "",
            "dependsOn": "ids of tasks to be completed before",
            "priority": "",
            "tags": "",
        },
        reply=lambda task: Reply(f"Task {task.id} is {task.state}.", {"task": task}),
        output=_TASK,
        capability=_SWARM,
        idempotent=False,
    ),
    tag="tasks",
)
GET_TASK = Operation(
    name="task",
    verb="task show",
    summary="Returns a task with its latest progress texts and sessions, the tasks it waits for, and its costs.",
    request=NamedTask,
    response=TaskDetail,
    handler="hivelore.tasks.handlers:get_task",
    lane=Lane.READ,
    http=get("/api/tasks/{taskId}"),
    tool=Tool(
        name="get-task",
        description="Show a task with its progress and result.",
        arguments=_ID,
        reply=lambda found: Reply(f"The task is {found.task.state}.", {"task": found.task, "progress": found.progress}),
        output={"task": OBJECT, "progress": OBJECTS},
        capability=_SWARM,
        read_only=True,
    ),
    tag="tasks",
)
LIST_TASKS = Operation(
    name="tasks",
    verb="task list",
    summary="Lists tasks, newest first, by default the unfinished ones, with their costs. Long texts are shortened. "
    "``after`` is the ``next`` of the previous page.",
    request=ListTasks,
    response=TaskPage,
    handler="hivelore.tasks.handlers:list_tasks",
    lane=Lane.READ,
    http=get("/api/tasks"),
    tool=Tool(
        name="list-tasks",
        description="List tasks, by default unfinished ones.",
        arguments={"state": "", "agent": "", "creator": "", "parentTaskId": "", "tag": "", "limit": "", "after": ""},
        reply=_page_reply,
        output={"tasks": OBJECTS, "next": TEXT},
        capability=_SWARM,
        read_only=True,
    ),
    tag="tasks",
)
CLAIM_TASK = Operation(
    name="claim_task",
    summary="Gives the next task to the agent of the caller, for the time of a lease. The lease is renewed by "
    "heartbeats and progress; when it ends, another agent may claim the task. ``wait``: waits so long for a task.",
    request=ClaimTask,
    response=ClaimResult,
    handler="hivelore.tasks.handlers:claim_task",
    lane=Lane.WRITE,
    http=post("/api/tasks/claim"),
    waiting=Waiting(seconds=lambda request: request.wait, pause=_pause, signal=lambda app: app.tasks.signal),
    tool=Tool(
        name="claim-task",
        description="Take the next task that you may do. Store progress at least every ten minutes, or you lose it.",
        arguments={"wait": "seconds to wait for one", "leaseSeconds": ""},
        reply=_claim_reply,
        output=_TASK,
        capability=_SWARM,
        idempotent=False,
    ),
    tag="tasks",
)
HEARTBEAT = Operation(
    name="renew_task",
    summary="Renews the lease of a claimed task. ``session_id``: the session of the agent program that works on it.",
    request=Heartbeat,
    response=Task,
    handler="hivelore.tasks.handlers:renew_task",
    lane=Lane.WRITE,
    http=post("/api/tasks/{taskId}/heartbeat"),
    tag="tasks",
)
STORE_PROGRESS = Operation(
    name="store_progress",
    verb="task progress",
    summary="Stores the progress of a task and renews its lease, unless a runner claimed it, which sends heartbeats. "
    "``usage``: what its session used so far.",
    request=StoreProgress,
    response=Task,
    handler="hivelore.tasks.handlers:store_progress",
    lane=Lane.WRITE,
    http=post("/api/tasks/{taskId}/progress"),
    tool=Tool(
        name="store-progress",
        description="Store how far you are with a task: what is done, what is left.",
        arguments={**_ID, "text": ""},
        reply=_about,
        output=_TASK,
        capability=_SWARM,
    ),
    tag="tasks",
)
FINISH_TASK = Operation(
    name="finish_task",
    verb="task complete",
    summary="Completes a task with its output, which becomes a memory. Needs the lease; leads and operators need none. "
    "A repetition changes nothing. The result of a lost lease is kept as a late progress.",
    request=FinishTask,
    response=Task,
    handler="hivelore.tasks.handlers:finish_task",
    lane=Lane.WRITE,
    http=post("/api/tasks/{taskId}/complete"),
    tool=Tool(
        name="complete-task",
        description="Complete a task that you claimed.",
        arguments={**_ID, "output": "the result, and what others should know"},
        reply=_about,
        output=_TASK,
        capability=_SWARM,
    ),
    tag="tasks",
)
FAIL_TASK = Operation(
    name="fail_task",
    verb="task fail",
    summary="Fails a task, or only this attempt of it (``retry``). What went wrong becomes a memory, and an event "
    "reports it.",
    request=FailTask,
    response=Task,
    handler="hivelore.tasks.handlers:fail_task",
    lane=Lane.WRITE,
    http=post("/api/tasks/{taskId}/fail"),
    tool=Tool(
        name="fail-task",
        description="Give up a task that you claimed.",
        arguments={**_ID, "reason": "what went wrong", "retry": "another agent may try"},
        reply=_about,
        output=_TASK,
        capability=_SWARM,
    ),
    tag="tasks",
)
RELEASE_TASK = Operation(
    name="release_task",
    summary="Gives a claimed task back, so that another agent may claim it at once. That counts as no failure.",
    request=ReleaseTask,
    response=Task,
    handler="hivelore.tasks.handlers:release_task",
    lane=Lane.WRITE,
    http=post("/api/tasks/{taskId}/release"),
    tag="tasks",
)
CANCEL_TASK = Operation(
    name="cancel_task",
    verb="task cancel",
    summary="Cancels a task; the agent that works on it loses the lease. For its sender, leads and operators. An undo "
    "takes it back while nothing else happened to the task.",
    request=NamedTask,
    response=Task,
    handler="hivelore.tasks.handlers:cancel_task",
    lane=Lane.WRITE,
    http=post("/api/tasks/{taskId}/cancel"),
    tool=Tool(
        name="cancel-task",
        description="Cancel a task that you sent.",
        arguments=_ID,
        reply=_about,
        output=_TASK,
        capability=_SWARM,
        destructive=True,
    ),
    tag="tasks",
)
PAUSE_TASK = Operation(
    name="pause_task",
    verb="task pause",
    summary="Pauses a task until it is resumed; the agent that works on it loses the lease. For its sender, leads and "
    "operators.",
    request=NamedTask,
    response=Task,
    handler="hivelore.tasks.handlers:pause_task",
    lane=Lane.WRITE,
    http=post("/api/tasks/{taskId}/pause"),
    tag="tasks",
)
RESUME_TASK = Operation(
    name="resume_task",
    verb="task resume",
    summary="Resumes a paused task, or gives a failed one all its attempts again. For its sender, leads and operators.",
    request=NamedTask,
    response=Task,
    handler="hivelore.tasks.handlers:resume_task",
    lane=Lane.WRITE,
    http=post("/api/tasks/{taskId}/resume"),
    tag="tasks",
)
EDIT_TASK = Operation(
    name="edit_task",
    verb="task edit",
    summary="Changes priority, tags or dependencies of a task that is not running or finished. For its sender, leads "
    "and operators. It can be undone.",
    request=EditTask,
    response=Task,
    handler="hivelore.tasks.handlers:edit_task",
    lane=Lane.WRITE,
    http=patch("/api/tasks/{taskId}"),
    tag="tasks",
)
DELETE_TASK = Operation(
    name="delete_task",
    verb="task delete",
    summary="Deletes a task with its progress and costs. Finished tasks are deleted after HIVELORE_TASK_DAYS anyway. "
    "Its memory stays until it is forgotten.",
    request=NamedTask,
    response=type(None),
    handler="hivelore.tasks.handlers:delete_task",
    lane=Lane.WRITE,
    http=delete("/api/tasks/{taskId}"),
    roles=frozenset({Role.OPERATOR}),
    tag="tasks",
)
DROP_COSTS = Operation(
    name="drop_costs",
    verb="task drop-costs",
    summary="Deletes the costs of a task, for example if they were reported wrongly and use up the daily limit.",
    request=NamedTask,
    response=type(None),
    handler="hivelore.tasks.handlers:drop_costs",
    lane=Lane.WRITE,
    http=delete("/api/tasks/{taskId}/costs"),
    roles=frozenset({Role.OPERATOR}),
    tag="tasks",
)
GET_KNOWLEDGE = Operation(
    name="task_knowledge",
    summary="Returns up to five memories that are relevant to a task, within 1,000 tokens, as text for the context of "
    "an agent; no text if none is relevant.",
    request=NamedTask,
    response=Knowledge,
    handler="hivelore.tasks.handlers:get_knowledge",
    lane=Lane.RECALL,
    http=get("/api/tasks/{taskId}/knowledge"),
    tag="tasks",
)
GET_COSTS = Operation(
    name="costs",
    verb="tasks",
    summary="Returns the tokens and the money that tasks used, by day, agent or task. Workers see those of their own "
    "agent.",
    request=GetCosts,
    response=CostReport,
    handler="hivelore.tasks.handlers:get_costs",
    lane=Lane.READ,
    http=get("/api/costs"),
    tag="tasks",
)
OPERATIONS = (
    SEND_TASK,
    GET_TASK,
    LIST_TASKS,
    CLAIM_TASK,
    HEARTBEAT,
    STORE_PROGRESS,
    FINISH_TASK,
    FAIL_TASK,
    RELEASE_TASK,
    CANCEL_TASK,
    PAUSE_TASK,
    RESUME_TASK,
    EDIT_TASK,
    DELETE_TASK,
    DROP_COSTS,
    GET_KNOWLEDGE,
    GET_COSTS,
)
