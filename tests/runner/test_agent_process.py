"""Agent programs as processes: their end, their limits, and what they leave."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hivelore.runner.agent_process import COMPLAINTS, OUTPUT, AgentProcess
from hivelore.runner.command import Command
from hivelore.runner.orphans import end_processes, processes_of
from hivelore.runner.outcome import Exit, StopReason
from hivelore.runner.stream_lines import StreamLine
from support.agent_scripts import script
from support.processes import has_ended
from support.waiting import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")

CHILD = "subprocess.Popen(['sleep', '1000'], start_new_session=True)"
"""A process that leaves the group and the session."""


class Run:
    def __init__(
        self,
        folder: Path,
        body: str,
        *,
        seconds: float | None = 60.0,
        grace: float = 5.0,
        home: Path | None = None,
    ) -> None:
        self.folder = folder / f"run-{os.urandom(4).hex()}"
        self.lines: list[bytes] = []
        self.work = folder
        program = script(folder, body)
        command = Command(
            arguments=(str(program),),
            environment={"PATH": os.environ["PATH"]} | ({} if home is None else {"HIVELORE_HOME": str(home)}),
            files={"prompt.md": "The prompt."},
            stdin="prompt.md",
        )
        self.process = AgentProcess(command, folder, self.folder, seconds=seconds, read=self._read, grace=grace)

    def _read(self, line: StreamLine) -> None:
        self.lines.append(line.data[:100])

    def run(self) -> Exit:
        return self.process.run()

    def left(self) -> list[int]:
        return processes_of(self.folder.name)


def test_the_prompt_is_stdin_and_nothing_else_comes(tmp_path: Path) -> None:
    run = Run(tmp_path, "print(sys.stdin.read()); print(repr(sys.stdin.read()))")
    assert run.run() == Exit(code=0)
    assert run.lines == [b"The prompt.", b"''"]
    assert (run.folder / "prompt.md").stat().st_mode & 0o777 == 0o600
    assert (run.folder / OUTPUT).read_text() == "The prompt.\n''\n"


def test_a_link_to_a_file_of_the_run_lives_as_long_as_the_program(tmp_path: Path) -> None:
    run = Run(tmp_path, f"print(open({str(tmp_path / 'home' / 'hivelore-x.config.toml')!r}).read())")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "hivelore-old.config.toml").symlink_to(tmp_path / "gone")
    (tmp_path / "home" / "other.config.toml").symlink_to(tmp_path / "gone")
    link = tmp_path / "home" / "hivelore-x.config.toml"
    run.process = AgentProcess(
        Command(
            arguments=(str(tmp_path / "claude"),),
            environment={"PATH": os.environ["PATH"]},
            files={"prompt.md": "", "codex.toml": "a=1"},
            links={str(link): "codex.toml"},
            stdin="prompt.md",
        ),
        tmp_path,
        run.folder,
        seconds=60.0,
        read=lambda line: run.lines.append(line.data),
    )
    assert run.run().code == 0
    assert run.lines == [b"a=1"]
    assert [one.name for one in (tmp_path / "home").iterdir()] == ["other.config.toml"]


@pytest.mark.parametrize(
    ("body", "code"), [("sys.exit(3)", 3), ("os.kill(os.getpid(), 9)", -9), ("os.kill(os.getpid(), 11)", -11)]
)
def test_the_exit_code_is_that_of_the_program(tmp_path: Path, body: str, code: int) -> None:
    assert Run(tmp_path, f"print('why', file=sys.stderr, flush=True); {body}").run() == Exit(code=code, complaint="why")


def test_a_program_that_does_not_exist_could_not_be_started(tmp_path: Path) -> None:
    run = Run(tmp_path, "")
    (tmp_path / "claude").unlink()
    ended = run.run()
    assert ended.code is None
    assert ended.complaint.endswith("claude: No such file or directory")


def test_a_working_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    run = Run(tmp_path, "")
    run.process = AgentProcess(
        Command(arguments=("true",), environment={}, files={"prompt.md": ""}, stdin="prompt.md"),
        tmp_path / "gone",
        run.folder,
        seconds=None,
        read=lambda _: None,
    )
    assert run.run().complaint == f"{tmp_path}/gone: No such file or directory"


def test_a_program_that_ends_takes_the_processes_with_it_that_it_left(tmp_path: Path) -> None:
    run = Run(tmp_path, f"{CHILD}; {CHILD}; os.setsid() if os.fork() == 0 else None; time.sleep(0.2)")
    assert run.run().code == 0
    assert run.left() == []


def test_a_stopped_program_may_clean_up(tmp_path: Path) -> None:
    run = Run(
        tmp_path,
        "def end(*_):\n    os.write(1, b'cleaned up'); os._exit(143)\n"
        "signal.signal(signal.SIGTERM, end); print('ready', flush=True); time.sleep(1000)",
    )
    thread = threading.Thread(target=lambda: (until(lambda: run.lines != []), run.process.stop(StopReason.SHUTDOWN)))
    thread.start()
    assert run.run() == Exit(code=143, stopped=StopReason.SHUTDOWN)
    thread.join()
    assert run.lines == [b"ready", b"cleaned up"]


def test_a_program_that_ignores_the_request_is_killed_with_its_children(tmp_path: Path) -> None:
    run = Run(
        tmp_path, f"signal.signal(signal.SIGTERM, signal.SIG_IGN); {CHILD}; time.sleep(1000)", seconds=1.0, grace=0.5
    )
    assert run.run() == Exit(code=-9, stopped=StopReason.TIME)
    assert run.left() == []


def test_the_first_reason_counts_and_a_stop_before_the_start_ends_it_at_once(tmp_path: Path) -> None:
    run = Run(tmp_path, "time.sleep(1000)")
    run.process.stop(StopReason.CANCELLED)
    run.process.stop(StopReason.TIME)
    assert run.run().stopped is StopReason.CANCELLED


def test_a_flood_is_bounded_in_memory_and_on_disk(tmp_path: Path) -> None:
    run = Run(tmp_path, "for _ in range(300): sys.stdout.write('x' * 100_000)\nprint(); print('end')")
    assert run.run().code == 0
    assert [len(line) for line in run.lines] == [100, 3]
    assert sum(file.stat().st_size for file in run.folder.iterdir()) < 11_000_000


def test_a_flood_of_complaints_does_not_block(tmp_path: Path) -> None:
    run = Run(tmp_path, "sys.stderr.write('y' * 3_000_000); sys.stderr.write('the reason'); sys.exit(1)")
    ended = run.run()
    assert ended.complaint.endswith("the reason")
    assert len(ended.complaint) <= 8_192
    assert (run.folder / COMPLAINTS).stat().st_size > 1_000_000


RUNNER = """
import sys; sys.path[:0] = sys.argv[1:3]
from pathlib import Path
from runner.test_agent_process import Run
run = Run(Path(sys.argv[3]), sys.argv[4])
print(run.folder.name, flush=True)
run.run()
"""


@contextmanager
def other_runner(folder: Path, body: str) -> Generator[tuple["subprocess.Popen[str]", str]]:
    """Runs in a process of its own, which has been killed when the block ends."""
    tests = Path(__file__).parent.parent
    words = [sys.executable, "-c", RUNNER, str(tests), str(tests.parent / "src"), str(folder), body]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as runner:
        assert runner.stdout is not None
        try:
            yield runner, runner.stdout.readline().strip()
        finally:
            runner.kill()


def test_a_runner_that_is_killed_leaves_no_process(tmp_path: Path) -> None:
    with other_runner(tmp_path, f"{CHILD}; time.sleep(1000)") as (_, name):
        until(lambda: len(processes_of(name)) == 3)
    begun = time.monotonic()
    until(lambda: processes_of(name) == [])
    assert time.monotonic() - begun < 20


def test_what_a_killed_runner_and_a_killed_guard_leave_is_ended_by_the_next_start(tmp_path: Path) -> None:
    body = f"{CHILD}; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(1000)"
    with other_runner(tmp_path, body) as (runner, name):
        until(lambda: len(processes_of(name)) == 3)
        runner.send_signal(signal.SIGSTOP)  # So that it does not end the rest when the guard is gone.
        os.kill(min(processes_of(name)), signal.SIGKILL)
    until(lambda: len(processes_of(name)) == 2)  # A killed process is there for a moment.
    assert end_processes(name) == 2
    assert processes_of(name) == []


def test_a_killed_guard_ends_the_run_and_all_of_it(tmp_path: Path) -> None:
    run = Run(tmp_path, f"{CHILD}; print('ready', flush=True); time.sleep(1000)")
    ends: list[Exit] = []
    thread = threading.Thread(target=lambda: ends.append(run.run()))
    thread.start()
    until(lambda: run.lines != [])
    os.kill(min(run.left()), signal.SIGKILL)
    thread.join()
    assert [one.code for one in ends] == [-9]
    assert run.left() == []


def test_a_process_that_cleared_its_environment_does_not_survive_a_killed_guard(tmp_path: Path) -> None:
    """The process of another run does."""
    body = (
        "child = subprocess.Popen(['sleep', '1000'], env={}, start_new_session=True)\n"
        "print(child.pid, flush=True); time.sleep(1000)"
    )
    run, other = Run(tmp_path, body), Run(tmp_path, body)
    threads = [threading.Thread(target=one.run) for one in (run, other)]
    for thread in threads:
        thread.start()
    until(lambda: run.lines != [] and other.lines != [])
    killed, left = int(run.lines[0]), int(other.lines[0])
    os.kill(min(run.left()), signal.SIGKILL)
    threads[0].join()
    assert [has_ended(killed), has_ended(left)] == [True, False]
    other.process.stop(StopReason.SHUTDOWN)
    other.process.kill()
    threads[1].join()
    assert has_ended(left)


def test_files_with_keys_are_removed_when_the_program_has_ended(tmp_path: Path) -> None:
    run = Run(tmp_path, "")
    command = Command(
        arguments=("cat", str(run.folder / "mcp.json")),
        environment={"PATH": os.environ["PATH"]},
        files={"prompt.md": "", "mcp.json": "a key"},
        stdin="prompt.md",
    )
    run.process = AgentProcess(
        command, tmp_path, run.folder, seconds=60.0, read=lambda line: run.lines.append(line.data)
    )
    assert run.run().code == 0
    assert run.lines == [b"a key"]
    assert sorted(one.name for one in run.folder.iterdir()) == ["output.jsonl", "prompt.md"]


def test_only_the_service_of_the_home_folder_stays(tmp_path: Path) -> None:
    sleeper = "import time; time.sleep(1000)"
    claims = f"[sys.executable, '-c', {sleeper!r}, 'hivelore.cli.main', 'serve', 'x']"
    holds = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2] / 'src')!r})\n"
        "import os\nfrom hivelore.local.lock import Lock, Owner\n"
        f"lock = Lock({str(tmp_path)!r}, Owner(pid=os.getpid(), kind='service', url=None, started_at=''))\n"
        "print(os.getpid(), flush=True)\n" + sleeper
    )
    body = (
        f"subprocess.Popen({claims}, start_new_session=True)\n"
        f"subprocess.Popen([sys.executable, '-c', {holds!r}], start_new_session=True)\ntime.sleep(2)"
    )
    run = Run(tmp_path, body, home=tmp_path)
    assert run.run().code == 0
    (pid,) = map(int, run.lines)
    assert run.left() == [pid]
    assert processes_of(run.folder.name, tmp_path) == []
    assert end_processes(run.folder.name, tmp_path) == 0
    os.kill(pid, signal.SIGKILL)


HOPS = """
import os, time
end = time.monotonic() + 60
while time.monotonic() < end:
    if os.fork():
        os._exit(0)
    os.setsid()
    time.sleep(0.002)
"""


def test_a_process_that_goes_on_in_a_new_one_all_the_time_is_ended(tmp_path: Path) -> None:
    run = Run(tmp_path, f"subprocess.Popen([sys.executable, '-c', {HOPS!r}], start_new_session=True); time.sleep(0.5)")
    assert run.run().code == 0
    assert [run.left() for _ in range(20)] == [[]] * 20
