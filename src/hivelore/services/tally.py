"""What nobody waits for: access counts and reads for the audit trail, merged here and written together.

A crash may lose what came since the last flush, about a second, and nothing else.
"""

import threading
from datetime import datetime

from hivelore.domain.audit import AuditEntry
from hivelore.domain.index import DocumentKey
from hivelore.ports import MemoryStore, Transaction


class Tally:
    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._reads: dict[DocumentKey, tuple[int, datetime]] = {}
        self._entries: list[AuditEntry] = []

    def count_read(self, key: DocumentKey, at: datetime) -> None:
        with self._lock:
            count, _ = self._reads.get(key, (0, at))
            self._reads[key] = (count + 1, at)

    def record(self, entry: AuditEntry) -> None:
        with self._lock:
            self._entries.append(entry)

    def flush(self) -> None:
        """Write what has gathered. On failure it stays for the next time."""
        with self._lock:
            reads, entries = self._reads, self._entries
            self._reads, self._entries = {}, []
        if not reads and not entries:
            return

        def write(tx: Transaction) -> None:
            tx.touch(reads)
            for entry in entries:
                tx.record(entry)

        try:
            self._store.write(write)
        except BaseException:
            with self._lock:
                for key, (count, at) in reads.items():
                    more, later = self._reads.get(key, (0, at))
                    self._reads[key] = (count + more, max(at, later))
                self._entries = entries + self._entries
            raise
