"""Observing: what somebody saw of running things is taken for what is known already, for its opposite, or for new (X8).

Comparing is slow work and is done in a snapshot before the unit of work begins, which looks again at what has come
since. What memories there are, and how sure each of them is, follows from all that was observed and when, whatever the
order in which it arrives (``observations.grouping``).
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from hivelore.core.access import visible_to
from hivelore.core.agents import LeadSees, Viewer
from hivelore.core.clock import Clock
from hivelore.core.text import Clean
from hivelore.embeddings.active_model import ActiveModel
from hivelore.events.log import EventLog
from hivelore.indexing.model import Stored
from hivelore.indexing.writer import IndexWriter
from hivelore.memories.drafts import Draft
from hivelore.memories.model import Memory, MemoryId, Scope
from hivelore.memories.normalizer import NormalizedDraft, Normalizer
from hivelore.models.ports import PairReader
from hivelore.observations.comparison import ObservationComparison, Unjudged, Verdicts
from hivelore.observations.confidence import Lifecycle, is_active, is_heard
from hivelore.observations.contradiction.judging import Verdict
from hivelore.observations.group_store import GroupStore, Known, known_groups
from hivelore.observations.grouping import Placed, is_known, placed
from hivelore.observations.model import GENERAL, Confidence, Held, Observation, ObservationKind, Operational
from hivelore.observations.outcomes import Effect, Matching, ObservationInput, ObservationResult
from hivelore.observations.validation import category_of, instant_of, line_of, service_of
from hivelore.review.model import ProposalKind
from hivelore.review.proposals import ProposalQueue
from hivelore.search.model import Filter, ScopeChoice
from hivelore.storage.ports import MemoryStore, Transaction

ATTEMPTS = 3
"""How often what was seen is compared once more, because something else was observed meanwhile; then rules judge."""
MOST_ASKED = 3
"""Of what it may have to do with, so much is put to review, the surest first."""


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
        matching: Matching,
        lead_sees: LeadSees,
        clock: Clock,
        reader: PairReader | None = None,
        written: Callable[[], None],
    ) -> None:
        """``reader``: where there is none, rules alone judge. ``written`` is called after every write that may have
        left passages without vectors."""
        self._store = store
        self._index_writer = index_writer
        self._normalizer = normalizer
        self._proposal_queue = proposal_queue
        self._events = events
        self._lifecycle = lifecycle
        self._comparing = ObservationComparison(store, active_model, matching, reader)
        self._regrouping = GroupStore(index_writer, normalizer, lifecycle, clock)
        self._lead_sees = lead_sees
        self._clock = clock
        self._written = written

    def observe(self, seen: ObservationInput, viewer: Viewer, deadline: float | None = None) -> ObservationResult:
        """Take in what was seen; durable when this returns. What an agent sees is for the whole swarm."""
        prepared = self._prepared(seen, viewer)
        where = self._like(prepared.memory, viewer)
        for _ in range(ATTEMPTS):
            done = self._observed(prepared, where, self._compared(prepared, where, deadline), viewer, deadline)
            if done is not None:
                break
        else:
            verdicts = self._comparing.by_rules(_service(prepared.memory))
            done = self._observed(prepared, where, verdicts, viewer, deadline)
            assert done is not None
        self._written()
        return done

    def _observed(
        self, prepared: NormalizedDraft, where: Filter, verdicts: Verdicts, viewer: Viewer, deadline: float | None
    ) -> ObservationResult | None:
        """None: something has come meanwhile that it was not compared with."""

        def work(tx: Transaction) -> ObservationResult | None:
            tx.claim(f"seen of {where.service} {where.category}".encode())
            return self._place(tx, prepared, where, verdicts, viewer)

        return self._store.write(work, deadline)

    # what was seen, as a memory

    def _prepared(self, seen: ObservationInput, viewer: Viewer) -> NormalizedDraft:
        at = instant_of(seen.at, self._clock.now())
        held = Held(base=Confidence(self._lifecycle.default), since=at)
        draft = Draft(
            content=line_of(seen.text, self._normalizer),
            scope=Scope.SWARM,
            category=category_of(seen.category),
            project=seen.project,
            session=seen.session,
            created_at=at,
            operational=Operational(held=held, service=service_of(seen.service), tier=seen.tier),
        )
        prepared = self._normalizer.normalize(draft, viewer)
        self._index_writer.precompute_terms([(prepared.memory.content, prepared.chunks)], [prepared.memory])
        return prepared

    def _like(self, memory: Memory, viewer: Viewer) -> Filter:
        """What may be meant by it: of the same service and category, in the same project or for all of them."""
        assert memory.operational is not None
        return Filter(
            visibility=visible_to(viewer, self._lead_sees, ScopeChoice.SWARM),
            category=memory.category,
            service=memory.operational.service or GENERAL,
            project=memory.project,
            superseded=False,
        )

    # comparing

    def _compared(self, prepared: NormalizedDraft, where: Filter, deadline: float | None) -> Verdicts:
        """Verdicts about all pairs of texts that decide what becomes of it."""
        memory = prepared.memory
        with self._store.read(deadline) as view:
            known = known_groups(view, where, memory.created_at)
        texts = {one.stored.key: one.group.text for one in known.values()}
        verdicts = self._comparing.verdicts(memory.content, texts, _service(memory), deadline)
        self._placed(prepared, known, verdicts)
        verdicts.is_closed = True
        return verdicts

    def _placed(self, prepared: NormalizedDraft, known: Mapping[MemoryId, Known], verdicts: Verdicts) -> Placed | None:
        """None: this very observation is known."""
        memory, groups = prepared.memory, [one.group for one in known.values()]
        seen = _observation(prepared)
        if is_known(groups, seen) is not None:
            return None
        return placed(groups, seen, memory.project, verdicts, Confidence(self._lifecycle.default))

    # what becomes of it

    def _place(
        self, tx: Transaction, prepared: NormalizedDraft, where: Filter, verdicts: Verdicts, viewer: Viewer
    ) -> ObservationResult | None:
        memory = prepared.memory
        known = known_groups(tx, where, memory.created_at)
        try:
            done = self._placed(prepared, known, verdicts)
        except Unjudged:
            return None
        if done is None:
            group = is_known([one.group for one in known.values()], _observation(prepared))
            assert group is not None
            assert group.memory is not None
            return ObservationResult(memory=known[group.memory].stored.memory, effect=Effect.KNOWN)
        was = None if done.home.memory is None else known[done.home.memory].stored
        is_again = was is not None and self._is_heard(tx, was, _observation(prepared))
        stored = self._regrouping.put(tx, done, known, prepared, viewer)
        against = [known[one.memory] for one in done.against if one.memory is not None]
        against = [one for one in against if self._was_active(one, memory.created_at)]
        about = tuple(one.stored.memory.id for one in against)
        why = tuple(dict.fromkeys(why for one in against for why in verdicts(one.group.text, memory.content).reasons))
        if was is not None:
            effect = Effect.KNOWN if is_again and _sure(stored) == _sure(was) else Effect.REINFORCED
            return ObservationResult(memory=stored.memory, effect=effect, about=about, why=why)
        tx.log_events([self._events.build_memory_event(stored.memory, viewer)])
        if against:
            return ObservationResult(memory=stored.memory, effect=Effect.CONTRADICTED, about=about, why=why)
        doubtful = [
            one for one in known.values() if verdicts(one.group.text, memory.content).verdict is Verdict.UNCERTAIN
        ]
        if not doubtful:
            return ObservationResult(memory=stored.memory, effect=Effect.NEW)
        doubtful.sort(key=_surest)
        dropped = self._ask(tx, doubtful[:MOST_ASKED], stored, verdicts, viewer)
        about = tuple(one.stored.memory.id for one in doubtful)
        why = verdicts(doubtful[0].group.text, memory.content).reasons
        return ObservationResult(memory=stored.memory, effect=Effect.UNCERTAIN, about=about, why=why, dropped=dropped)

    def _is_heard(self, tx: Transaction, stored: Stored, seen: Observation) -> bool:
        """Whether it is no news that who has seen this sees it, since nothing came between."""
        told = tx.observations(stored.key)
        first = next(one for one in told if one.kind is ObservationKind.CREATED)
        known = stored.memory.operational
        return known is not None and is_active(known, seen.at, self._lifecycle) and is_heard(told, seen, first.actor)

    def _was_active(self, one: Known, at: datetime) -> bool:
        known = one.stored.memory.operational
        return known is not None and is_active(known, at, self._lifecycle)

    def _ask(
        self, tx: Transaction, doubtful: Sequence[Known], stored: Stored, verdicts: Verdicts, viewer: Viewer
    ) -> int:
        """Let somebody decide whether the newer contradicts the older. Answers for how many of these there is no room
        in the inbox; it is kept all the same."""
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


def _service(memory: Memory) -> str:
    return "" if memory.operational is None else memory.operational.service or ""


def _surest(one: Known) -> float:
    return -_sure(one.stored)


def _sure(stored: Stored) -> float:
    known = stored.memory.operational
    return 0.0 if known is None else known.held.base
