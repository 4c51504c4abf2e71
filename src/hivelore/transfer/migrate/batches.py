"""Moving what can be taken back from one store to another: its memories have the same keys there."""

from collections.abc import Iterable
from hashlib import sha256

from hivelore.changes.model import Batch, BatchFilter, BatchId, Preimage
from hivelore.memories.whole_reader import canonical
from hivelore.search.model import EVERYTHING
from hivelore.storage.ports import MemoryStore, Transaction, View

BATCH_PAGE = 100
_ALL_BATCHES = BatchFilter(seen=EVERYTHING.visibility)

BatchWithPreimages = tuple[Batch, tuple[Preimage, ...]]


def all_batches(view: View) -> Iterable[BatchWithPreimages]:
    """All batches with what is kept of them, newest first."""
    page = view.batches(_ALL_BATCHES, None, BATCH_PAGE)
    while page:
        for one in page:
            yield one, tuple(view.preimages(one.id))
        page = view.batches(_ALL_BATCHES, (page[-1].at, page[-1].id), BATCH_PAGE)


def copy_batches(view: View, target: MemoryStore) -> None:
    """Let the target have the batches that the view shows, and no others."""
    with target.read() as there:
        known = {kept[0].id: _batch_digest(kept) for kept in all_batches(there)}
    for kept in all_batches(view):
        if known.pop(kept[0].id, None) != _batch_digest(kept):
            target.write(lambda tx, kept=kept: _put_batch(tx, kept))
    for gone in known:
        target.write(lambda tx, gone=gone: tx.drop_batch(BatchId(gone)))


def _put_batch(tx: Transaction, kept: BatchWithPreimages) -> None:
    batch, preimages = kept
    tx.drop_batch(batch.id)
    tx.put_batch(batch, preimages)


def _batch_digest(kept: BatchWithPreimages) -> bytes:
    return sha256(canonical(kept)).digest()
