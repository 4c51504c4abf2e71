"""Claude by its command line, ``claude -p``: for who has a subscription and no key (A41).

It must never start what started it. Hooks, tools, MCP servers and saved sessions are off, our own hook client is told
to return at once, and the variables that tie a process to a running session of Claude Code are not handed on.
"""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import orjson

from hivelore.core.text import Clean
from hivelore.errors import Unavailable
from hivelore.memories.model import Json
from hivelore.models.anthropic.messages import tokens_in

TIMEOUT = 30.0
AROUND = 20_000
"""Tokens, at most, that the program puts around the prompt: its own instructions."""
MOST_ANSWER = 2_000
HOOKS_OFF = "HIVELORE_HOOK_DISABLED"
_SHORT = {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(MOST_ANSWER), "MAX_THINKING_TOKENS": "0"}
_LONGEST_QUOTE = 300
_OF_A_SESSION = (
    "CLAUDECODE",
    "CLAUDE_PID",
    "CLAUDE_PROJECT_DIR",
    "CLAUDE_ENV_FILE",
    "CLAUDE_EFFORT",
    "CLAUDE_PLUGIN_ROOT",
    "CLAUDE_PLUGIN_DATA",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_ENTRYPOINT",
)


class ClaudeCommand:
    """Implements ``storage.ports.LanguageModel``."""

    def __init__(self, *, model: str, folder: Path, environment: Mapping[str, str], program: str = "claude") -> None:
        """``folder``: where it is started, one without instructions for agents."""
        self._model = model
        self._folder = folder
        self._program = program
        self._environment = {name: value for name, value in environment.items() if name not in _OF_A_SESSION}
        self._environment |= {HOOKS_OFF: "1", **_SHORT}
        self._running: subprocess.Popen[bytes] | None = None
        self._closed = False

    @property
    def name(self) -> str:
        return f"claude {self._model}"

    def most(self, prompt: Clean) -> int:
        return len(prompt.encode()) + AROUND + MOST_ANSWER

    def answer(self, prompt: Clean, schema: Mapping[str, Json], spent: Callable[[int], None]) -> str:
        try:
            process = subprocess.Popen(
                self._command(schema),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=self._folder,
                env=self._environment,
                start_new_session=True,
            )
        except OSError as error:
            spent(0)
            raise Unavailable(f"{self._program} cannot be started ({error}). Is Claude Code installed?") from error
        self._running = process
        if self._closed:
            _tell(process, signal.SIGKILL)
        try:
            told, complaint = process.communicate(prompt.encode(), TIMEOUT)
        except subprocess.TimeoutExpired:
            _tell(process, signal.SIGKILL)
            process.communicate()
            raise Unavailable(f"{self._program} did not answer in {TIMEOUT:g} s.") from None
        finally:
            self._running = None
        return self._read(told, complaint, process.returncode, spent)

    def close(self) -> None:
        """End what runs: the call raises Unavailable. Closing twice is fine."""
        self._closed = True
        if (running := self._running) is not None:
            _tell(running, signal.SIGKILL)

    def _command(self, schema: Mapping[str, Json]) -> list[str]:
        options = {
            "--model": self._model,
            "--output-format": "json",
            "--json-schema": orjson.dumps(schema).decode(),
            "--settings": '{"disableAllHooks": true}',
            "--tools": "",
            "--max-turns": "2",
        }
        told = [word for option in options.items() for word in option]
        return [self._program, "-p", *told, "--strict-mcp-config", "--no-session-persistence"]

    def _read(self, told: bytes, complaint: bytes, code: int, spent: Callable[[int], None]) -> str:
        try:
            answer: Any = json.loads(told)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            said = " ".join((complaint or told).decode(errors="replace").split())[:_LONGEST_QUOTE]
            raise Unavailable(f"{self._program} ended with {code} and no answer ({said}).")
        known = cast(dict[str, Any], answer)
        if isinstance(known.get("usage"), dict):
            spent(tokens_in(known["usage"]))
        if code or known.get("is_error"):
            raise Unavailable(f"{self._program} failed ({str(known.get('result'))[:_LONGEST_QUOTE]}).")
        structured = known.get("structured_output")
        return str(known.get("result", "")) if structured is None else orjson.dumps(structured).decode()


def _tell(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """And all that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
