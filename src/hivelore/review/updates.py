"""Lets certain updates change valid time: ends what was updated, or proposes to, and suggests subjects (N07, X22).

A link changes no memory. The service makes a proposal of it and, if ``ends_validity`` is set and the author of the
update may edit the updated memory, accepts that proposal itself. So each change is in the inbox, the history and the
change journal. After an undo the proposal is open again and waits for a person.
"""

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from hivelore.core.agents import SERVICE_VIEWER, Interface, Role, Viewer
from hivelore.core.clock import Clock
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Conflict, Forbidden, Invalid, NotFound, Stale
from hivelore.feedback.recent_use import times_given
from hivelore.indexes.ports import KeywordIndex
from hivelore.links.decisions import stated_at
from hivelore.links.model import Link, StoredLink
from hivelore.links.subjects import MOST_MEMBERS, chain_subject
from hivelore.links.validity import is_certain, may_decide_alone, may_end, stating_version
from hivelore.memories.drafts import Edit
from hivelore.memories.model import Version
from hivelore.memories.normalizer import Normalizer
from hivelore.memories.stored import DocumentKey, Stored
from hivelore.review.harm import LATELY
from hivelore.review.inbox import ReviewInbox
from hivelore.review.model import Decision, Proposal, ProposalFilter, ProposalId, ProposalKind, ProposalSubject, Wanted
from hivelore.review.outdated import close_proposals
from hivelore.review.proposals import ProposalQueue
from hivelore.search.model import EVERYTHING, Filter
from hivelore.storage.ports import MemoryStore, Transaction, View

READ_AT_ONCE = 1_000
"""Memories whose links are read in one step."""
MOST_OPEN = 500
"""Open proposals of a kind that are examined in one step."""
_REASON = Clean("The update is certain, and its author may change what it updates.")
_OUTDATED = Clean("A memory or the link between them has changed since.")


@dataclass(frozen=True, slots=True)
class _Update:
    """A certain update that may end the valid time of the older memory."""

    older: Stored
    newer: Stored
    link: Link
    author: Viewer | None
    """Author of the update; None if unknown."""

    @property
    def is_decided_alone(self) -> bool:
        return may_decide_alone(self.older.memory, self.newer.memory, self.author)


