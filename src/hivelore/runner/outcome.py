"""Decides how a run of an agent program ended, and what becomes of its task."""

import signal
from dataclasses import dataclass
from enum import StrEnum

from hivelore.runner.stream_events import RunState, cut_text

MAX_REASON_BYTES = 16_384
"""Bytes of a reason and of a progress that the service takes."""


class StopReason(StrEnum):
    """Why the runner ended the agent program."""

    SHUTDOWN = "shutdown"
    """The runner was asked to stop."""
    TIME = "time"
    COST = "cost"
    LEASE_LOST = "lease-lost"
    """Another agent may work on the task, or it was finished."""
    PAUSED = "paused"
    CANCELLED = "cancelled"
    DISK_FULL = "disk-full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """How the agent program ended."""

    code: int | None
    """Exit code, minus the signal that ended it; None if it could not be started."""
    stopped: StopReason | None = None
    """Why the runner ended it; None if it ended by itself."""
    complaint: str = ""
    """End of what it wrote to stderr, or why it could not be started."""


@dataclass(frozen=True, slots=True)
class Completed:
    output: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The task was tried and failed; the service decides about another attempt."""

    reason: str
    progress: str = ""
    is_final: bool = False
    """True if another attempt would end in the same way."""


@dataclass(frozen=True, slots=True)
class HandedBack:
    """Another attempt goes on, here or elsewhere. ``progress`` is what it should know."""

    reason: str
    progress: str = ""
    is_fault_here: bool = False
    """True if this machine is the reason, such as a full disk or an agent program that does not work."""


@dataclass(frozen=True, slots=True)
class Abandoned:
    """The task is no longer that of this runner; only what was done is kept."""

    reason: str
    progress: str = ""


Outcome = Completed | Failed | HandedBack | Abandoned


def decide_outcome(state: RunState, ended: Exit) -> Outcome:
    """Returns the outcome of a run. An answer completes the task, however the program ended after it."""
    progress = cut_text(state.last_text, MAX_REASON_BYTES)
    if ended.stopped is not None and ended.stopped in _NOT_OURS:
        return Abandoned(_STOPPED[ended.stopped], progress)
    if state.answer is not None:
        return Completed(state.answer)
    match ended.stopped:
        case StopReason.TIME | StopReason.COST:
            return Failed(_STOPPED[ended.stopped], progress, is_final=True)
        case StopReason.SHUTDOWN:
            return HandedBack(_STOPPED[ended.stopped], progress)
        case StopReason.DISK_FULL:
            return HandedBack(_STOPPED[ended.stopped], progress, is_fault_here=True)
        case _:
            return _decide_by_exit(state, ended, progress)


_NOT_OURS = (StopReason.LEASE_LOST, StopReason.PAUSED, StopReason.CANCELLED)
_STOPPED = {
    StopReason.SHUTDOWN: "The runner was asked to stop.",
    StopReason.TIME: "The time limit of the task has passed.",
    StopReason.COST: "The cost limit of the task is reached.",
    StopReason.LEASE_LOST: "The lease of the task was lost.",
    StopReason.PAUSED: "The task was paused.",
    StopReason.CANCELLED: "The task was cancelled.",
    StopReason.DISK_FULL: "The disk of the runner is full.",
}


def _decide_by_exit(state: RunState, ended: Exit, progress: str) -> Outcome:
    said = cut_text(state.failure or ended.complaint or "It said nothing.", MAX_REASON_BYTES - 500)
    if ended.code is None:
        return HandedBack(f"The agent program could not be started: {said}", progress, is_fault_here=True)
    if ended.code < 0:
        return Failed(f"The agent program was ended by {_signal_name(-ended.code)}. {said}", progress)
    if state.session is None:
        return HandedBack(
            f"The agent program ended with exit code {ended.code} before a session began. {said}",
            progress,
            is_fault_here=True,
        )
    if state.failure is not None:
        return Failed(f"The agent program failed: {said}", progress, state.is_final)
    if ended.code != 0:
        return Failed(f"The agent program ended with exit code {ended.code}. {said}", progress)
    return Failed(f"The agent program ended without an answer. {said}", progress)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
