"""Judges observations anew in the background, so that order of arrival and failures do not count (X8).

Due are memories that the present model did not judge: after a change of the model, and if a verdict was missing or an
observation was late. All observations of their service and category are placed in order of time. The differences are
stored as one batch, which can be undone. What operators and reviewers decided stays.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from datetime import timedelta

from hivelore.changes.journal import ChangeJournal
from hivelore.changes.model import BatchKind
from hivelore.core.agents import SERVICE_VIEWER
from hivelore.core.clock import Clock
from hivelore.core.supervisor import Report, ignore_report
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Broken, HiveloreError, Unavailable
from hivelore.links.judge import Judgement, Verdict
from hivelore.memories.model import Action, Memory, MemoryId
from hivelore.memories.normalizer import NormalizedDraft
from hivelore.memories.stored import DocumentKey, Stored
from hivelore.observations.comparison import ObservationComparison, Verdicts
from hivelore.observations.confidence import Lifecycle, order_key
from hivelore.observations.groups import Arrangement, Doubt, Group, arrange_groups, doubt_order
from hivelore.observations.model import Confidence
from hivelore.observations.naming import Naming
from hivelore.observations.service import MAX_PROPOSED
from hivelore.observations.stored_groups import GroupWriter, KnownGroup, claim_of, comparable, load_all_groups
from hivelore.review.model import Decision, DecisionRecord, Proposal, ProposalKind
from hivelore.review.places import are_about_different_places
from hivelore.review.proposals import ProposalQueue, audit_entries
from hivelore.search.model import EVERYTHING, Filter, Visibility
from hivelore.storage.leader_lease import LeaderLease
from hivelore.storage.ports import MemoryStore, Transaction, View

LEASE_NAME = "rejudging"
LEASE = timedelta(minutes=2)
"""Longer than reading ``READ_AT_ONCE`` pairs takes."""
READ_AT_ONCE = 40
"""Pairs that the model reads before its answers are stored, about a second."""
FIRST_PAUSE, LONGEST_PAUSE = 10.0, 3_600.0
"""Seconds of pause after a failure of the model, multiplied by six for each further one in a row, and their limit."""
_SHARED = Visibility(own=None, swarm=True)
_REASON = Clean("The observations were judged anew.")

_Known = Mapping[MemoryId, KnownGroup]
_Texts = frozenset[Clean]


class Rejudger:
    """Call ``run``, or ``step``, from one thread."""

    def __init__(
        self,
        *,
        store: MemoryStore,
        comparison: ObservationComparison,
        group_writer: GroupWriter,
        proposal_queue: ProposalQueue,
        journal: ChangeJournal,
        naming: Naming,
        lifecycle: Lifecycle,
        leader_lease: LeaderLease,
        clock: Clock,
        written: Callable[[], None],
    ) -> None:
        """``leader_lease`` has the name ``LEASE_NAME``, so that no two processes judge the same observations.
        ``written`` is called after each write that may leave passages without vectors."""
        self._store = store
        self._comparison = comparison
        self._group_writer = group_writer
        self._proposal_queue = proposal_queue
        self._journal = journal
        self._naming = naming
        self._lifecycle = lifecycle
        self._leader_lease = leader_lease
        self._clock = clock
        self._written = written
        self._seen = -1
        """Number of changes at the last time when nothing was left."""
        self._failed = 0

    def run(self, stop: threading.Event, idle: float, report: Report = ignore_report) -> None:
        """Runs until ``stop`` is set, pausing ``idle`` seconds when nothing is due. ``report`` receives the outcome of
        each round."""
        while not stop.is_set():
            try:
                done = self.step(stop)
                self._failed = 0
                report(None)
            except (Broken, Unavailable) as error:
                self._failed += 1
                done = False
                report(error)
            if not done:
                pause = FIRST_PAUSE * 6 ** (self._failed - 1) if self._failed else idle
                stop.wait(min(pause, LONGEST_PAUSE))
        with suppress(HiveloreError):  # The lease expires anyway.
            self._leader_lease.release_lease()

    def step(self, stop: threading.Event | None = None) -> bool:
        """Judges the observations of one service and category. Returns False if none is due, or another process judges
        them. Raises Unavailable or Broken if the model or the store fails."""
        model = self._comparison.model
        if model is None or not self._leader_lease.is_leader():
            return False
        with self._store.read() as view:
            seen = view.change_cursor().number
            if seen == self._seen:
                return False
            due = view.memories_of(view.unjudged(model, 1), EVERYTHING)
        for key, memory in due.items():
            self._judge(Stored(key, memory), model, stop or threading.Event())
        if not due:
            self._seen = seen
        return bool(due)

    def _judge(self, due: Stored, model: Clean, stop: threading.Event) -> None:
        """Judges the observations of the service and category of a memory."""
        with self._store.read() as view:
            known = load_all_groups(view, self._where(view, due.memory))
            settled = _settled_pairs(view, known)
        verdicts = self._comparison.verdicts()
        is_learning = True
        while is_learning:
            verdicts.start()
            self._arrange(known, settled, verdicts)
            try:
                is_learning = self._comparison.complete(verdicts, READ_AT_ONCE)
            finally:
                self._store_answers(verdicts)
            if stop.is_set() or not self._leader_lease.is_leader():
                return
        self._journal.write(
            BatchKind.REJUDGED,
            SERVICE_VIEWER,
            lambda tx: self._apply(tx, due, verdicts, model),
            reason=_REASON,
        )
        self._written()

    def _store_answers(self, verdicts: Verdicts) -> None:
        if verdicts.unstored:
            self._store.write(lambda tx: self._comparison.store_answers(tx, verdicts))
            verdicts.unstored.clear()

    def _where(self, view: View, memory: Memory) -> Filter:
        return comparable(view, memory, self._naming, _SHARED)

    def _arrange(self, known: _Known, settled: frozenset[_Texts], verdicts: Verdicts) -> Arrangement:
        def judge(older: Clean, newer: Clean) -> Judgement:
            judged = verdicts(older, newer)
            is_settled = frozenset((older, newer)) in settled and judged.verdict is not Verdict.SAME
            return SETTLED if is_settled else judged

        return arrange_groups([one.group for one in known.values()], judge, Confidence(self._lifecycle.default))

    def _apply(self, tx: Transaction, due: Stored, verdicts: Verdicts, model: Clean) -> None:
        """Stores the differences, unless observations arrived whose verdicts are missing."""
        tx.claim(claim_of(due.memory, self._naming))
        where = self._where(tx, due.memory)
        known = load_all_groups(tx, where)
        settled = _settled_pairs(tx, known)
        verdicts.start()
        arranged = self._arrange(known, settled, verdicts)
        if verdicts.missing:
            return
        by_observation = {order_key(one): each for each in known.values() for one in each.group.supporting}

        def build(group: Group) -> NormalizedDraft:
            template = self._group_writer.build_template(by_observation[order_key(group.first)].stored.memory)
            return self._group_writer.build_memory(group, template)

        homes = self._group_writer.put(tx, arranged.groups, arranged.merged, known, build, SERVICE_VIEWER)
        now = {group.memory: homes[id(group)] for group in arranged.groups if group.memory is not None}
        gone = {memory for memory, _ in arranged.merged}
        present = {key: now.get(key, one.stored) for key, one in known.items() if key not in gone}

        def stored(group: Group) -> Stored:
            return homes[id(group)] if group.memory is None else present[group.memory]

        wanted = [(stored(one.earlier), stored(one.later), one.judgement) for one in _wanted_doubts(arranged.doubts)]
        fixed = {key for key, one in known.items() if one.group.is_fixed}
        self._update_proposals(tx, wanted, present, fixed)
        tx.put_judged({due.key, *tx.matching_keys(where)}, model)

    def _update_proposals(
        self,
        tx: Transaction,
        wanted: Sequence[tuple[Stored, Stored, Judgement]],
        present: Mapping[MemoryId, Stored],
        fixed: Set[MemoryId],
    ) -> None:
        """Rejects open contradictions that are no longer doubtful, and proposes those that are missing."""
        pairs = {(older.memory.id, newer.memory.id) for older, newer, _ in wanted}
        known = set[tuple[MemoryId, ...]]()
        found = _contradictions(tx, [one.key for one in present.values()])
        for proposal in sorted(found, key=_is_withdrawn):
            about = tuple(one.memory for one in proposal.memories)
            is_current = all(
                one.memory in present and present[one.memory].memory.version == one.version for one in proposal.memories
            )
            if about in pairs and is_current:
                if _is_withdrawn(proposal) and about not in known:
                    tx.put_proposal(replace(proposal, decided=None))
                known.add(about)
            elif proposal.decided is None and (about in pairs or about[-1] in present.keys() - fixed):
                self._withdraw(tx, proposal)
        for older, newer, judged in wanted:
            if (older.memory.id, newer.memory.id) not in known:
                self._proposal_queue.propose(
                    tx,
                    ProposalKind.CONTRADICTION,
                    [older, newer],
                    SERVICE_VIEWER,
                    why=Clean(judged.why),
                    session=newer.memory.session,
                )

    def _withdraw(self, tx: Transaction, proposal: Proposal) -> None:
        by, how, now = SERVICE_VIEWER, Decision.REJECTED, self._clock.now()
        decided = DecisionRecord(how=how, at=now, actor=by.agent, interface=by.interface, reason=_REASON)
        tx.put_proposal(replace(proposal, decided=decided))
        for entry in audit_entries(proposal, Action.DECIDED, by, now, f"{proposal.kind} {how}"):
            tx.record_audit(entry)


SETTLED = Judgement(Verdict.DIFFERENT, 0.0, "a reviewer decided")
"""For pairs of texts that a reviewer decided about."""


def _wanted_doubts(doubts: Sequence[Doubt]) -> Iterator[Doubt]:
    """Yields the doubts to review: the most certain ones about each group."""
    by_group: dict[int, list[Doubt]] = {}
    for one in doubts:
        if not are_about_different_places(one.earlier.text, one.later.text):
            by_group.setdefault(id(one.later), []).append(one)
    for found in by_group.values():
        yield from sorted(found, key=lambda one: doubt_order(one.judgement, one.earlier))[:MAX_PROPOSED]


def _settled_pairs(view: View, known: _Known) -> frozenset[_Texts]:
    """Returns the pairs of texts of the present versions that a reviewer decided about."""
    settled = set[_Texts]()
    for proposal in _contradictions(view, [one.stored.key for one in known.values()]):
        memories = [known[one.memory].stored.memory for one in proposal.memories if one.memory in known]
        is_current = [one.version for one in memories] == [one.version for one in proposal.memories]
        if proposal.decided is not None and is_current and not _is_withdrawn(proposal):
            settled.add(frozenset(one.content for one in memories))
    return frozenset(settled)


def _is_withdrawn(proposal: Proposal) -> bool:
    """Returns True if the worker rejected a proposal, which is no decision."""
    return proposal.decided is not None and proposal.decided.reason == _REASON


def _contradictions(view: View, documents: Sequence[DocumentKey]) -> Sequence[Proposal]:
    """Returns the open and decided contradictions about any of these memories."""
    found = {one.id: one for key in documents for one in view.proposals_about(key)}
    return [one for one in found.values() if one.kind is ProposalKind.CONTRADICTION]
