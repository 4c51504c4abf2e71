"""Judges observations again in the background, so that order of arrival and failures do not count (X8).

Due are memories that the present model did not judge: after a change of the model, and if a verdict was missing or an
observation was late, and after a change of the matching mode or the aliases. All observations of their service and
category are placed in order of time. The differences are stored as one batch, which can be undone. What operators and
reviewers decided stays.

The observations are arranged outside the transaction, which only checks that nothing changed meanwhile.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from hivelore.changes.journal import ChangeJournal
from hivelore.changes.model import BatchKind
from hivelore.core.agents import SERVICE_VIEWER, Role, Viewer
from hivelore.core.clock import Clock
from hivelore.core.supervisor import Report, ignore_report
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Broken, HiveloreError, Unavailable
from hivelore.links.judge import Judgement
from hivelore.memories.model import Memory, MemoryId
from hivelore.memories.normalizer import NormalizedDraft
from hivelore.memories.stored import DocumentKey, Stored
from hivelore.observations.comparison import ObservationComparison, Verdicts
from hivelore.observations.confidence import Lifecycle, order_key
from hivelore.observations.groups import NEAREST, SUPPORTING, Arrangement, Doubt, Group, arrange_groups, doubt_order
from hivelore.observations.model import Confidence, Pair
from hivelore.observations.naming import Naming
from hivelore.observations.service import ATTEMPTS, MAX_PROPOSED
from hivelore.observations.stored_groups import (
    REJUDGED,
    GroupWriter,
    KnownGroup,
    claim_of,
    comparable,
    is_withdrawn,
    load_all_groups,
    settled_pairs,
    texts_of,
)
from hivelore.review.model import ProposalKind
from hivelore.review.outdated import close_proposals
from hivelore.review.places import are_about_different_places
from hivelore.review.proposals import ProposalQueue
from hivelore.search.model import EVERYTHING, Filter, Visibility
from hivelore.storage.leader_lease import LeaderLease
from hivelore.storage.ports import MemoryStore, Transaction, View

LEASE_NAME = "rejudging"
LEASE = timedelta(minutes=2)
"""Longer than reading ``READ_AT_ONCE`` pairs takes."""
MAX_CHANGED = 100
"""Memories that one transaction changes, so that writers do not wait long; the rest follows in others."""
READ_AT_ONCE = 40
"""Pairs that the model reads before its answers are stored, about a second."""
FIRST_PAUSE, LONGEST_PAUSE = 10.0, 3_600.0
"""Seconds of pause of a service and category after a failure, multiplied by six for each further one in a row, and
their limit."""
_SHARED = Visibility(own=None, swarm=True)

_Known = Mapping[MemoryId, KnownGroup]


@dataclass(frozen=True, slots=True)
class _Pause:
    until: float
    times: int
    """How often in a row the model or the store failed."""


@dataclass(frozen=True, slots=True)
class _Plan:
    known: _Known
    """The groups that were arranged."""
    settled: Set[frozenset[Clean]]
    changed: Sequence[Group]
    """Groups to store in the next transaction."""
    merged: Sequence[tuple[MemoryId, Group]]
    drafts: Mapping[int, NormalizedDraft]
    """By ``id`` of a group, the memory of a new group."""
    doubts: Sequence[Doubt]
    is_last: bool
    """True if no other differences are left."""


class _InterruptedError(Exception):
    """The worker stops, or another process has the lease."""


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
        self._due: deque[Stored] = deque()
        """One memory of each service and category that is left in this round, so that none waits for a busy one."""
        self._pauses: dict[bytes, _Pause] = {}
        """By service and category (``claim_of``)."""

    def run(self, stop: threading.Event, idle: float, report: Report = ignore_report) -> None:
        """Runs until ``stop`` is set, pausing ``idle`` seconds when nothing is due and after a failure. ``report``
        receives each failure, and None when nothing fails any more."""
        while not stop.is_set():
            try:
                done = self.step(stop)
                if not self._pauses:
                    report(None)
            except (Broken, Unavailable) as error:
                done = False
                report(error)
            if not done:
                stop.wait(idle)
        with suppress(HiveloreError):  # The lease expires anyway.
            self._leader_lease.release_lease()

    def step(self, stop: threading.Event | None = None) -> bool:
        """Judges the observations of one service and category, each in turn. Returns False if none is due, or another
        process judges them. Raises Unavailable or Broken if the model or the store fails; those of this service and
        category pause then, and others do not."""
        mark = self._comparison.mark
        if mark is None or not self._leader_lease.is_leader():
            return False
        due = self._next_due(mark)
        if due is None:
            return False
        claim = claim_of(due.memory, self._naming)
        try:
            is_done = self._judge(due, mark, stop or threading.Event())
        except _InterruptedError:
            return False
        except (Broken, Unavailable):
            self._pause(claim)
            raise
        if is_done:
            self._pauses.pop(claim, None)
        else:
            self._pauses[claim] = _Pause(self._clock.monotonic() + FIRST_PAUSE, 0)
        return True

    def _next_due(self, mark: Clean) -> Stored | None:
        """Returns a memory of the next service and category that are due and do not pause."""
        if not self._due:
            self._start_round(mark)
        now = self._clock.monotonic()
        while self._due:
            one = self._due.popleft()
            pause = self._pauses.get(claim_of(one.memory, self._naming))
            if pause is None or pause.until <= now:
                return one
        return None

    def _start_round(self, mark: Clean) -> None:
        with self._store.read() as view:
            seen = view.change_cursor().number
            if seen == self._seen:
                return
            keys = view.unjudged(mark)
            found = view.memories_of(keys, EVERYTHING)
        due = {claim_of(found[key], self._naming): Stored(key, found[key]) for key in keys}
        self._due.extend(due.values())
        self._pauses = {claim: pause for claim, pause in self._pauses.items() if claim in due}
        if not due:
            self._store.write(self._comparison.drop_other_answers)
            self._seen = seen

    def _pause(self, claim: bytes) -> None:
        known = self._pauses.get(claim)
        times = 1 if known is None else known.times + 1
        pause = min(FIRST_PAUSE * 6 ** min(times - 1, 9), LONGEST_PAUSE)
        self._pauses[claim] = _Pause(self._clock.monotonic() + pause, times)

    def _judge(self, due: Stored, mark: Clean, stop: threading.Event) -> bool:
        """Judges the observations of the service and category of a memory. Returns False if others kept arriving."""
        verdicts, batch, failed = self._comparison.verdicts(), self._journal.new_batch_id(), 0
        while failed < ATTEMPTS:
            plan = self._plan(due, verdicts, stop)

            def apply(tx: Transaction, plan: _Plan = plan) -> bool:
                return self._journal.record(
                    tx,
                    BatchKind.REJUDGED,
                    SERVICE_VIEWER,
                    lambda: self._apply(tx, due, plan, mark),
                    reason=REJUDGED,
                    batch=batch,
                )

            if not self._store.write(apply):
                failed += 1
                continue
            self._written()
            if plan.is_last:
                return True
        return False

    def _plan(self, due: Stored, verdicts: Verdicts, stop: threading.Event) -> _Plan:
        """Arranges the observations, which takes seconds if there are many, and reads the pairs whose verdicts are
        missing. Nothing is locked meanwhile."""
        with self._store.read() as view:
            known = load_all_groups(view, self._where(view, due.memory))
            verdicts.settled = settled_pairs(view, known)
        places = dict[Clean, list[DocumentKey]]()
        for one in known.values():
            for text in texts_of([one]):
                places.setdefault(text, []).append(one.stored.key)

        def prepare(pairs: Sequence[Pair]) -> None:
            if stop.is_set() or not self._leader_lease.is_leader():
                raise _InterruptedError
            verdicts.start()
            for older, newer in pairs:
                verdicts(older, newer)
            while self._comparison.complete(verdicts, NEAREST):
                pass
            if len(verdicts.unstored) >= READ_AT_ONCE:
                self._store_answers(verdicts, places)

        default = Confidence(self._lifecycle.default)
        groups = [one.group for one in known.values()]
        try:
            arranged = arrange_groups(groups, verdicts, default, verdicts.terms, prepare)
        finally:
            self._store_answers(verdicts, places)
        changed, merged = _first_part(known, arranged)
        is_last = len(changed) == len(arranged.groups) and len(merged) == len(arranged.merged)
        drafts = self._build_drafts(known, changed)
        return _Plan(known, verdicts.settled, changed, merged, drafts, arranged.doubts, is_last=is_last)

    def _build_drafts(self, known: _Known, groups: Sequence[Group]) -> Mapping[int, NormalizedDraft]:
        """Builds the memories of new groups."""
        by_observation = {order_key(one): each for each in known.values() for one in each.group.supporting}
        drafts = dict[int, NormalizedDraft]()
        for group in groups:
            order = order_key(group.first)
            if group.memory is None or order != order_key(known[group.memory].group.first):
                template = self._group_writer.build_template(by_observation[order].stored.memory)
                drafts[id(group)] = self._group_writer.build_memory(group, template)
        return drafts

    def _store_answers(self, verdicts: Verdicts, places: Mapping[Clean, Sequence[DocumentKey]]) -> None:
        """Stores what the model answered, except about texts that were forgotten meanwhile. ``places``: the memories
        that have a text."""

        def store_answers(tx: Transaction) -> None:
            keys = {key for pair in verdicts.unstored for text in pair for key in places.get(text, ())}
            present = {one.content for one in tx.memories_of(list(keys), EVERYTHING).values()}
            for seen in tx.observations_of(list(keys)).values():
                present.update(one.text for one in seen if one.kind in SUPPORTING and one.text is not None)
            self._comparison.store_answers(tx, verdicts, present)

        if verdicts.unstored:
            self._store.write(store_answers)
            verdicts.unstored.clear()

    def _where(self, view: View, memory: Memory) -> Filter:
        return comparable(view, memory, self._naming, _SHARED)

    def _apply(self, tx: Transaction, due: Stored, plan: _Plan, mark: Clean) -> bool:
        """Stores a part of the differences. Returns False if anything changed since the observations were arranged."""
        tx.claim(claim_of(due.memory, self._naming))
        where = self._where(tx, due.memory)
        known = load_all_groups(tx, where)
        before = {id_: one.group for id_, one in plan.known.items()}
        if {id_: one.group for id_, one in known.items()} != before or settled_pairs(tx, known) != plan.settled:
            return False
        homes = self._group_writer.put(
            tx, plan.changed, plan.merged, known, lambda group: plan.drafts[id(group)], SERVICE_VIEWER
        )
        if not plan.is_last:
            return True
        now = {group.memory: homes[id(group)] for group in plan.changed if group.memory is not None}
        gone = {memory for memory, _ in plan.merged}
        present = {key: now.get(key, one.stored) for key, one in known.items() if key not in gone}

        def stored(group: Group) -> Stored:
            return homes[id(group)] if group.memory is None else present[group.memory]

        wanted = [(stored(one.earlier), stored(one.later), one.judgement) for one in _wanted_doubts(plan.doubts)]
        fixed = {key for key, one in known.items() if one.group.is_fixed}
        self._update_proposals(tx, wanted, present, fixed)
        tx.put_judged({due.key, *tx.matching_keys(where)}, mark)
        return True

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
        found = tx.contradictions_about([one.key for one in present.values()])
        for proposal in sorted(found, key=is_withdrawn):
            about = tuple(one.memory for one in proposal.memories)
            is_current = all(
                one.memory in present and present[one.memory].memory.version == one.version for one in proposal.memories
            )
            if about in pairs and is_current:
                if is_withdrawn(proposal) and about not in known:
                    tx.put_proposal(replace(proposal, decided=None))
                known.add(about)
            elif proposal.decided is None and (about in pairs or about[-1] in present.keys() - fixed):
                close_proposals(tx, [proposal], self._clock.now(), REJUDGED)
        for older, newer, judged in wanted:
            author = _author(newer.memory)
            is_new = (older.memory.id, newer.memory.id) not in known
            if is_new and self._proposal_queue.remaining(tx, ProposalKind.CONTRADICTION, author):
                self._proposal_queue.propose(
                    tx,
                    ProposalKind.CONTRADICTION,
                    [older, newer],
                    author,
                    why=Clean(judged.why),
                    session=newer.memory.session,
                )


def _first_part(known: _Known, arranged: Arrangement) -> tuple[Sequence[Group], Sequence[tuple[MemoryId, Group]]]:
    """Returns the first ``MAX_CHANGED`` changed groups, and those that they exchange observations with: each
    observation moves within one transaction."""
    if len(arranged.groups) <= MAX_CHANGED:
        return arranged.groups, arranged.merged
    former = {order_key(one): id_ for id_, each in known.items() for one in each.group.supporting}
    about = [{former[order_key(one)] for one in group.supporting} for group in arranged.groups]
    for group, memories in zip(arranged.groups, about, strict=True):
        memories |= set() if group.memory is None else {group.memory}
    exchanging = dict[MemoryId, set[int]]()
    for at, memories in enumerate(about):
        for memory in memories:
            exchanging.setdefault(memory, set()).add(at)
    chosen, passed = set[int](), set[MemoryId]()
    for first in range(len(about)):
        left = [first]
        while left:
            at = left.pop()
            if at not in chosen:
                chosen.add(at)
                for memory in about[at] - passed:
                    passed.add(memory)
                    left += exchanging[memory]
        if len(chosen) >= MAX_CHANGED:
            break
    changed = [arranged.groups[at] for at in sorted(chosen)]
    whole = len(changed) == len(arranged.groups)
    return changed, [(memory, home) for memory, home in arranged.merged if whole or memory in passed]


def _author(memory: Memory) -> Viewer:
    """Returns the agent that reported a memory, in whose name a doubt about it is proposed."""
    if memory.owner is None:
        return SERVICE_VIEWER
    return Viewer(role=Role.WORKER, agent=memory.owner, interface=memory.provenance.interface)


def _wanted_doubts(doubts: Sequence[Doubt]) -> Iterator[Doubt]:
    """Yields the doubts to review: the most certain ones about each group."""
    by_group: dict[int, list[Doubt]] = {}
    for one in doubts:
        if not are_about_different_places(one.earlier.text, one.later.text):
            by_group.setdefault(id(one.later), []).append(one)
    for found in by_group.values():
        yield from sorted(found, key=lambda one: doubt_order(one.judgement, one.earlier))[:MAX_PROPOSED]
