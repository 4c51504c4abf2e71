"""The command line in tests, in this process or a separate one."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hivelore.cli.dispatch import run

HIVELORE = str(Path(sys.executable).with_name("hivelore"))
"""The console script of this environment."""


def short(one: str) -> str:
    """Returns an id as tables and results show it, unless they show another one with the same beginning."""
    return one[:23]


@dataclass(frozen=True, slots=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        """The JSON object on the last line of stderr."""
        return json.loads(self.err.splitlines()[-1])


class _Keyboard(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


class CommandLine:
    """Runs verbs in this process, with given input and captured output."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *words: str, stdin: bytes = b"", typed: str | None = None) -> Result:
        """Runs a verb. ``typed``: input at a terminal, in place of ``stdin``."""
        stream = io.TextIOWrapper(io.BytesIO(stdin)) if typed is None else _Keyboard(io.BytesIO(typed.encode()))
        self._monkeypatch.setattr(sys, "stdin", stream)
        self._capsys.readouterr()
        code = run(words)
        printed = self._capsys.readouterr()
        return Result(code, printed.out, printed.err)

    def json(self, *words: str, stdin: bytes = b"") -> Any:
        """Runs a verb with ``--json`` and returns its output."""
        result = self(*words, "--json", stdin=stdin)
        assert result.code == 0, result.err
        return result.json


def settings(home: Path, **more: str) -> dict[str, str]:
    """Returns environment variables for a separate service on a free port, without vectors."""
    return {
        "HIVELORE_HOME": str(home),
        "HIVELORE_WORKSPACE": str(home / "workspace"),
        "HIVELORE_URL": "http://127.0.0.1:0",
        "HIVELORE_EMBEDDER": "none",
        **more,
    }


def environment(home: Path, **more: str) -> dict[str, str]:
    """Returns the whole environment of such a process."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HIVELORE_", "MEMORY_"))}
    return {**kept, **settings(home), **more}


def hivelore(
    *words: str,
    env: Mapping[str, str],
    stdin: str = "",
    timeout: float = 150.0,
    before: Callable[[], None] | None = None,
) -> Result:
    """Runs the console script to its end in a separate process, which runs ``before`` first."""
    done = subprocess.run(
        [HIVELORE, *words],
        env=env,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        preexec_fn=before,
    )
    return Result(done.returncode, done.stdout, done.stderr)
