"""What is known about running things: what agents are told of it, and what operators do about it (C17, C22, C23)."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from msgspec import UNSET

from hivelore.changes.journal import ChangeJournal, last_known_state
from hivelore.changes.model import BatchKind
from hivelore.core.access import memory_for_viewer, visible_session, visible_to
from hivelore.core.agents import LeadSees, Role, Viewer
from hivelore.core.audit import AuditEntry
from hivelore.core.clock import Clock
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Forbidden, Invalid, NotFound
from hivelore.events.log import EventLog
from hivelore.feedback.buffer import WriteBehindBuffer
from hivelore.indexing.model import Stored
from hivelore.indexing.writer import IndexWriter
from hivelore.memories.drafts import Draft, Edit
from hivelore.memories.edits import PreparedEdit
from hivelore.memories.model import Action, Memory, MemoryId, Scope
from hivelore.memories.normalizer import Normalizer
from hivelore.memories.reader import page_cursor
from hivelore.memories.service import MemoryService, memory_not_found
from hivelore.observations.block import NO_BLOCK, Block, build_block
from hivelore.observations.confidence import Lifecycle, confidence_at, is_active, point_at
from hivelore.observations.model import GENERAL, Confidence, Held, Observation, ObservationKind, Operational
from hivelore.observations.outcomes import Change, ConfidenceTimeline, RatedMemory, RatedPage, State
from hivelore.observations.records import add_observations, record_creation
from hivelore.observations.timeline import build_timeline
from hivelore.observations.validation import (
    check_category,
    normalize_service,
    normalize_text,
    observation_time,
    service_filter,
)
from hivelore.review.model import Proposal, ProposalKind
from hivelore.review.proposals import ProposalQueue, proposed_error
from hivelore.search.model import Filter, project_filter
from hivelore.storage.ports import MemoryStore, Transaction, View

PAGE = 500
MAX_FORGOTTEN = 1_000
_DECAYED = "operational.decayed"
"""The setting that says until when it was counted what time has worn off."""
_OPERATORS_ONLY = "Only an operator changes what is known about running things; agents observe (POST /memories)."


@dataclass(frozen=True, slots=True)
class PreparedChange:
    """A change after all slow work."""

    change: Change
    """Clean, without its reason."""
    edit: PreparedEdit
    """What of it is one of any memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedQuery:
    """Which of what is known."""

    service: str | None = None
    """``general``: what holds for all."""
    category: str | None = None
    state: State | None = None
    project: str | None = None
    limit: int = 50


