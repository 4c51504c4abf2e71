"""Tasks for tests."""

from datetime import timedelta
from typing import Any

from hivelore.core.agents import AgentId, Role
from hivelore.core.text import Clean
from hivelore.search.model import Visibility
from hivelore.storage.ports import MemoryStore, Transaction
from hivelore.tasks.authority import queues_for
from hivelore.tasks.model import Task, TaskId, TaskState
from support.memories import ADA, START, instant

ALL_TASKS = Visibility(own=None, swarm=True, others=True)
HOUR, NO_TIME = timedelta(hours=1), timedelta(0)


def task_id(number: int) -> TaskId:
    return TaskId(f"00000000-0000-7000-8000-{number:012d}")


def a_task(number: int = 1, **fields: Any) -> Task:
    """Returns a task of the pool that a lead sent."""
    known: dict[str, Any] = {
        "id": task_id(number),
        "text": Clean(f"Renew certificate number {number} of the proxy"),
        "state": TaskState.OPEN,
        "created_at": instant(number),
        "updated_at": instant(number),
        "creator": AgentId("lea"),
        "creator_role": Role.LEAD,
    }
    return Task(**(known | fields))


def put_task(tx: Transaction, task: Task) -> None:
    """Adds or changes a task."""
    if tx.task(task.id) is None:
        tx.add_task(task)
    else:
        tx.change_task(task)


def put(store: MemoryStore, *tasks: Task) -> None:
    for task in tasks:
        store.write(lambda tx, task=task: put_task(tx, task))


def claim(
    store: MemoryStore,
    agent: AgentId = ADA,
    role: Role = Role.WORKER,
    *,
    token: str = "token",
    lease: timedelta = HOUR,
    runner: str | None = None,
) -> Task | None:
    named = None if runner is None else Clean(runner)
    return store.write(lambda tx: tx.claim_task(queues_for(role, agent), token, agent, named, START, lease))
