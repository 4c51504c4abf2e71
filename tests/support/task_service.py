"""The part of a service that a runner needs: one queue of tasks, in memory. It can be away."""

import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec

from hivelore.core.agents import AgentId, Role
from hivelore.core.redaction import KEY_BYTES, Redactor
from hivelore.core.text import Clean
from hivelore.errors import Conflict, HiveloreError, NotFound, TooLarge, Unavailable
from hivelore.runner.service_queue import ServiceQueue
from hivelore.tasks.model import NOTE_BYTES, TEXT_BYTES, Lease, Task, TaskId, TaskState

CONTEXT = {"environment": "Environment: jellyfin waits.", "text": "## Known\n\nIt is slow."}
KNOWLEDGE = "## Relevant Past Knowledge\n\nThe port is 5433."


@dataclass
class StoredTask:
    id: str
    text: str
    state: str = "open"
    lease: str | None = None
    until: float = 0.0
    attempt: int = 0
    failures: int = 0
    session: str | None = None
    parent: str | None = None
    output: str | None = None
    reason: str | None = None
    progress: list[str] = field(default_factory=list[str])
    late: list[str] = field(default_factory=list[str])
    usage: Mapping[str, Any] | None = None
    spent: int = 0
    """Millionths of a dollar that earlier attempts have cost."""

    def as_json(self) -> dict[str, Any]:
        now = datetime.now(UTC)
        lease = None if self.lease is None else Lease(token=self.lease, agent=AgentId("a"), runner=None, until=now)
        task = Task(
            id=TaskId(self.id),
            text=Clean(self.text),
            state=TaskState(self.state),
            created_at=now,
            updated_at=now,
            creator=None,
            creator_role=Role.OPERATOR,
            attempt=self.attempt,
            lease=lease,
            session=None if self.session is None else Clean(self.session),
            parent=None if self.parent is None else TaskId(self.parent),
            progress=Clean(self.progress[-1]) if self.progress else None,
        )
        return msgspec.to_builtins(task)


class TaskService:
    """Implements ``ServiceClient``."""

    url = "http://127.0.0.1:9"

    def __init__(self) -> None:
        self.tasks: dict[str, StoredTask] = {}
        self.calls: list[tuple[str, str, Mapping[str, Any]]] = []
        self.is_away = False
        self.is_broken = False
        self.seconds_for_a_memory = 0.0
        self.longest_output = TEXT_BYTES
        self.refuses_usage = False
        self._redactor = Redactor(os.urandom(KEY_BYTES))
        self._lock = threading.Lock()

    def add(self, text: str, **more: Any) -> StoredTask:
        task = StoredTask(f"task-{len(self.tasks) + 1}", text, **more)
        self.tasks[task.id] = task
        return task

    def queue(self, **more: Any) -> ServiceQueue:
        return ServiceQueue(self, "runner", **more)

    def made(self, path: str) -> list[Mapping[str, Any]]:
        """Returns the bodies of the calls of a path."""
        return [body for _, called, body in self.calls if called == path]

    def call(
        self, method: str, path: str, *, body: Mapping[str, Any] | None = None, query: Mapping[str, Any] | None = None
    ) -> Any:
        if self.is_away:
            raise Unavailable("The service is away.")
        if self.is_broken:
            raise HiveloreError("The service failed at this.")
        if path == "/memories":
            time.sleep(self.seconds_for_a_memory)
        with self._lock:
            self.calls.append((method, path, body or {}))
            if path == "/api/tasks/claim":
                return self._claim(body or {})
            if path.startswith("/api/tasks/"):
                name, _, verb = path.removeprefix("/api/tasks/").partition("/")
                return self._work(self.tasks[name], verb, body or {})
        if path == "/api/broken":
            raise HiveloreError("The service failed at this.")
        if path == "/api/operational-context":
            return CONTEXT
        return {"text": "You are a worker.", "effect": "new"}

    def _claim(self, body: Mapping[str, Any]) -> Any:
        for task in self.tasks.values():
            is_lost = task.state == "running" and task.until < time.monotonic()
            if task.state == "open" or is_lost:
                task.attempt += 1
                task.state, task.lease = "running", f"lease-{task.id}-{task.attempt}"
                task.until = time.monotonic() + body["leaseSeconds"]
                return {"task": task.as_json(), "message": "", "isOverLimit": False, "spentMicros": task.spent}
        return {"task": None, "message": "There is no task for you now.", "isOverLimit": False}

    def _work(self, task: StoredTask, verb: str, body: Mapping[str, Any]) -> Any:
        if verb == "knowledge":
            return {"text": KNOWLEDGE}
        if not verb:
            return {"task": task.as_json(), "usage": {}}
        self._check_length(body.get("output", ""), self.longest_output)
        self._check_length(body.get("text") or body.get("reason", ""), NOTE_BYTES)
        if self.refuses_usage and body.get("usage") is not None:
            raise TooLarge("There are too many costs.", field="usage")
        is_held = task.state == "running" and task.lease == body["leaseToken"] and task.until >= time.monotonic()
        if not is_held:
            if verb in ("complete", "fail"):
                task.late.append(body.get("output") or body["reason"])
            raise Conflict("The lease is lost.")
        task.session = body.get("sessionId") or task.session
        task.usage = body.get("usage") or task.usage
        match verb:
            case "heartbeat":
                task.until = time.monotonic() + body["leaseSeconds"]
            case "progress":
                task.progress.append(body["text"])
            case "complete":
                task.state, task.output = "completed", body["output"]
            case "fail":
                task.failures += 1
                task.state, task.reason = "open" if body["retry"] and task.failures < 3 else "failed", body["reason"]
            case "release":
                task.state = "open"
            case _:
                raise NotFound(verb)
        return {"task": task.as_json()}

    def _check_length(self, text: str, most: int) -> None:
        """Raises TooLarge as the service does: before and after secrets are masked."""
        for one in (text, self._redactor.clean(text)):
            if len(one.encode()) > most:
                raise TooLarge(f"It has more than {most} bytes.")
