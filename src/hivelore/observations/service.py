"""Observation service: matches an observation against known ones as the same, the opposite, or new (X8).

Texts are compared in a snapshot before the transaction begins, because comparing is slow; the transaction checks for
observations stored since. A verdict depends on the two texts and on which of them is later, not on stored vectors.

The resulting memories and confidences depend on all observations and their times, not on the order of arrival
(``observations.groups``).
"""

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime

from hivelore.core.access import memory_for_viewer, visible_to
from hivelore.core.agents import LeadSees, Viewer
from hivelore.core.audit import AuditEntry
from hivelore.core.clock import Clock
from hivelore.core.text import Clean, in_one_line
from hivelore.core.values import replace
from hivelore.errors import Invalid, TooLarge
from hivelore.events.log import EventLog
from hivelore.indexing.writer import IndexWriter
from hivelore.links.comparer import Compare, Comparer, judge_without_model
from hivelore.links.judge import NOT_READ, Judgement, Verdict
from hivelore.memories.chunking import chunk
from hivelore.memories.drafts import Draft
from hivelore.memories.model import Action, Memory, MemoryId, Provenance, Scope
from hivelore.memories.normalizer import NormalizedDraft, Normalizer, to_utc
from hivelore.memories.stored import Stored
from hivelore.memories.summary import name_from_summary, summarise
from hivelore.observations.confidence import (
    REPORTED,
    Lifecycle,
    is_active,
    is_repeated_by_observer,
    order_key,
    rate,
    replay,
)
from hivelore.observations.groups import CONTRADICTING, Group, Placement, find_group, place_observation
from hivelore.observations.model import (
    DEFAULT_TIER,
    GENERAL,
    Confidence,
    Held,
    MatchingMode,
    Observation,
    ObservationKind,
    Operational,
)
from hivelore.observations.naming import Naming
from hivelore.observations.outcomes import Effect, ObservationInput, ObservationResult, RatedMemory
from hivelore.observations.records import add_observations
from hivelore.review.model import ProposalKind
from hivelore.review.places import are_about_different_places
from hivelore.review.proposals import ProposalQueue
from hivelore.search.model import Filter, ScopeChoice
from hivelore.search.tokenizer import distinct_terms
from hivelore.storage.ports import MemoryStore, Transaction, View

ATTEMPTS = 3
"""How often the comparison is repeated when other observations arrive meanwhile; after that, no model is asked."""
MAX_PROPOSED = 3
"""Uncertain matches put to review per observation, those with the highest confidence first."""
MAX_COMPARED = 500
"""Newest memories of a service and category that are compared."""
MAX_OBSERVATION = 4_000
"""Characters; an observation is shown in one line."""
MAX_READ = 16
"""Known texts that the pair model reads per observation, some 25 milliseconds each. The rest is compared by equal words
and quantities."""
_SAME = Judgement(Verdict.SAME, 1.0, "the same service and category")


class MissingVerdict(Exception):
    """Two texts were not compared beforehand."""


class Verdicts:
    """Verdicts about pairs of texts, each computed once."""

    def __init__(self, compare: Compare) -> None:
        self._compare = compare
        self._known: dict[tuple[Clean, Clean], Judgement] = {}
        self.is_closed = False
        """True if only known verdicts are returned; other pairs raise MissingVerdict."""

    def __call__(self, older: Clean, newer: Clean) -> Judgement:
        known = self._known.get((older, newer))
        if known is None:
            if self.is_closed:
                raise MissingVerdict
            known = self._known[older, newer] = self._compare(older, newer)
        return known


