"""A hook as an agent program starts it: a copy in the home folder, in a separate process behind pipes."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.service import environment
from support.waiting import until

PATIENCE = 60.0
"""Seconds after which a test is given up; nothing here is expected to take them."""
_THEN = "import sys; __file__ = sys.argv.pop(1); exec(open(__file__).read())"
"""Python's words to go on with a file."""


@dataclass(frozen=True, slots=True)
class Said:
    code: int
    out: bytes
    err: bytes

    @property
    def context(self) -> str:
        """Returns the text that the model receives; empty if there is none."""
        return json.loads(self.out)["hookSpecificOutput"]["additionalContext"] if self.out else ""


NOTHING = Said(0, b"", b"")


@dataclass(frozen=True, slots=True)
class Hook:
    """``file``: the path that ``hivelore.hooks.install`` returns."""

    file: Path
    home: Path
    cwd: Path
    wait: str = str(PATIENCE)
    """Seconds; long, since this machine may have much else to do. Empty: as it comes."""
    first: str | None = None
    """Python code that runs before it."""
    before: Callable[[], None] | None = None
    """What the process does before it becomes another program."""

    @property
    def command(self) -> Sequence[str]:
        words = [] if self.first is None else ["-c", f"{self.first}; {_THEN}"]
        return [sys.executable, "-I", "-S", *words, str(self.file)]

    def __call__(
        self, name: str, *, agent: str = "claude-code", environ: Mapping[str, str] | None = None, **payload: Any
    ) -> Said:
        event = {"hook_event_name": name, "session_id": "s1", "cwd": str(self.cwd), **payload}
        return self.given(json.dumps(event).encode(), "--agent", agent, environ=environ)

    def given(self, stdin: bytes, *arguments: str, environ: Mapping[str, str] | None = None) -> Said:
        done = subprocess.run(
            [*self.command, *arguments],
            input=stdin,
            env={**environment(self.home), "HIVELORE_HOOK_WAIT": self.wait, **(environ or {})},
            cwd=self.cwd,
            capture_output=True,
            check=False,
            timeout=PATIENCE,
            preexec_fn=self.before,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def finish(self) -> None:
        """Waits for its detached processes."""
        finish_hooks(self.file)


def finish_hooks(file: Path) -> None:
    """Waits for all processes of a hook, detached ones as well."""
    until(lambda: not is_at_work(str(file)))


def is_at_work(argument: str) -> bool:
    """Returns True while a process runs that has this argument, or one that begins with it and a slash."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # It has ended.
            words = (process / "cmdline").read_bytes().split(b"\0")
            if any(one == os.fsencode(argument) or one.startswith(os.fsencode(f"{argument}/")) for one in words):
                return True
    return False


def spool(home: Path) -> list[dict[str, Any]]:
    """Returns the spooled events of a home folder, oldest first."""
    waiting: list[dict[str, Any]] = []
    for file in sorted((home / "spool").glob("*.json")):
        with suppress(FileNotFoundError):  # It was handed over since.
            waiting.append(json.loads(file.read_bytes()))
    return waiting


def lost(home: Path) -> int:
    file = home / "spool" / "lost"
    return file.stat().st_size if file.exists() else 0
