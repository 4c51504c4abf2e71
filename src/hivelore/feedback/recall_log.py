"""The recall log: queries, returned memories and their scores."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from hivelore.core.access import recalls_visible_to
from hivelore.core.agents import AgentId, LeadSees, Viewer
from hivelore.core.paging import cut_page
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Unavailable
from hivelore.feedback.buffer import WriteBehindBuffer
from hivelore.feedback.recalls import QUESTION_LENGTH, Recall, RecalledMemory, RecallPage
from hivelore.memories.model import MemoryId
from hivelore.memories.service import memory_not_found
from hivelore.search.model import Hit, Query, RecallId, RetrievalMode
from hivelore.storage.ports import MemoryStore


class RecallLog:
    def __init__(
        self,
        *,
        store: MemoryStore,
        write_buffer: WriteBehindBuffer,
        lead_sees: LeadSees,
        lifetime: timedelta,
        recall_id: Callable[[datetime], RecallId],
    ) -> None:
        """``lifetime``: 0 turns the log off."""
        self._store = store
        self._write_buffer = write_buffer
        self._lead_sees = lead_sees
        self._on = lifetime > timedelta(0)
        self._recall_id = recall_id

    def log_recall(
        self, query: Query, viewer: Viewer, hits: Sequence[Hit], path: RetrievalMode, candidates: int, now: datetime
    ) -> RecallId | None:
        """Logs a recall within about a second. Returns the id of the log entry; None if the log is off."""
        if not self._on:
            return None
        number = self._recall_id(now)
        self._write_buffer.log(
            Recall(
                id=number,
                at=now,
                agent=viewer.agent,
                role=viewer.role,
                interface=viewer.interface,
                project=query.project,
                session=query.session,
                question=Clean(query.text[:QUESTION_LENGTH]),
                path=path,
                candidates=candidates,
                hits=tuple(
                    [
                        RecalledMemory(hit.memory.id, rank, hit.score, hit.fit, hit.fits)
                        for rank, hit in enumerate(hits, start=1)
                    ]
                ),
            )
        )
        return number

    def page(
        self,
        viewer: Viewer,
        after: tuple[datetime, RecallId] | None,
        limit: int,
        *,
        agent: AgentId | None = None,
        memory: MemoryId | None = None,
        deadline: float | None = None,
    ) -> RecallPage:
        """Returns recalls that the viewer may see, including the latest, of one agent or that returned one memory.
        Raises NotFound for a memory that the viewer may not see."""
        where = recalls_visible_to(viewer, self._lead_sees, agent)
        if where is None:
            return RecallPage(recalls=(), next=None)
        with suppress(Unavailable):  # Unwritten recalls appear later.
            self._write_buffer.flush()
        with self._store.read(deadline, sees=where.seen) as view:
            if memory is not None:
                stored = view.get(memory)
                if stored is None or not where.seen.admits(stored.memory.owner, stored.memory.scope):
                    raise memory_not_found(memory)
            found = view.recalls(replace(where, memory=memory), after, limit + 1)
        page, cursor = cut_page(found, limit, lambda recall: (recall.at, recall.id))
        return RecallPage(recalls=page, next=cursor)
