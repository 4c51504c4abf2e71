"""Tasks and texts of the service, over its REST interface."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import quote

from hivelore.core.values import convert
from hivelore.errors import HiveloreError
from hivelore.runner.model import ClaimedTask, Usage
from hivelore.runner.ports import Call, NoTask, ServiceClient
from hivelore.tasks.model import MAX_COST, MAX_TOKENS, MICROS, ClaimResult, Task, TaskDetail
from hivelore.tasks.task_text import preamble

LEASE = timedelta(minutes=2)
_TASKS = "/api/tasks"
_VERBATIM = frozenset({"leaseToken", "sessionId", "usage"})


class ServiceQueue:
    """Implements ``TaskQueue``."""

    def __init__(self, client: ServiceClient, runner: str, lease: timedelta = LEASE) -> None:
        """``runner``: how this runner names itself."""
        self._client = client
        self._runner = runner
        self._lease = lease

    def claim(self, wait: float) -> ClaimedTask | NoTask:
        body = {"runner": self._runner, "leaseSeconds": round(self._lease.total_seconds()), "wait": wait}
        answer = convert(ClaimResult, self._client.call("POST", f"{_TASKS}/claim", body=body))
        task = answer.task
        if task is None or task.lease is None or task.lease.token is None:
            return NoTask(answer.message, is_refused=answer.is_over_limit)
        parent = None if task.parent is None else self._parent(task.parent)
        return ClaimedTask(
            id=task.id,
            text=task.text,
            lease=task.lease.token,
            attempt=task.attempt,
            lease_time=self._lease,
            repo=task.repo,
            session=task.session,
            parent_session=None if parent is None else parent.session,
            handover=preamble(task, parent),
            spent_usd=answer.spent_micros / MICROS,
        )

    def heartbeat(self, task: ClaimedTask, session: str | None) -> None:
        seconds = round(self._lease.total_seconds())
        body = {"leaseToken": task.lease, "leaseSeconds": seconds, "sessionId": session}
        self._client.call("POST", _path(task, "heartbeat"), body=body)

    def knowledge(self, task: ClaimedTask) -> str:
        return self._client.call("GET", _path(task, "knowledge"))["text"] or ""

    def state(self, task: ClaimedTask) -> str:
        return convert(TaskDetail, self._client.call("GET", _path(task))).task.state

    def progress_call(self, task: ClaimedTask, text: str, session: str | None, usage: Usage | None) -> Call:
        body = {"text": text, "leaseToken": task.lease, "sessionId": session, "usage": _usage(session, usage)}
        return Call("POST", _path(task, "progress"), body, _VERBATIM)

    def complete_call(self, task: ClaimedTask, output: str, session: str | None, usage: Usage | None) -> Call:
        body = {"output": output, "leaseToken": task.lease, "sessionId": session, "usage": _usage(session, usage)}
        return Call("POST", _path(task, "complete"), body, _VERBATIM)

    def fail_call(
        self, task: ClaimedTask, reason: str, session: str | None, usage: Usage | None, *, may_retry: bool
    ) -> Call:
        body = {
            "reason": reason,
            "retry": may_retry,
            "leaseToken": task.lease,
            "sessionId": session,
            "usage": _usage(session, usage),
        }
        return Call("POST", _path(task, "fail"), body, _VERBATIM)

    def release_call(self, task: ClaimedTask, session: str | None = None, usage: Usage | None = None) -> Call:
        used = None if usage is None else _usage(session, usage)
        body = {"leaseToken": task.lease, "sessionId": session, "usage": used}
        return Call("POST", _path(task, "release"), body, _VERBATIM)

    def _parent(self, task: str) -> Task | None:
        try:
            return convert(TaskDetail, self._client.call("GET", f"{_TASKS}/{quote(task, safe='')}")).task
        except HiveloreError:  # The task is claimed already; it is done without.
            return None


class ServicePrompts:
    """Implements ``PromptSource``."""

    def __init__(self, client: ServiceClient, agent: str) -> None:
        """``agent``: id of the agent."""
        self._client = client
        self._agent = agent

    def system_prompt(self, task: ClaimedTask) -> str:
        path = f"/api/agents/{quote(self._agent, safe='')}/prompt"
        return str(self._client.call("GET", path, query={"repo": task.repo})["text"])

    def operational_context(self) -> tuple[str, str]:
        context = self._client.call("GET", "/api/operational-context")
        return str(context["environment"]), str(context["text"])


def _path(task: ClaimedTask, verb: str = "") -> str:
    path = f"{_TASKS}/{quote(task.id, safe='')}"
    return f"{path}/{verb}" if verb else path


def _usage(session: str | None, usage: Usage | None) -> Mapping[str, Any] | None:
    """Returns a usage as the service takes it: a larger one would make it refuse the result of the run."""
    if usage is None:
        return None
    return {
        "sessionId": session,
        "inputTokens": min(usage.input_tokens, MAX_TOKENS),
        "outputTokens": min(usage.output_tokens, MAX_TOKENS),
        "cacheReadTokens": min(usage.cache_read_tokens, MAX_TOKENS),
        "cacheWriteTokens": min(usage.cache_write_tokens, MAX_TOKENS),
        "costUsd": min(usage.cost_usd, MAX_COST),
    }
