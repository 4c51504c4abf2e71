"""Services in separate processes on one database, which can be killed and restarted."""

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from time import monotonic, sleep

from hivelore.errors import HiveloreError
from hivelore.python.client import Client
from support.ports import free_port
from support.service import environment

_START = 150.0
"""Seconds that a service may take to answer, on a busy machine."""


class Replica:
    """One service with a fixed port and home folder."""

    def __init__(self, home: Path, database: str, **settings: str) -> None:
        self.home = home
        home.mkdir(parents=True, exist_ok=True)
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self._environment = environment(home, HIVELORE_DATABASE=database, **settings)
        self._log = home / "output.txt"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts the process without waiting for an answer."""
        with self._log.open("ab") as log:
            command = [Path(sys.executable).with_name("hivelore"), "serve", "--port", str(self._port)]
            self._process = subprocess.Popen(
                command, env=self._environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )

    def wait(self) -> None:
        until = monotonic() + _START
        while not self._answers():
            assert self._process is not None
            assert self._process.poll() is None, self.output
            assert monotonic() < until, self.output
            sleep(0.05)

    def _answers(self) -> bool:
        with closing(Client(self.url, None)) as client:
            try:
                client.call("GET", "/health")
            except HiveloreError:
                return False
            return True

    def kill(self) -> None:
        """Kills the process like the kernel when memory is short: at once, without a message."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def end(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait(30)

    @property
    def operator_key(self) -> str:
        return (self.home / "operator.key").read_text().strip()

    @property
    def output(self) -> str:
        return self._log.read_text()
