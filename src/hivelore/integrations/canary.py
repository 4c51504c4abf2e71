"""Test of an installation: a memory is written, found, injected and forgotten through the installed commands."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Any, Self, cast

from hivelore.errors import Unavailable
from hivelore.integrations.location import Commands

_TIMEOUT = 60.0
"""Seconds for the whole test."""
_TRIES = 5
"""Attempts with the hook. The first may exceed its time limit, while the interpreter is read from disk."""
_WAIT = "5"
"""Seconds that the hook waits here: setup asks whether it works, not how fast it is on a busy machine."""
_HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "hivelore", "version": "1"}}


@dataclass(frozen=True, slots=True)
class Hook:
    """The prompt hook of a program, and the names of its fields."""

    command: Sequence[str]
    event: str
    session: str
    prompt: str


def try_out(commands: Commands, hook: Hook | None, folder: Path, environment: Mapping[str, str]) -> None:
    """Raises Unavailable if a test memory is not stored, found, injected or forgotten.

    ``hook``: None if the service injects nothing with prompts. ``folder`` and ``environment``: those of the commands.
    """
    token = os.urandom(6).hex()
    text = f"Canary {token} is a test memory of hivelore setup and will be forgotten at once."
    with _Tools(commands, folder, environment) as tools:
        stored = tools.call("memory-store", content=text, name=f"Canary {token}", scope="agent")
        try:
            found = tools.call("memory-search", query=text, limit=5)
            if stored["memoryId"] not in [result["id"] for result in found["results"]]:
                raise Unavailable("A memory was stored and not found: run 'hivelore doctor'.")
            if hook is not None:
                _try_hook(hook, token, text, folder, environment)
        finally:
            tools.call("memory-delete", memoryId=stored["memoryId"])


def _try_hook(hook: Hook, token: str, text: str, folder: Path, environment: Mapping[str, str]) -> None:
    """Raises Unavailable if the hook does not inject the memory that the prompt is about."""
    answer, patient = b"", {**environment, "HIVELORE_HOOK_WAIT": _WAIT}
    for attempt in range(_TRIES):
        # Each attempt uses another session: a session gets each memory once.
        event = {
            "hook_event_name": hook.event,
            hook.session: f"{token}-{attempt}",
            hook.prompt: text,
            "cwd": str(folder),
        }
        answer = _run(hook.command, json.dumps(event).encode(), folder, patient)
        if token.encode() in answer:
            return
    raise Unavailable(f"The hook injects no memories; its output was {answer[:200]!r}. Run 'hivelore doctor'.")


def _run(command: Sequence[str], event: bytes, folder: Path, environment: Mapping[str, str]) -> bytes:
    try:
        done = subprocess.run(
            [*command], input=event, cwd=folder, env={**environment}, capture_output=True, timeout=_TIMEOUT, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"The hook cannot be run: {error}") from None
    return done.stdout


class _Tools:
    """MCP through the command in the settings of a program."""

    def __init__(self, commands: Commands, folder: Path, environment: Mapping[str, str]) -> None:
        try:
            self._process = subprocess.Popen(
                commands.tools,
                cwd=folder,
                env={**environment, **commands.environment},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            raise Unavailable(f"The tools cannot be run: {error}") from None
        self._number = 0
        self._watch = Timer(_TIMEOUT, self._process.kill)
        self._watch.start()

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its answer. Raises Unavailable if it fails."""
        result = self._request("tools/call", name=tool, arguments=arguments)
        if result.get("isError"):
            raise Unavailable(f"The tool {tool} failed: {result['content'][0]['text']}")
        return cast(dict[str, Any], result["structuredContent"])

    def _request(self, method: str, **params: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        try:
            self._process.stdin.write(f"{json.dumps(message)}\n".encode())
            self._process.stdin.flush()
            answer = json.loads(self._process.stdout.readline())
            return cast(dict[str, Any], answer["result"])
        except (OSError, ValueError, KeyError) as error:
            raise Unavailable(f"The tools do not answer ({error}): run 'hivelore doctor'.") from None

    def __enter__(self) -> Self:
        self._request("initialize", **_HELLO)
        return self

    def __exit__(self, *_: object) -> None:
        self._watch.cancel()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        self._process.wait()
