"""Write-behind buffer of sessions: what was injected is recorded after the hook has its answer, within about a second.

A crash loses what came since the last flush: the same memories may be injected once more. Reads in this process see
changes that are not written yet.
"""

import threading
from collections.abc import Callable, Sequence

from hivelore.core.agents import AgentId
from hivelore.core.text import Clean
from hivelore.sessions.model import Session
from hivelore.storage.ports import MemoryStore, Transaction

MAX_SESSIONS = 1_000
"""Most sessions in the buffer. While the store cannot be written, those that were quiet longest are dropped."""
MAX_CHANGES = 100
"""Most changes of one session in the buffer. While the store cannot be written, its oldest ones are dropped."""
Change = Callable[[Session | None], Session]
_Key = tuple[AgentId, Clean]
_Changes = dict[_Key, Sequence[Change]]
"""By session, in the order of their last change."""


class SessionBuffer:
    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._flush_lock = threading.Lock()
        self._pending: _Changes = {}
        self._writing: _Changes = {}

    def load(self, agent: AgentId, session: Clean) -> Session | None:
        """Returns a session with the changes that are not written yet."""
        key = agent, session
        with self._lock:  # Before the read: a change that is written meanwhile is seen twice, but not missed.
            changes = [*self._writing.get(key, ()), *self._pending.get(key, ())]
        with self._store.read() as view:
            found = view.session(agent, session)
        for change in changes:
            found = change(found)
        return found

    def change(self, agent: AgentId, session: Clean, change: Change) -> None:
        """Changes a session soon. ``change`` may be applied several times, but its result is stored once."""
        with self._lock:
            _add_changes(self._pending, (agent, session), [change])

    def flush(self) -> None:
        """Writes all changes, and waits for a flush by another thread. Changes that cannot be written stay, within the
        limits of the buffer."""
        with self._flush_lock:
            with self._lock:
                self._writing, self._pending = self._pending, {}
            if not self._writing:
                return
            try:
                self._store.write(self._write)
            except BaseException:
                with self._lock:
                    for key, changes in self._pending.items():
                        _add_changes(self._writing, key, changes)
                    self._pending, self._writing = self._writing, {}
                raise
            with self._lock:
                self._writing = {}

    def _write(self, tx: Transaction) -> None:
        for (agent, session), changes in self._writing.items():
            found = tx.session(agent, session)
            for change in changes:
                found = change(found)
            if found is not None:
                tx.put_session(found)


def _add_changes(pending: _Changes, key: _Key, changes: Sequence[Change]) -> None:
    """Adds changes of a session, and drops what is beyond the limits."""
    pending[key] = [*pending.pop(key, ()), *changes][-MAX_CHANGES:]
    while len(pending) > MAX_SESSIONS:
        del pending[next(iter(pending))]
