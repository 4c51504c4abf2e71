"""Batches of the reference store."""

from collections.abc import Sequence
from datetime import datetime
from heapq import nlargest, nsmallest

from hivelore.changes.model import Batch, BatchFilter, BatchId, BatchKind, Preimage
from hivelore.core.values import replace
from hivelore.memories.model import MemoryId
from hivelore.memories.stored import DocumentKey
from support.reference.state import KeptBatch, State

MOVING = (BatchKind.DECIDED, BatchKind.REJUDGED)
"""Kinds of batches that move words from one memory to another."""


class BatchesView:
    """The part of ``storage.ports.View`` that reads batches."""

    state: State

    def batch(self, batch: BatchId) -> Batch | None:
        known = self.state.batches.get(batch)
        return None if known is None else known.batch

    def batches(self, where: BatchFilter, after: tuple[datetime, BatchId] | None, limit: int) -> Sequence[Batch]:
        behind = (one for one in self.state.batches.values() if after is None or _place(one.batch) < after)
        shown = (one.batch for one in behind if where.admits(one.batch) and _changed(one, where))
        return nlargest(limit, shown, _place)

    def changed_ids_from(self, prefix: str, where: BatchFilter, limit: int) -> Sequence[MemoryId]:
        shown = (one for one in self.state.batches.values() if where.admits(one.batch) and _changed(one, where))
        return sorted({part.memory for one in shown for part in one.preimages if part.memory.startswith(prefix)})[
            :limit
        ]

    def preimage(self, batch: BatchId, document: DocumentKey) -> Preimage | None:
        return next((one for one in self.preimages(batch) if one.key == document), None)

    def preimages(self, batch: BatchId) -> Sequence[Preimage]:
        known = self.state.batches.get(batch)
        return [] if known is None else sorted(known.preimages, key=lambda one: one.key)

    def last_preimage(self, memory: MemoryId) -> Preimage | None:
        kept = [(one, part) for one in self.state.batches.values() for part in one.preimages]
        found = [(_place(one.batch), part) for one, part in kept if part.memory == memory and part.before is not None]
        return max(found, key=lambda pair: pair[0])[1] if found else None


def put(state: State, batch: Batch, preimages: Sequence[Preimage]) -> State:
    known = state.batches.get(batch.id)
    new = {one.key for one in preimages}
    kept = KeptBatch(batch, ()) if known is None else known
    before = tuple(one for one in kept.preimages if one.key not in new)
    changed = replace(kept, batch=batch, preimages=(*before, *preimages))
    return replace(state, batches=state.batches.put(batch.id, changed))


def without(state: State, document: DocumentKey) -> State:
    """Returns the state without the pre-images of a memory and of the memories whose words it may have had."""
    kept, found_before = state.batches, _decided_together(state, document)
    for one in state.batches.values():
        left = tuple(preimage for preimage in one.preimages if preimage.key not in found_before)
        if len(left) < len(one.preimages):
            kept = kept.put(one.batch.id, replace(one, batch=replace(one.batch, reason=None), preimages=left))
    return replace(state, batches=kept)


def _decided_together(state: State, document: DocumentKey) -> set[DocumentKey]:
    decided = [one for one in state.batches.values() if one.batch.kind in MOVING]
    found_before, found = set[DocumentKey](), {document}
    while found:
        found_before |= found
        groups = ({preimage.key for preimage in one.preimages} for one in decided)
        found = {key for group in groups if group & found_before for key in group} - found_before
    return found_before


def too_old(state: State, before: datetime, limit: int) -> Sequence[BatchId]:
    ages = (_place(one.batch) for one in state.batches.values() if one.batch.at < before)
    return [batch for _, batch in nsmallest(limit, ages)]


def _changed(one: KeptBatch, where: BatchFilter) -> bool:
    return where.memory is None or any(preimage.memory == where.memory for preimage in one.preimages)


def _place(batch: Batch) -> tuple[datetime, BatchId]:
    return batch.at, batch.id
