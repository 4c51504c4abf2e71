"""Usefulness service: ratings by agents, and evidence from opened memories."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from hivelore.core.access import visible_to
from hivelore.core.agents import AgentId, LeadSees, Role, Viewer
from hivelore.core.audit import AuditEntry
from hivelore.core.clock import Clock
from hivelore.core.redaction import Redactor
from hivelore.core.text import Clean
from hivelore.errors import Forbidden, TooLarge
from hivelore.feedback.model import UsageCounts, Usefulness, UsefulnessBounds, usefulness_factor
from hivelore.feedback.recalls import Evidence, Recall, RecallFilter, Sign, count_usage
from hivelore.memories.model import Action, Memory, MemoryId
from hivelore.memories.service import memory_not_found
from hivelore.memories.stored import Stored
from hivelore.search.model import EVERYTHING, Filter, RecallId
from hivelore.storage.ports import MemoryStore, Transaction, View

RECENT = timedelta(hours=1)
"""Time after a recall in which the use of a returned memory is attributed to it."""
SESSION_LENGTH = 500
_ALL_SESSIONS = Clean("*")
"""Substitute session of ratings of other agents' memories."""


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
        """Returns the usefulness of a memory. Raises NotFound if the viewer may not see it."""
        with self._store.read(sees=visible_to(viewer, self._lead_sees)) as view:
            return self._known(view, self._visible(view, memory, viewer))

    def most_used(self, where: Filter, limit: int, viewer: Viewer) -> Sequence[tuple[Memory, UsageCounts]]:
        """Returns the memories with the most evidence of deliberate use, and its counts. ``where`` respects the
        viewer's visibility."""
        with self._store.read(sees=visible_to(viewer, self._lead_sees)) as view:
            return view.most_used(where, limit)

    def rate(
        self, memory: MemoryId, viewer: Viewer, *, useful: bool, session: str | None = None, until: float | None = None
    ) -> Usefulness:
        """Rates a memory. A rating replaces the viewer's previous one of the same session; without a session, of the
        same day (UTC). For another agent's memory it replaces the viewer's previous one of any session. It is durable
        when this returns. Raises NotFound like ``of``."""
        now = self._clock.now()
        named = self._session(session) or Clean(now.date().isoformat())
        sign = Sign.USEFUL if useful else Sign.USELESS

        def put_rating(tx: Transaction) -> Usefulness:
            stored = self._visible(tx, memory, viewer)
            recall = None if viewer.agent is None else recent_recall(tx, memory, viewer.agent, now)
            given_by = None if recall is None else recall.id
            during = named if stored.memory.owner == viewer.agent else _ALL_SESSIONS
            said = Evidence(agent=viewer.agent, session=during, sign=sign, at=now, recall=given_by)
            tx.add_evidence({stored.key: [said]})
            return self._known(tx, stored)

        return self._store.write(put_rating, until)

    def reset(self, memory: MemoryId, viewer: Viewer) -> None:
        """Deletes the evidence about a memory. Raises Forbidden without an operator's key."""
        if viewer.role is not Role.OPERATOR and not viewer.acting:
            raise Forbidden("Only an operator may reset the usefulness of a memory. Rate it instead.")

        def drop_evidence(tx: Transaction) -> None:
            stored = self._visible(tx, memory, viewer)
            if tx.evidence(stored.key):
                tx.drop_evidence(stored.key)
                tx.record_audit(_reset_entry(stored.memory.id, viewer, self._clock.now()))

        self._store.write(drop_evidence)

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


def _reset_entry(memory: MemoryId, viewer: Viewer, at: datetime) -> AuditEntry:
    what = Clean("what was known of its use")
    return AuditEntry(
        at=at, actor=viewer.agent, interface=viewer.interface, action=Action.UNDONE, memory=memory, detail=what
    )


def opening_evidence(view: View, memory: MemoryId, agent: AgentId, at: datetime) -> Evidence | None:
    """Returns evidence for a memory that an agent read in full shortly after a recall returned it; None without such a
    recall. The id of the recall is the substitute for the unknown session."""
    recall = recent_recall(view, memory, agent, at)
    if recall is None:
        return None
    return Evidence(agent=agent, session=Clean(recall.id), sign=Sign.OPENED, at=at, recall=recall.id)


def recent_recall(view: View, memory: MemoryId, agent: AgentId, at: datetime) -> Recall | None:
    """Returns the last recall before ``at`` that returned a memory to an agent; None if it was too long ago."""
    where = RecallFilter(seen=EVERYTHING.visibility, agent=agent, memory=memory, since=at - RECENT)
    found = view.recalls(where, (at + timedelta(microseconds=1), RecallId("")), 1)
    return found[0] if found else None
