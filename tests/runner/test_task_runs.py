"""Runs of tasks, with small scripts in the place of the agent program."""

import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hivelore.errors import Conflict, Unavailable
from hivelore.observations.markers import CATEGORIES
from hivelore.observations.naming import DEFAULT_NAMING
from hivelore.runner import agent_process, disk, task_run
from hivelore.runner import runner as runner_module
from hivelore.runner.command import AgentProgram
from hivelore.runner.mcp_servers import own_server
from hivelore.runner.model import ClaimedTask, Program, RunLimits, Usage
from hivelore.runner.orphans import processes_of
from hivelore.runner.outbox import Outbox
from hivelore.runner.ports import Call, Prepared
from hivelore.runner.runner import Runner, Summary
from hivelore.runner.service_queue import ServicePrompts, ServiceQueue
from hivelore.runner.stream_markers import BlockMarkers
from hivelore.runner.task_run import Means, RunView
from support.agent_scripts import SESSION, answers, began, event, says, script
from support.task_service import TaskService
from support.waiting import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")

MARKER = "[MEMORY:timing:jellyfin] Takes 60s"
SLEEP = "time.sleep(1000)"


class OneFolder:
    """Implements ``Workspace`` and ``TranscriptSource``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.transcripts: set[str] = set()
        self.waits_for_stop = False
        self.is_waiting = False
        self.stored: list[str | None] = []
        """The newest session at the start and at the end of each program."""

        self.before: Callable[[], object] = lambda: None

    def prepare(self, task: ClaimedTask, is_stopped: Callable[[], bool]) -> Prepared:
        self.before()
        if self.waits_for_stop:
            self.is_waiting = True
            until(is_stopped)
            raise Conflict("The clone is not here.")
        return Prepared(folder=self.folder, environment={"CONFIGURED": "yes"})

    def has(self, session: str, folder: Path, stopping: Callable[[], bool]) -> bool:
        return session in self.transcripts

    @contextmanager
    def storing(self, session: Callable[[], str | None], folder: Path) -> Generator[None]:
        assert folder == self.folder
        self.stored.append(session())
        yield
        self.stored.append(session())

    def usage_before(self, session: str) -> Usage:
        return Usage()


class World:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.service = TaskService()
        self.place = OneFolder(folder)
        self.notes: list[str] = []
        self.views: list[RunView] = []
        self.outbox = Outbox(folder / "outbox", self.notes.append)

    def runner(self, body: str, *, once: bool = True, parallel: int = 1, lease: float = 60.0, **more: Any) -> Runner:
        program = script(self.folder, body)
        means = Means(
            client=self.service,
            queue=self.service.queue(lease=timedelta(seconds=lease)),
            outbox=self.outbox,
            workspace=self.place,
            prompts=ServicePrompts(self.service, "a"),
            transcripts=self.place,
            program=AgentProgram(kind=Program.CLAUDE, path=str(program)),
            servers=own_server(self.service.url),
            limits=more.pop("limits", RunLimits()),
            environment={"PATH": os.environ["PATH"]},
            key="hl_1_a_secret",
            home=self.folder,
            new_markers=lambda: BlockMarkers(CATEGORIES, DEFAULT_NAMING),
            nonce=lambda: "0" * 16,
            monotonic=time.monotonic,
            grace=0.5,
            progress_every=more.pop("progress_every", 0.1),
        )
        runs = self.folder / "runs"
        return Runner(means, runs, parallel=parallel, once=once, show=self.views.append, note=self.notes.append)

    def run(self, body: str, **more: Any) -> Summary:
        return self.runner(body, **more).run()

    def stopping(self, runner: Runner, when: Callable[[], bool]) -> Summary:
        """Runs until a condition holds."""
        thread = threading.Thread(target=lambda: (until(when), runner.stop()))
        thread.start()
        summary = runner.run()
        thread.join()
        return summary

    def left(self) -> list[int]:
        return [pid for folder in (self.folder / "runs").iterdir() for pid in processes_of(folder.name)]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_d60_a_task_runs_to_its_end(world: World) -> None:
    task = world.service.add("Mend the build.")
    looks = "print(json.dumps({k: v for k, v in os.environ.items() if 'HIVELORE' in k or k == 'CONFIGURED'}))"
    summary = world.run("\n".join([looks, began(), says(f"Hm.\n{MARKER}\n"), answers("Done.")]))
    assert (task.state, task.output, task.session) == ("completed", "Done.", SESSION)
    assert task.usage == {
        "sessionId": SESSION,
        "inputTokens": 100,
        "outputTokens": 20,
        "cacheReadTokens": 0,
        "cacheWriteTokens": 0,
        "costUsd": 0.25,
    }
    assert dict(summary.outcomes) == {"Completed": 1}
    assert [one["observation"] for one in world.service.made("/memories")] == ["Takes 60s"]
    assert world.service.made("/memories")[0]["session"] == SESSION
    (folder,) = (world.folder / "runs").iterdir()
    shown = (folder / "output.jsonl").read_text()
    assert '"HIVELORE_TASK_ID": "task-1"' in shown
    assert '"CONFIGURED": "yes"' in shown
    assert (folder / "prompt.md").read_text() == (
        "Mend the build.\n\n## Relevant Past Knowledge\n\nThe port is 5433.\n"
    )
    assert (folder / "system.md").read_text() == (
        "You are a worker.\n\nEnvironment: jellyfin waits.\n\n## Known\n\nIt is slow."
    )
    assert world.views[-1].phase == "completed"


def test_d21_the_session_is_known_as_soon_as_it_begins(world: World) -> None:
    task = world.service.add("Wait.")
    runner = world.runner(f"{began()}\n{SLEEP}")
    world.stopping(runner, lambda: task.session == SESSION)
    assert task.state == "open"
    assert world.place.stored == [None, SESSION]


@pytest.mark.parametrize(
    ("body", "state", "words"),
    [
        (f"{began()}\nprint('broken', file=sys.stderr); sys.exit(1)", "open", "exit code 1. broken"),
        (f"{began()}\nos.kill(os.getpid(), signal.SIGKILL)", "open", "ended by SIGKILL"),
        (f"{began()}\nprint('garbage' * 1000)", "open", "without an answer"),
        (
            began() + "\n" + event(type="result", subtype="error_max_budget_usd", is_error=True, errors=["too much"]),
            "failed",
            "too much",
        ),
    ],
)
def test_a_program_that_fails(world: World, body: str, state: str, words: str) -> None:
    task = world.service.add("Mend the build.")
    assert dict(world.run(body).outcomes) == {"Failed": 1}
    assert task.state == state
    assert words in (task.reason or "")
    assert world.left() == []


def test_a_program_that_floods_is_read_to_its_end(world: World) -> None:
    task = world.service.add("Flood.")
    flood = "sys.stdout.write(('x' * 1000 + '\\n') * 20_000); sys.stdout.write('y' * 20_000_000 + '\\n')"
    world.run("\n".join([began(), flood, answers("Done.")]))
    assert task.output == "Done."


def test_a_program_that_hangs_is_ended_by_its_time_limit(world: World) -> None:
    task = world.service.add("Hang.")
    world.run(
        f"{began()}\n{says('I wait.')}\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n{SLEEP}",
        limits=RunLimits(time=timedelta(seconds=1)),
    )
    assert task.state == "failed"
    assert task.reason == "The time limit of the task has passed.\n\nLast progress:\n\nI wait."
    assert world.left() == []


def test_a_program_that_is_ended_has_used_tokens(world: World) -> None:
    task = world.service.add("Hang.")
    parts = [("m-1", 1), ("m-1", 7), ("m-2", 5)]
    said = [
        event(type="assistant", message={"id": name, "content": [], "usage": {"input_tokens": 100, "output_tokens": n}})
        for name, n in parts
    ]
    world.run("\n".join([began(), *said, SLEEP]), limits=RunLimits(time=timedelta(seconds=1)))
    assert task.usage is not None
    assert (task.usage["inputTokens"], task.usage["outputTokens"]) == (200, 12)
    task = world.service.add("End.")
    world.run("\n".join([began(), *said, answers("Done.")]))
    assert task.usage is not None
    assert (task.usage["inputTokens"], task.usage["outputTokens"]) == (100, 20)


def test_folders_are_removed_while_the_runner_works(world: World) -> None:
    tasks = [world.service.add(f"Task {number}.") for number in range(2)]
    for number in range(60):
        (world.folder / "runs" / f"old-{number}").mkdir(parents=True)
    runner = world.runner("\n".join([began(), answers("Done.")]), once=False)

    def is_done() -> bool:
        if tasks[0].state == "completed" and tasks[1].state == "open":
            for number in range(60):
                (world.folder / "runs" / f"old-{number}").mkdir(exist_ok=True)
        return tasks[1].state == "completed"

    world.stopping(runner, is_done)
    assert len(list((world.folder / "runs").iterdir())) <= 50


def test_a_program_that_does_not_start_hands_the_task_back_and_ends_the_runner(world: World) -> None:
    task = world.service.add("Mend the build.")
    summary = world.run("sys.exit(7)", once=False)
    assert dict(summary.outcomes) == {"HandedBack": 3}
    assert "exit code 7 before a session began" in (summary.fault or "")
    assert (task.state, task.failures) == ("open", 0)


def test_the_sign_in_is_checked_with_the_configuration_of_the_agent(world: World) -> None:
    task = world.service.add("Mend the build.")
    signed_in = "print(json.dumps({'loggedIn': 'CONFIGURED' in os.environ}))"
    summary = world.run("\n".join([f"if 'auth' in sys.argv:\n    {signed_in}; sys.exit()", began(), "sys.exit(1)"]))
    assert (dict(summary.outcomes), task.failures) == ({"Failed": 1}, 1)


def test_a_program_that_is_missing_hands_the_task_back(world: World) -> None:
    task = world.service.add("Mend the build.")
    runner = world.runner("")
    (world.folder / "claude").unlink()
    assert "could not be started" in (runner.run().fault or "")
    assert task.state == "open"


def test_a_stopped_runner_hands_its_task_back_with_its_progress(world: World) -> None:
    task = world.service.add("Wait.")
    runner = world.runner(f"{began()}\n{says('I found the bug.')}\n{SLEEP}", once=False)
    summary = world.stopping(runner, lambda: task.progress == ["I found the bug."])
    assert dict(summary.outcomes) == {"HandedBack": 1}
    assert (task.state, task.failures) == ("open", 0)
    assert task.progress[-1] == "The runner was asked to stop.\n\nLast progress:\n\nI found the bug."
    assert world.left() == []


def test_a_stop_during_the_preparation_hands_the_task_back_and_keeps_its_progress(world: World) -> None:
    task = world.service.add("Wait.", progress=["Half is done."])
    world.place.waits_for_stop = True
    summary = world.stopping(world.runner(answers("Done."), once=False), lambda: world.place.is_waiting)
    assert dict(summary.outcomes) == {"HandedBack": 1}
    assert (task.state, task.failures, task.progress) == ("open", 0, ["Half is done."])
    assert (world.views[-1].phase, world.views[-1].detail) == ("handed back", "The runner was asked to stop.")


def test_a_task_that_is_cancelled_during_the_preparation_is_left(world: World) -> None:
    task = world.service.add("Wait.")
    world.place.waits_for_stop = True

    def cancel() -> None:
        until(lambda: world.place.is_waiting)
        task.state = "cancelled"

    thread = threading.Thread(target=cancel)
    thread.start()
    assert dict(world.run(answers("Done."), lease=1.0).outcomes) == {"Abandoned": 1}
    thread.join()
    assert task.state == "cancelled"


def test_a_limit_of_costs_holds_over_all_attempts(world: World) -> None:
    limits = RunLimits(cost_usd=1.0)
    task = world.service.add("Mend the build.", spent=400_000)
    world.run("\n".join(["print(sys.argv)", began(), answers("Done.")]), limits=limits)
    assert task.state == "completed"
    (folder,) = (world.folder / "runs").iterdir()
    assert "'--max-budget-usd', '0.600000'" in (folder / "output.jsonl").read_text()
    task = world.service.add("Mend the shop.", spent=1_000_000)
    assert dict(world.run(answers("Done."), limits=limits).outcomes) == {"Failed": 1}
    assert (task.state, task.reason) == ("failed", "The cost limit of the task is reached.")


def test_a_hand_back_without_a_text_keeps_the_progress_of_earlier_runs(world: World) -> None:
    task = world.service.add("Wait.", progress=["Half is done."])
    world.stopping(world.runner(f"{began()}\n{SLEEP}", once=False), lambda: task.session == SESSION)
    assert (task.state, task.progress) == ("open", ["Half is done."])
    assert world.views[-1].detail == "The runner was asked to stop."


def test_a_hand_back_without_a_text_reports_its_costs(world: World) -> None:
    task = world.service.add("Wait.", progress=["Half is done."])
    usage = {"input_tokens": 100, "output_tokens": 7}
    said = event(type="assistant", message={"id": "msg_1", "content": [], "usage": usage})
    body = "\n".join([began(), said, f"open('said', 'w')\n{SLEEP}"])
    world.stopping(world.runner(body, once=False), lambda: (world.folder / "said").exists())
    assert (task.state, task.progress) == ("open", ["Half is done."])
    assert task.usage is not None
    assert (task.usage["inputTokens"], task.usage["outputTokens"]) == (100, 7)


@pytest.mark.parametrize("longest", [65_536, 20_000])
def test_a_result_that_is_too_long_once_its_secrets_are_masked_is_delivered(world: World, longest: int) -> None:
    """The service may also have another limit than the runner."""
    world.service.longest_output = longest
    task = world.service.add("Mend the build.")
    summary = world.run("\n".join([began(), answers("password=hunter2x " * 3_640)]))
    assert (task.state, dict(summary.outcomes), summary.kept) == ("completed", {"Completed": 1}, 0)
    assert len(task.output or "") > longest / 4


def test_a_reason_that_is_too_long_once_its_secrets_are_masked_is_delivered(world: World) -> None:
    task = world.service.add("Mend the build.")
    world.run("\n".join([began(), says("password=hunter2x " * 3_640), "sys.exit(1)"]))
    assert (task.failures, "exit code 1" in (task.reason or "")) == (1, True)
    assert "hunter2x" not in world.views[-1].detail


@pytest.mark.parametrize("ends", [answers("Done."), "sys.exit(1)"])
def test_costs_that_the_service_refuses_do_not_hold_back_the_result(world: World, ends: str) -> None:
    world.service.refuses_usage = True
    task = world.service.add("Mend the build.")
    world.run("\n".join([began(), ends]))
    assert (task.output, task.failures) in [("Done.", 0), (None, 1)]


def test_a_usage_is_within_the_limits_of_the_service(world: World) -> None:
    task = world.service.add("Mend the build.")
    world.run("\n".join([began(), answers("Done.", cost=5_000.0)]))
    assert task.usage is not None
    assert task.usage["costUsd"] == 1_000.0


def test_a_result_that_the_service_refuses_is_a_failure_with_a_reason(world: World) -> None:
    world.service.longest_output = 0
    task = world.service.add("Mend the build.")
    summary = world.run("\n".join([began(), answers("Done.")]))
    assert (task.failures, dict(summary.outcomes)) == (1, {"Failed": 1})
    assert "The service refuses the result" in (task.reason or "")
    assert world.views[-1].phase == "failed"


def test_a_result_that_comes_after_the_lease_is_not_shown_as_completed(world: World) -> None:
    task = world.service.add("Mend the build.")
    waits = f"while not os.path.exists({str(world.folder / 'lost')!r}): time.sleep(0.01)"

    def lose() -> None:
        until(lambda: task.session is not None)
        task.lease = "of another runner"
        (world.folder / "lost").touch()

    thread = threading.Thread(target=lose)
    thread.start()
    summary = world.run("\n".join([began(), waits, answers("Done.")]))
    thread.join()
    assert (dict(summary.outcomes), task.late) == ({"Abandoned": 1}, ["Done."])
    assert world.views[-1].phase == "left"


def test_a_result_that_can_neither_be_sent_nor_kept_is_a_failure(world: World) -> None:
    task = world.service.add("Mend the build.")
    (world.folder / "outbox").write_text("")
    waits = f"while not os.path.exists({str(world.folder / 'away')!r}): time.sleep(0.01)"

    def leave() -> None:
        until(lambda: task.session is not None)
        world.service.is_away = True
        (world.folder / "away").touch()

    thread = threading.Thread(target=leave)
    thread.start()
    assert dict(world.run("\n".join([began(), waits, answers("Done.")])).outcomes) == {"Failed": 1}
    thread.join()


def test_what_is_kept_is_delivered_while_all_runs_are_busy(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner_module, "DELIVER_EVERY", 0.05)
    task = world.service.add("Wait.")
    waiting = world.runner("\n".join([began(), SLEEP]), once=False)

    def is_delivered() -> bool:
        if task.session is not None and not world.service.made("/memories"):
            world.outbox.keep(Call("POST", "/memories", {"observation": "It is slow."}))
            until(lambda: world.outbox.waiting() == 0)
            return True
        return False

    world.stopping(waiting, is_delivered)
    assert [one["observation"] for one in world.service.made("/memories")] == ["It is slow."]


def test_a_lease_is_renewed_as_soon_as_the_service_is_back(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_run, "BEAT_AGAIN", 0.1)
    task = world.service.add("Wait.")
    waiting = world.runner("\n".join([began(), SLEEP]), once=False, lease=6.0)
    seconds: list[float] = []

    def is_renewed() -> bool:
        if task.session is None:
            return False
        world.service.is_away = True
        until(lambda: any(view.detail.startswith("heartbeat:") for view in world.views))
        before, world.service.is_away = time.monotonic(), False
        beats = len(world.service.made("/api/tasks/task-1/heartbeat"))
        until(lambda: len(world.service.made("/api/tasks/task-1/heartbeat")) > beats)
        seconds.append(time.monotonic() - before)
        return True

    world.stopping(waiting, is_renewed)
    assert seconds[0] < 1.0


ALONE = """
import fcntl
lock = open('busy', 'w')
fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
is_first = not os.path.exists('first')
if is_first:
    open('first', 'w').close()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
