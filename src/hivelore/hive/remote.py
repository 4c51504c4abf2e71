"""A hive behind a service."""

import time
from collections.abc import Sequence
from datetime import datetime
from typing import Literal
from urllib.parse import quote

from hivelore.client import Client
from hivelore.domain import wire
from hivelore.domain.draft import Draft, Edit, Remembered
from hivelore.domain.memory import Memory, MemoryId, Source
from hivelore.domain.recall_log import RecallPage
from hivelore.domain.search import Answer, Page, ScopeChoice, Stats
from hivelore.errors import NotFound
from hivelore.hive.base import Hive, choice
from hivelore.hive.checking import ID, INSTANT, NUMBER, STATUS, WHOLE, WORD, check

_LOOK_EVERY = 0.1


class RemoteHive(Hive):
    """The same as an embedded one, through ``client``, which it closes in the end."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def get(self, memory: str) -> Memory:
        check(ID, memory=memory)
        return wire.read_memory(self._client.call("GET", _path(memory)))

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
        created_after: datetime | None = None,
        created_before: datetime | None = None,
    ) -> Page:
        check(WHOLE, limit=limit)
        check(ID.or_none(), after=after, agent=agent)
        check(WORD.or_none(), project=project, session=session, tag=tag, category=category)
        check(STATUS, status=status)
        check(INSTANT.or_none(), created_after=created_after, created_before=created_before)
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
            "createdAfter": wire.told(created_after, "createdAfter"),
            "createdBefore": wire.told(created_before, "createdBefore"),
        }
        return wire.read_page(self._client.call("GET", "/api/memory", query=query))

    def forget(self, memory: str, *, version: int | None = None) -> None:
        check(ID, memory=memory)
        check(WHOLE.or_none(), version=version)
        self._client.call("DELETE", _path(memory), version=version)

    def recalls(
        self, *, limit: int = 20, after: str | None = None, agent: str | None = None, memory: str | None = None
    ) -> RecallPage:
        check(WHOLE, limit=limit)
        check(ID.or_none(), after=after, agent=agent, memory=memory)
        query = {"limit": limit, "after": after, "agent": agent, "memory": memory}
        return wire.read_recalls(self._client.call("GET", "/api/recalls", query=query))

    def stats(self) -> Stats:
        return wire.read_stats(self._client.call("GET", "/api/memory/stats"))

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
        only_fitting: bool,
        diversity: float,
        budget: int | None,
    ) -> Answer:
        body = {
            "query": query,
            "limit": limit,
            "scope": scope.value,
            "source": None if source is None else source.value,
            "session": session,
            "project": project,
            "now": wire.told(now, "now"),
            "onlyFitting": only_fitting,
            "diversity": diversity,
            "budget": budget,
        }
        return wire.read_answer(self._client.call("POST", "/api/memory/search", body=body))

    def _edit(self, memory: MemoryId, edit: Edit, version: int | None) -> Memory:
        return wire.read_memory(self._client.call("PATCH", _path(memory), body=wire.edit(edit), version=version))

    def _store(self, drafts: Sequence[Draft]) -> Sequence[Remembered]:
        body = {"memories": [wire.draft(one) for one in drafts]}
        answer = self._client.call("POST", "/api/memory/batch", body=body)
        return [wire.read_remembered(one) for one in answer["results"]]


def _path(memory: str) -> str:
    if not memory:
        raise NotFound("No memory has an empty id. Search for the one you mean.")
    return f"/api/memory/{quote(memory, safe='')}"