class UpdateReview:
    def __init__(
        self,
        *,
        store: MemoryStore,
        keywords: KeywordIndex,
        proposal_queue: ProposalQueue,
        review_inbox: ReviewInbox,
        normalizer: Normalizer,
        clock: Clock,
        ends_validity: bool,
    ) -> None:
        self._store = store
        self._keywords = keywords
        self._proposal_queue = proposal_queue
        self._review_inbox = review_inbox
        self._normalizer = normalizer
        self._clock = clock
        self._ends_validity = ends_validity
        self._next: DocumentKey | None = None
        """The last memory of the last step; None at the end of the store."""
        self._examined: dict[ProposalKind, tuple[datetime, ProposalId] | None] = {}
        """The last open proposal of each kind that the last step examined; None at the end."""

    def step(self) -> None:
        """Closes outdated proposals and reviews some memories of the store, newest first and round and round: what
        agents are given changes, and the setting may. Call it from one thread, about once a minute."""
        self._close_outdated()
        with self._store.read() as view:
            before = self._next if self._next is not None else DocumentKey(2**62)
            keys = view.keys_below(before, READ_AT_ONCE)
        self._next = keys[-1] if len(keys) == READ_AT_ONCE else None
        self.review(keys)

    def review(self, documents: Collection[DocumentKey]) -> None:
        """Acts on the certain updates from and to these memories. Thread-safe; twice does no more than once."""
        with self._store.read() as view:
            concerned = {end for one in _certain(view, documents) for end in (one.source, one.target)}
        if not concerned:
            return
        if self._ends_validity:
            self._end_validity(documents)
        self._suggest_subjects(concerned)
        self._propose_ends(documents)

    # ending valid time

    def _end_validity(self, documents: Collection[DocumentKey]) -> None:
        """Ends what certain updates may end. What cannot be ended, or not by the author, becomes a proposal."""
        with self._store.read() as view:
            updates = self._updates(view, documents)
        for one in updates:
            if one.is_decided_alone:
                with suppress(Conflict, Forbidden, Invalid, NotFound, Stale):  # A person decides.
                    self._store.write(partial(self._end, one=one))
                    continue
            self._store.write(partial(self._propose_end, one=one))

    def _end(self, tx: Transaction, one: _Update) -> None:
        """Proposes and accepts in one transaction. A proposal that is left undecided waits for a person."""
        proposal = self._propose_end(tx, one)
        if proposal is not None:
            self._review_inbox.accept_update(tx, proposal, SERVICE_VIEWER, _REASON)

    def _propose_ends(self, documents: Collection[DocumentKey]) -> None:
        """Proposes to end what agents were lately given, so that the inbox is not flooded."""
        with self._store.read() as view:
            updates = self._updates(view, documents)
            if not updates:
                return
            known = {one.older.memory.id: one.older.key for one in updates}
            given = times_given(view, known, self._clock.now() - LATELY)
            found = [one for one in updates if given.get(one.older.memory.id) and not _has_subject_proposal(view, one)]
        for one in found:
            self._store.write(partial(self._propose_end, one=one))

    def _propose_end(self, tx: Transaction, one: _Update) -> Proposal | None:
        """Returns the new proposal; None if something changed meanwhile, or too many are open."""
        older, newer = _unchanged(tx, one.older), _unchanged(tx, one.newer)
        if older is None or newer is None or not may_end(older.memory, newer.memory, tx.history(newer.key)):
            return None
        is_decided_alone = self._ends_validity and one.is_decided_alone
        has_room = is_decided_alone or self._proposal_queue.remaining_for(tx, ProposalKind.UPDATE, [older, newer])
        if not has_room or _was_proposed(tx, older, newer):
            return None
        shown = f" ({one.link.why})" if one.link.why else ""
        why = Clean(f"The second seems to update the first{shown}. Accept to end the validity of the first.")
        return self._proposal_queue.propose(tx, ProposalKind.UPDATE, [one.older, one.newer], SERVICE_VIEWER, why=why)

    def _updates(self, view: View, documents: Collection[DocumentKey]) -> list[_Update]:
        """Returns the updates that nobody was asked about: those of the latest memories first, and of each memory the
        earliest, when it ended."""
        links = _certain(view, documents)
        where = Filter(visibility=EVERYTHING.visibility, live_at=self._clock.now())
        memories = view.memories_of({end for one in links for end in (one.source, one.target)}, where)
        found: list[_Update] = []
        for one in links:
            if one.source not in memories or one.target not in memories:
                continue
            older, newer = Stored(one.target, memories[one.target]), Stored(one.source, memories[one.source])
            history = view.history(newer.key)
            if may_end(older.memory, newer.memory, history) and not _was_proposed(view, older, newer):
                found.append(_Update(older, newer, one.link, _author(view, stating_version(history))))
        found.sort(key=lambda one: (one.newer.memory.holds_since, one.newer.key))
        return sorted(found, key=lambda one: (one.older.memory.holds_since, one.older.key), reverse=True)

    # suggesting subjects

    def _suggest_subjects(self, documents: Collection[DocumentKey]) -> None:
        seen = set[DocumentKey]()
        for key in documents:
            if key in seen:
                continue
            with self._store.read() as view:
                dated = self._chain(view, key, seen)
                chain = [one for one, _ in dated]
                if len(chain) < 2 or _was_suggested(view, chain):
                    continue
                rarities = partial(self._keywords.rarities, view)
                subject = chain_subject([one.memory for one in chain], [at for _, at in dated], rarities)
            if subject is not None and self._is_usable(subject, chain):
                self._store.write(partial(self._propose_subject, chain=chain, subject=subject))

    def _is_usable(self, subject: str, chain: Sequence[Stored]) -> bool:
        """Returns False for a subject that is masked as a secret, or that other facts have."""
        clean = self._normalizer.subject(subject)
        if clean != subject:
            return False
        if any(one.memory.subject == clean for one in chain):
            return True
        with self._store.read() as view:
            topic = replace(chain[0].memory, subject=clean).topic
            return topic is None or view.fact_at(topic, None) is None

    def _propose_subject(self, tx: Transaction, chain: Sequence[Stored], subject: str) -> None:
        has_room = self._proposal_queue.remaining_for(tx, ProposalKind.SUBJECT, chain)
        if not has_room or _was_suggested(tx, chain) or None in [_unchanged(tx, one) for one in chain]:
            return
        why = Clean(f"They update each other. As facts with the subject {subject}, the latest one is the current one.")
        wanted = Wanted(edit=Edit(subject=subject))
        self._proposal_queue.propose(tx, ProposalKind.SUBJECT, chain, SERVICE_VIEWER, wanted=wanted, why=why)

    def _chain(self, view: View, key: DocumentKey, seen: set[DocumentKey]) -> list[tuple[Stored, datetime]]:
        """Returns the memories that certain updates join with this one, and when each was stated, earliest first; none
        if there are too many. They have one home and project, as facts of one topic have. Adds them to ``seen``, but
        not those that they are linked to otherwise, which may have a chain of their own."""
        where = Filter(visibility=EVERYTHING.visibility, live_at=self._clock.now())
        found, read = dict[DocumentKey, Stored](), set[DocumentKey]()
        last = {key}
        while last:
            for one, memory in view.memories_of(last, where).items():
                first = next(iter(found.values()), None)
                is_alike = first is None or (first.memory.home, first.memory.project) == (memory.home, memory.project)
                if is_alike and memory.operational is None:
                    found[one] = Stored(one, memory)
            seen |= found.keys()
            if len(found) > MOST_MEMBERS:
                return []
            ends = {end for one in _certain(view, last & found.keys()) for end in (one.source, one.target)}
            read |= last
            last = ends - read
        dated = [(one, stated_at(one.memory, view.history(one.key))) for one in found.values()]
        return sorted(dated, key=lambda one: (one[1], one[0].key))

    # closing

    def _close_outdated(self) -> None:
        with self._store.read() as view:
            outdated = [one.id for one in self._some_open(view) if self._is_outdated(view, one)]
        if outdated:
            self._store.write(partial(self._close, proposals=outdated))

    def _close(self, tx: Transaction, proposals: Sequence[ProposalId]) -> None:
        known = [one for each in proposals if (one := tx.proposal(each)) is not None and one.decided is None]
        close_proposals(tx, [one for one in known if self._is_outdated(tx, one)], self._clock.now(), _OUTDATED)

    def _some_open(self, view: View) -> list[Proposal]:
        """Returns the next open proposals, newest first and round and round."""
        found = list[Proposal]()
        for kind in (ProposalKind.UPDATE, ProposalKind.SUBJECT):
            where = ProposalFilter(seen=EVERYTHING.visibility, open=True, kind=kind)
            page = view.proposals(where, self._examined.get(kind), MOST_OPEN)
            self._examined[kind] = (page[-1].at, page[-1].id) if len(page) == MOST_OPEN else None
            found += page
        return found

    def _is_outdated(self, view: View, proposal: Proposal) -> bool:
        """Returns True if a proposal can no longer be accepted, or no link is its reason any more."""
        memories = [stored for one in proposal.memories if (stored := view.get(one.memory)) is not None]
        if tuple(ProposalSubject(one.memory.id, one.memory.version) for one in memories) != proposal.memories:
            return True
        if proposal.kind is ProposalKind.SUBJECT:
            return {one.key for one in memories} != {one.key for one, _ in self._chain(view, memories[0].key, set())}
        older, newer = memories
        is_linked = any((one.source, one.target) == (newer.key, older.key) for one in _certain(view, [newer.key]))
        return not is_linked or not may_end(older.memory, newer.memory, view.history(newer.key))