class ObservationComparison:
    def __init__(self, matching: MatchingMode, comparer: Comparer) -> None:
        self._matching = matching
        self._comparer = comparer

    def verdicts(self, text: Clean, known: Collection[Clean]) -> Verdicts:
        """Returns verdicts about ``text`` and each of ``known``. The model reads those with most words in common."""
        if self._matching is MatchingMode.STRUCTURAL:
            return Verdicts(_always_same)
        terms = distinct_terms(text)
        shared = {other: _share(terms, distinct_terms(other)) for other in known if other != text}
        read = frozenset(sorted(shared, key=lambda other: (-shared[other], other))[:MAX_READ])

        def compare(older: Clean, newer: Clean) -> Judgement:
            is_read = older in read or newer in read
            judged = self._comparer.compare(older, newer) if is_read else _without_model(older, newer)
            return _cautious(judged) if self._matching is MatchingMode.CAUTIOUS else judged

        return Verdicts(compare)

    def without_model(self) -> Verdicts:
        """Returns verdicts that use no model."""
        return Verdicts(_always_same if self._matching is MatchingMode.STRUCTURAL else _without_model)


def _share(terms: Set[str], others: Set[str]) -> float:
    """Returns the share of common terms, 0 to 1."""
    return len(terms & others) / max(len(terms | others), 1)


def _without_model(older: Clean, newer: Clean) -> Judgement:
    return judge_without_model(older, newer) or NOT_READ


def _cautious(judged: Judgement) -> Judgement:
    """Returns a judgement in which only quantities contradict."""
    is_certain = judged.certainty == 1.0 or judged.verdict not in CONTRADICTING
    return judged if is_certain else replace(judged, verdict=Verdict.UNCERTAIN)


def _always_same(_one: Clean, _other: Clean) -> Judgement:
    return _SAME


