"""Running a script within limits."""

import os
import shutil
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


def test_the_last_whole_lines_of_much_output_are_kept(tmp_path: Path) -> None:
    done = run_script(tmp_path, "seq 100000", output_bytes=100)
    assert done.output.endswith(b"99999\n100000\n")
    assert len(done.output) <= 100
    assert all(len(line) >= 5 for line in done.output.split())


def test_a_cut_line_is_left_out(tmp_path: Path) -> None:
    assert run_script(tmp_path, "printf %1000s x; echo", output_bytes=100).output == b""


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