def _certain(view: View, documents: Collection[DocumentKey]) -> list[StoredLink]:
    return [one for one in view.links_of(documents) if is_certain(one.link)]


def _author(view: View, version: Version) -> Viewer | None:
    """Returns who wrote a version; None if that is unknown. What the service wrote for nobody has no authority."""
    if version.actor is None:
        is_operator = version.interface is not Interface.SERVICE
        return Viewer(role=Role.OPERATOR, agent=None, interface=version.interface) if is_operator else None
    agent = view.agent(version.actor)
    return None if agent is None else Viewer(role=agent.role, agent=agent.id, interface=version.interface)


def _unchanged(view: View, stored: Stored) -> Stored | None:
    """Returns a memory as it is now; None if it has another version."""
    now = view.get(stored.memory.id)
    return now if now is not None and now.memory.version == stored.memory.version else None


def _was_proposed(view: View, older: Stored, newer: Stored) -> bool:
    """Returns True if a person has to decide about a pair, or decided, or if nothing changed since the proposal was
    closed."""
    now = [ProposalSubject(one.memory.id, one.memory.version) for one in (older, newer)]
    return any(
        one.kind is ProposalKind.UPDATE
        and [each.memory for each in one.memories] == [each.memory for each in now]
        and (not _was_closed(one) or list(one.memories) == now)
        for one in view.proposals_about(newer.key)
    )


def _was_suggested(view: View, chain: Sequence[Stored]) -> bool:
    """Returns True if a subject for a chain was proposed, and neither accepted nor closed: also if a person rejected it
    for two of its memories."""
    members = {one.memory.id for one in chain}
    now = tuple(ProposalSubject(one.memory.id, one.memory.version) for one in chain)
    about = {each.id: each for one in chain for each in view.proposals_about(one.key)}
    return any(
        one.kind is ProposalKind.SUBJECT
        and len(members & {each.memory for each in one.memories}) > 1
        and (_is_rejected_by_person(one) or one.decided is None or one.memories == now)
        for one in about.values()
    )


def _has_subject_proposal(view: View, update: _Update) -> bool:
    """Returns True if an open proposal would end the validity of the older memory by a subject."""
    both = {update.older.memory.id, update.newer.memory.id}
    return any(
        one.kind is ProposalKind.SUBJECT and one.decided is None and both <= {each.memory for each in one.memories}
        for one in view.proposals_about(update.newer.key)
    )


def _was_closed(proposal: Proposal) -> bool:
    """Returns True if the service rejected a proposal."""
    decided = proposal.decided
    return decided is not None and decided.how is Decision.REJECTED and decided.interface is Interface.SERVICE


def _is_rejected_by_person(proposal: Proposal) -> bool:
    decided = proposal.decided
    return decided is not None and decided.how is Decision.REJECTED and not _was_closed(proposal)
