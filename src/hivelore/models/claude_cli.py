"""Claude through its command line, ``claude -p``: for users with a subscription and without a key (A41).

The process must not trigger Hivelore again. Hooks, tools, MCP servers and saved sessions are disabled, the hook client
of Hivelore returns at once, and variables that bind a process to a session of Claude Code are not passed on.
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
"""Upper bound of the tokens that the program adds to the prompt: its own instructions."""
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
    """Implements ``models.ports.LanguageModel``."""

    def __init__(self, *, model: str, folder: Path, environment: Mapping[str, str], program: str = "claude") -> None:
        """``folder`` is the working directory; it must not contain instructions for agents."""
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
            _signal_group(process, signal.SIGKILL)
        try:
            output, complaint = process.communicate(prompt.encode(), TIMEOUT)
        except subprocess.TimeoutExpired:
            _signal_group(process, signal.SIGKILL)
            process.communicate()
            raise Unavailable(f"{self._program} did not answer in {TIMEOUT:g} s.") from None
        finally:
            self._running = None
        return self._read(output, complaint, process.returncode, spent)

    def close(self) -> None:
        """Kills a running process; its call raises Unavailable. Closing twice is allowed."""
        self._closed = True
        if (running := self._running) is not None:
            _signal_group(running, signal.SIGKILL)

    def _command(self, schema: Mapping[str, Json]) -> list[str]:
        options = {
            "--model": self._model,
            "--output-format": "json",
            "--json-schema": orjson.dumps(schema).decode(),
            "--settings": '{"disableAllHooks": true}',
            "--tools": "",
            "--max-turns": "2",
        }
        arguments = [word for option in options.items() for word in option]
        return [self._program, "-p", *arguments, "--strict-mcp-config", "--no-session-persistence"]

    def _read(self, output: bytes, complaint: bytes, code: int, spent: Callable[[int], None]) -> str:
        try:
            answer: Any = json.loads(output)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            said = " ".join((complaint or output).decode(errors="replace").split())[:_LONGEST_QUOTE]
            raise Unavailable(f"{self._program} exited with code {code} and without an answer ({said}).")
        known = cast(dict[str, Any], answer)
        if isinstance(known.get("usage"), dict):
            spent(tokens_in(known["usage"]))
        if code or known.get("is_error"):
            raise Unavailable(f"{self._program} failed ({str(known.get('result'))[:_LONGEST_QUOTE]}).")
        structured = known.get("structured_output")
        return str(known.get("result", "")) if structured is None else orjson.dumps(structured).decode()


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Sends a signal to a process and all its children."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
