"""Change journal: keeps the previous state of memories for some time so that changes can be undone (N14).

Permanently deleted memories are not kept.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import TypeVar

from hivelore.changes.model import ABSENT, Batch, BatchId, BatchKind, Preimage, PreviousState
from hivelore.core.agents import AgentId, Viewer
from hivelore.core.clock import Clock
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.memories.model import Memory, MemoryId, Scope, Version
from hivelore.memories.stored import DocumentKey, Stored
from hivelore.memories.whole_reader import canonical
from hivelore.observations.model import Observation
from hivelore.review.model import Proposal
from hivelore.search.model import EVERYTHING
from hivelore.storage.ports import MemoryStore, Transaction, View

T = TypeVar("T")
_NO_WHY = Clean("")


class ChangeJournal:
    def __init__(
        self, store: MemoryStore, clock: Clock, batch_id: Callable[[datetime], BatchId], lifetime: timedelta
    ) -> None:
        """``lifetime``: how long previous states are kept; zero disables the journal."""
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
        """Runs a transaction and journals its changes."""
        return self._store.write(lambda tx: self.record(tx, kind, viewer, lambda: work(tx), reason=reason), deadline)

    def new_batch_id(self) -> BatchId:
        return self._batch_id(self._clock.now())

    def now(self) -> datetime:
        return self._clock.now()

    def new_batch(
        self,
        kind: BatchKind,
        viewer: Viewer,
        *,
        changes: int,
        is_private: bool,
        reason: Clean | None = None,
        undoes: BatchId | None = None,
    ) -> Batch | None:
        """Returns a batch for changes of other things than memories; None if the journal is disabled."""
        if self._lifetime <= timedelta():
            return None
        now = self._clock.now()
        return Batch(
            id=self._batch_id(now),
            kind=kind,
            at=now,
            actor=viewer.agent,
            interface=viewer.interface,
            reason=reason,
            changes=changes,
            is_private=is_private,
            undoes=undoes,
        )

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
        """Runs a part of a transaction and journals its changes as one batch. Within another recorded part it belongs
        to that batch. ``batch``: id of a batch that may span several transactions."""
        if tx.is_journaling or self._lifetime <= timedelta():
            return work()
        with tx.journal() as noted:
            done = work()
        if kind is BatchKind.STORED and all(was is None for was in noted.values()):
            return done  # A new memory can be forgotten instead of undone.
        preimages = _build_preimages(tx, noted, kind)
        if not preimages or (kind is BatchKind.STORED and all(one.before is None for one in preimages)):
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
    """Returns a deleted memory from the journal; as a private one if it may have been private."""
    last = view.last_preimage(memory)
    if last is None or last.before is None:
        return None
    was = last.before.whole.memory
    return Stored(last.key, was if last.owner is None else replace(was, owner=last.owner, scope=Scope.AGENT))


def state_digest(memory: Memory | None, observations: Sequence[Observation]) -> str:
    """Returns a digest that changes with the memory. Reads, recorded usage and a renewed lifetime do not count as
    changes."""
    if memory is None:
        return ABSENT
    state = replace(memory, access_count=0, accessed_at=None, expires_at=None)
    return sha256(canonical((state, list(observations)))).hexdigest()


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
        known = memory or (None if was is None else was.whole.memory)
        if known is not None and after != previous_digest(was):
            kept = None if was is None else _trim_previous_state(was, kind, memory)
            found.append(Preimage(key, known.id, kept, after, _private_owner(was, memory)))
    return found


def _existing_preimages(tx: Transaction, batch: Batch | None, preimages: Sequence[Preimage]) -> list[Preimage]:
    """Returns the pre-images that a batch already has of these memories."""
    if batch is None:
        return []
    found = [tx.preimage(batch.id, one.key) for one in preimages]
    return [one for one in found if one is not None]


def _combine(first: Preimage | None, last: Preimage) -> Preimage:
    """Combines two changes of one memory in one batch. If someone else changed the memory between them, the first
    digest is kept, so that neither is reverted over that change."""
    if first is not None and first.after != previous_digest(last.before):
        return first
    if first is None or first.before is None or last.before is None:
        return last if first is None else replace(last, before=first.before)
    whole, later = first.before.whole, last.before
    if last.after == ABSENT:
        whole = replace(whole, history=join_histories(later.whole.history, whole.history))
    kept = replace(later, whole=whole)
    return replace(last, before=kept, owner=last.owner or first.owner)


def _trim_previous_state(was: PreviousState, kind: BatchKind, now: Memory | None) -> PreviousState:
    """Drops what survives with the memory, and the texts of other memories. Proposals about several memories may
    contain such texts. Only decisions keep them; they are removed when one of the memories is permanently deleted. What
    differs between two memories (``Link.why``) contains words of both."""
    whole = was.whole
    if now is not None:
        least = min(now.version, whole.memory.version)
        whole = replace(whole, history=tuple(one for one in whole.history if one.number >= least))
    if kind is BatchKind.DECIDED:
        proposals = was.proposals
    else:
        proposals = _single_memory_proposals(was.proposals) if now is None else ()
    if now is not None:
        return PreviousState(whole, proposals)
    links = tuple(replace(one, link=replace(one.link, why=_NO_WHY)) for one in was.links)
    return PreviousState(whole, proposals, was.events, links)


def _single_memory_proposals(proposals: Sequence[Proposal]) -> tuple[Proposal, ...]:
    return tuple(one for one in proposals if len(one.memories) == 1)


def join_histories(earlier: Sequence[Version], last: Sequence[Version]) -> tuple[Version, ...]:
    """Joins the last part of a history with an earlier history that begins equally."""
    return (*(one for one in earlier if one.number < last[0].number), *last)


def _private_owner(was: PreviousState | None, memory: Memory | None) -> AgentId | None:
    states = (None if was is None else was.whole.memory, memory)
    return next((one.owner for one in states if one is not None and one.scope is Scope.AGENT), None)