"""


@pytest.mark.parametrize("runners", [1, 2])
def test_a_task_that_is_claimed_again_waits_for_its_earlier_run(world: World, runners: int) -> None:
    """Such as after a pause, or a lease that ran out: two programs would work on one conversation."""
    task = world.service.add("Mend the build.")
    first = f"if is_first: {began()}; {SLEEP}"
    body = "\n".join([f"os.chdir({str(world.folder)!r})", ALONE, first, began("s-2"), answers("Done.", "s-2")])
    both = [world.runner(body, once=False, parallel=3 - runners, lease=3.0) for _ in range(runners)]
    threads = [threading.Thread(target=one.run) for one in both]
    threads[0].start()
    until(lambda: (world.folder / "first").exists())
    task.state = "open"
    for thread in threads[1:]:
        thread.start()
    until(lambda: task.state == "completed")
    for one in both:
        one.stop()
    for thread in threads:
        thread.join()
    assert (task.failures, task.output) == (0, "Done.")
    assert sum((one.summary.outcomes for one in both), Counter[str]()) == {"Abandoned": 1, "Completed": 1}
    assert world.left() == []


def fails(error: Exception) -> Callable[[], object]:
    def before() -> None:
        raise error

    return before


def test_a_task_that_cannot_be_prepared_here_ends_the_runner(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner_module, "LONGEST_PAUSE", 0.2)
    task = world.service.add("Mend the build.")
    world.place.before = fails(Unavailable("Git cannot be started."))
    summary = world.run("", once=False)
    assert (dict(summary.outcomes), summary.fault) == ({"HandedBack": 3}, "Git cannot be started.")
    assert (task.attempt, task.state, task.failures) == (3, "open", 0)


def test_after_each_hand_back_the_runner_pauses_longer(world: World) -> None:
    task = world.service.add("Mend the build.")
    times: list[float] = []

    def before() -> None:
        times.append(time.monotonic())
        raise Unavailable("Git cannot be started.")

    world.place.before = before
    world.run("", once=False)
    assert [later - earlier >= pause for earlier, later, pause in zip(times, times[1:], [2, 4], strict=False)] == [
        True
    ] * 2
    assert task.attempt == 3


def test_a_service_that_is_away_during_the_preparation_is_no_fault_of_this_machine(world: World) -> None:
    def before() -> None:
        world.service.is_away = True
        raise Unavailable("The service is away.")

    world.service.add("Mend the build.")
    world.place.before = before
    summary = world.run("")
    assert (dict(summary.outcomes), summary.fault) == ({"HandedBack": 1}, None)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_claim_that_fails_unexpectedly_ends_the_runner(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise LookupError

    monkeypatch.setattr(ServiceQueue, "claim", fail)
    assert "failed while it claimed tasks" in (world.run("", once=False).fault or "")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("name", ["task-", "lease-", "report-"])
def test_a_thread_that_does_not_start_hands_the_task_back(
    world: World, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    task = world.service.add("Mend the build.")
    start = threading.Thread.start

    def start_others(thread: threading.Thread) -> None:
        if thread.name.startswith(name):
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_others)
    summary = world.run(SLEEP, once=False)
    assert summary.fault is not None
    assert (task.state, task.failures, world.left()) == ("open", 0, [])


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_run_ends_if_its_lease_is_no_longer_kept(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise LookupError

    monkeypatch.setattr(ServiceQueue, "heartbeat", fail)
    world.service.add("Wait.")
    assert dict(world.run("\n".join([began(), says("Hm."), SLEEP]), lease=1.0).outcomes) == {"Abandoned": 1}


def test_several_tasks_run_at_once(world: World) -> None:
    tasks = [world.service.add(f"Task {number}") for number in range(3)]
    body = "\n".join([began(), "time.sleep(0.5)", answers("Done.")])
    runner = world.runner(body, once=False, parallel=3)
    world.stopping(runner, lambda: all(task.state == "completed" for task in tasks))
    assert [task.attempt for task in tasks] == [1, 1, 1]


def test_a_lost_lease_ends_the_run_and_keeps_what_was_done(world: World) -> None:
    task = world.service.add("Wait.")

    def lose() -> None:
        until(lambda: task.progress != [])
        task.lease, task.until = "of another runner", time.monotonic() + 60

    thread = threading.Thread(target=lose)
    thread.start()
    summary = world.run(f"{began()}\n{says('I found the bug.')}\n{SLEEP}", lease=1.0)
    thread.join()
    assert dict(summary.outcomes) == {"Abandoned": 1}
    assert task.late == ["The lease of the task was lost.\n\nLast progress:\n\nI found the bug."]
    assert world.left() == []


def test_many_markers_delay_neither_lease_nor_result(world: World) -> None:
    task = world.service.add("Remember all of it.")
    world.service.seconds_for_a_memory = 0.05
    many = "\n".join(f"{MARKER} in case {number}" for number in range(60))
    world.run("\n".join([began(), says(many), says("Half of it."), answers("Done.")]), lease=1.0)
    assert (task.state, task.attempt, task.late) == ("completed", 1, [])
    paths = [path for _, path, _ in world.service.calls]
    assert paths.index("/api/tasks/task-1/complete") < len(paths) - 1 - paths[::-1].index("/memories")
    assert len(world.service.made("/memories")) == 60


def test_markers_of_a_run_are_bounded(world: World) -> None:
    world.service.add("Remember all of it.")
    many = says("\n".join(f"{MARKER} in case {number}" for number in range(1500)))
    world.run("\n".join([began(), many, answers("Done.")]))
    assert len(world.service.made("/memories")) == 1000


@pytest.mark.parametrize("state", ["paused", "cancelled"])
def test_a_task_that_a_person_stops_ends_its_run(world: World, state: str) -> None:
    task = world.service.add("Wait.")

    def change() -> None:
        until(lambda: task.session is not None)
        task.state = state

    thread = threading.Thread(target=change)
    thread.start()
    world.run(f"{began()}\n{SLEEP}", lease=1.0)
    thread.join()
    assert task.state == state
    assert world.views[-1].detail == f"The task was {state}."


def test_a_program_that_completes_its_task_itself_may_end(world: World) -> None:
    task = world.service.add("Mend the build.")
    waits = f"while not os.path.exists({str(world.folder / 'done')!r}): time.sleep(0.01)"
    runner = world.runner("\n".join([began(), waits, "time.sleep(1)", answers("I completed it.")]), lease=1.0)

    def complete() -> None:
        until(lambda: task.session is not None)
        task.state, task.output = "completed", "Done by tool."
        (world.folder / "done").touch()

    thread = threading.Thread(target=complete)
    thread.start()
    assert dict(runner.run().outcomes) == {"Completed": 1}
    thread.join()
    assert (task.output, task.late) == ("Done by tool.", ["I completed it."])


def test_a_service_that_is_away_gets_the_result_later(world: World) -> None:
    task = world.service.add("Mend the build.")
    secret = "ghp_" + "a1B2" * 9
    waits = f"while not os.path.exists({str(world.folder / 'away')!r}): time.sleep(0.01)"
    runner = world.runner("\n".join([began(), waits, says(MARKER), answers(f"Done with {secret}.")]))

    def leave() -> None:
        until(lambda: task.session is not None)
        world.service.is_away = True
        (world.folder / "away").touch()

    thread = threading.Thread(target=leave)
    thread.start()
    assert runner.run().kept == 1
    thread.join()
    assert "kept on this machine" in world.views[-1].detail
    assert task.state == "running"
    assert world.outbox.waiting() == 2
    kept = b"".join(file.read_bytes() for file in (world.folder / "outbox").iterdir())
    assert secret.encode() not in kept
    assert all(file.stat().st_mode & 0o777 == 0o600 for file in (world.folder / "outbox").iterdir())
    world.service.is_away = False
    world.run("")
    assert (task.state, task.attempt) == ("completed", 1)
    assert (task.output or "").startswith("Done with [")
    assert [one["observation"] for one in world.service.made("/memories")] == ["Takes 60s"]
    assert world.outbox.waiting() == 0


def test_a_result_that_comes_too_late_is_dropped_from_the_outbox(world: World) -> None:
    task = world.service.add("Mend the build.")
    world.service.is_away = True
    claimed = ClaimedTask(id=task.id, text=task.text, lease="old")
    world.outbox.send(world.service, world.service.queue().complete_call(claimed, "Done.", None, Usage()))
    world.service.is_away = False
    assert world.outbox.deliver(world.service) == 0
    assert task.late == ["Done."]
    assert world.outbox.waiting() == 0


def test_a_kept_call_at_which_the_service_fails_is_made_again_later(world: World) -> None:
    task = world.service.add("Mend the build.")
    claimed = world.service.queue().claim(0)
    assert isinstance(claimed, ClaimedTask)
    world.service.is_away = True
    world.outbox.send(world.service, Call("POST", "/api/broken", {}))
    world.outbox.send(world.service, world.service.queue().complete_call(claimed, "Done.", None, Usage()))
    world.service.is_away = False
    assert world.outbox.deliver(world.service) == 1
    assert (task.output, world.outbox.waiting()) == ("Done.", 1)


def test_x16_a_run_resumes_where_the_transcript_is_here(world: World) -> None:
    body = "\n".join(["print(sys.argv)", began(), answers("Done.")])
    own = world.service.add("Go on.", session="s-1", progress=["Half is done."])
    world.place.transcripts = {"s-1", "s-2"}
    world.run(body)
    parent = world.service.add("Parent", state="completed", session="s-2")
    world.service.add("Child.", parent=parent.id, progress=["Half is done."])
    world.run(body)
    world.service.add("Elsewhere.", session="s-3", progress=["Half is done."])
    world.run(body)
    assert own.output == "Done."
    folders = sorted((world.folder / "runs").iterdir(), key=lambda one: (one / "prompt.md").stat().st_mtime_ns)
    outputs = [(one / "output.jsonl").read_text().splitlines()[0] for one in folders]
    prompts = [(one / "prompt.md").read_text() for one in folders]
    assert "'--resume', 's-1'" in outputs[0]
    assert "--fork-session" not in outputs[0]
    assert "'--resume', 's-2', '--fork-session'" in outputs[1]
    assert "--resume" not in outputs[2]
    assert all("Half is done." in prompt for prompt in prompts)


@pytest.mark.parametrize("says_why", ["print('No conversation found', file=sys.stderr)", "print('{}')"])
def test_x16_a_resume_that_fails_starts_again_with_what_was_reported(world: World, says_why: str) -> None:
    task = world.service.add("Go on.", session="gone", progress=["Half is done."])
    world.place.transcripts = {"gone"}
    refuses = f"if '--resume' in sys.argv:\n    {says_why}; sys.exit(1)"
    world.run("\n".join([refuses, began(), answers("Done.")]))
    assert (task.state, task.attempt, task.session) == ("completed", 1, SESSION)
    (folder,) = (world.folder / "runs").iterdir()
    assert "Half is done." in (folder / "prompt.md").read_text()


def test_a_resume_that_fails_later_is_a_failure(world: World) -> None:
    task = world.service.add("Go on.", session="s-1")
    world.place.transcripts = {"s-1"}
    world.run("\n".join([began("s-1"), "sys.exit(1)"]))
    assert (task.failures, len(list((world.folder / "runs").iterdir()))) == (1, 1)


def test_no_task_is_taken_while_a_disk_is_full(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    task = world.service.add("Wait.")
    monkeypatch.setattr(disk, "LEAST_TO_START", 10**18)
    runner = world.runner(SLEEP, once=False)
    world.stopping(runner, lambda: world.notes != [])
    assert (task.state, task.attempt) == ("open", 0)
    assert "No task is taken" in world.notes[0]
    assert "MB are free" in (world.run(SLEEP).fault or "")


def test_a_disk_that_becomes_full_ends_the_runner_after_three_runs(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = world.service.add("Wait.")
    monkeypatch.setattr(disk, "LEAST_TO_GO_ON", 10**18)
    monkeypatch.setattr(agent_process, "_LOOK_AT_DISK", 0.1)
    summary = world.run("\n".join([began(), SLEEP]), once=False)
    assert summary.fault == "The disk of the runner is full."
    assert (task.attempt, task.state, task.failures) == (3, "open", 0)


def test_folders_of_ended_runs_are_removed_and_their_processes_ended(world: World) -> None:
    runs = world.folder / "runs"
    for number in range(60):
        (runs / f"old-{number}").mkdir(parents=True)
    world.run("")
    assert len(list(runs.iterdir())) == 50


def test_a_second_signal_kills_at_once(world: World) -> None:
    task = world.service.add("Wait.")
    runner = world.runner(f"{began()}\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n{SLEEP}", once=False)
    thread = threading.Thread(target=lambda: (until(lambda: task.session is not None), runner.stop(), runner.stop()))
    thread.start()
    runner.run()
    thread.join()
    assert task.state == "open"