@dataclass(frozen=True, slots=True)
class KnownGroup:
    """A stored memory and its observations."""

    stored: Stored
    group: Group


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
        matching: MatchingMode,
        naming: Naming,
        lead_sees: LeadSees,
        clock: Clock,
        comparer: Comparer,
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
        self._comparison = ObservationComparison(matching, comparer)
        self._lead_sees = lead_sees
        self._clock = clock
        self._written = written

    def observe(self, seen: ObservationInput, viewer: Viewer, deadline: float | None = None) -> ObservationResult:
        """Stores an observation; durable when this returns. Observations are visible to the whole swarm."""
        prepared = self._prepare(seen, viewer)
        for _ in range(ATTEMPTS):
            done = self._store_observation(prepared, self._compare(prepared, viewer, deadline), viewer, deadline)
            if done is not None:
                break
        else:
            verdicts = self._comparison.without_model()
            done = self._store_observation(prepared, verdicts, viewer, deadline)
            assert done is not None
        self._written(viewer, [done.memory.id])
        return done

    def rate(self, memory: Memory, viewer: Viewer) -> RatedMemory:
        """Returns a memory with its confidence now."""
        return rate(memory_for_viewer(viewer, memory), self._clock.now(), self._lifecycle)

    def _store_observation(
        self, prepared: NormalizedDraft, verdicts: Verdicts, viewer: Viewer, deadline: float | None
    ) -> ObservationResult | None:
        """Returns None if observations arrived that this one was not compared with."""
        assert prepared.memory.operational is not None
        service = self._naming.service_key(prepared.memory.operational.service or GENERAL)
        category = self._naming.category_key(prepared.memory.category)

        def store_observation(tx: Transaction) -> ObservationResult | None:
            tx.claim(f"seen of {service} {category}".encode())
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

    def _comparable(self, view: View, memory: Memory, viewer: Viewer) -> Filter:
        """Returns the filter for memories it may match: same service and category, same project or none."""
        assert memory.operational is not None
        return Filter(
            visibility=visible_to(viewer, self._lead_sees, ScopeChoice.SWARM),
            categories=self._naming.categories_like(memory.category, view.categories()),
            services=self._naming.services_like(memory.operational.service or GENERAL, view.services()),
            project=memory.project,
            superseded=False,
        )

    # comparing

    def _compare(self, prepared: NormalizedDraft, viewer: Viewer, deadline: float | None) -> Verdicts:
        """Returns verdicts about all pairs of texts that decide the placement."""
        memory = prepared.memory
        with self._store.read(deadline) as view:
            known = _load_groups(view, self._comparable(view, memory, viewer), memory.created_at)
        verdicts = self._comparison.verdicts(memory.content, {one.group.text for one in known.values()})
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
        self, tx: Transaction, prepared: NormalizedDraft, verdicts: Verdicts, viewer: Viewer
    ) -> ObservationResult | None:
        memory = prepared.memory
        known = _load_groups(tx, self._comparable(tx, memory, viewer), memory.created_at)
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
        stored = self._put_groups(tx, done, known, prepared, viewer)
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
            for one in known.values()
            if _judgement(one, prepared, verdicts).verdict is Verdict.UNCERTAIN
            and not are_about_different_places(one.group.text, memory.content)
        ]
        if not doubtful:
            return ObservationResult(memory=stored.memory, effect=Effect.NEW)
        doubtful.sort(key=_by_confidence)
        self._propose_reviews(tx, doubtful[:MAX_PROPOSED], stored, prepared, verdicts, viewer)
        about = tuple(one.stored.memory.id for one in doubtful)
        why = tuple(filter(None, [_judgement(doubtful[0], prepared, verdicts).why]))
        return ObservationResult(memory=stored.memory, effect=Effect.UNCERTAIN, about=about, why=why)

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
            self._proposal_queue.propose(
                tx,
                ProposalKind.CONTRADICTION,
                sorted([one.stored, stored], key=lambda each: each.memory.created_at),
                viewer,
                why=Clean(_judgement(one, seen, verdicts).why),
                session=stored.memory.session,
            )

    # storing

    def _put_groups(
        self,
        tx: Transaction,
        placed: Placement,
        known: Mapping[MemoryId, KnownGroup],
        seen: NormalizedDraft,
        viewer: Viewer,
    ) -> Stored:
        """Stores changed groups and returns the memory that ``seen`` belongs to."""
        homes = {id(group): self._put_group(tx, group, known, seen, viewer) for group in placed.groups}
        for memory, home in placed.merged:
            self._merge(tx, known[memory].stored, homes[id(home)], viewer)
        return homes[id(placed.target)]

    def _put_group(
        self, tx: Transaction, group: Group, known: Mapping[MemoryId, KnownGroup], seen: NormalizedDraft, viewer: Viewer
    ) -> Stored:
        rows = [group.first, *group.reinforcements, *group.other_observations]
        if group.memory is None:
            fresh = self._build_memory(group, seen)
            return self._replace_observations(tx, self._index_writer.add(tx, fresh.memory, fresh.chunks), rows)
        stored, was = known[group.memory].stored, known[group.memory].group
        if order_key(group.first) != order_key(was.first):
            return self._replace_observations(
                tx, self._replace_beginning(tx, stored, self._build_memory(group, seen), viewer), rows
            )
        before = {was.first, *was.reinforcements, *was.other_observations}
        if before <= set(rows):
            return add_observations(tx, stored, [one for one in rows if one not in before], self._lifecycle)
        return self._replace_observations(tx, stored, rows)

    def _replace_observations(self, tx: Transaction, stored: Stored, seen: Sequence[Observation]) -> Stored:
        """Replaces all observations of a memory and returns it with the new confidence."""
        known = stored.memory.operational
        assert known is not None
        *_, last = replay(known, seen, self._lifecycle)
        tx.replace_observations(stored.key, last.after.held, seen)
        return Stored(stored.key, replace(stored.memory, operational=known.with_confidence(last.after.held)))

    def _build_memory(self, group: Group, seen: NormalizedDraft) -> NormalizedDraft:
        """Builds the memory of a group from its first observation."""
        first = group.first
        if order_key(first) == (seen.memory.created_at, seen.memory.content, *order_key(first)[2:]):
            return seen
        line = summarise(group.text)
        assert seen.memory.operational is not None
        memory = replace(
            seen.memory,
            id=self._normalizer.new_id(),
            owner=first.actor,
            session=first.session,
            project=group.project,
            created_at=first.at,
            content=group.text,
            name=Clean(name_from_summary(line)),
            summary=Clean(line),
            provenance=Provenance(actor=first.actor, interface=first.interface),
            operational=replace(seen.memory.operational, tier=DEFAULT_TIER),
        )
        return NormalizedDraft(memory, chunk(group.text), seen.draft)

    def _replace_beginning(self, tx: Transaction, stored: Stored, fresh: NormalizedDraft, viewer: Viewer) -> Stored:
        """Replaces the beginning of a memory by an earlier observation."""
        was, now = stored.memory, self._clock.now()
        memory = replace(
            fresh.memory,
            id=was.id,
            version=was.version + 1,
            updated_at=now,
            tags=was.tags,
            metadata=was.metadata,
            accessed_at=was.accessed_at,
            access_count=was.access_count,
        )
        self._record(tx, memory, Action.EDITED, "it was seen earlier", viewer)
        return self._index_writer.change(tx, stored, memory, fresh.chunks, Action.EDITED)

    def _merge(self, tx: Transaction, stored: Stored, home: Stored, viewer: Viewer) -> None:
        """Removes a memory whose observations moved to another."""
        tx.add_evidence({home.key: tx.evidence(stored.key)})
        self._index_writer.drop(tx, stored)
        self._record(tx, stored.memory, Action.FORGOTTEN, f"its observations are those of {home.memory.id}", viewer)

    def _record(self, tx: Transaction, memory: Memory, action: Action, what: str, viewer: Viewer) -> None:
        tx.record_audit(AuditEntry.by_viewer(viewer, action, memory.id, self._clock.now(), Clean(what)))


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
        return verdicts(group.text, memory.content)
    return verdicts(memory.content, group.text) if memory.project in (None, group.project) else NOT_READ


