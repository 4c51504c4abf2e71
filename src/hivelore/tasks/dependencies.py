"""Dependencies between tasks."""

from collections.abc import Callable, Iterable, Sequence

from hivelore.errors import Conflict, TooLarge
from hivelore.tasks.model import TaskId

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
