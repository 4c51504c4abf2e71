"""A home folder with a service in a separate process, and hooks that report sessions to it."""

import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from hivelore.hooks.install import copy_to
from hivelore.local import launcher
from hivelore.local.lock import read_owner
from hivelore.python.client import Client
from support.hooks import Hook
from support.ports import free_url
from support.sessions import ClaudeSession
from support.waiting import until

_ODD = "ho me ’with\n'quotes\" и ☃"
KNOWN = "Port 8443 is taken by the proxy."
ASKED = "Which port is taken by the proxy?"
FROM_TRANSCRIPT = frozenset({"PreCompact", "SessionEnd", "Stop", "SubagentStop", "TaskCompleted"})
"""Events whose lesson is only in the transcript."""
KEPT = FROM_TRANSCRIPT | {"PostCompact"}
"""Events that create memories."""


@dataclass(frozen=True, slots=True)
class Kept:
    content: str
    version: int


class Home:
    """``environ``: environment of its service and hooks."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self.folder = folder
        self.environ = environ
        self.url = environ["HIVELORE_URL"]
        self.port = int(urlsplit(self.url).port or 0)
        self.transcripts = Path(environ["HIVELORE_TRANSCRIPTS"])
        self.hook = Hook(copy_to(folder), folder, self.transcripts, wait="")

    def start(self) -> None:
        launcher.ensure(self.folder)

    def stop(self) -> None:
        launcher.stop(self.folder)

    def kill(self) -> None:
        os.kill(self.pid, SIGKILL)
        until(lambda: read_owner(self.folder) is None)

    @property
    def pid(self) -> int:
        owner = read_owner(self.folder)
        assert owner is not None
        return owner.pid

    def client(self) -> Client:
        return Client(self.url, (self.folder / "agent.key").read_text().strip())

    def remember(self, content: str) -> None:
        body = {"content": content, "name": content[:20], "scope": "agent", "source": "manual"}
        with closing(self.client()) as client:
            client.call("POST", "/api/memory/index", body=body)

    def kept(self) -> dict[str, list[Kept]]:
        """Returns the stored memories of each session."""
        found: dict[str, list[Kept]] = {}
        after: str | None = None
        with closing(self.client()) as client:
            while True:
                page = client.call("GET", "/api/memory", query={"limit": 500, "after": after})
                for memory in page["memories"]:
                    if memory["session"] is not None:
                        found.setdefault(memory["session"], []).append(Kept(memory["content"], memory["version"]))
                if (after := page["next"]) is None:
                    return found

    def status(self) -> Mapping[str, Any]:
        with closing(self.client()) as client:
            return client.call("GET", "/api/status")

    def settle(self) -> None:
        """Waits until all delivered and spooled events are in the store."""
        self.hook.finish()

        def is_settled() -> bool:
            status = self.status()
            return (status["hookEventsWaiting"], status["pendingSummaries"]) == (0, 0)

        until(is_settled)


@contextmanager
def opened(place: Path, monkeypatch: pytest.MonkeyPatch, **more: str) -> Generator[Home]:
    """A home with a service on a separate port. Its folders have spaces, quotes, newlines and letters of other
    scripts in their names."""
    url = free_url()
    transcripts = place / f"sessions {_ODD}"
    transcripts.mkdir()
    environ = {"HIVELORE_URL": url, "HIVELORE_TRANSCRIPTS": str(transcripts), "HIVELORE_EMBEDDER": "none", **more}
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    home = Home(place / _ODD, environ)
    home.start()
    yield home
    home.stop()


def something_learned() -> str:
    """Returns a lesson in new words each time, so that the novelty filter keeps it."""
    number = uuid4().hex
    words = " ".join(number[start : start + 4] for start in range(0, 32, 4))
    return f"The root cause of the trouble with {number[:9]} was {words}, which nobody had expected after all."


def conversation(learned: str) -> Sequence[str]:
    """Returns the lines of a transcript in which a user says what is to be remembered, and the agent repeats it."""
    session = ClaudeSession()
    return session.user(f"Remember: {learned}").says(learned).lines


def payload(event: str, learned: str, transcript: Path) -> Mapping[str, Any]:
    """Returns the input of a hook of Claude Code; for a sub-agent, with its transcript."""
    subagent = {"agent_id": "a1", "agent_type": "Explore"}
    extra: Mapping[str, Mapping[str, Any]] = {
        "SessionStart": {"source": "startup"},
        "UserPromptSubmit": {"prompt": ASKED},
        "TaskCompleted": {"task_id": "1", "task_subject": "Look into it"},
        "PreCompact": {"trigger": "auto", "custom_instructions": ""},
        "PostCompact": {"trigger": "auto", "compact_summary": learned},
        "PreToolUse": {"tool_name": "Agent", "tool_input": {"prompt": ASKED, "subagent_type": "Explore"}},
        "SubagentStart": subagent,
        "SubagentStop": {**subagent, "agent_transcript_path": str(transcript), "last_assistant_message": learned},
        "Stop": {"stop_hook_active": False, "last_assistant_message": learned},
        "SessionEnd": {"reason": "other"},
    }
    return {"transcript_path": str(transcript), **extra[event]}
