"""Texts about a task: its memory (A38, D17), what it hands over to a child (D23), and its reminder (D25)."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from hivelore.core.agents import AgentId, Role
from hivelore.core.text import Clean, in_one_line
from hivelore.memories.drafts import AttributedDraft
from hivelore.memories.model import Scope, Source, Trust
from hivelore.memories.summary import name_from_summary, summarise
from hivelore.memories.task_completion import MIN_LENGTH, OPEN_TASK
from hivelore.tasks.model import FINISHED, Task, TaskState

DONE_TASK = "task"
"""Category of the memory of a completed or failed task."""
_OPEN_LIFETIME = timedelta(days=365)
"""How long the memory of an unfinished task is found without any progress."""
_HEADINGS = {
    TaskState.COMPLETED: "Completed task",
    TaskState.FAILED: "Failed task",
    TaskState.CANCELLED: "Cancelled task",
}
PREAMBLE_BYTES = 8_000
_CUT = " [...]"


def memory_key(task: Task) -> Clean:
    """Returns the external id of the memory of a task."""
    return Clean(f"task:{task.id}")


def memory_owner(task: Task) -> AgentId | None:
    """Returns the owner of the memory of a task: its assignee; None for a task of the pool, whose memory is shared."""
    return task.assignee


def memory_actor(task: Task) -> AgentId | None:
    """Returns who wrote the words of a task: the agent that last reported about it, else its sender."""
    return task.reporter or task.creator


def memory_trust(task: Task) -> Trust:
    """Returns the least trust in those who wrote the words of a task."""
    return Trust.OPERATOR if task.creator_role is Role.OPERATOR and task.reporter is None else Trust.AGENT


def is_trivial(task: Task) -> bool:
    """Returns True if the texts of a task are too short to be worth a memory."""
    return sum(len(text) for text in (task.text, task.progress, _ending(task)) if text) < MIN_LENGTH


def task_draft(task: Task, now: datetime) -> AttributedDraft:
    """Returns the memory of a task."""
    ending = _ending(task)
    parts = [f"{_HEADINGS.get(task.state, 'Task')}: {task.text}"]
    if ending and task.state in (TaskState.COMPLETED, TaskState.FAILED):
        parts.append(f"{'What went wrong' if task.state is TaskState.FAILED else 'Output'}:\n\n{ending}")
    if task.progress and task.progress != ending:
        parts.append(f"Progress:\n\n{task.progress}")
    title, *_ = task.text.splitlines()
    is_done = task.state in (TaskState.COMPLETED, TaskState.FAILED)
    return AttributedDraft(
        content="\n\n".join(parts),
        name=name_from_summary(summarise(title)),
        source=Source.TASK_COMPLETION,
        scope=Scope.SWARM if task.assignee is None else Scope.AGENT,
        owner=memory_owner(task),
        category=DONE_TASK if is_done else OPEN_TASK,
        project=task.project,
        source_task_id=task.id,
        external_id=memory_key(task),
        expires_at=None if task.state in FINISHED else now + _OPEN_LIFETIME,
        actor=memory_actor(task),
        trust=memory_trust(task),
    )


def _ending(task: Task) -> Clean | None:
    return task.failure if task.state is TaskState.FAILED else task.output


def preamble(task: Task, parent: Task | None = None) -> str:
    """Returns what a fresh session has to know about a task that continues earlier work: the task and the progress of
    its parent, and its own progress; empty if there is none. The texts are those of agents: data, not instructions."""
    parts: list[str] = []
    if parent is not None:
        parts.append(f"This task continues task {parent.id} ({parent.state}):\n\n{parent.text}")
        done = parent.output or parent.progress
        parts += [f"What that task has reported:\n\n{done}"] if done else []
    if task.progress:
        parts.append(f"Progress of this task so far:\n\n{task.progress}")
    if task.failure:
        parts.append(f"Why the last attempt failed:\n\n{task.failure}")
    share = PREAMBLE_BYTES // max(len(parts), 1)
    return "\n\n".join(cut(part, share) for part in parts)


def reminder(task: Task) -> str:
    """Returns what an agent is told about its task when a session starts, and after a compaction."""
    shown = f"{task.id}: {cut(task.text, 1_600)}"
    return shown if not task.progress else f"{shown}\nLast progress: {cut(task.progress, 800)}"


def failures(tasks: Iterable[Task]) -> str:
    """Returns what a lead is told about failed tasks, a line for each."""
    return "\n".join(
        f"- {one.id}: {cut(in_one_line(one.text), 150)} (failed: {cut(in_one_line(one.failure or ''), 150)})"
        for one in tasks
    )


def cut(text: str, most: int) -> str:
    """Returns the beginning of a text, of at most so many bytes."""
    data = text.encode()
    if len(data) <= most:
        return text
    return data[: max(most - len(_CUT), 0)].decode(errors="ignore") + _CUT
