"""Completed and failed tasks as memories (A38)."""

from dataclasses import dataclass

from hivelore.core.agents import AgentId
from hivelore.memories.drafts import Draft
from hivelore.memories.model import Source, TaskStatus
from hivelore.memories.summary import name_from_summary, summarise

OPEN_TASK = "open-task"
"""Category of the memory of a task that is not done. Such memories are found, but neither injected nor linked: what is
asked for is no fact."""
MIN_LENGTH = 30
"""Characters of task and output together below which nothing is stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCompletion:
    id: str
    task: str
    output: str = ""
    """What the task produced, or what went wrong; may be empty."""
    status: TaskStatus = TaskStatus.COMPLETED
    owner: AgentId | None = None
    """None: the caller."""
    project: str | None = None
    session: str | None = None
    list_id: str | None = None
    """The list that numbers the task; None if the id is unique without one."""


def completion_draft(completion: TaskCompletion) -> Draft | None:
    """Returns the draft of a completion with cleaned texts; None if it is too short to be worth storing. The same task
    always has the same external id."""
    task, output = completion.task, completion.output
    if len(task) + len(output) < MIN_LENGTH:
        return None
    failed = completion.status is TaskStatus.FAILED
    content = f"{'Failed' if failed else 'Completed'} task: {task}"
    if output:
        content += f"\n\n{'What went wrong' if failed else 'Output'}:\n\n{output}"
    title, *_ = task.splitlines()
    key = completion.id if completion.list_id is None else f"{completion.list_id}:{completion.id}"
    return Draft(
        content=content,
        name=name_from_summary(summarise(title)),
        source=Source.TASK_COMPLETION,
        owner=completion.owner,
        project=completion.project,
        session=completion.session,
        source_task_id=completion.id,
        external_id=f"task:{key}",
    )
