"""A hive inside this process: it owns its data directory and runs its own background work."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from hivelore.api.requests import (
    Listing,
    asked,
    listed,
)
from hivelore.core.agents import AgentId, Viewer
from hivelore.core.json_codec import validated
from hivelore.core.operation import Call, Operation
from hivelore.feedback.model import Usefulness
from hivelore.memories.drafts import Draft, Edit, WriteResult
from hivelore.memories.model import Memory, MemoryId, Source
from hivelore.memories.normalizer import to_utc
from hivelore.python.argument_checks import ID, INSTANT, NUMBER, STATUS, TRUTH, WHOLE, WORD, check
from hivelore.python.hive import Hive, choice
from hivelore.python.methods import R
from hivelore.runtime.app import Application
from hivelore.search.model import Difference, History, MemoryPage, RecallResult, ScopeChoice, Stats


class EmbeddedHive(Hive):
    """Speaks as one viewer with the services of an application that it closes in the end."""

    def __init__(self, app: Application, viewer: Viewer) -> None:
        self._app = app
        self._viewer = viewer

    def call(self, operation: Operation[..., R], request: Any) -> R:
        return operation.run(self._app, validated(request), Call(viewer=self._viewer))

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
        question = asked(
            self._app.redactor,
            text=query,
            limit=limit,
            scope=scope,
            source=source,
            session=session,
            project=project,
            now=now,
            as_of=as_of,
            superseded=superseded,
            only_fitting=only_fitting,
            diversity=diversity,
            budget=budget,
        )
        return self._app.search_service.recall(question, self._viewer)

    def get(self, memory: str, *, as_of: datetime | None = None) -> Memory:
        check(ID, memory=memory)
        check(INSTANT.or_none(), as_of=as_of)
        return self._app.reading.get(MemoryId(memory), self._viewer, to_utc(as_of, "asOf"))

    def history(self, memory: str) -> History:
        check(ID, memory=memory)
        return self._app.reading.history(MemoryId(memory), self._viewer)

    def diff(self, memory: str, older: int | None = None, newer: int | None = None) -> Difference:
        check(ID, memory=memory)
        check(WHOLE.or_none(), older=older, newer=newer)
        return self._app.reading.difference(MemoryId(memory), self._viewer, older, newer)

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
        listing = Listing(
            limit=limit,
            after=after,
            scope=choice(ScopeChoice, scope, "scope"),
            source=None if source is None else choice(Source, source, "source"),
            agent=None if agent is None else AgentId(agent),
            project=project,
            session=session,
            tag=tag,
            category=category,
            status=status,
            subject=subject,
            as_of=as_of,
            superseded=superseded,
            created_after=created_after,
            created_before=created_before,
        )
        return listed(self._app.reading, self._app.redactor, listing, self._viewer)

    def forget(self, memory: str, *, version: int | None = None) -> None:
        check(ID, memory=memory)
        check(WHOLE.or_none(), version=version)
        self._app.memory_service.forget(MemoryId(memory), self._viewer, version=version)

    def rate(self, memory: str, *, useful: bool, session: str | None = None) -> Usefulness:
        check(ID, memory=memory)
        check(TRUTH, useful=useful)
        check(WORD.or_none(), session=session)
        return self._app.rating.rate(MemoryId(memory), self._viewer, useful=useful, session=session)

    def usefulness(self, memory: str) -> Usefulness:
        check(ID, memory=memory)
        return self._app.rating.of(MemoryId(memory), self._viewer)

    def reset_usefulness(self, memory: str) -> None:
        check(ID, memory=memory)
        self._app.rating.reset(MemoryId(memory), self._viewer)

    def stats(self) -> Stats:
        return self._app.reading.stats(self._viewer)

    def wait_until_indexed(self, timeout: float = 60.0) -> bool:
        check(NUMBER, timeout=timeout)
        return self._app.embedding.wait(timeout)

    def close(self) -> None:
        self._app.close()

    def _edit(self, memory: MemoryId, edit: Edit, version: int | None) -> Memory:
        return self._app.memory_service.edit(memory, edit, self._viewer, version=version)

    def _store(self, drafts: Sequence[Draft]) -> Sequence[WriteResult]:
        return self._app.memory_service.remember_many(drafts, self._viewer)
