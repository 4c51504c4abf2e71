"""Reverts batches that changed tasks."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from hivelore.changes.journal import ChangeJournal
from hivelore.changes.model import Batch, BatchKind
from hivelore.core.agents import Viewer
from hivelore.core.clock import Clock
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Conflict, Forbidden, HiveloreError
from hivelore.storage.ports import Transaction, View
from hivelore.tasks import authority
from hivelore.tasks.model import Task, TaskChange, TaskId, TaskState
from hivelore.tasks.service import (
    Outcome,
    PreparedMemory,
    TaskService,
    change_of,
    check_no_cycle,
    is_unmet,
    put_changed_task,
)
from hivelore.tasks.states import TaskAction, next_state


class TaskUndo:
    def __init__(self, journal: ChangeJournal, tasks: TaskService, clock: Clock) -> None:
        self._journal = journal
        self._tasks = tasks
        self._clock = clock

    def prepare(self, view: View, batch: Batch, viewer: Viewer) -> Mapping[TaskId, PreparedMemory]:
        """Prepares the memories of the tasks before the transaction of ``revert``."""
        prepared: dict[TaskId, PreparedMemory] = {}
        for change in view.task_changes(batch.id):
            with suppress(HiveloreError):  # ``revert`` raises it.
                prepared[change.task] = self._tasks.prepare_memory(view, Outcome(*self._restored(view, change, viewer)))
        return prepared

    def revert(
        self,
        tx: Transaction,
        batch: Batch,
        viewer: Viewer,
        reason: Clean | None,
        prepared: Mapping[TaskId, PreparedMemory],
    ) -> tuple[Batch | None, Sequence[TaskId]]:
        """Restores the tasks as they were before a batch, with their memories, and returns the batch of the undo and
        the tasks, for ``finish``. A task that was running becomes open. Raises Conflict if a task was changed since,
        and Forbidden."""
        changes = tx.task_changes(batch.id)
        if batch.undone_at is not None:
            raise Conflict(f"Batch {batch.id} was already undone. To redo the change, undo the batch of that undo.")
        if len(changes) < batch.changes:
            raise Conflict(f"Batch {batch.id} cannot be undone: its task was deleted.")
        redo = [self._revert_task(tx, one, viewer, prepared) for one in changes]
        by = self._journal.new_batch(
            BatchKind.UNDONE,
            viewer,
            changes=len(changes),
            is_private=batch.is_private,
            reason=reason,
            undoes=batch.id,
        )
        if by is not None:
            tx.put_batch(by)
            tx.put_task_changes(by.id, redo)
        return by, [one.task for one in changes]

    def finish(self, tasks: Sequence[TaskId]) -> None:
        """Does after the transaction what belongs to the changes."""
        if tasks:
            self._tasks.wake()

    def _revert_task(
        self, tx: Transaction, change: TaskChange, viewer: Viewer, prepared: Mapping[TaskId, PreparedMemory]
    ) -> TaskChange:
        task, restored = self._restored(tx, change, viewer)
        put_changed_task(tx, task, restored)
        self._tasks.store_memory(tx, Outcome(task, restored), prepared.get(task.id))
        return change_of(task, restored.version)

    def _restored(self, view: View, change: TaskChange, viewer: Viewer) -> tuple[Task, Task]:
        """Returns a task as it is, and as it was before a change."""
        task = view.task(change.task)
        if task is None:
            raise Conflict("The task was deleted.")
        if not authority.may_manage(viewer, task):
            raise Forbidden("Only its sender, a lead or an operator may change this task.")
        if task.version != change.after:
            raise Conflict(f"Task {task.id} was changed since then, so that this change cannot be undone any more.")
        now = self._clock.now()
        restored = replace(task, priority=change.priority, tags=change.tags, depends_on=change.depends_on)
        if task.state is TaskState.CANCELLED:
            action = TaskAction.RESTORE_PAUSED if change.state is TaskState.PAUSED else TaskAction.RESTORE
        else:
            action = TaskAction.CANCEL if change.state is TaskState.CANCELLED else TaskAction.EDIT
        if any(view.task(one) is None for one in change.depends_on if one not in task.depends_on):
            raise Conflict(f"Task {task.id} depended on a task that was deleted since.")
        check_no_cycle(view, restored)
        state = next_state(task.state, action, is_unmet=is_unmet(view, restored))
        restored = replace(
            restored,
            state=state,
            lease=None,
            finished_at=now if state is TaskState.CANCELLED else None,
            updated_at=now,
            version=task.version + 1,
        )
        return task, restored
