"""Dependencies between tasks."""

from collections.abc import Callable, Iterable, Sequence

from hivelore.errors import Conflict, TooLarge
from hivelore.tasks.model import Task, TaskId, TaskState

MAX_READ = 10_000
"""Tasks that are read to find a cycle."""


def check_acyclic(
    task: TaskId, depends_on: Iterable[TaskId], read: Callable[[TaskId], Sequence[TaskId]], most: int = MAX_READ
) -> None:
    """Raises Conflict if the task would depend on itself, and TooLarge if there are too many tasks to know that.
    ``read`` returns the tasks that one depends on."""
    known, left = set[TaskId](), list(depends_on)
    while left:
        one = left.pop()
        if one == task:
            raise Conflict("The task would depend on itself. Leave out one of the dependencies.")
        if one in known:
            continue
        if len(known) >= most:
            raise TooLarge(f"The task would depend on more than {most:,} tasks.", field="dependsOn")
        known.add(one)
        left += read(one)


CYCLES = b"task dependencies"
"""Claimed by every change of dependencies: two of them may close a cycle together."""


def lock_of(task: TaskId) -> bytes:
    """Returns what is claimed by whoever decides by the state of a task, by whoever adds something to it without
    changing its row, and by whoever completes or deletes it."""
    return b"task " + task.encode()


def locks_of(before: Task | None, after: Task) -> Sequence[bytes]:
    """Returns what a change of a task claims, so that no other one decides by what it changes, and none changes what it
    decides by (``MemoryWrites.claim``). None before: a new task, on which no other one depends yet."""
    if before is not None and (before.state, before.depends_on) == (after.state, after.depends_on):
        return ()
    is_new_need = before is not None and before.depends_on != after.depends_on
    by = after.depends_on if after.state in (TaskState.OPEN, TaskState.WAITING) or is_new_need else ()
    is_done = after.state is TaskState.COMPLETED
    return [*([CYCLES] if is_new_need else ()), *map(lock_of, [*by, *([after.id] if is_done else ())])]
