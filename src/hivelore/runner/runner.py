"""The runner: claims tasks for one agent and works on several at once, until it is asked to stop."""

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from hivelore.errors import Forbidden, HiveloreError, Unauthenticated
from hivelore.runner import disk, run_folders, task_locks
from hivelore.runner.model import ClaimedTask
from hivelore.runner.outbox import LAST_SECONDS
from hivelore.runner.outcome import HandedBack, Outcome, StopReason
from hivelore.runner.ports import NoTask
from hivelore.runner.task_run import Means, Show, TaskRun

CLAIM_WAIT = 30.0
"""Seconds that the service may take to answer a claim."""
LONGEST_PAUSE = 30.0
"""Seconds between two claims while the service does not answer, or refuses tasks."""
MOST_FAULTS = 3
"""Runs in a row that failed because of this machine, after which the runner ends."""
DELIVER_EVERY = 2.0
"""Seconds between two tries to deliver what is kept for the service."""
_FIRST_PAUSE = 0.5
_LAST_CLAIM = 2.0
"""Seconds that a stopped runner waits for the answer to its last claim."""


@dataclass(slots=True)
class Summary:
    """What a runner did."""

    outcomes: Counter[str] = field(default_factory=Counter[str])
    fault: str | None = None
    """Why the runner ended without being asked to."""
    kept: int = 0
    """Results that had to be kept, because the service was away."""


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
        self._ended = threading.Event()
        self._changed = threading.Condition()
        self._active: dict[TaskRun, threading.Thread] = {}
        self._faults = 0
        self._handed_back = 0
        """Runs in a row that were handed back although nobody asked for it."""
        self._next_claim = 0.0
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
        task_locks.clean_up(self._means.home)
        claimer = threading.Thread(target=self._claim_until_end, name="claim", daemon=True)
        deliverer = threading.Thread(target=self._deliver_until_end, name="deliver", daemon=True)
        claimer.start()
        deliverer.start()
        while claimer.is_alive() and not self._stopping.wait(0.2):
            pass
        for run in list(self._active):
            if self._stopping.is_set():
                run.stop(StopReason.SHUTDOWN)
        self._join_runs()
        claimer.join(_LAST_CLAIM)
        self._join_runs()  # One that began while the runner was stopped.
        self._ended.set()
        self._means.outbox.end_within(LAST_SECONDS)
        self._deliver_kept()
        self.summary.fault = self._fault
        return self.summary

    def _join_runs(self) -> None:
        for thread in list(self._active.values()):
            thread.join()

    def _deliver_until_end(self) -> None:
        """Delivers results soon after the service is back: a lease may end soon, and claims may be far apart."""
        while not self._ended.wait(DELIVER_EVERY):
            self._deliver_kept()

    def _claim_until_end(self) -> None:
        has_failed = True
        try:
            self._claim_all()
            has_failed = False
        finally:
            if has_failed:
                self._give_up("The runner failed while it claimed tasks; its output says why.")

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
        pause = self._next_claim - self._means.monotonic()
        if pause > 0:
            self._stopping.wait(pause)
            return False
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
        """Starts the run of a task. An earlier run of it has lost its lease: it is stopped, and the new one waits."""
        for former in list(self._active):
            if former.task.id == task.id:
                former.stop(StopReason.LEASE_LOST)
        folder = run_folders.create(self._runs)
        run = TaskRun(task, folder.path, self._means, self._show)

        def work() -> None:
            outcome: Outcome | None = None
            try:
                outcome = run.run()
                self.summary.kept += run.is_kept
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
        try:
            with self._changed:  # So that the run cannot end before it is counted.
                thread.start()
                self._active[run] = thread
        except RuntimeError:
            folder.release()
            raise
        if self._stopping.is_set():
            run.stop(StopReason.SHUTDOWN)

    def _finish(self, outcome: Outcome) -> None:
        self.summary.outcomes[type(outcome).__name__] += 1
        if not isinstance(outcome, HandedBack):
            self._faults = self._handed_back = 0
        elif not self._stopping.is_set():
            self._faults += outcome.is_fault_here
            self._handed_back += 1
            if self._faults >= MOST_FAULTS or (self._once and outcome.is_fault_here):
                self._give_up(outcome.reason)
            else:  # Another runner may take it meanwhile.
                self._next_claim = self._means.monotonic() + min(2.0**self._handed_back, LONGEST_PAUSE)

    def _give_up(self, reason: str) -> None:
        self._fault = self._fault or reason
        if not self._stopping.is_set():  # Twice would kill the programs.
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
        except (HiveloreError, OSError) as error:
            self._note(str(error))
