"""What nobody waits for: access counts, reads for the audit trail, recalls for their log and what opening a memory
says of its use, merged here and written together.

A crash may lose what came since the last flush, about a second, and nothing else.
"""

import threading
from collections import deque
from collections.abc import Iterable
from datetime import datetime

from hivelore.core.access import is_audited_read
from hivelore.core.agents import AgentId, Role, Viewer
from hivelore.core.audit import AuditEntry
from hivelore.feedback.recalls import Evidence, Recall
from hivelore.feedback.usefulness import opening_evidence
from hivelore.memories.model import Action, Memory, MemoryId
from hivelore.memories.stored import DocumentKey
from hivelore.storage.ports import MemoryStore, Transaction

RECALLS = 2_000
"""Recalls that wait to be written, at most: where the store cannot be written for long, the oldest go."""
UNIT = 100
"""Recalls that are written in one unit, so that nobody waits long behind them."""


_Opened = dict[tuple[AgentId, DocumentKey], tuple[MemoryId, datetime]]
"""What agents have read in full, and when last."""


class WriteBehindBuffer:
    def __init__(self, store: MemoryStore, *, recalls: int = RECALLS) -> None:
        """``recalls``: how many of them wait at most."""
        self._store = store
        self._most = recalls
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        self._reads: dict[DocumentKey, tuple[int, datetime]] = {}
        self._entries: list[AuditEntry] = []
        self._opened = _Opened()
        self._recalls: deque[Recall] = deque()
        self._lost = 0

    @property
    def lost_recalls(self) -> int:
        """How many recalls were not logged, because the store could not be written."""
        return self._lost

    def note_opened(self, key: DocumentKey, memory: MemoryId, viewer: Viewer, at: datetime) -> None:
        """That a memory was read in full. An agent's reading counts as an access (A25)."""
        if viewer.role is Role.OPERATOR:
            return
        with self._lock:
            count, _ = self._reads.get(key, (0, at))
            self._reads[key] = (count + 1, at)
            if viewer.agent is not None:
                self._opened[viewer.agent, key] = memory, at

    def note_reads(self, memories: Iterable[Memory], viewer: Viewer, at: datetime) -> None:
        """A read with a wider view than an agent's own is kept in the audit trail (X3)."""
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
        """Write what has gathered, also what another thread is about to write. On failure it stays for the next
        time."""
        with self._flushing:
            while self._flush_unit():
                pass

    def _flush_unit(self) -> bool:
        """Write what has gathered, of the recalls a unit; whether there may be more."""
        with self._lock:
            reads, entries, opens = self._reads, self._entries, _Opened()
            self._reads, self._entries = {}, []
            if len(self._recalls) <= UNIT:  # All of them are in the log by then.
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
