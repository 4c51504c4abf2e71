"""The bridge as a client starts it, in a separate process behind pipes."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any, Self

import hivelore

PACKAGE = Path(hivelore.__file__).parent
DIRECT = [sys.executable, "-I", "-S", str(PACKAGE / "mcp" / "bridge" / "__main__.py")]
"""How the bridge starts quickest."""
PATIENCE = 60.0
"""Seconds after which a test is given up; nothing here is expected to take them."""


class Bridge:
    """Starts with construction. Its output is read continuously, so that it never waits for the test."""

    def __init__(
        self,
        env: Mapping[str, str],
        cwd: Path,
        arguments: Sequence[str] = (),
        command: Sequence[str] = DIRECT,
        before: Callable[[], None] | None = None,
    ) -> None:
        """Runs ``before`` in its process first."""
        self.process = subprocess.Popen(
            [*command, *arguments],
            env=env,
            cwd=cwd,
            preexec_fn=before,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._heard: Queue[bytes] = Queue()
        self._complaints: list[bytes] = []
        self._readers = [Thread(target=self._listen, daemon=True), Thread(target=self._keep_complaints, daemon=True)]
        for reader in self._readers:
            reader.start()

    def say(self, message: object) -> None:
        """Sends a message, or raw bytes."""
        assert self.process.stdin is not None
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def subscribe(self) -> Any:
        """Returns the next message, or None after its end."""
        line = self._heard.get(timeout=PATIENCE)
        return json.loads(line) if line else None

    def ask(self, method: str, identity: int | str = 1, /, **params: Any) -> Any:
        """Sends a request and waits for the next message."""
        self.say({"jsonrpc": "2.0", "id": identity, "method": method, "params": params})
        return self.subscribe()

    def call(self, tool: str, identity: int | str = 1, /, **arguments: Any) -> Any:
        """Calls a tool and returns its answer as data."""
        answer = self.ask("tools/call", identity, name=tool, arguments=arguments)
        assert "result" in answer, answer
        return answer["result"]["structuredContent"]

    def hang_up(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def ended(self) -> int:
        """Waits for its end and returns its exit code."""
        return self.process.wait(timeout=PATIENCE)

    def complaints(self) -> str:
        """Returns its standard error after its end."""
        self.ended()
        self._readers[1].join(PATIENCE)
        return b"".join(self._complaints).decode()

    def memory(self, field: str = "VmHWM") -> int:
        """Returns its peak memory in kilobytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(f"{field}:"))

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._heard.put(line)
        self._heard.put(b"")

    def _keep_complaints(self) -> None:
        assert self.process.stderr is not None
        self._complaints.extend(self.process.stderr)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for reader in self._readers:
            reader.join(PATIENCE)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()
