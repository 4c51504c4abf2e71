"""A memory that is written, found, told and forgotten through the very commands that a program is given."""

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

_PATIENCE = 60.0
"""Seconds for all of it."""
_TRIES = 5
"""The first runs of a hook may be too slow for it: the interpreter has to be read from the disk."""
_HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "hivelore", "version": "1"}}


@dataclass(frozen=True, slots=True)
class Hook:
    """The hook with which a program tells what it was asked, in its own words."""

    command: Sequence[str]
    event: str
    session: str
    prompt: str


def try_out(commands: Commands, hook: Hook | None, folder: Path, environment: Mapping[str, str]) -> None:
    """Raises Unavailable, with what does not work, where the canary is not kept, found, told or forgotten.

    ``hook``: None where the service tells nothing with a prompt. ``folder`` is where the commands run, ``environment``
    what they find there."""
    token = os.urandom(6).hex()
    text = f"Canary {token} was written by hivelore setup to be found, and is forgotten at once."
    with _Tools(commands, folder, environment) as tools:
        kept = tools.call("memory-store", content=text, name=f"Canary {token}", scope="agent")
        try:
            found = tools.call("memory-search", query=text, limit=5)
            if kept["memoryId"] not in [result["id"] for result in found["results"]]:
                raise Unavailable("A memory that was just written was not found: see 'hivelore doctor'.")
            if hook is not None:
                _try_hook(hook, token, text, folder, environment)
        finally:
            tools.call("memory-delete", memoryId=kept["memoryId"])


def _try_hook(hook: Hook, token: str, text: str, folder: Path, environment: Mapping[str, str]) -> None:
    """Raises Unavailable where the hook does not tell of the memory that it is asked for."""
    said = b""
    for attempt in range(_TRIES):
        # Each in a session of its own: none is told anything twice.
        told = {
            "hook_event_name": hook.event,
            hook.session: f"{token}-{attempt}",
            hook.prompt: text,
            "cwd": str(folder),
        }
        said = _run(hook.command, json.dumps(told).encode(), folder, environment)
        if token.encode() in said:
            return
    raise Unavailable(f"The hook does not tell what the service knows; it said {said[:200]!r}: see 'hivelore doctor'.")


def _run(command: Sequence[str], told: bytes, folder: Path, environment: Mapping[str, str]) -> bytes:
    try:
        done = subprocess.run(
            [*command], input=told, cwd=folder, env={**environment}, capture_output=True, timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"The hook cannot be run: {error}") from None
    return done.stdout


class _Tools:
    """MCP by the command that a program is given."""

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
        self._watch = Timer(_PATIENCE, self._process.kill)
        self._watch.start()

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """What a tool answers. Raises Unavailable where it fails."""
        result = self._ask("tools/call", name=tool, arguments=arguments)
        if result.get("isError"):
            raise Unavailable(f"The tool {tool} failed: {result['content'][0]['text']}")
        return cast(dict[str, Any], result["structuredContent"])

    def _ask(self, method: str, **params: Any) -> dict[str, Any]:
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
            raise Unavailable(f"The tools do not answer ({error}): see 'hivelore doctor'.") from None

    def __enter__(self) -> Self:
        self._ask("initialize", **_HELLO)
        return self

    def __exit__(self, *_: object) -> None:
        self._watch.cancel()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        self._process.wait()