def _by_confidence(one: KnownGroup) -> float:
    return -_base_confidence(one.stored)


def _base_confidence(stored: Stored) -> float:
    known = stored.memory.operational
    return 0.0 if known is None else known.held.base


# groups


def _load_groups(view: View, where: Filter, at: datetime) -> Mapping[MemoryId, KnownGroup]:
    """Returns the groups that an observation may match or contradict. If nothing was observed since ``at``, only their
    beginnings are read; the rest cannot matter."""
    keys = sorted(view.matching_keys(where), reverse=True)[:MAX_COMPARED]
    # In a project, memories for all projects match too; an observation for all projects matches only those.
    found = {
        key: (one, one.operational)
        for key, one in view.memories_of(keys, where).items()
        if one.operational is not None and (where.project is not None or one.project is None)
    }
    is_late = any(known.held.since >= at for _, known in found.values())
    seen = view.observations_of(found if is_late else ())
    return {
        one.id: KnownGroup(Stored(key, one), _build_group(one, known, seen.get(key, ())))
        for key, (one, known) in found.items()
    }


def _build_group(memory: Memory, known: Operational, seen: Sequence[Observation]) -> Group:
    first = next((one for one in seen if one.kind is ObservationKind.CREATED), None) or Observation(
        at=memory.created_at,
        kind=ObservationKind.CREATED,
        actor=memory.provenance.actor,
        interface=memory.provenance.interface,
        session=memory.session,
        text=memory.content,
        to=known.held.base,
    )
    is_decided = any(one.kind not in REPORTED for one in seen)
    is_edited = memory.content != first.text or memory.supersedes is not None or memory.subject is not None
    return Group(
        memory=memory.id,
        text=memory.content,
        project=memory.project,
        first=first,
        reinforcements=tuple(one for one in seen if one.kind is ObservationKind.REINFORCED),
        other_observations=tuple(
            one for one in seen if one.kind not in (ObservationKind.CREATED, ObservationKind.REINFORCED)
        ),
        is_fixed=is_decided or is_edited or known.persistent or known.tier < DEFAULT_TIER,
    )


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
