"""Usefulness: what agents say of the use of memories, what opening one says, and what is known of it all."""

from datetime import datetime, timedelta

from hivelore.core.access import visible_to
from hivelore.core.agents import AgentId, LeadSees, Role, Viewer
from hivelore.core.audit import AuditEntry
from hivelore.core.clock import Clock
from hivelore.core.redaction import Redactor
from hivelore.core.text import Clean
from hivelore.errors import Forbidden, TooLarge
from hivelore.feedback.model import Usefulness, UsefulnessBounds, usefulness_factor
from hivelore.feedback.recalls import Evidence, Recall, RecallFilter, Sign, count_usage
from hivelore.memories.model import Action, MemoryId
from hivelore.memories.service import memory_not_found
from hivelore.memories.stored import Stored
from hivelore.search.model import EVERYTHING, RecallId
from hivelore.storage.ports import MemoryStore, Transaction, View

RECENT = timedelta(hours=1)
"""So long after a recall, what is done with a memory that it gave is put down to it."""
SESSION_LENGTH = 500
_ALL_SESSIONS = Clean("*")
"""Stands for the session of a rating of what is another's."""


class UsefulnessService:
    def __init__(
        self, *, store: MemoryStore, worth: UsefulnessBounds, lead_sees: LeadSees, redactor: Redactor, clock: Clock
    ) -> None:
        self._store = store
        self._worth = worth
        self._lead_sees = lead_sees
        self._redactor = redactor
        self._clock = clock

    def of(self, memory: MemoryId, viewer: Viewer) -> Usefulness:
        """What is known of a memory. Raises NotFound for one that the viewer may not see."""
        with self._store.read(sees=visible_to(viewer, self._lead_sees)) as view:
            return self._known(view, self._visible(view, memory, viewer))

    def rate(
        self, memory: MemoryId, viewer: Viewer, *, useful: bool, session: str | None = None, until: float | None = None
    ) -> Usefulness:
        """Note whether a memory was of use to the viewer, in the place of what they said in the same session before;
        where no session is named, a day (UTC) counts as one. Of what is not theirs, only the last thing they said
        counts, whatever sessions they name. Durable when this returns. Raises as ``of``."""
        now = self._clock.now()
        told = self._session(session) or Clean(now.date().isoformat())
        sign = Sign.USEFUL if useful else Sign.USELESS

        def work(tx: Transaction) -> Usefulness:
            stored = self._visible(tx, memory, viewer)
            recall = None if viewer.agent is None else recent_recall(tx, memory, viewer.agent, now)
            given_by = None if recall is None else recall.id
            during = told if stored.memory.owner == viewer.agent else _ALL_SESSIONS
            said = Evidence(agent=viewer.agent, session=during, sign=sign, at=now, recall=given_by)
            tx.add_evidence({stored.key: [said]})
            return self._known(tx, stored)

        return self._store.write(work, until)

    def reset(self, memory: MemoryId, viewer: Viewer) -> None:
        """Nothing is known of its use any more. Raises Forbidden for who does not come with an operator's key."""
        if viewer.role is not Role.OPERATOR and not viewer.acting:
            raise Forbidden("Only an operator may take back what is known of the use of a memory. Rate it instead.")

        def work(tx: Transaction) -> None:
            stored = self._visible(tx, memory, viewer)
            if tx.evidence(stored.key):
                tx.drop_evidence(stored.key)
                tx.record_audit(_taken_back(stored.memory.id, viewer, self._clock.now()))

        self._store.write(work)

    def _visible(self, view: View, memory: MemoryId, viewer: Viewer) -> Stored:
        stored = view.get(memory)
        seen = visible_to(viewer, self._lead_sees)
        if stored is None or not seen.admits(stored.memory.owner, stored.memory.scope):
            raise memory_not_found(memory)
        return stored

    def _known(self, view: View, stored: Stored) -> Usefulness:
        use = count_usage(view.evidence(stored.key))
        return Usefulness(usefulness_factor(use, self._worth), use)

    def _session(self, session: str | None) -> Clean | None:
        if session is None or not session.strip():
            return None
        if len(session) > SESSION_LENGTH:
            raise TooLarge(f"session has {len(session):,} characters; at most {SESSION_LENGTH}.", field="session")
        return Clean(self._redactor.clean(session, field="session").strip())


def _taken_back(memory: MemoryId, viewer: Viewer, at: datetime) -> AuditEntry:
    what = Clean("what was known of its use")
    return AuditEntry(
        at=at, actor=viewer.agent, interface=viewer.interface, action=Action.UNDONE, memory=memory, detail=what
    )


def opening_evidence(view: View, memory: MemoryId, agent: AgentId, at: datetime) -> Evidence | None:
    """What it says that an agent has read a memory in full: something, where a recall has given it to them shortly
    before. That recall then stands for the session, which is not known."""
    recall = recent_recall(view, memory, agent, at)
    if recall is None:
        return None
    return Evidence(agent=agent, session=Clean(recall.id), sign=Sign.OPENED, at=at, recall=recall.id)


def recent_recall(view: View, memory: MemoryId, agent: AgentId, at: datetime) -> Recall | None:
    """The last one before an instant that gave a memory to an agent; None where that is long ago."""
    where = RecallFilter(seen=EVERYTHING.visibility, agent=agent, memory=memory, since=at - RECENT)
    found = view.recalls(where, (at + timedelta(microseconds=1), RecallId("")), 1)
    return found[0] if found else None
