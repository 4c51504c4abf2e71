"""A hive behind a service."""

import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal
from urllib.parse import quote

from msgspec import to_builtins

from hivelore.core.json_codec import convert, validated
from hivelore.core.operation import Lane, Operation, encode_request, response_type
from hivelore.errors import Broken, Invalid, NotFound
from hivelore.feedback.model import Usefulness
from hivelore.memories import codec
from hivelore.memories.drafts import Draft, Edit, WriteResult
from hivelore.memories.model import Memory, MemoryId, Source
from hivelore.python.argument_checks import ID, INSTANT, NUMBER, STATUS, TRUTH, WHOLE, WORD, check
from hivelore.python.client import Client
from hivelore.python.hive import Hive, choice
from hivelore.python.methods import R
from hivelore.search.model import Difference, History, MemoryPage, RecallResult, ScopeChoice, Stats

_LOOK_EVERY = 0.1
_USUAL = 60.0
_LONG = 600.0
"""Seconds for what may be about all memories."""


class RemoteHive(Hive):
    """The same as an embedded one, through ``python.client``, which it closes in the end."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def call(self, operation: Operation[..., R], request: Any) -> R:
        sent = encode_request(operation, validated(request))
        timeout = _LONG if operation.lane is Lane.SLOW else _USUAL
        answer = self._client.call(
            sent.method, sent.path, body=sent.body, query=sent.query, version=sent.version, timeout=timeout
        )
        try:
            return convert(response_type(operation, answer), answer)
        except Invalid as error:
            raise Broken(
                f"The service's answer is not as expected ({error}) Its version of Hivelore is another one than "
                "that of this program: update the older one, and restart the service."
            ) from None

    def get(self, memory: str, *, as_of: datetime | None = None) -> Memory:
        check(ID, memory=memory)
        check(INSTANT.or_none(), as_of=as_of)
        query = {"asOf": codec.told(as_of, "asOf")}
        return convert(Memory, self._client.call("GET", memory_path(memory), query=query))

    def history(self, memory: str) -> History:
        check(ID, memory=memory)
        return convert(History, self._client.call("GET", f"{memory_path(memory)}/history"))

    def diff(self, memory: str, older: int | None = None, newer: int | None = None) -> Difference:
        check(ID, memory=memory)
        check(WHOLE.or_none(), older=older, newer=newer)
        query = {"from": older, "to": newer}
        return convert(Difference, self._client.call("GET", f"{memory_path(memory)}/diff", query=query))

    def list(
        self,
        *,
        limit: int = 50,
        after: str | None = None,
        scope: ScopeChoice | str = ScopeChoice.ALL,
        source: Source | str | None = None,
        agent: str | None = None,
        project: str | None = None,
        session: str | None = None,
        tag: str | None = None,
        category: str | None = None,
        status: Literal["all", "live", "expired"] = "all",
        subject: str | None = None,
        as_of: datetime | None = None,
        superseded: bool = False,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
    ) -> MemoryPage:
        check(WHOLE, limit=limit)
        check(ID.or_none(), after=after, agent=agent)
        check(WORD.or_none(), project=project, session=session, tag=tag, category=category, subject=subject)
        check(STATUS, status=status)
        check(INSTANT.or_none(), as_of=as_of, created_after=created_after, created_before=created_before)
        check(TRUTH, superseded=superseded)
        query = {
            "limit": limit,
            "after": after,
            "scope": choice(ScopeChoice, scope, "scope").value,
            "source": None if source is None else choice(Source, source, "source").value,
            "agentId": agent,
            "project": project,
            "session": session,
            "tag": tag,
            "category": category,
            "status": status,
            "subject": subject,
            "asOf": codec.told(as_of, "asOf"),
            "superseded": "true" if superseded else None,
            "createdAfter": codec.told(created_after, "createdAfter"),
            "createdBefore": codec.told(created_before, "createdBefore"),
        }
        return convert(MemoryPage, self._client.call("GET", "/api/memory", query=query))

    def forget(self, memory: str, *, version: int | None = None) -> None:
        check(ID, memory=memory)
        check(WHOLE.or_none(), version=version)
        self._client.call("DELETE", memory_path(memory), version=version)

    def rate(self, memory: str, *, useful: bool, session: str | None = None) -> Usefulness:
        check(ID, memory=memory)
        check(TRUTH, useful=useful)
        check(WORD.or_none(), session=session)
        body = {"useful": useful, "session": session}
        return convert(Usefulness, self._client.call("PUT", f"{memory_path(memory)}/rating", body=body))

    def usefulness(self, memory: str) -> Usefulness:
        check(ID, memory=memory)
        return convert(Usefulness, self._client.call("GET", memory_path(memory)).get("usefulness", {}))

    def reset_usefulness(self, memory: str) -> None:
        check(ID, memory=memory)
        self._client.call("DELETE", f"{memory_path(memory)}/usefulness")

    def stats(self) -> Stats:
        return convert(Stats, self._client.call("GET", "/api/memory/stats"))

    def wait_until_indexed(self, timeout: float = 60.0) -> bool:
        check(NUMBER, timeout=timeout)
        for _ in range(max(1, round(timeout / _LOOK_EVERY))):
            status = self._client.call("GET", "/api/status")
            if not status["pendingEmbeddings"] and (status["vectorsReady"] or status["vectors"] is None):
                return True
            time.sleep(_LOOK_EVERY)
        return False

    def close(self) -> None:
        self._client.close()

    def _recall(
        self,
        query: str,
        *,
        limit: int,
        scope: ScopeChoice,
        source: Source | None,
        session: str | None,
        project: str | None,
        now: datetime | None,
        as_of: datetime | None,
        superseded: bool,
        only_fitting: bool,
        diversity: float,
        budget: int | None,
    ) -> RecallResult:
        body = {
            "query": query,
            "limit": limit,
            "scope": scope.value,
            "source": None if source is None else source.value,
            "session": session,
            "project": project,
            "now": codec.told(now, "now"),
            "asOf": codec.told(as_of, "asOf"),
            "superseded": superseded,
            "onlyFitting": only_fitting,
            "diversity": diversity,
            "budget": budget,
        }
        return convert(RecallResult, self._client.call("POST", "/api/memory/search", body=body))

    def _edit(self, memory: MemoryId, edit: Edit, version: int | None) -> Memory:
        return convert(Memory, self._client.call("PATCH", memory_path(memory), body=to_builtins(edit), version=version))

    def _store(self, drafts: Sequence[Draft]) -> Sequence[WriteResult]:
        body = {"memories": [to_builtins(one) for one in drafts]}
        answer = self._client.call("POST", "/api/memory/batch", body=body)
        return convert(tuple[WriteResult, ...], answer["results"])


def memory_path(memory: str) -> str:
    if not memory:
        raise NotFound("No memory has an empty id. Search for the one you mean.")
    return f"/api/memory/{quote(memory, safe='')}"
