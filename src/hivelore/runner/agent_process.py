"""One run of an agent program as a process, with everything that it starts."""

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from hivelore.local import private_files
from hivelore.runner import disk, guard
from hivelore.runner.command import PROFILE, PROFILE_END, Command
from hivelore.runner.orphans import VARIABLE, end_processes, mark_of
from hivelore.runner.outcome import Exit, StopReason
from hivelore.runner.run_folders import remove_secrets
from hivelore.runner.run_log import RunLog
from hivelore.runner.stream_lines import LineSplitter, StreamLine

GRACE = 10.0
"""Seconds between the request to end and the end of an agent program."""
OUTPUT = "output.jsonl"
COMPLAINTS = "stderr.log"
_READ = 65_536
_TAIL = 8_192
"""Bytes at the end of stderr that tell why a program failed."""
_REST_READS = 64
"""Most reads of what is left in a pipe after the end."""
_LOOK_AT_DISK = 5.0


class AgentProcess:
    """Started by ``run``, which returns when no process is left. Other threads may call ``stop``."""

    def __init__(
        self,
        command: Command,
        work: Path,
        folder: Path,
        *,
        seconds: float | None,
        read: Callable[[StreamLine], object],
        grace: float = GRACE,
    ) -> None:
        """``work``: working folder; ``folder``: the private folder of the run, named after its id; ``seconds``: time
        limit; ``read`` receives each line of stdout in the thread of ``run``."""
        self._command = command
        self._work = work
        self._folder = folder
        self._seconds = seconds
        self._read = read
        self._grace = grace
        self._lock = threading.Lock()
        self._control: socket.socket | None = None
        self._stopped: StopReason | None = None
        self._tail = b""

    def stop(self, reason: StopReason) -> None:
        """Ends the program: asks it, and kills it after ``grace``. The first reason counts. Before ``run`` it prevents
        the start."""
        with self._lock:
            if self._stopped is None:
                self._stopped = reason
                self._send(b"t")

    def kill(self) -> None:
        """Ends the program at once, after ``stop``."""
        with self._lock:
            self._send(b"k")

    def run(self) -> Exit:
        """Runs the program to its end."""
        try:
            return self._run()
        finally:
            for link in self._command.links:
                Path(link).unlink(missing_ok=True)
            remove_secrets(self._folder)

    def _run(self) -> Exit:
        ours, theirs = socket.socketpair()
        with ours:
            try:
                with theirs:
                    process = self._start(theirs)
            except OSError as error:
                return Exit(code=None, stopped=self._stopped, complaint=f"{error.filename}: {error.strerror}")
            with process:
                with self._lock:
                    self._control = ours
                    if self._stopped is not None:
                        self._send(b"t")
                try:
                    report = self._communicate(process, ours)
                except BaseException:
                    # The guard ends everything when the socket closes.
                    with self._lock:
                        self._control = None
                    ours.close()
                    raise
                with self._lock:
                    self._control = None
                process.wait()
        if not report:  # The guard was killed.
            home = self._command.environment.get("HIVELORE_HOME")
            end_processes(self._folder.name, None if home is None else Path(home))
        return self._exit(report)

    def _start(self, control: socket.socket) -> "subprocess.Popen[bytes]":
        self._write_files()
        mark = str(mark_of(self._folder.name))
        program = [sys.executable, "-I", "-S", guard.__file__, str(control.fileno()), str(self._grace), mark]
        with (self._folder / self._command.stdin).open("rb") as stdin:
            return subprocess.Popen(
                [*program, *self._command.arguments],
                cwd=self._work,
                env={**self._command.environment, VARIABLE: self._folder.name},
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(control.fileno(),),
                start_new_session=True,
                bufsize=0,
            )

    def _write_files(self) -> None:
        private_files.make_folder(self._folder)
        for name, text in self._command.files.items():
            with private_files.replacing(self._folder / name) as out:
                out.write(text.encode(errors="replace"))
        for link, name in self._command.links.items():
            self._link(Path(link), name)

    def _link(self, link: Path, name: str) -> None:
        """Links to a file of the run, and removes links to files of runs that are gone."""
        link.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for other in link.parent.glob(f"{PROFILE}*{PROFILE_END}"):
            if other.is_symlink() and not other.exists():
                other.unlink(missing_ok=True)
        link.symlink_to(self._folder.absolute() / name)

    def _communicate(self, process: "subprocess.Popen[bytes]", control: socket.socket) -> bytes:
        """Reads all output until the guard has reported, and returns its report."""
        assert process.stdout is not None
        assert process.stderr is not None
        out, err = process.stdout.fileno(), process.stderr.fileno()
        output, complaints = RunLog(self._folder / OUTPUT), RunLog(self._folder / COMPLAINTS)
        lines = LineSplitter()

        def take_output(data: bytes) -> None:
            output.write(data)
            for line in lines.read(data):
                self._read(line)

        def take_complaint(data: bytes) -> None:
            complaints.write(data)
            self._tail = (self._tail + data)[-_TAIL:]

        takers = {out: take_output, err: take_complaint}
        for descriptor in takers:
            os.set_blocking(descriptor, False)
        try:
            report = self._watch(control, takers)
            for descriptor, take in takers.items():
                _drain(descriptor, take)
            for line in lines.end():
                self._read(line)
        finally:
            output.close()
            complaints.close()
        return report

    def _watch(self, control: socket.socket, takers: "dict[int, Callable[[bytes], None]]") -> bytes:
        end = None if self._seconds is None else time.monotonic() + self._seconds
        look = time.monotonic() + _LOOK_AT_DISK
        with selectors.DefaultSelector() as selector:
            selector.register(control, selectors.EVENT_READ)
            for descriptor in takers:
                selector.register(descriptor, selectors.EVENT_READ)
            report = b""
            while True:
                now = time.monotonic()
                if end is not None and now >= end:
                    end = None
                    self.stop(StopReason.TIME)
                if now >= look:
                    look = now + _LOOK_AT_DISK
                    self._check_disk()
                for key, _ in selector.select(min(look - now, _LOOK_AT_DISK if end is None else max(end - now, 0.0))):
                    if key.fileobj is control:
                        piece = control.recv(_READ)
                        report += piece
                        if not piece or report.endswith(b"\n"):
                            return report
                    elif not (data := _read(key.fd)):
                        selector.unregister(key.fd)
                    else:
                        takers[key.fd](data)

    def _check_disk(self) -> None:
        if disk.find_full((self._work, self._folder), disk.LEAST_TO_GO_ON) is not None:
            self.stop(StopReason.DISK_FULL)

    def _exit(self, report: bytes) -> Exit:
        complaint = self._tail.decode(errors="replace").strip()
        try:
            found: dict[str, Any] = json.loads(report or b"{}")
        except ValueError:
            found = {}
        if "error" in found:
            return Exit(code=None, stopped=self._stopped, complaint=str(found["error"]))
        return Exit(code=int(found.get("code", -signal.SIGKILL)), stopped=self._stopped, complaint=complaint)

    def _send(self, word: bytes) -> None:
        if self._control is not None:
            with suppress(OSError):
                self._control.send(word)


def _read(descriptor: int) -> bytes:
    """Returns some output; nothing at its end."""
    try:
        return os.read(descriptor, _READ)
    except BlockingIOError:
        return b""


def _drain(descriptor: int, take: Callable[[bytes], None]) -> None:
    for _ in range(_REST_READS):
        data = _read(descriptor)
        if not data:
            break
        take(data)
