"""The runner: claims tasks for one agent and works on several at once, until it is asked to stop."""

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from hivelore.errors import Forbidden, HiveloreError, Unauthenticated
from hivelore.runner import disk, run_folders
from hivelore.runner.model import ClaimedTask
from hivelore.runner.outcome import HandedBack, Outcome, StopReason
from hivelore.runner.ports import NoTask
from hivelore.runner.task_run import Means, Show, TaskRun

CLAIM_WAIT = 20.0
"""Seconds that the service may take to answer a claim."""
LONGEST_PAUSE = 30.0
"""Seconds between two claims while the service does not answer, or refuses tasks."""
MOST_FAULTS = 3
"""Runs in a row that failed because of this machine, after which the runner ends."""
_FIRST_PAUSE = 0.5
_LAST_CLAIM = 2.0
"""Seconds that a stopped runner waits for the answer to its last claim."""


@dataclass(slots=True)
class Summary:
    """What a runner did."""

    outcomes: Counter[str] = field(default_factory=Counter[str])
    fault: str | None = None
    """Why the runner ended without being asked to."""


class Runner:
    def __init__(
        self, means: Means, runs: Path, *, parallel: int, once: bool, show: Show, note: Callable[[str], object]
    ) -> None:
        """``once``: take one task, if there is one now, and end."""
        self._means = means
        self._runs = runs
        self._parallel = 1 if once else parallel
        self._once = once
        self._show = show
        self._note = note
        self._stopping = threading.Event()
        self._changed = threading.Condition()
        self._active: dict[TaskRun, threading.Thread] = {}
        self._faults = 0
        self._fault: str | None = None
        self.summary = Summary()

    def stop(self) -> None:
        """Ends the runner: agent programs are asked to end, and their tasks are handed back. The second call kills
        them."""
        again = self._stopping.is_set()
        self._stopping.set()
        for run in list(self._active):
            if again:
                run.kill()
            else:
                run.stop(StopReason.SHUTDOWN)

    def run(self) -> Summary:
        """Returns when the runner was stopped and no run is left."""
        run_folders.clean_up(self._runs, self._note)
        claimer = threading.Thread(target=self._claim_all, name="claim", daemon=True)
        claimer.start()
        while claimer.is_alive() and not self._stopping.wait(0.2):
            pass
        for run in list(self._active):
            if self._stopping.is_set():
                run.stop(StopReason.SHUTDOWN)
        for thread in list(self._active.values()):
            thread.join()
        claimer.join(_LAST_CLAIM)
        self._deliver_kept()
        self.summary.fault = self._fault
        return self.summary

    def _claim_all(self) -> None:
        pause = _FIRST_PAUSE
        while not self._stopping.is_set() and self._fault is None:
            if not self._can_take():
                continue
            try:
                self._deliver_kept()
                found = self._means.queue.claim(0.0 if self._once else CLAIM_WAIT)
            except (Unauthenticated, Forbidden) as error:
                self._give_up(str(error))
                return
            except HiveloreError as error:
                self._note(str(error))
                if self._once:
                    self._fault = str(error)
                    return
                self._stopping.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
                continue
            pause = _FIRST_PAUSE
            if isinstance(found, NoTask):
                if self._once:
                    self._note(found.message or "There is no task now.")
                    return
                if found.is_refused:
                    self._note(found.message)
                    self._stopping.wait(LONGEST_PAUSE)
                continue
            if self._stopping.is_set():
                self._release(found)
                return
            try:
                self._start(found)
            except (OSError, RuntimeError) as error:  # The disk is full, or there are too many threads.
                self._release(found)
                self._give_up(f"The run of a task cannot be started ({error}).")
                return
            if self._once:
                return

    def _can_take(self) -> bool:
        """Returns True if a task can be taken; else False after a moment."""
        with self._changed:
            if len(self._active) >= self._parallel:
                self._changed.wait(1.0)
                return False
        full = disk.find_full((self._runs, self._means.home, *self._means.folders), disk.LEAST_TO_START)
        if full is None:
            return True
        reason = f"Less than {disk.LEAST_TO_START // 10**6} MB are free in {full}. No task is taken."
        if self._once:
            self._fault = reason
        else:  # Programs that run may still free it.
            self._note(reason)
            self._stopping.wait(LONGEST_PAUSE)
        return False

    def _start(self, task: ClaimedTask) -> None:
        folder = run_folders.create(self._runs)
        run = TaskRun(task, folder.path, self._means, self._show)

        def work() -> None:
            outcome: Outcome | None = None
            try:
                outcome = run.run()
                self._finish(outcome)
            finally:
                if outcome is None:
                    self._give_up("The runner failed at a task; its output says why.")
                folder.release()
                run_folders.prune(self._runs)
                with self._changed:
                    self._active.pop(run, None)
                    self._changed.notify_all()

        thread = threading.Thread(target=work, name=f"task-{task.id[:8]}")
        with self._changed:
            self._active[run] = thread
        thread.start()
        if self._stopping.is_set():
            run.stop(StopReason.SHUTDOWN)

    def _finish(self, outcome: Outcome) -> None:
        self.summary.outcomes[type(outcome).__name__] += 1
        if isinstance(outcome, HandedBack) and outcome.is_fault_here:
            self._faults += 1
            if self._faults >= MOST_FAULTS or self._once:
                self._give_up(outcome.reason)
            else:
                self._stopping.wait(2.0**self._faults)  # Another runner may take it meanwhile.
        else:
            self._faults = 0

    def _give_up(self, reason: str) -> None:
        self._fault = reason
        self.stop()

    def _release(self, task: ClaimedTask) -> None:
        call = self._means.queue.release_call(task)
        try:
            self._means.outbox.send(self._means.client, call)
        except HiveloreError as error:
            self._note(str(error))

    def _deliver_kept(self) -> None:
        try:
            self._means.outbox.deliver(self._means.client)
        except HiveloreError as error:
            self._note(str(error))
