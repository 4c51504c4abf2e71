"""A hive inside this process: it owns its data directory and runs its own background work."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from hivelore.app import Application
from hivelore.domain.agent import AgentId, Viewer
from hivelore.domain.draft import Draft, Edit, Remembered
from hivelore.domain.memory import Memory, MemoryId, Source
from hivelore.domain.recall_log import RecallPage
from hivelore.domain.search import Answer, Page, ScopeChoice, Stats
from hivelore.hive.base import Hive, choice
from hivelore.hive.checking import ID, INSTANT, NUMBER, STATUS, WHOLE, WORD, check
from hivelore.services.asking import Listing, RecallListing, asked, listed, listed_recalls


class EmbeddedHive(Hive):
    """Speaks as one viewer with the services of an application that it closes in the end."""

    def __init__(self, app: Application, viewer: Viewer) -> None:
        self._app = app
        self._viewer = viewer

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
        question = asked(
            self._app.redactor,
            text=query,
            limit=limit,
            scope=scope,
            source=source,
            session=session,
            project=project,
            now=now,
            only_fitting=only_fitting,
            diversity=diversity,
            budget=budget,
        )
        return self._app.recalling.recall(question, self._viewer)

    def get(self, memory: str) -> Memory:
        check(ID, memory=memory)
        return self._app.recalling.get(MemoryId(memory), self._viewer)

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
            created_after=created_after,
            created_before=created_before,
        )
        return listed(self._app.recalling, self._app.redactor, listing, self._viewer)

    def forget(self, memory: str, *, version: int | None = None) -> None:
        check(ID, memory=memory)
        check(WHOLE.or_none(), version=version)
        self._app.remembering.forget(MemoryId(memory), self._viewer, version=version)

    def recalls(
        self, *, limit: int = 20, after: str | None = None, agent: str | None = None, memory: str | None = None
    ) -> RecallPage:
        check(WHOLE, limit=limit)
        check(ID.or_none(), after=after, agent=agent, memory=memory)
        listing = RecallListing(limit=limit, after=after, agent=agent, memory=memory)
        return listed_recalls(self._app.recall_log, listing, self._viewer)

    def stats(self) -> Stats:
        return self._app.recalling.stats(self._viewer)

    def wait_until_indexed(self, timeout: float = 60.0) -> bool:
        check(NUMBER, timeout=timeout)
        return self._app.embedding.wait(timeout)

    def close(self) -> None:
        self._app.close()

    def _edit(self, memory: MemoryId, edit: Edit, version: int | None) -> Memory:
        return self._app.remembering.edit(memory, edit, self._viewer, version=version)

    def _store(self, drafts: Sequence[Draft]) -> Sequence[Remembered]:
        return self._app.remembering.remember_many(drafts, self._viewer)
