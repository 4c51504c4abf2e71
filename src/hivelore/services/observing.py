"""Observing: what somebody saw of running things is taken for what is known already, for its opposite, or for new (X8).

Comparing is slow work and is done in a snapshot before the unit of work begins, which looks again at what has come
since.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from hivelore.domain.agent import LeadSees, Viewer
from hivelore.domain.draft import Draft
from hivelore.domain.index import DocumentKey, Stored
from hivelore.domain.memory import Memory, MemoryId, Scope
from hivelore.domain.observed import Effect, Matching, Observed, Seen, Stance
from hivelore.domain.operational import GENERAL, Confidence, Held, Kind, Observation, Operational
from hivelore.domain.proposal import ProposalKind
from hivelore.domain.search import Filter, ScopeChoice
from hivelore.domain.text import Clean
from hivelore.errors import Broken, Unavailable
from hivelore.policies.access import visible_to
from hivelore.policies.confidence import Lifecycle, is_active
from hivelore.policies.repetition import is_repeated
from hivelore.policies.truth import judging
from hivelore.policies.truth.constants import Constants
from hivelore.policies.truth.judging import Judgement, Verdict
from hivelore.policies.vectors import cosine
from hivelore.ports import Clock, MemoryStore, PairReader, Transaction, View
from hivelore.services.drafting import Drafting, Prepared
from hivelore.services.events import Events
from hivelore.services.observations import begin, note
from hivelore.services.proposing import Proposing
from hivelore.services.seeing import category_of, instant_of, line_of, service_of
from hivelore.services.serving import EmbeddedQuery, Serving
from hivelore.services.shelving import Shelf

RIVALS = 500
"""What is known of one service in one category is compared as far as it is among so many, newest first."""
MOST_READ = 10
"""Of those that are nearest, so many are read together with it by the model, some milliseconds each."""
MOST_ASKED = 3
"""Of what it may have to do with, so much is put to review, the surest first."""
_NOT_EMBEDDED = EmbeddedQuery(None)
_SAME = Judgement(Verdict.SAME, 1.0, ("the same service and category",))


@dataclass(frozen=True, slots=True)
class _Rival:
    """What may say the same as what was seen, or the opposite."""

    stored: Stored
    known: Operational
    judgement: Judgement


class Observing:
    def __init__(
        self,
        *,
        store: MemoryStore,
        shelf: Shelf,
        drafting: Drafting,
        serving: Serving,
        proposing: Proposing,
        events: Events,
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
        self._shelf = shelf
        self._drafting = drafting
        self._serving = serving
        self._proposing = proposing
        self._events = events
        self._lifecycle = lifecycle
        self._matching = matching
        self._constants = Constants(only_measures=matching is Matching.CAUTIOUS)
        self._reader = None if matching is Matching.CAUTIOUS else reader
        self._lead_sees = lead_sees
        self._clock = clock
        self._written = written

    def observe(self, seen: Seen, viewer: Viewer, deadline: float | None = None) -> Observed:
        """Take in what was seen; durable when this returns. What an agent sees is for the whole swarm."""
        prepared = self._prepared(seen, viewer)
        where = self._like(prepared.memory, viewer)
        judged = self._judged(prepared.memory, where, deadline)

        def work(tx: Transaction) -> Observed:
            tx.claim(f"seen of {where.service} {where.category}".encode())
            return self._place(tx, prepared, self._rivals(tx, prepared.memory, where, judged), viewer)

        done = self._store.write(work, deadline)
        self._written()
        return done

    # what was seen, as a memory

    def _prepared(self, seen: Seen, viewer: Viewer) -> Prepared:
        at = instant_of(seen.at, self._clock.now())
        held = Held(base=Confidence(self._lifecycle.default), since=at)
        draft = Draft(
            content=line_of(seen.text, self._drafting),
            scope=Scope.SWARM,
            category=category_of(seen.category),
            project=seen.project,
            session=seen.session,
            created_at=at,
            operational=Operational(held=held, service=service_of(seen.service), tier=seen.tier),
        )
        prepared = self._drafting.prepare(draft, viewer)
        self._shelf.expect([(prepared.memory.content, prepared.chunks)], [prepared.memory])
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

    def _judged(
        self, memory: Memory, where: Filter, deadline: float | None
    ) -> Mapping[tuple[MemoryId, int], Judgement]:
        """By id and version."""
        if self._matching is Matching.STRUCTURAL:
            return {}
        with self._store.read(deadline) as view:
            known = _newest(view, where)
        embedded = self._serving.embed_text(memory.content) if known else _NOT_EMBEDDED
        with self._store.read(deadline) as view:
            likeness = self._likeness(view, embedded, known)
        nearest = set(sorted(likeness, key=lambda key: -likeness[key])[:MOST_READ])
        return {
            (one.id, one.version): self._read(one, memory, likeness.get(key), is_near=key in nearest)
            for key, one in known.items()
        }

    def _likeness(
        self, view: View, embedded: EmbeddedQuery, known: Mapping[DocumentKey, Memory]
    ) -> Mapping[DocumentKey, float]:
        """The cosines of those that have a vector."""
        if embedded.vector is None:
            return {}
        chunks = view.chunks_of(known)()
        first = {key: ours[0].passages[0] for key, ours in chunks.items() if ours and ours[0].passages}
        vectors = self._serving.vectors(view, embedded, list(first.values()), known={})
        return {key: cosine(embedded.vector, vectors[passage]) for key, passage in first.items() if passage in vectors}

    def _read(self, older: Memory, newer: Memory, likeness: float | None, *, is_near: bool) -> Judgement:
        """What the rules take for a contradiction is read once more by the model, where there is one; so is what is
        near, and may be the same or the opposite in other words."""
        judgement = self._judge(older, newer, likeness)
        is_told = judgement.verdict is Verdict.SAME and judgement.confidence == 1.0
        is_alike = is_near and likeness is not None and likeness >= self._constants.rewording_likeness
        if self._reader is None or is_told or not (judgement.verdict is Verdict.CONFLICT or is_alike):
            return judgement
        with suppress(Broken, Unavailable):  # What was seen is kept all the same.
            return self._judge(older, newer, likeness, self._reader.stance(older.content, newer.content))
        return judgement

    def _judge(self, older: Memory, newer: Memory, likeness: float | None, stance: Stance | None = None) -> Judgement:
        if self._matching is Matching.STRUCTURAL:
            return _SAME
        service = older.operational.service if older.operational is not None else None
        return judging.judge(
            older.content, newer.content, likeness, self._constants, service=service or "", stance=stance
        )

    def _rivals(
        self, tx: Transaction, memory: Memory, where: Filter, judged: Mapping[tuple[MemoryId, int], Judgement]
    ) -> list[_Rival]:
        rivals: list[_Rival] = []
        for key, one in _newest(tx, where).items():
            if one.operational is not None:
                judgement = judged.get((one.id, one.version)) or self._judge(one, memory, None)
                rivals.append(_Rival(Stored(key, one), one.operational, judgement))
        return rivals

    # what becomes of it

    def _place(self, tx: Transaction, prepared: Prepared, rivals: Sequence[_Rival], viewer: Viewer) -> Observed:
        memory = prepared.memory
        at = memory.created_at
        same = self._surest([one for one in rivals if one.judgement.verdict is Verdict.SAME], at)
        against = [
            one
            for one in rivals
            if one.judgement.verdict is Verdict.CONFLICT and is_active(one.known, at, self._lifecycle)
        ]
        if same is not None and _said_just_now(tx, same.stored.key, memory):
            return Observed(memory=same.stored.memory, effect=Effect.KNOWN)
        for one in against:
            self._noted(tx, one.stored, Kind.CONTRADICTED, memory, viewer)
        about = tuple(one.stored.memory.id for one in against)
        why = tuple(dict.fromkeys(reason for one in against for reason in one.judgement.reasons))
        if same is not None:
            known = self._noted(tx, same.stored, Kind.REINFORCED, memory, viewer)
            return Observed(memory=known.memory, effect=Effect.REINFORCED, about=about, why=why)
        stored = self._shelf.add(tx, memory, prepared.chunks)
        begin(tx, stored, viewer)
        tx.log_events([self._events.recorded(memory, viewer)])
        if against:
            return Observed(memory=memory, effect=Effect.CONTRADICTED, about=about, why=why)
        doubtful = [one for one in rivals if one.judgement.verdict is Verdict.UNCERTAIN]
        if not doubtful:
            return Observed(memory=memory, effect=Effect.NEW)
        doubtful.sort(key=lambda one: -one.known.held.base)
        dropped = self._ask(tx, doubtful[:MOST_ASKED], stored, viewer)
        about = tuple(one.stored.memory.id for one in doubtful)
        why = doubtful[0].judgement.reasons
        return Observed(memory=memory, effect=Effect.UNCERTAIN, about=about, why=why, dropped=dropped)

    def _ask(self, tx: Transaction, doubtful: Sequence[_Rival], stored: Stored, viewer: Viewer) -> int:
        """Let somebody decide whether it contradicts what was known. Answers for how many of these there is no room in
        the inbox; it is kept all the same."""
        asked = [
            self._proposing.propose_or_drop(
                tx,
                ProposalKind.CONTRADICTION,
                [one.stored, stored],
                viewer,
                why=Clean("; ".join(one.judgement.reasons)),
                session=stored.memory.session,
            )
            for one in doubtful
        ]
        return asked.count(None)

    def _surest(self, same: Sequence[_Rival], at: datetime) -> _Rival | None:
        """The one to reinforce: one in use before one that is not, then the likeliest, the surest, and the oldest."""
        return max(
            same,
            key=lambda one: (
                is_active(one.known, at, self._lifecycle),
                one.judgement.confidence,
                one.known.held.base,
                -one.stored.memory.created_at.timestamp(),
            ),
            default=None,
        )

    def _noted(self, tx: Transaction, stored: Stored, kind: Kind, seen: Memory, viewer: Viewer) -> Stored:
        observation = Observation(
            at=seen.created_at,
            kind=kind,
            actor=viewer.agent,
            door=viewer.door,
            session=seen.session,
            text=seen.content,
        )
        return note(tx, stored, [observation], self._lifecycle)


def _newest(view: View, where: Filter) -> Mapping[DocumentKey, Memory]:
    keys = sorted(view.matching(where), reverse=True)[:RIVALS]
    # In a project counts what is for all, too; what is seen for all says nothing of what is marked for one.
    found = view.admitted(keys, where)
    return {key: one for key, one in found.items() if where.project is not None or one.project is None}


def _said_just_now(tx: Transaction, key: DocumentKey, seen: Memory) -> bool:
    return seen.session is not None and any(
        one.text == seen.content
        and one.kind in (Kind.CREATED, Kind.REINFORCED)
        and is_repeated(seen.session, seen.created_at, one.session, one.at)
        for one in tx.observations(key)
    )