class CurationService:
    def __init__(
        self,
        *,
        store: MemoryStore,
        index_writer: IndexWriter,
        normalizer: Normalizer,
        memory_service: MemoryService,
        proposal_queue: ProposalQueue,
        events: EventLog,
        journal: ChangeJournal,
        lifecycle: Lifecycle,
        lead_sees: LeadSees,
        write_buffer: WriteBehindBuffer,
        clock: Clock,
        written: Callable[[], None],
    ) -> None:
        self._store = store
        self._index_writer = index_writer
        self._normalizer = normalizer
        self._memory_service = memory_service
        self._proposal_queue = proposal_queue
        self._events = events
        self._journal = journal
        self._lifecycle = lifecycle
        self._lead_sees = lead_sees
        self._write_buffer = write_buffer
        self._clock = clock
        self._written = written

    # reading

    def block(
        self,
        viewer: Viewer,
        budget: int,
        *,
        service: str | None = None,
        project: str | None = None,
        characters: int | None = None,
        known: Collection[tuple[MemoryId, int]] = (),
    ) -> Block:
        """What an agent is told before it begins (C19): of one service, with what holds for all, or of every one.

        ``budget``: tokens, estimated; 0: nothing. ``characters``: no more than so many. ``known``: memories and their
        versions that it was told before."""
        if budget <= 0:
            return NO_BLOCK
        now, where = self._clock.now(), self._filter(viewer, RatedQuery(project=project))
        # Unasked, even a lead is told only what is its own or everybody's.
        where = replace(where, visibility=replace(where.visibility, others=False))
        named = service_filter(service)
        wanted = None if named is None else {named, GENERAL}
        with self._store.read() as view:
            rated = [
                self._rate(one, now)
                for one in _all_memories(view, where)
                if wanted is None or _service_name(one) in wanted
            ]
        active = sorted(
            (one for one in rated if one.state is State.ACTIVE),
            key=lambda one: (-one.confidence, -one.memory.updated_at.timestamp(), one.memory.id),
        )
        return build_block(active, budget, characters, known)

    def page(self, choice: RatedQuery, viewer: Viewer, after: tuple[datetime, MemoryId] | None) -> RatedPage:
        """Newest first."""
        now, where = self._clock.now(), self._filter(viewer, choice)
        found: list[RatedMemory] = []
        with self._store.read() as view:
            while len(found) <= choice.limit and (memories := view.page(where, after, PAGE)):
                rated = [self._rate(one, now) for one in memories]
                found += [one for one in rated if choice.state in (None, one.state)]
                after = memories[-1].created_at, memories[-1].id
        shown = tuple(replace(one, memory=memory_for_viewer(viewer, one.memory)) for one in found[: choice.limit])
        self._write_buffer.note_reads((one.memory for one in shown), viewer, now)
        return RatedPage(shown, page_cursor(shown[-1].memory) if len(found) > choice.limit else None)

    def rated(self, memory: Memory, viewer: Viewer) -> RatedMemory:
        """As it stands now."""
        return self._rate(memory_for_viewer(viewer, memory), self._clock.now())

    def get(self, memory: MemoryId, viewer: Viewer) -> RatedMemory:
        """One of them. An agent's reading counts as an access (A25)."""
        now = self._clock.now()
        with self._store.read() as view:
            stored = self._load(view, memory, viewer)
        self._write_buffer.note_reads([stored.memory], viewer, now)
        self._write_buffer.note_opened(stored.key, memory, viewer, now)
        return self._rate(memory_for_viewer(viewer, stored.memory), now)

    def timeline(
        self, memory: MemoryId, viewer: Viewer, after: tuple[datetime, int] | None = None, limit: int = PAGE
    ) -> ConfidenceTimeline:
        """What was observed of it, that it was created first and then the oldest, and how sure it was all the while.
        ``after``: behind so many of that instant."""
        now = self._clock.now()
        with self._store.read() as view:
            stored = self._load(view, memory, viewer)
            seen = [
                replace(one, session=visible_session(viewer, one.actor, one.session))
                for one in view.observations(stored.key)
            ]
        self._write_buffer.note_reads([stored.memory], viewer, now)
        return build_timeline(stored.memory, seen, after, limit, now, self._lifecycle)

    # what operators do

    def create(
        self,
        text: str,
        category: str,
        viewer: Viewer,
        *,
        service: str | None,
        confidence: float | None,
        persistent: bool,
        project: str | None = None,
        at: datetime | None = None,
    ) -> RatedMemory:
        """As an operator says it, without a session (C01). ``at``: since when, if not now."""
        _require_operator(viewer)
        now = self._clock.now()
        since = observation_time(at, now)
        sure = self._clamp_confidence(self._lifecycle.default if confidence is None else confidence)
        held = Held(base=sure, since=since)
        draft = Draft(
            content=normalize_text(text, self._normalizer),
            scope=Scope.SWARM,
            category=check_category(category),
            project=project,
            created_at=since,
            operational=Operational.of(held, service=normalize_service(service), tier=0, persistent=persistent),
        )
        prepared = self._normalizer.normalize(draft, viewer)
        memory = prepared.memory

        def work(tx: Transaction) -> None:
            stored = self._index_writer.add(tx, memory, prepared.chunks)
            record_creation(tx, stored, viewer)
            tx.log_events([self._events.build_memory_event(memory, viewer)])
            tx.record_audit(
                AuditEntry(
                    at=now, actor=viewer.agent, interface=viewer.interface, action=Action.CREATED, memory=memory.id
                )
            )

        self._store.write(work)
        self._written()
        return self._rate(memory, now)

    def change(self, memory: MemoryId, change: Change, viewer: Viewer, version: int | None = None) -> RatedMemory:
        """All of it or nothing. The text alone does not touch how sure it is (C22). What an agent asks for is proposed
        to operators, and Proposed says so."""
        prepared = self.prepare(change)

        def work(tx: Transaction) -> Memory | Proposal:
            if viewer.role is Role.OPERATOR:
                return self.change_within(tx, memory, prepared, viewer, version)
            stored, edit = self._load(tx, memory, viewer), prepared.edit
            return self._proposal_queue.propose(
                tx, ProposalKind.OPERATIONAL, [stored], viewer, wanted=prepared.change, why=edit.reason
            )

        done = self._journal.write(BatchKind.OPERATED, viewer, work, reason=prepared.edit.reason)
        self._written()
        if isinstance(done, Proposal):
            raise proposed_error(done)
        return self._rate(done, self._clock.now())

    def prepare(self, change: Change) -> PreparedChange:
        """Do what is slow about a change, before a unit of work begins."""
        given = change.changed_fields()
        if "category" in given:
            check_category(given["category"])
        content = normalize_text(given["observation"], self._normalizer) if "observation" in given else UNSET
        edit = Edit(content=content, category=change.category, project=change.project, reason=change.reason)
        prepared = self._memory_service.prepare_edit(edit)
        cleaned = {"observation": "content", "category": "category", "project": "project"}
        given |= {name: prepared.fields[field] for name, field in cleaned.items() if name in given}
        if "service" in given:
            given["service"] = self._normalizer.field(normalize_service(given["service"]), "service")
        if "confidence" in given:
            given["confidence"] = self._clamp_confidence(given["confidence"])
        return PreparedChange(Change(**given), prepared)

    def change_within(
        self, tx: Transaction, memory: MemoryId, change: PreparedChange, viewer: Viewer, version: int | None = None
    ) -> Memory:
        """``change`` as a part of a unit of work, by an operator."""
        self._load(tx, memory, viewer)
        was = self._memory_service.edit_within(tx, memory, change.edit, viewer, version)
        stored = self._apply_description(tx, was, change.change)
        return self._apply_confidence(tx, was, stored, change, viewer).memory

    def forget_one(self, memory: MemoryId, viewer: Viewer) -> None:
        """For good, what was purged too. What an agent asks for is proposed to operators, and Proposed says so."""
        with self._store.read() as view:
            if view.get(memory) is not None:
                self._load(view, memory, viewer)
            elif (was := last_known_state(view, memory)) is None or was.memory.operational is None:
                raise memory_not_found(memory)
        self._memory_service.forget(memory, viewer)

    def forget(self, memories: Sequence[MemoryId], viewer: Viewer) -> int:
        """For good, what was purged too. Answers how many there were; what is unknown is passed over."""
        _require_operator(viewer)
        if len(memories) > MAX_FORGOTTEN:
            raise Invalid(f"At most {MAX_FORGOTTEN:,} are deleted at once; these are {len(memories):,}.", field="ids")

        def work(tx: Transaction) -> int:
            found = (tx.get(memory) or last_known_state(tx, memory) for memory in dict.fromkeys(memories))
            known = [one for one in found if one is not None and one.memory.operational is not None]
            for stored in known:
                self._memory_service.remove(tx, stored, viewer)
            return len(known)

        return self._store.write(work)

    def decay(self, viewer: Viewer) -> int:
        """How many time has worn off since this was asked last: active then, and no more (C14).

        Nothing is worn off by asking: it comes to the same once an hour or once a year (X17)."""
        _require_operator(viewer)
        now, where = self._clock.now(), replace(self._filter(viewer, RatedQuery()), live_at=None)

        def work(tx: Transaction) -> int:
            before = tx.setting(_DECAYED)
            since = datetime.min.replace(tzinfo=UTC) if before is None else datetime.fromisoformat(before)
            known = [one.operational for one in _all_memories(tx, where) if one.operational is not None]
            tx.set_setting(_DECAYED, now.isoformat())
            return sum(
                is_active(one, max(since, one.held.since), self._lifecycle) and not is_active(one, now, self._lifecycle)
                for one in known
            )

        return self._store.write(work)

    # steps

    def _apply_description(self, tx: Transaction, stored: Stored, change: Change) -> Stored:
        """What is no matter of how sure it is."""
        known = stored.memory.operational
        assert known is not None
        given = {name: value for name, value in change.changed_fields().items() if name in ("service", "persistent")}
        described = replace(known, **given)
        if described == known:
            return stored
        now = self._clock.now()
        memory = replace(stored.memory, operational=described, version=stored.memory.version + 1, updated_at=now)
        return self._index_writer.change(tx, stored, memory, None, Action.EDITED)

    def _apply_confidence(
        self, tx: Transaction, was: Stored, stored: Stored, prepared: PreparedChange, viewer: Viewer
    ) -> Stored:
        former, known, now = was.memory.operational, stored.memory.operational, self._clock.now()
        assert former is not None
        assert known is not None
        change = prepared.change
        to = None if change.confidence is UNSET else Confidence(change.confidence)
        if change.active is True and (to is None or to < self._lifecycle.threshold):
            if to is not None:
                raise Invalid(
                    f"What is active is at least {self._lifecycle.threshold} sure: give a greater confidence.",
                    field="confidence",
                )
            if not is_active(known, now, self._lifecycle):
                to = Confidence(max(confidence_at(known, now, self._lifecycle), self._lifecycle.threshold))

        kinds: list[ObservationKind] = []
        if known.persistent is not former.persistent:
            kinds.append(ObservationKind.MADE_PERSISTENT if known.persistent else ObservationKind.MADE_PASSING)
        if to is not None:
            kinds.append(ObservationKind.SET)
        if change.active is False:
            kinds.append(ObservationKind.SWITCHED_OFF)
        judgements = [
            Observation(
                at=now,
                kind=kind,
                actor=viewer.agent,
                interface=viewer.interface,
                text=prepared.edit.reason,
                to=to if kind is ObservationKind.SET else None,
            )
            for kind in kinds
        ]
        return add_observations(tx, stored, judgements, self._lifecycle) if judgements else stored

    def _clamp_confidence(self, confidence: float) -> Confidence:
        """Clamped where it is out of its bounds (C01); Invalid for what is no number."""
        if confidence != confidence:
            raise Invalid("confidence is a number of 0 to 1.", field="confidence")
        return Confidence(min(max(confidence, 0.0), 1.0))

    def _rate(self, memory: Memory, now: datetime) -> RatedMemory:
        known = memory.operational
        assert known is not None
        stands = point_at(known, now, self._lifecycle)
        return RatedMemory(memory, stands.confidence, stands.state)

    def _load(self, view: View, memory: MemoryId, viewer: Viewer) -> Stored:
        stored, seen = view.get(memory), visible_to(viewer, self._lead_sees)
        if stored is None or not seen.admits(stored.memory.owner, stored.memory.scope):
            raise memory_not_found(memory)
        if stored.memory.operational is None:
            raise NotFound(f"Memory {memory} is not about running things: it is at /api/memory/{memory}.")
        return stored

    def _filter(self, viewer: Viewer, choice: RatedQuery) -> Filter:
        return Filter(
            visibility=visible_to(viewer, self._lead_sees),
            operational=True,
            service=service_filter(choice.service),
            category=self._normalizer.field(choice.category, "category"),
            project=project_filter(self._normalizer.field(choice.project, "project")),
            superseded=False,
            live_at=self._clock.now(),
        )


def _require_operator(viewer: Viewer) -> None:
    if viewer.role is not Role.OPERATOR:
        raise Forbidden(_OPERATORS_ONLY)


def _all_memories(view: View, where: Filter) -> Iterator[Memory]:
    keys = sorted(view.matching_keys(where), reverse=True)
    for start in range(0, len(keys), PAGE):
        yield from view.memories_of(keys[start : start + PAGE], where).values()


def _service_name(memory: Memory) -> Clean:
    return GENERAL if memory.operational is None else memory.operational.service or GENERAL
