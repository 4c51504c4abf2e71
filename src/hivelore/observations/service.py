"""Observation service: matches an observation against known ones as the same, the opposite, or new (X8).

Texts are compared in a snapshot before the transaction begins, because comparing is slow; the transaction checks for
observations stored since. A verdict depends on the two texts and on which of them is later, not on stored vectors.

The resulting memories and confidences depend on all observations and their times, not on the order of arrival
(``observations.groups``).
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from hivelore.core.access import memory_for_viewer, visible_to
from hivelore.core.agents import LeadSees, Viewer
from hivelore.core.clock import Clock
from hivelore.core.text import Clean, in_one_line
from hivelore.core.values import replace
from hivelore.errors import Broken, Invalid, TooLarge, Unavailable
from hivelore.events.log import EventLog
from hivelore.indexing.writer import IndexWriter
from hivelore.links.judge import NOT_READ, Judgement, Verdict
from hivelore.memories.drafts import Draft
from hivelore.memories.model import Memory, MemoryId, Scope
from hivelore.memories.normalizer import NormalizedDraft, Normalizer, to_utc
from hivelore.memories.stored import Stored
from hivelore.observations.comparison import ObservationComparison, Verdicts
from hivelore.observations.confidence import Lifecycle, is_active, is_repeated_by_observer, order_key, rate
from hivelore.observations.groups import Group, Placement, doubt_order, find_group, place_observation
from hivelore.observations.model import (
    Confidence,
    Held,
    Observation,
    ObservationKind,
    Operational,
)
from hivelore.observations.naming import Naming
from hivelore.observations.outcomes import Effect, ObservationInput, ObservationResult, RatedMemory
from hivelore.observations.stored_groups import (
    GroupWriter,
    KnownGroup,
    claim_of,
    comparable,
    is_late,
    load_groups,
    settled_pairs,
    texts_of,
)
from hivelore.review.model import ProposalKind
from hivelore.review.places import are_about_different_places
from hivelore.review.proposals import ProposalQueue
from hivelore.search.model import ScopeChoice
from hivelore.storage.ports import MemoryStore, Transaction, View

ATTEMPTS = 3
"""How often the comparison is repeated when other observations arrive meanwhile; after that, no model is asked."""
MAX_PROPOSED = 3
"""Doubts put to review per memory, the most certain ones first."""
MAX_OBSERVATION = 4_000
"""Characters; an observation is shown in one line."""
MAX_READ = 16
"""Pairs that the model reads while an observation waits, some 25 milliseconds each. It reads others later
(``observations.rejudger``)."""


class ObservationService:
    def __init__(
        self,
        *,
        store: MemoryStore,
        index_writer: IndexWriter,
        normalizer: Normalizer,
        proposal_queue: ProposalQueue,
        events: EventLog,
        lifecycle: Lifecycle,
        naming: Naming,
        lead_sees: LeadSees,
        clock: Clock,
        comparison: ObservationComparison,
        group_writer: GroupWriter,
        written: Callable[[Viewer, Sequence[MemoryId]], None],
    ) -> None:
        """``written`` is called after each write that may leave passages without vectors, with the memories."""
        self._store = store
        self._index_writer = index_writer
        self._normalizer = normalizer
        self._proposal_queue = proposal_queue
        self._events = events
        self._lifecycle = lifecycle
        self._naming = naming
        self._comparison = comparison
        self._group_writer = group_writer
        self._lead_sees = lead_sees
        self._clock = clock
        self._written = written

    def observe(self, seen: ObservationInput, viewer: Viewer, deadline: float | None = None) -> ObservationResult:
        """Stores an observation; durable when this returns. Observations are visible to the whole swarm."""
        prepared, verdicts = self._prepare(seen, viewer), self._comparison.verdicts()
        done = None
        for _ in range(ATTEMPTS):
            self._compare(prepared, verdicts, viewer, deadline)
            done = self._store_observation(prepared, verdicts, viewer, deadline)
            if done is not None:
                break
        while done is None:
            verdicts.leave_over()
            done = self._store_observation(prepared, verdicts, viewer, deadline)
        self._written(viewer, [done.memory.id])
        return done

    def rate(self, memory: Memory, viewer: Viewer) -> RatedMemory:
        """Returns a memory with its confidence now."""
        return rate(memory_for_viewer(viewer, memory), self._clock.now(), self._lifecycle)

    def _store_observation(
        self, prepared: NormalizedDraft, verdicts: Verdicts, viewer: Viewer, deadline: float | None
    ) -> ObservationResult | None:
        """Returns None if observations arrived that this one was not compared with."""

        def store_observation(tx: Transaction) -> ObservationResult | None:
            tx.claim(claim_of(prepared.memory, self._naming))
            return self._apply(tx, prepared, verdicts, viewer)

        return self._store.write(store_observation, deadline)

    # preparing

    def _prepare(self, seen: ObservationInput, viewer: Viewer) -> NormalizedDraft:
        at = observation_time(seen.at, self._clock.now())
        held = Held(base=Confidence(self._lifecycle.default), since=at)
        draft = Draft(
            content=normalize_text(seen.observation, self._normalizer),
            scope=Scope.SWARM,
            category=normalize_category(seen.category, self._normalizer),
            project=seen.project,
            session=seen.session,
            created_at=at,
            operational=Operational.of(held, service=self._normalizer.service(seen.service), tier=seen.tier),
        )
        prepared = self._normalizer.normalize(draft, viewer)
        self._index_writer.precompute_terms([(prepared.memory.content, prepared.chunks)], [prepared.memory])
        return prepared

    def _load(self, view: View, memory: Memory, viewer: Viewer) -> Mapping[MemoryId, KnownGroup]:
        """Returns what it may match: the same service and category, the same project or none."""
        visibility = visible_to(viewer, self._lead_sees, ScopeChoice.SWARM)
        where = replace(comparable(view, memory, self._naming, visibility), project=memory.project)
        return load_groups(view, where, memory.created_at)

    # comparing

    def _compare(self, prepared: NormalizedDraft, verdicts: Verdicts, viewer: Viewer, deadline: float | None) -> None:
        """Finds the verdicts on all pairs of texts that decide the placement, as far as ``MAX_READ`` and the model
        permit."""
        with self._store.read(deadline) as view:
            known = self._load(view, prepared.memory, viewer)
            verdicts.settled = settled_pairs(view, known)
        # A verdict on a late observation may move others, which asks for more verdicts.
        may_move = is_late([one.stored for one in known.values()], prepared.memory.created_at)
        verdicts.start()
        self._find_placement(prepared, known, verdicts)
        with suppress(Broken, Unavailable):
            while self._comparison.complete(verdicts, MAX_READ - len(verdicts.unstored), deadline):
                if may_move:
                    verdicts.start()
                    self._find_placement(prepared, known, verdicts)
        verdicts.leave_over()

    def _find_placement(
        self, prepared: NormalizedDraft, known: Mapping[MemoryId, KnownGroup], verdicts: Verdicts
    ) -> Placement | None:
        """Returns None if this very observation is stored already."""
        memory, groups = prepared.memory, [one.group for one in known.values()]
        seen = _observation(prepared)
        if find_group(groups, seen) is not None:
            return None
        default = Confidence(self._lifecycle.default)
        return place_observation(groups, seen, memory.project, verdicts, default, verdicts.terms)

    # applying

    def _apply(
        self, tx: Transaction, prepared: NormalizedDraft, verdicts: Verdicts, viewer: Viewer
    ) -> ObservationResult | None:
        memory = prepared.memory
        known = self._load(tx, memory, viewer)
        verdicts.settled = settled_pairs(tx, known)
        verdicts.start()
        done = self._find_placement(prepared, known, verdicts)
        if verdicts.is_unprepared:
            return None
        if done is None:
            group = find_group([one.group for one in known.values()], _observation(prepared))
            assert group is not None
            assert group.memory is not None
            return ObservationResult(memory=known[group.memory].stored.memory, effect=Effect.KNOWN)
        was = None if done.target.memory is None else known[done.target.memory].stored
        is_again = was is not None and self._is_repeat(tx, was, _observation(prepared))
        stored = self._put_groups(tx, done, known, prepared, viewer)
        self._note_verdicts(tx, stored, known, prepared, verdicts, is_new=was is None)
        against = [known[one.memory] for one in done.contradicted if one.memory is not None]
        against = [one for one in against if self._was_active(one, memory.created_at)]
        about = tuple(one.stored.memory.id for one in against)
        why = tuple(dict.fromkeys(filter(None, (_judgement(one, prepared, verdicts).why for one in against))))
        if was is not None:
            effect = (
                Effect.KNOWN if is_again and _base_confidence(stored) == _base_confidence(was) else Effect.REINFORCED
            )
            return ObservationResult(memory=stored.memory, effect=effect, about=about, why=why)
        tx.log_events([self._events.build_memory_event(stored.memory, viewer)])
        if against:
            return ObservationResult(memory=stored.memory, effect=Effect.CONTRADICTED, about=about, why=why)
        doubtful = [
            one
            for one in (() if done.contradicted else known.values())
            if _judgement(one, prepared, verdicts).verdict is Verdict.UNCERTAIN
            and not are_about_different_places(one.group.text, memory.content)
        ]
        if not doubtful:
            return ObservationResult(memory=stored.memory, effect=Effect.NEW)
        doubtful.sort(key=lambda one: doubt_order(_judgement(one, prepared, verdicts), one.group))
        self._propose_reviews(tx, doubtful[:MAX_PROPOSED], stored, prepared, verdicts, viewer)
        about = tuple(one.stored.memory.id for one in doubtful)
        why = tuple(filter(None, [_judgement(doubtful[0], prepared, verdicts).why]))
        return ObservationResult(memory=stored.memory, effect=Effect.UNCERTAIN, about=about, why=why)

    def _put_groups(
        self,
        tx: Transaction,
        placed: Placement,
        known: Mapping[MemoryId, KnownGroup],
        prepared: NormalizedDraft,
        viewer: Viewer,
    ) -> Stored:
        """Stores changed groups and returns the memory of the observation."""
        order = order_key(_observation(prepared))

        def build(group: Group) -> NormalizedDraft:
            is_prepared = order_key(group.first) == order
            return prepared if is_prepared else self._group_writer.build_memory(group, prepared)

        return self._group_writer.put(tx, placed.groups, placed.merged, known, build, viewer)[id(placed.target)]

    def _note_verdicts(
        self,
        tx: Transaction,
        stored: Stored,
        known: Mapping[MemoryId, KnownGroup],
        prepared: NormalizedDraft,
        verdicts: Verdicts,
        *,
        is_new: bool,
    ) -> None:
        """Stores the answers of the model. The observations are judged again if a verdict is missing, and if later ones
        are known, which may have caused other proposals."""
        mark = self._comparison.mark
        if mark is None:
            return
        self._comparison.store_answers(tx, verdicts, texts_of(known.values()) | {prepared.memory.content})
        if verdicts.missing or is_late([one.stored for one in known.values()], prepared.memory.created_at):
            tx.put_judged([stored.key], None)
        elif is_new:
            tx.put_judged([stored.key], mark)

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
        self,
        tx: Transaction,
        doubtful: Sequence[KnownGroup],
        stored: Stored,
        seen: NormalizedDraft,
        verdicts: Verdicts,
        viewer: Viewer,
    ) -> None:
        for one in doubtful:
            if not self._proposal_queue.remaining(tx, ProposalKind.CONTRADICTION, viewer):
                return
            self._proposal_queue.propose(
                tx,
                ProposalKind.CONTRADICTION,
                sorted([one.stored, stored], key=lambda each: each.memory.created_at),
                viewer,
                why=Clean(_judgement(one, seen, verdicts).why),
                session=stored.memory.session,
            )


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


def _judgement(known: KnownGroup, seen: NormalizedDraft, verdicts: Verdicts) -> Judgement:
    """Returns the verdict on a known memory and an observation that reinforces none, in their order. A later memory of
    all projects is not compared with an observation of one."""
    memory, group = seen.memory, known.group
    if order_key(group.first) < order_key(_observation(seen)):
        return verdicts.known(group.text, memory.content)
    return verdicts.known(memory.content, group.text) if memory.project in (None, group.project) else NOT_READ


def _base_confidence(stored: Stored) -> float:
    known = stored.memory.operational
    return 0.0 if known is None else known.held.base


# validation


def normalize_text(text: str, normalizer: Normalizer) -> Clean:
    """Returns the observation in one line."""
    if len(text) > MAX_OBSERVATION:
        raise TooLarge(
            f"The observation has {len(text):,} characters, at most {MAX_OBSERVATION:,} are allowed. Report one line, "
            "and store a longer text as a memory.",
            field="observation",
        )
    line = normalizer.field(in_one_line(text), "observation")
    if line is None:
        raise Invalid("The observation is empty. Describe what you observed.", field="observation")
    return line


def normalize_category(name: str, normalizer: Normalizer) -> Clean:
    """Returns the category, which an observation must have."""
    category = normalizer.category(name)
    if category is None:
        raise Invalid("The category is empty. Use one such as timing.", field="category")
    return category


def observation_time(at: datetime | None, now: datetime) -> datetime:
    """Returns the time of the observation, at most now, because clocks may differ."""
    return min(to_utc(at, "at") or now, now)
