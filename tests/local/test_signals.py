"""Signals while a program runs that this process has started."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest

from hivelore.local.signals import deferred_signals, exit_on_signals

RUNNER = """
import sys
from hivelore.local.git_command import Git
from hivelore.local.signals import exit_on_signals
with exit_on_signals():
    Git(60, sys.argv[1]).run(sys.argv[1], ["-c", f"alias.x=!echo $$ > {sys.argv[1]}/pid; exec sleep 50", "x"])
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_wait_for_the_end_of_the_block(number: signal.Signals) -> None:
    done: list[str] = []
    expected = KeyboardInterrupt if number is signal.SIGINT else SystemExit

    def work() -> None:
        with exit_on_signals(), deferred_signals():
            signal.raise_signal(number)
            signal.raise_signal(number)
            done.append("first")

    with pytest.raises(expected):
        work()
    assert done == ["first"]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_an_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with exit_on_signals(), deferred_signals():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_other_threads_are_left_alone() -> None:
    done: list[bool] = []

    def work() -> None:
        with exit_on_signals(), deferred_signals():
            done.append(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)

    thread = Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]


ENDING = [signal.SIGTERM, signal.SIGHUP, *([signal.SIGKILL] if sys.platform == "linux" else [])]
"""Only Linux tells a process that its parent was killed."""


@pytest.mark.parametrize("number", ENDING)
def test_git_ends_with_the_process_that_a_signal_ends(tmp_path: Path, number: signal.Signals) -> None:
    running = subprocess.Popen([sys.executable, "-c", RUNNER, str(tmp_path)])
    pid_file = tmp_path / "pid"
    _wait(lambda: pid_file.exists() and pid_file.read_text().strip() != "")
    started = int(pid_file.read_text())
    running.send_signal(number)
    running.wait(20)
    _wait(lambda: not _is_running(started))


def _wait(is_so: Callable[[], bool]) -> None:
    limit = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < limit
        time.sleep(0.05)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path("/proc") / str(pid) / "stat"
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"
