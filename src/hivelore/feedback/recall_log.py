"""The recall log, and the write-behind buffer for recalls, access counts, audited reads and opened memories.

The log has queries, returned memories and their scores. The buffer is flushed about once a second; a crash loses only
what came since the last flush.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from hivelore.core.access import is_audited_read, recalls_visible_to
from hivelore.core.agents import AgentId, LeadSees, Role, Viewer
from hivelore.core.audit import AuditEntry
from hivelore.core.paging import cut_page
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Unavailable
from hivelore.feedback.recalls import QUESTION_LENGTH, Evidence, Recall, RecalledMemory, RecallPage
from hivelore.feedback.usefulness import opening_evidence
from hivelore.memories.model import Action, Memory, MemoryId
from hivelore.memories.service import memory_not_found
from hivelore.memories.stored import DocumentKey
from hivelore.search.model import Hit, Query, RecallId, RetrievalMode
from hivelore.storage.ports import MemoryStore, Transaction

RECALLS = 2_000
"""Maximum recalls in the buffer. While the store cannot be written, the oldest ones are dropped."""
UNIT = 100
"""Recalls per transaction, so that other writes do not wait long."""
_Opened = dict[tuple[AgentId, DocumentKey], tuple[MemoryId, datetime]]
"""The memories that agents read in full, and the time of the last read."""


class WriteBehindBuffer:
    def __init__(self, store: MemoryStore, *, recalls: int = RECALLS) -> None:
        """``recalls``: maximum recalls in the buffer."""
        self._store = store
        self._most = recalls
        self._lock = threading.Lock()
        self._flush_lock = threading.Lock()
        self._reads: dict[DocumentKey, tuple[int, datetime]] = {}
        self._entries: list[AuditEntry] = []
        self._opened = _Opened()
        self._recalls: deque[Recall] = deque()
        self._lost = 0

    @property
    def lost_recalls(self) -> int:
        """Number of recalls that were dropped because the store could not be written."""
        return self._lost

    def note_opened(self, key: DocumentKey, memory: MemoryId, viewer: Viewer, at: datetime) -> None:
        """Notes that a memory was read in full. A read by an agent counts as an access (A25)."""
        if viewer.role is Role.OPERATOR:
            return
        with self._lock:
            count, _ = self._reads.get(key, (0, at))
            self._reads[key] = (count + 1, at)
            if viewer.agent is not None:
                self._opened[viewer.agent, key] = memory, at

    def note_reads(self, memories: Iterable[Memory], viewer: Viewer, at: datetime) -> None:
        """Records reads of other agents' private memories in the audit trail (X3)."""
        for memory in memories:
            if is_audited_read(viewer, memory):
                self.record(
                    AuditEntry(
                        at=at,
                        actor=viewer.agent,
                        interface=viewer.interface,
                        action=Action.READ,
                        memory=memory.id,
                        detail=None,
                    )
                )

    def record(self, entry: AuditEntry) -> None:
        with self._lock:
            self._entries.append(entry)

    def log(self, recall: Recall) -> None:
        with self._lock:
            self._recalls.append(recall)
            self._drop_oldest()

    def flush(self) -> None:
        """Writes the buffered data, and waits for a flush by another thread. Data that cannot be written stays in the
        buffer."""
        with self._flush_lock:
            while self._flush_unit():
                pass

    def _flush_unit(self) -> bool:
        """Writes one unit of recalls and all other data. Returns True if there may be more recalls."""
        with self._lock:
            reads, entries, opens = self._reads, self._entries, _Opened()
            self._reads, self._entries = {}, []
            if len(self._recalls) <= UNIT:  # Their evidence refers to recalls, which are all in the log then.
                opens, self._opened = self._opened, _Opened()
            recalls = [self._recalls.popleft() for _ in range(min(UNIT, len(self._recalls)))]
        if not reads and not entries and not opens and not recalls:
            return False

        def write(tx: Transaction) -> None:
            tx.count_reads(reads)
            for entry in entries:
                tx.record_audit(entry)
            tx.log_recalls(recalls)
            _add_opened(tx, opens)

        try:
            self._store.write(write)
        except BaseException:
            with self._lock:
                for key, (count, at) in reads.items():
                    more, later = self._reads.get(key, (0, at))
                    self._reads[key] = (count + more, max(at, later))
                self._entries = entries + self._entries
                self._opened = opens | self._opened
                self._recalls.extendleft(reversed(recalls))
                self._drop_oldest()
            raise
        return len(recalls) == UNIT

    def _drop_oldest(self) -> None:
        while len(self._recalls) > self._most:
            self._recalls.popleft()
            self._lost += 1


def _add_opened(tx: Transaction, opens: _Opened) -> None:
    found: dict[DocumentKey, list[Evidence]] = {}
    for (agent, key), (memory, at) in opens.items():
        if (evidence := opening_evidence(tx, memory, agent, at)) is not None:
            found.setdefault(key, []).append(evidence)
    if found:
        tx.add_evidence(found)


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
                        RecalledMemory(hit.memory.id, rank, hit.score, hit.relevance, hit.fits)
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
