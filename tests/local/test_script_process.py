"""Running a script within limits."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from hivelore.local.script_process import DISK_FULL, TIMED_OUT, Finished, Limits, run
from support.waiting import until

PATH = {"PATH": os.environ["PATH"]}


def run_script(folder: Path, script: str, seconds: float = 30, **limits: int) -> Finished:
    return run(["sh", "-c", script], str(folder), PATH, Limits(seconds, **limits))


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.parametrize(("script", "code"), [("true", 0), ("exit 3", 3), ("kill -9 $$", 137), ("nowhere", 127)])
def test_the_exit_code_is_that_of_the_script(tmp_path: Path, script: str, code: int) -> None:
    done = run_script(tmp_path, script)
    assert (done.code, done.why) == (code, None)


def test_output_and_errors_are_kept_in_order(tmp_path: Path) -> None:
    assert run_script(tmp_path, "echo one; echo two >&2; printf three").output == b"one\ntwo\nthree"


def test_the_last_part_of_much_output_is_kept(tmp_path: Path) -> None:
    done = run_script(tmp_path, "seq 100000", output_bytes=100)
    assert done.output.endswith(b"99999\n100000\n")
    assert (len(done.output), done.is_cut) == (100, True)
    done = run_script(tmp_path, "printf %1000s x", output_bytes=1_000)
    assert (len(done.output), done.is_cut) == (1_000, False)


def test_a_hanging_script_is_ended_with_its_children(tmp_path: Path) -> None:
    script = "trap '' TERM; sleep 1000 & echo $! > child; sh -c \"trap '' TERM; sleep 1000\"; sleep 1000"
    done = run_script(tmp_path, script, seconds=0.5)
    assert done.code == TIMED_OUT
    assert done.why is not None
    until(lambda: not is_alive(int((tmp_path / "child").read_text())))


def test_a_script_that_floods_its_output_is_ended(tmp_path: Path) -> None:
    done = run_script(tmp_path, "yes", seconds=0.5, output_bytes=1_000)
    assert done.code == TIMED_OUT
    assert 0 < len(done.output) <= 1_000


def test_processes_that_a_script_leaves_behind_are_ended(tmp_path: Path) -> None:
    done = run_script(tmp_path, "sleep 1000 & echo $! > child")
    assert done.code == 0
    until(lambda: not is_alive(int((tmp_path / "child").read_text())))


def test_a_large_file_is_not_written(tmp_path: Path) -> None:
    done = run_script(tmp_path, "head -c 2000000 /dev/zero > large", file_bytes=1_000_000)
    assert done.code != 0
    assert (tmp_path / "large").stat().st_size <= 1_000_000


def test_a_script_that_fills_the_disk_is_ended(tmp_path: Path) -> None:
    done = run_script(tmp_path, "sleep 1000", least_free=shutil.disk_usage(tmp_path).free + 10**12)
    assert done.code == DISK_FULL
    assert done.why is not None


def test_a_script_gets_no_input_and_no_other_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVELORE_KEY", "secret")
    done = run_script(tmp_path, "cat; env")
    assert b"secret" not in done.output


def test_a_lower_limit_of_the_caller_stays(tmp_path: Path) -> None:
    program = (
        "import resource, sys; from hivelore.local.script_process import Limits, run; "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000)); "
        "done = run(['sh', '-c', 'head -c 20000 /dev/zero > large'], sys.argv[1], {'PATH': sys.argv[2]}, Limits(30)); "
        "sys.exit(done.code == 0)"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path), os.environ["PATH"]], check=True)
    assert (tmp_path / "large").stat().st_size == 5_000


def test_a_script_may_remove_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    done = run_script(folder, f"rm -r {folder}; sleep 0.3; echo fine")
    assert (done.code, done.output) == (0, b"fine\n")


def test_a_process_that_left_the_group_and_prints_on_is_no_obstacle(tmp_path: Path) -> None:
    done = run_script(tmp_path, "setsid yes & sleep 0.1")
    assert done.code == 0


@pytest.fixture
def runner(tmp_path: Path) -> Generator[subprocess.Popen[bytes]]:
    """A process that runs a script, which has written its id and that of its child."""
    program = (
        "import sys; from hivelore.local.script_process import Limits, run; "
        "done = run(['sh', '-c', 'sleep 1000 & echo $! > child; echo $$ > id; wait'], sys.argv[1], "
        "{'PATH': sys.argv[2]}, Limits(1000)); sys.exit(done.code if done.is_stopped else 1)"
    )
    process = subprocess.Popen([sys.executable, "-c", program, str(tmp_path), os.environ["PATH"]])
    until(lambda: (tmp_path / "id").exists() and bool((tmp_path / "id").read_text()))
    yield process
    process.kill()
    process.wait()


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_the_script_with_its_children(
    runner: subprocess.Popen[bytes], tmp_path: Path, stop: signal.Signals
) -> None:
    runner.send_signal(stop)
    assert runner.wait(30) == 128 + stop
    for name in ("id", "child"):
        assert not is_alive(int((tmp_path / name).read_text()))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not end the children of a killed process")
def test_a_script_ends_when_its_runner_is_killed(runner: subprocess.Popen[bytes], tmp_path: Path) -> None:
    runner.kill()
    until(lambda: not is_alive(int((tmp_path / "id").read_text())))
    os.kill(int((tmp_path / "child").read_text()), signal.SIGKILL)


def test_an_ignored_signal_stays_ignored(tmp_path: Path) -> None:
    former = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert run_script(tmp_path, f"kill -HUP {os.getpid()}; echo fine").output == b"fine\n"
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, former)
