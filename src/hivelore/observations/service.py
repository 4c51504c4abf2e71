"""Observation service: matches an observation against known ones as the same, the opposite, or new (X8).

Texts are compared in a snapshot before the transaction begins; the transaction checks for observations stored since.
The resulting memories and confidences depend on all observations and their times, not on the order of arrival
(``observations.groups``).
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from hivelore.core.access import visible_to
from hivelore.core.agents import LeadSees, Viewer
from hivelore.core.clock import Clock
from hivelore.core.text import Clean
from hivelore.embeddings.active_model import ActiveModel
from hivelore.events.log import EventLog
from hivelore.indexing.writer import IndexWriter
from hivelore.memories.drafts import Draft
from hivelore.memories.model import Memory, MemoryId, Scope
from hivelore.memories.normalizer import NormalizedDraft, Normalizer
from hivelore.memories.stored import Stored
from hivelore.models.ports import PairReader
from hivelore.observations.comparison import MissingVerdict, ObservationComparison, Verdicts
from hivelore.observations.confidence import Lifecycle, is_active, is_repeated_by_observer
from hivelore.observations.contradiction.judge import Verdict
from hivelore.observations.groups import Placement, find_group, place_observation
from hivelore.observations.model import (
    GENERAL,
    Confidence,
    Held,
    MatchingMode,
    Observation,
    ObservationKind,
    Operational,
)
from hivelore.observations.outcomes import Effect, ObservationInput, ObservationResult
from hivelore.observations.records import GroupStore, KnownGroup, load_groups
from hivelore.observations.validation import check_category, normalize_service, normalize_text, observation_time
from hivelore.review.model import ProposalKind
from hivelore.review.proposals import ProposalQueue
from hivelore.search.model import Filter, ScopeChoice
from hivelore.storage.ports import MemoryStore, Transaction

ATTEMPTS = 3
"""How often the comparison is repeated when other observations arrive meanwhile; after that, rules decide."""
MAX_PROPOSED = 3
"""Uncertain matches put to review per observation, those with the highest confidence first."""


class ObservationService:
    def __init__(
        self,
        *,
        store: MemoryStore,
        index_writer: IndexWriter,
        normalizer: Normalizer,
        active_model: ActiveModel,
        proposal_queue: ProposalQueue,
        events: EventLog,
        lifecycle: Lifecycle,
        matching: MatchingMode,
        lead_sees: LeadSees,
        clock: Clock,
        reader: PairReader | None = None,
        written: Callable[[], None],
    ) -> None:
        """``reader``: the pair model; without it, rules decide. ``written`` is called after each write that may leave
        passages without vectors."""
        self._store = store
        self._index_writer = index_writer
        self._normalizer = normalizer
        self._proposal_queue = proposal_queue
        self._events = events
        self._lifecycle = lifecycle
        self._comparison = ObservationComparison(store, active_model, matching, reader)
        self._groups = GroupStore(index_writer, normalizer, lifecycle, clock)
        self._lead_sees = lead_sees
        self._clock = clock
        self._written = written

    def observe(self, seen: ObservationInput, viewer: Viewer, deadline: float | None = None) -> ObservationResult:
        """Stores an observation; durable when this returns. Observations are visible to the whole swarm."""
        prepared = self._prepare(seen, viewer)
        where = self._comparable(prepared.memory, viewer)
        for _ in range(ATTEMPTS):
            done = self._store_observation(prepared, where, self._compare(prepared, where, deadline), viewer, deadline)
            if done is not None:
                break
        else:
            verdicts = self._comparison.by_rules(_service_name(prepared.memory))
            done = self._store_observation(prepared, where, verdicts, viewer, deadline)
            assert done is not None
        self._written()
        return done

    def _store_observation(
        self, prepared: NormalizedDraft, where: Filter, verdicts: Verdicts, viewer: Viewer, deadline: float | None
    ) -> ObservationResult | None:
        """Returns None if observations arrived that this one was not compared with."""

        def work(tx: Transaction) -> ObservationResult | None:
            tx.claim(f"seen of {where.service} {where.category}".encode())
            return self._apply(tx, prepared, where, verdicts, viewer)

        return self._store.write(work, deadline)

    # preparing

    def _prepare(self, seen: ObservationInput, viewer: Viewer) -> NormalizedDraft:
        at = observation_time(seen.at, self._clock.now())
        held = Held(base=Confidence(self._lifecycle.default), since=at)
        draft = Draft(
            content=normalize_text(seen.observation, self._normalizer),
            scope=Scope.SWARM,
            category=check_category(seen.category),
            project=seen.project,
            session=seen.session,
            created_at=at,
            operational=Operational.of(held, service=normalize_service(seen.service), tier=seen.tier),
        )
        prepared = self._normalizer.normalize(draft, viewer)
        self._index_writer.precompute_terms([(prepared.memory.content, prepared.chunks)], [prepared.memory])
        return prepared

    def _comparable(self, memory: Memory, viewer: Viewer) -> Filter:
        """Returns the filter for memories it may match: same service and category, same project or none."""
        assert memory.operational is not None
        return Filter(
            visibility=visible_to(viewer, self._lead_sees, ScopeChoice.SWARM),
            category=memory.category,
            service=memory.operational.service or GENERAL,
            project=memory.project,
            superseded=False,
        )

    # comparing

    def _compare(self, prepared: NormalizedDraft, where: Filter, deadline: float | None) -> Verdicts:
        """Returns verdicts about all pairs of texts that decide the placement."""
        memory = prepared.memory
        with self._store.read(deadline) as view:
            known = load_groups(view, where, memory.created_at)
        texts = {one.stored.key: one.group.text for one in known.values()}
        verdicts = self._comparison.verdicts(memory.content, texts, _service_name(memory), deadline)
        self._find_placement(prepared, known, verdicts)
        verdicts.is_closed = True
        return verdicts

    def _find_placement(
        self, prepared: NormalizedDraft, known: Mapping[MemoryId, KnownGroup], verdicts: Verdicts
    ) -> Placement | None:
        """Returns None if this very observation is stored already."""
        memory, groups = prepared.memory, [one.group for one in known.values()]
        seen = _observation(prepared)
        if find_group(groups, seen) is not None:
            return None
        return place_observation(groups, seen, memory.project, verdicts, Confidence(self._lifecycle.default))

    # applying

    def _apply(
        self, tx: Transaction, prepared: NormalizedDraft, where: Filter, verdicts: Verdicts, viewer: Viewer
    ) -> ObservationResult | None:
        memory = prepared.memory
        known = load_groups(tx, where, memory.created_at)
        try:
            done = self._find_placement(prepared, known, verdicts)
        except MissingVerdict:
            return None
        if done is None:
            group = find_group([one.group for one in known.values()], _observation(prepared))
            assert group is not None
            assert group.memory is not None
            return ObservationResult(memory=known[group.memory].stored.memory, effect=Effect.KNOWN)
        was = None if done.target.memory is None else known[done.target.memory].stored
        is_again = was is not None and self._is_repeat(tx, was, _observation(prepared))
        stored = self._groups.put(tx, done, known, prepared, viewer)
        against = [known[one.memory] for one in done.contradicted if one.memory is not None]
        against = [one for one in against if self._was_active(one, memory.created_at)]
        about = tuple(one.stored.memory.id for one in against)
        why = tuple(dict.fromkeys(why for one in against for why in verdicts(one.group.text, memory.content).reasons))
        if was is not None:
            effect = (
                Effect.KNOWN if is_again and _base_confidence(stored) == _base_confidence(was) else Effect.REINFORCED
            )
            return ObservationResult(memory=stored.memory, effect=effect, about=about, why=why)
        tx.log_events([self._events.build_memory_event(stored.memory, viewer)])
        if against:
            return ObservationResult(memory=stored.memory, effect=Effect.CONTRADICTED, about=about, why=why)
        doubtful = [
            one for one in known.values() if verdicts(one.group.text, memory.content).verdict is Verdict.UNCERTAIN
        ]
        if not doubtful:
            return ObservationResult(memory=stored.memory, effect=Effect.NEW)
        doubtful.sort(key=_by_confidence)
        dropped = self._propose_reviews(tx, doubtful[:MAX_PROPOSED], stored, verdicts, viewer)
        about = tuple(one.stored.memory.id for one in doubtful)
        why = verdicts(doubtful[0].group.text, memory.content).reasons
        return ObservationResult(memory=stored.memory, effect=Effect.UNCERTAIN, about=about, why=why, dropped=dropped)

    def _is_repeat(self, tx: Transaction, stored: Stored, seen: Observation) -> bool:
        """Returns True if the observer reported this before and nothing came between."""
        earlier = tx.observations(stored.key)
        first = next(one for one in earlier if one.kind is ObservationKind.CREATED)
        known = stored.memory.operational
        return (
            known is not None
            and is_active(known, seen.at, self._lifecycle)
            and is_repeated_by_observer(earlier, seen, first.actor)
        )

    def _was_active(self, one: KnownGroup, at: datetime) -> bool:
        known = one.stored.memory.operational
        return known is not None and is_active(known, at, self._lifecycle)

    def _propose_reviews(
        self, tx: Transaction, doubtful: Sequence[KnownGroup], stored: Stored, verdicts: Verdicts, viewer: Viewer
    ) -> int:
        """Proposes contradictions for review. Returns the number dropped because the inbox is full."""
        asked = [
            self._proposal_queue.propose_or_drop(
                tx,
                ProposalKind.CONTRADICTION,
                sorted([one.stored, stored], key=lambda each: each.memory.created_at),
                viewer,
                why=Clean("; ".join(verdicts(one.group.text, stored.memory.content).reasons)),
                session=stored.memory.session,
            )
            for one in doubtful
        ]
        return asked.count(None)


def _observation(prepared: NormalizedDraft) -> Observation:
    memory = prepared.memory
    origin = memory.provenance
    return Observation(
        at=memory.created_at,
        kind=ObservationKind.REINFORCED,
        actor=origin.actor,
        interface=origin.interface,
        session=memory.session,
        text=memory.content,
    )


def _service_name(memory: Memory) -> str:
    return "" if memory.operational is None else memory.operational.service or ""


def _by_confidence(one: KnownGroup) -> float:
    return -_base_confidence(one.stored)


def _base_confidence(stored: Stored) -> float:
    known = stored.memory.operational
    return 0.0 if known is None else known.held.base
