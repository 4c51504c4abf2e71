"""The states of a task and the actions that change them. ``TRANSITIONS`` is the whole state machine."""

from collections.abc import Mapping
from enum import StrEnum

from hivelore.errors import Conflict
from hivelore.tasks.model import TaskState


class TaskAction(StrEnum):
    CLAIM = "claim"
    """An agent takes it, also after the lease of another one ended."""
    COMPLETE = "complete"
    FAIL = "fail"
    RETRY = "retry"
    """An attempt failed, and there may be another one."""
    RELEASE = "release"
    """The agent gives it back."""
    READY = "ready"
    """All tasks that it depends on are completed."""
    EDIT = "edit"
    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    RESTORE = "undo"
    """The undo of a cancellation."""
    RESTORE_PAUSED = "undo (of a paused task)"


_OPEN, _WAITING, _RUNNING, _PAUSED = TaskState.OPEN, TaskState.WAITING, TaskState.RUNNING, TaskState.PAUSED
_COMPLETED, _FAILED, _CANCELLED = TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED

TRANSITIONS: Mapping[tuple[TaskState, TaskAction], TaskState] = {
    (_OPEN, TaskAction.CLAIM): _RUNNING,
    (_OPEN, TaskAction.EDIT): _OPEN,
    (_OPEN, TaskAction.PAUSE): _PAUSED,
    (_OPEN, TaskAction.COMPLETE): _COMPLETED,
    (_OPEN, TaskAction.FAIL): _FAILED,
    (_OPEN, TaskAction.CANCEL): _CANCELLED,
    (_WAITING, TaskAction.READY): _OPEN,
    (_WAITING, TaskAction.EDIT): _OPEN,
    (_WAITING, TaskAction.PAUSE): _PAUSED,
    (_WAITING, TaskAction.COMPLETE): _COMPLETED,
    (_WAITING, TaskAction.FAIL): _FAILED,
    (_WAITING, TaskAction.CANCEL): _CANCELLED,
    (_RUNNING, TaskAction.CLAIM): _RUNNING,
    (_RUNNING, TaskAction.COMPLETE): _COMPLETED,
    (_RUNNING, TaskAction.FAIL): _FAILED,
    (_RUNNING, TaskAction.RETRY): _OPEN,
    (_RUNNING, TaskAction.RELEASE): _OPEN,
    (_RUNNING, TaskAction.PAUSE): _PAUSED,
    (_RUNNING, TaskAction.CANCEL): _CANCELLED,
    (_PAUSED, TaskAction.EDIT): _PAUSED,
    (_PAUSED, TaskAction.RESUME): _OPEN,
    (_PAUSED, TaskAction.COMPLETE): _COMPLETED,
    (_PAUSED, TaskAction.FAIL): _FAILED,
    (_PAUSED, TaskAction.CANCEL): _CANCELLED,
    (_FAILED, TaskAction.RESUME): _OPEN,
    (_CANCELLED, TaskAction.RESTORE): _OPEN,
    (_CANCELLED, TaskAction.RESTORE_PAUSED): _PAUSED,
}
"""The next state by state and action. A task whose dependencies are not completed becomes waiting instead of open."""
_HINTS: Mapping[TaskState, str] = {
    _OPEN: "Claim it first.",
    _WAITING: "It waits for the tasks that it depends on.",
    _RUNNING: "Release, pause or cancel it first.",
    _PAUSED: "Resume it first.",
    _COMPLETED: "Send a new task instead.",
    _FAILED: "Resume it, or send a new task.",
    _CANCELLED: "Undo the cancellation, or send a new task.",
}


def may_apply(state: TaskState, action: TaskAction) -> bool:
    """Returns True if a task in a state takes an action."""
    return (state, action) in TRANSITIONS


def next_state(state: TaskState, action: TaskAction, *, is_unmet: bool) -> TaskState:
    """Returns the state after an action. ``is_unmet``: a task that it depends on is not completed. Raises Conflict."""
    found = TRANSITIONS.get((state, action))
    if found is None:
        raise Conflict(f"The task is {state}: {action} is not possible. {_HINTS[state]}")
    return _WAITING if found is _OPEN and is_unmet else found


def diagram() -> str:
    """Returns the state machine as a diagram in Mermaid."""
    lines = ["stateDiagram-v2", "    [*] --> open: send", "    [*] --> waiting: send"]
    arrows: dict[tuple[TaskState, TaskState], list[str]] = {}
    for (state, action), target in TRANSITIONS.items():
        arrows.setdefault((state, target), []).append(action)
        if target is _OPEN and action is not TaskAction.READY:
            arrows.setdefault((state, _WAITING), []).append(action)
    lines += [f"    {state} --> {target}: {', '.join(actions)}" for (state, target), actions in arrows.items()]
    ends = [state for state in TaskState if not any(of is state for of, _ in TRANSITIONS)]
    return "\n".join([*lines, *(f"    {state} --> [*]" for state in ends)])
