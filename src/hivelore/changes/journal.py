"""Keeping what memories were before they change, for a while, so that it can come back (N14).

What is forgotten for good is not kept: its words are to be nowhere.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import TypeVar

from hivelore.changes.model import ABSENT, Batch, BatchId, BatchKind, Preimage, PreviousState
from hivelore.core.agents import AgentId, Viewer
from hivelore.core.clock import Clock
from hivelore.core.text import Clean
from hivelore.indexing.model import DocumentKey, Stored
from hivelore.memories.model import Memory, MemoryId, Scope, Version
from hivelore.memories.whole_reader import canonical
from hivelore.observations.model import Observation
from hivelore.review.model import Proposal
from hivelore.search.model import EVERYTHING
from hivelore.storage.ports import MemoryStore, Transaction, View

T = TypeVar("T")


class ChangeJournal:
    def __init__(
        self, store: MemoryStore, clock: Clock, batch_id: Callable[[datetime], BatchId], lifetime: timedelta
    ) -> None:
        """``lifetime``: how long it is kept; none: nothing is."""
        self._store = store
        self._clock = clock
        self._batch_id = batch_id
        self._lifetime = lifetime

    def write(
        self,
        kind: BatchKind,
        viewer: Viewer,
        work: Callable[[Transaction], T],
        deadline: float | None = None,
        *,
        reason: Clean | None = None,
    ) -> T:
        """Do one unit of work, and keep what it changes."""
        return self._store.write(lambda tx: self.record(tx, kind, viewer, lambda: work(tx), reason=reason), deadline)

    def new_batch_id(self) -> BatchId:
        return self._batch_id(self._clock.now())

    def record(
        self,
        tx: Transaction,
        kind: BatchKind,
        viewer: Viewer,
        work: Callable[[], T],
        *,
        reason: Clean | None = None,
        batch: BatchId | None = None,
        undoes: BatchId | None = None,
    ) -> T:
        """Do a part of a unit of work, and keep what it changes as one batch: ``batch``, where there may be more of it.
        Inside another one, as a part of that."""
        if tx.is_journaling or self._lifetime <= timedelta():
            return work()
        with tx.journal() as noted:
            done = work()
        if kind is BatchKind.TOLD and all(was is None for was in noted.values()):
            return done  # What is only new is forgotten, not taken back.
        preimages = _build_preimages(tx, noted, kind)
        if not preimages or (kind is BatchKind.TOLD and all(one.before is None for one in preimages)):
            return done
        known = None if batch is None else tx.batch(batch)
        before = {one.key: one for one in _existing_preimages(tx, known, preimages)}
        now = self._clock.now()
        fresh = Batch(
            id=batch or self._batch_id(now),
            kind=kind,
            at=now,
            actor=viewer.agent,
            interface=viewer.interface,
            reason=reason,
            changes=len(preimages) - len(before) + (0 if known is None else known.changes),
            is_private=any(one.owner is not None for one in preimages) or (known is not None and known.is_private),
            undoes=undoes,
        )
        tx.put_batch(fresh, [_combine(before.get(one.key), one) for one in preimages])
        return done


def last_known_state(view: View, memory: MemoryId) -> Stored | None:
    """A memory that is not there any more as it is kept to come back; as a private one where it may have been that."""
    last = view.last_preimage(memory)
    if last is None or last.before is None:
        return None
    was = last.before.whole.memory
    return Stored(last.key, was if last.owner is None else replace(was, owner=last.owner, scope=Scope.AGENT))


def state_digest(memory: Memory | None, observations: Sequence[Observation]) -> str:
    """Equal for a memory that was not changed meanwhile: reading it, what is seen of its use, and to begin its time to
    live anew is no change."""
    if memory is None:
        return ABSENT
    told = replace(memory, access_count=0, accessed_at=None, expires_at=None)
    return sha256(canonical((told, list(observations)))).hexdigest()


def previous_digest(was: PreviousState | None) -> str:
    return ABSENT if was is None else state_digest(was.whole.memory, was.whole.observations)


def _build_preimages(
    tx: Transaction, noted: Mapping[DocumentKey, PreviousState | None], kind: BatchKind
) -> list[Preimage]:
    now = tx.memories_of(list(noted), EVERYTHING)
    observations = tx.observations_of(list(now))
    found: list[Preimage] = []
    for key, was in noted.items():
        memory = now.get(key)
        after = state_digest(memory, observations.get(key, ()))
        told = memory or (None if was is None else was.whole.memory)
        if told is not None and after != previous_digest(was):
            kept = None if was is None else _trim_previous_state(was, kind, memory)
            found.append(Preimage(key, told.id, kept, after, _private_owner(was, memory)))
    return found


def _existing_preimages(tx: Transaction, batch: Batch | None, preimages: Sequence[Preimage]) -> list[Preimage]:
    """What a batch has of these already."""
    if batch is None:
        return []
    found = [tx.preimage(batch.id, one.key) for one in preimages]
    return [one for one in found if one is not None]


def _combine(first: Preimage | None, last: Preimage) -> Preimage:
    """Two changes of one memory in one batch, as one. Where somebody else changed it between them, the mark stays that
    of the first: neither is taken back over that."""
    if first is not None and first.after != previous_digest(last.before):
        return first
    if first is None or first.before is None or last.before is None:
        return last if first is None else replace(last, before=first.before)
    whole, later = first.before.whole, last.before
    if last.after == ABSENT:
        whole = replace(whole, history=join_histories(later.whole.history, whole.history))
    kept = PreviousState(whole, later.proposals, later.events)
    return replace(last, before=kept, owner=last.owner or first.owner)


def _trim_previous_state(was: PreviousState, kind: BatchKind, now: Memory | None) -> PreviousState:
    """What of a memory has to be kept: not what stays where it is as long as the memory does, and no word of others.
    What was proposed about several may have some: it is kept of decisions alone, of which nothing is left when one of
    these is forgotten."""
    whole = was.whole
    if now is not None:
        least = min(now.version, whole.memory.version)
        whole = replace(whole, history=tuple(one for one in whole.history if one.number >= least))
    if kind is BatchKind.DECIDED:
        proposals = was.proposals
    else:
        proposals = _single_memory_proposals(was.proposals) if now is None else ()
    return PreviousState(whole, proposals, was.events if now is None else ())


def _single_memory_proposals(proposals: Sequence[Proposal]) -> tuple[Proposal, ...]:
    return tuple(one for one in proposals if len(one.memories) == 1)


def join_histories(earlier: Sequence[Version], last: Sequence[Version]) -> tuple[Version, ...]:
    """A history of its last part, and of another one which begins as it did."""
    return (*(one for one in earlier if one.number < last[0].number), *last)


def _private_owner(was: PreviousState | None, memory: Memory | None) -> AgentId | None:
    states = (None if was is None else was.whole.memory, memory)
    return next((one.owner for one in states if one is not None and one.scope is Scope.AGENT), None)
