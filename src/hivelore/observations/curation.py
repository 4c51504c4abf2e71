"""Curation of operational memory: reads it, injects it, and applies the changes of operators (C17, C22, C23)."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from msgspec import UNSET

from hivelore.changes.journal import ChangeJournal, last_known_state
from hivelore.changes.model import BatchKind
from hivelore.core.access import memory_for_viewer, visible_session, visible_to
from hivelore.core.agents import LeadSees, Role, Viewer
from hivelore.core.audit import AuditEntry
from hivelore.core.clock import Clock
from hivelore.core.paging import cut_page
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Invalid, NotFound
from hivelore.events.log import EventLog
from hivelore.feedback.recall_log import WriteBehindBuffer
from hivelore.indexing.writer import IndexWriter
from hivelore.links.service import LinkService
from hivelore.memories.drafts import Draft, Edit
from hivelore.memories.edits import PreparedEdit
from hivelore.memories.model import Action, Memory, MemoryId, Scope
from hivelore.memories.normalizer import Normalizer
from hivelore.memories.reader import MemoryReader
from hivelore.memories.service import MemoryService, memory_not_found
from hivelore.memories.stored import Stored
from hivelore.observations.block import NO_BLOCK, Block, Update, build_block
from hivelore.observations.confidence import (
    Lifecycle,
    build_timeline,
    confidence_at,
    is_active,
    rate,
    timeline_position,
)
from hivelore.observations.model import GENERAL, Confidence, Held, Observation, ObservationKind, Operational
from hivelore.observations.naming import Naming
from hivelore.observations.outcomes import Change, ConfidenceTimeline, ObservationInput, RatedMemory, RatedPage
from hivelore.observations.records import add_observations, record_creation
from hivelore.observations.service import normalize_category, normalize_text, observation_time
from hivelore.review.model import Proposal, ProposalKind, Wanted
from hivelore.review.proposals import ProposalQueue, proposed_error
from hivelore.search.model import Filter, project_filter
from hivelore.storage.ports import MemoryStore, Transaction, View

PAGE = 500
MAX_FORGOTTEN = 1_000
_DECAYED = "operational.decayed"
"""Setting with the time of the last count of decayed memories."""


@dataclass(frozen=True, slots=True)
class PreparedChange:
    """A validated change, ready to be applied in a transaction."""

    change: Change
    """Redacted, without its reason."""
    edit: PreparedEdit
    """The part that changes fields of any memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedQuery:
    """Selects operational memories. Fields that are None admit all."""

    service: str | None = None
    """``general``: those that apply to all services."""
    category: str | None = None
    active: bool | None = None
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
        naming: Naming,
        lead_sees: LeadSees,
        write_buffer: WriteBehindBuffer,
        links: LinkService,
        reader: MemoryReader,
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
        self._naming = naming
        self._lead_sees = lead_sees
        self._write_buffer = write_buffer
        self._links = links
        self._reader = reader
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
        """Returns the operational block of an agent (C19), for one service and all services, or for every service.

        ``budget``: estimated tokens; 0: an empty block. ``characters``: limit on the text. ``known``: memories in
        versions that the agent already has. An updated memory is marked and follows the memory that updates it."""
        if budget <= 0:
            return NO_BLOCK
        now, where = self._clock.now(), self._filter(viewer, RatedQuery(project=project))
        # Private memories of other agents are never injected, not even for a lead.
        where = replace(where, visibility=replace(where.visibility, others=False))
        named, key = self._normalizer.service_filter(service), self._naming.service_key
        wanted = None if named is None else {key(named), GENERAL}
        with self._store.read() as view:
            rated = [
                self.rate(one, now)
                for one in _all_memories(view, where)
                if wanted is None or key(_service_name(one)) in wanted
            ]
        active = sorted(
            (one for one in rated if one.active),
            key=lambda one: (-one.confidence, -one.memory.updated_at.timestamp(), one.memory.id),
        )
        return build_block(active, budget, characters, known, self._naming, self._updates(active, viewer))

    def _updates(self, rated: Sequence[RatedMemory], viewer: Viewer) -> Mapping[MemoryId, Update]:
        later = self._links.later_statements([one.memory for one in rated], viewer)
        short = self._reader.short_ids({one.memory.id for one in later.values()}, viewer)
        return {memory: Update(one.memory, one.at, short[one.memory.id]) for memory, one in later.items()}

    def page(self, choice: RatedQuery, viewer: Viewer, after: tuple[datetime, MemoryId] | None) -> RatedPage:
        """Returns memories, newest first."""
        now, where = self._clock.now(), self._filter(viewer, choice)
        found: list[RatedMemory] = []
        with self._store.read() as view:
            where = self._about(view, where, choice)
            while len(found) <= choice.limit and (memories := view.page(where, after, PAGE)):
                rated = [self.rate(one, now) for one in memories]
                found += [one for one in rated if choice.active in (None, one.active)]
                after = memories[-1].created_at, memories[-1].id
        page, cursor = cut_page(found, choice.limit, lambda rated: (rated.memory.created_at, rated.memory.id))
        shown = tuple(replace(one, memory=memory_for_viewer(viewer, one.memory)) for one in page)
        self._write_buffer.note_reads((one.memory for one in shown), viewer, now)
        return RatedPage(shown, cursor)

    def get(self, memory: MemoryId, viewer: Viewer) -> RatedMemory:
        """Returns a memory. Reading it counts as an access of the agent (A25)."""
        now = self._clock.now()
        with self._store.read() as view:
            stored = self._load(view, memory, viewer)
        self._write_buffer.note_reads([stored.memory], viewer, now)
        self._write_buffer.note_opened(stored.key, memory, viewer, now)
        return self.rate(memory_for_viewer(viewer, stored.memory), now)

    def timeline(
        self, memory: MemoryId, viewer: Viewer, after: str | None = None, limit: int = PAGE
    ) -> ConfidenceTimeline:
        """Returns a page of the observations of a memory, oldest first, with its confidence over time. ``after``:
        ``next`` of the previous page."""
        now, position = self._clock.now(), timeline_position(after)
        with self._store.read() as view:
            stored = self._load(view, memory, viewer)
            seen = [
                replace(one, session=visible_session(viewer, one.actor, one.session))
                for one in view.observations(stored.key)
            ]
        self._write_buffer.note_reads([stored.memory], viewer, now)
        return build_timeline(stored.memory, seen, position, limit, now, self._lifecycle)

    # changes

    def create(self, seen: ObservationInput, viewer: Viewer) -> RatedMemory:
        """Stores a memory as the viewer, an operator, states it, without comparison, tier or session (C01)."""
        now = self._clock.now()
        since = observation_time(seen.at, now)
        sure = _clamp_confidence(self._lifecycle.default if seen.confidence is None else seen.confidence)
        held = Held(base=sure, since=since)
        draft = Draft(
            content=normalize_text(seen.observation, self._normalizer),
            scope=Scope.SWARM,
            category=normalize_category(seen.category, self._normalizer),
            project=seen.project,
            created_at=since,
            operational=Operational.of(
                held, service=self._normalizer.service(seen.service), tier=0, persistent=seen.persistent or False
            ),
        )
        prepared = self._normalizer.normalize(draft, viewer)
        memory = prepared.memory

        def store_memory(tx: Transaction) -> None:
            stored = self._index_writer.add(tx, memory, prepared.chunks)
            record_creation(tx, stored, viewer)
            tx.log_events([self._events.build_memory_event(memory, viewer)])
            tx.record_audit(AuditEntry.by_viewer(viewer, Action.CREATED, memory.id, now))

        self._store.write(store_memory)
        self._written()
        return self.rate(memory, now)

    def change(self, memory: MemoryId, change: Change, viewer: Viewer, version: int | None = None) -> RatedMemory:
        """Applies a change as a whole. A new text keeps the confidence (C22). For an agent, proposes the change to
        operators and raises Proposed."""
        prepared = self.prepare(change)

        def apply_change(tx: Transaction) -> Memory | Proposal:
            if viewer.role is Role.OPERATOR:
                return self.change_within(tx, memory, prepared, viewer, version)
            stored, edit = self._load(tx, memory, viewer), prepared.edit
            return self._proposal_queue.propose(
                tx, ProposalKind.OPERATIONAL, [stored], viewer, wanted=Wanted(change=prepared.change), why=edit.reason
            )

        done = self._journal.write(BatchKind.OPERATED, viewer, apply_change, reason=prepared.edit.reason)
        self._written()
        if isinstance(done, Proposal):
            raise proposed_error(done)
        return self.rate(done, self._clock.now())

    def prepare(self, change: Change) -> PreparedChange:
        """Validates and redacts a change, before the transaction."""
        given = change.changed_fields()
        if "category" in given:
            normalize_category(given["category"], self._normalizer)
        content = normalize_text(given["observation"], self._normalizer) if "observation" in given else UNSET
        edit = Edit(content=content, category=change.category, project=change.project, reason=change.reason)
        prepared = self._memory_service.prepare_edit(edit)
        cleaned = {"observation": "content", "category": "category", "project": "project"}
        given |= {name: prepared.fields[field] for name, field in cleaned.items() if name in given}
        if "service" in given:
            service = self._normalizer.service(given["service"])
            given["service"] = None if service == GENERAL else service
        if "confidence" in given:
            given["confidence"] = _clamp_confidence(given["confidence"])
        return PreparedChange(Change(**given), prepared)

    def change_within(
        self, tx: Transaction, memory: MemoryId, change: PreparedChange, viewer: Viewer, version: int | None = None
    ) -> Memory:
        """Applies a change of an operator within a transaction."""
        self._load(tx, memory, viewer)
        was = self._memory_service.edit_within(tx, memory, change.edit, viewer, version)
        stored = self._apply_description(tx, was, change.change)
        return self._apply_confidence(tx, was, stored, change, viewer).memory

    def forget_one(self, memory: MemoryId, viewer: Viewer) -> None:
        """Permanently deletes a memory, also if it was purged. For an agent, proposes the deletion and raises
        Proposed."""
        with self._store.read() as view:
            if view.get(memory) is not None:
                self._load(view, memory, viewer)
            elif (was := last_known_state(view, memory)) is None or was.memory.operational is None:
                raise memory_not_found(memory)
        self._memory_service.forget(memory, viewer)

    def forget(self, memories: Sequence[MemoryId], viewer: Viewer) -> int:
        """Permanently deletes memories, also purged ones, and returns how many existed."""
        if len(memories) > MAX_FORGOTTEN:
            raise Invalid(
                f"ids has {len(memories):,} entries, at most {MAX_FORGOTTEN:,} are allowed. Send several requests.",
                field="ids",
            )

        def forget_all(tx: Transaction) -> int:
            found = (tx.get(memory) or last_known_state(tx, memory) for memory in dict.fromkeys(memories))
            known = [one for one in found if one is not None and one.memory.operational is not None]
            for stored in known:
                self._memory_service.remove(tx, stored, viewer)
            return len(known)

        return self._store.write(forget_all)

    def count_decayed(self, viewer: Viewer) -> int:
        """Returns how many memories became inactive by decay since the last call (C14).

        The call itself changes no confidence, so it may run once an hour or once a year (X17)."""
        now, where = self._clock.now(), replace(self._filter(viewer, RatedQuery()), live_at=None)

        def count(tx: Transaction) -> int:
            before = tx.setting(_DECAYED)
            since = datetime.min.replace(tzinfo=UTC) if before is None else datetime.fromisoformat(before)
            known = [one.operational for one in _all_memories(tx, where) if one.operational is not None]
            tx.set_setting(_DECAYED, now.isoformat())
            return sum(
                is_active(one, max(since, one.held.since), self._lifecycle) and not is_active(one, now, self._lifecycle)
                for one in known
            )

        return self._store.write(count)

    # steps

    def _apply_description(self, tx: Transaction, stored: Stored, change: Change) -> Stored:
        """Changes service and persistence, which do not affect the confidence."""
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
                    f"An active memory has a confidence of at least {self._lifecycle.threshold}. Set a higher one.",
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

    def rate(self, memory: Memory, now: datetime) -> RatedMemory:
        return rate(memory, now, self._lifecycle)

    def _load(self, view: View, memory: MemoryId, viewer: Viewer) -> Stored:
        stored, seen = view.get(memory), visible_to(viewer, self._lead_sees)
        if stored is None or not seen.admits(stored.memory.owner, stored.memory.scope):
            raise memory_not_found(memory)
        if stored.memory.operational is None:
            raise NotFound(f"Memory {memory} is not an operational memory. Read it at /api/memory/{memory}.")
        return stored

    def _filter(self, viewer: Viewer, choice: RatedQuery) -> Filter:
        return Filter(
            visibility=visible_to(viewer, self._lead_sees),
            operational=True,
            project=project_filter(self._normalizer.field(choice.project, "project")),
            superseded=False,
            live_at=self._clock.now(),
        )

    def _about(self, view: View, where: Filter, choice: RatedQuery) -> Filter:
        """Returns the filter, limited to the chosen service and category in any spelling."""
        services, categories = view.services(), view.categories()
        service = self._normalizer.service_filter(choice.service)
        category = self._normalizer.category_filter(choice.category)
        return replace(
            where,
            services=None if service is None else self._naming.services_like(service, services),
            categories=None if category is None else self._naming.categories_like(category, categories),
        )


def _clamp_confidence(confidence: float) -> Confidence:
    """Limits a confidence to 0..1 (C01). Raises Invalid for NaN."""
    if confidence != confidence:
        raise Invalid("confidence must be a number from 0 to 1.", field="confidence")
    return Confidence(min(max(confidence, 0.0), 1.0))


def _all_memories(view: View, where: Filter) -> Iterator[Memory]:
    keys = sorted(view.matching_keys(where), reverse=True)
    for start in range(0, len(keys), PAGE):
        yield from view.memories_of(keys[start : start + PAGE], where).values()


def _service_name(memory: Memory) -> Clean:
    return GENERAL if memory.operational is None else memory.operational.service or GENERAL
