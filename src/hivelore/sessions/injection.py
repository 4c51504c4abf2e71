"""Briefing: what is worth telling a model that did not ask: when its session starts, when it is asked for something,
and when it has another one begin something."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from hivelore.api.requests import QUERY_LENGTH
from hivelore.core.agents import Role, Viewer
from hivelore.core.text import Clean
from hivelore.events.cooldowns import Cooldowns
from hivelore.memories.model import Memory, MemoryId, Source
from hivelore.memories.reader import MemoryReader
from hivelore.observations.curation import CurationService
from hivelore.observations.token_budget import Budget
from hivelore.search.model import BUDGET_RANGE, Query
from hivelore.search.service import SearchService
from hivelore.sessions.injection_text import NOTHING, OPERATIONAL, Briefed, Note, Section, brief, opening, surroundings
from hivelore.sessions.model import AgentEvent, EventKind, Origin, Session

RELEVANT = 5
"""Memories that are told because of what was asked for (B11)."""
LOOKED_AT = 50
"""Of the newest memories, so many are looked at for a briefing."""
SUMMARIES = 2
"""Of earlier sessions, told in one briefing."""
TASK_LENGTH = 2_000


@dataclass(frozen=True, slots=True)
class Budgets:
    """Tokens, estimated; 0: nothing is told."""

    start: int
    prompt: int
    operational: Budget
    """Of what is known about running things, by model."""


class InjectionService:
    def __init__(
        self,
        search_service: SearchService,
        reading: MemoryReader,
        curation: CurationService,
        cooldowns: Cooldowns,
        budgets: Budgets,
        nonce: Callable[[], str],
    ) -> None:
        """``nonce``: see ``fenced``."""
        self._search_service = search_service
        self._reading = reading
        self._curation = curation
        self._cooldowns = cooldowns
        self._budgets = budgets
        self._nonce = nonce

    def of(self, event: AgentEvent, session: Session, viewer: Viewer, deadline: float | None = None) -> Briefed:
        """What to tell at an event, without what the model was told before. ``session``: as it is known by then."""
        # Unasked, even a lead gets only what is its own or everybody's.
        viewer = replace(viewer, role=Role.WORKER)
        known = frozenset((one.memory, one.version) for one in session.told)
        begins = event.kind is EventKind.STARTED or (event.kind is EventKind.ASKED and session.briefed is None)
        tokens = self._budgets.prompt if event.kind is not EventKind.STARTED else 0
        sections = [*_reminders(event, session)] if begins else []
        running = self._running(event, known, viewer) if begins else NOTHING
        known |= _versions(running.told)
        relevant = self._relevant(_question(event, session), event, known, viewer, deadline)
        sections.append(Section("Relevant Past Knowledge", relevant))
        if begins and self._budgets.start:
            tokens += self._budgets.start
            sections += self._recent(event, known | _versions(relevant), viewer)
        return brief(sections if tokens else (), tokens, self._nonce(), running)

    def _running(self, event: AgentEvent, known: frozenset[tuple[MemoryId, int]], viewer: Viewer) -> Briefed:
        """What must wait (C42), and what is known about running things (C21)."""
        budget = self._budgets.operational.of(event.model)
        if not budget:
            return NOTHING
        environment = surroundings(self._cooldowns.format_for_agent())
        room = OPERATIONAL - len(environment)
        block = self._curation.block(viewer, budget, project=event.project, characters=room, known=known)
        text = "\n\n".join(part for part in (environment, block.text) if part)
        return Briefed(text, [Note(memory, memory.content) for memory in block.told])

    def _relevant(
        self,
        question: str,
        event: AgentEvent,
        known: frozenset[tuple[MemoryId, int]],
        viewer: Viewer,
        deadline: float | None,
    ) -> Sequence[Note]:
        budget = self._budgets.start if event.kind is EventKind.STARTED else self._budgets.prompt
        if not question.strip() or not budget:
            return ()
        query = Query(
            text=Clean(question[:QUERY_LENGTH]),
            limit=RELEVANT,
            project=event.project,
            only_fitting=True,
            budget=max(budget, BUDGET_RANGE[0]),
            known=known,
        )
        answer = self._search_service.recall(query, viewer, deadline)
        return [Note(hit.memory, hit.passage.content, answer.id) for hit in answer.hits]

    def _recent(self, event: AgentEvent, known: frozenset[tuple[MemoryId, int]], viewer: Viewer) -> Iterable[Section]:
        """What was kept last: of the project first, then what belongs to none."""
        where = replace(
            self._reading.widest_filter(viewer),
            project=event.project,
            operational=False,
            superseded=False,
            live_at=self._reading.now(),
        )
        newest = self._reading.page(where, None, LOOKED_AT, viewer).memories
        fresh = [one for one in newest if (one.id, one.version) not in known and one.project in (event.project, None)]
        fresh.sort(key=lambda one: one.project is None)  # Stable: within each the newest stays first.
        summaries = [one for one in fresh if one.source is Source.SESSION_SUMMARY and one.session != event.session]
        notes = [one for one in fresh if one.source is not Source.SESSION_SUMMARY]
        yield Section("Earlier sessions", _opened(summaries[:SUMMARIES]))
        yield Section("Notes", _opened(notes))


def _versions(notes: Iterable[Note]) -> frozenset[tuple[MemoryId, int]]:
    return frozenset((note.memory.id, note.memory.version) for note in notes)


def _opened(memories: Iterable[Memory]) -> Sequence[Note]:
    return [opening(memory) for memory in memories]


def _question(event: AgentEvent, session: Session) -> str:
    """What memories are to have to do with."""
    if event.kind is EventKind.ASKED:
        return event.text or ""
    parts = [None if event.task is None else event.task.text]
    if event.kind is EventKind.SUBAGENT_STARTED or event.origin is Origin.COMPACTED:
        parts += [session.goal, session.asked]
    return "\n".join(dict.fromkeys(part for part in parts if part))


def _reminders(event: AgentEvent, session: Session) -> Iterable[Section]:
    """The task, and after a compaction what was asked for (D25)."""
    if event.task is not None:
        yield Section("Current task", (), f"{event.task.id}: {event.task.text[:TASK_LENGTH]}".rstrip(": "))
    compacted, asking = event.origin is Origin.COMPACTED, event.kind is EventKind.ASKED
    if session.goal is not None and (compacted or (asking and session.goal != session.asked)):
        yield Section("What the session is about", (), session.goal)
    if compacted and session.asked not in (None, session.goal):
        yield Section("What was asked for last", (), session.asked or "")
