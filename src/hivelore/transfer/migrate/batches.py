"""Moving what can be taken back from one store to another: its memories have the same keys there."""

from collections.abc import Iterable
from hashlib import sha256

from hivelore.changes.model import Batch, BatchFilter, BatchId, Preimage
from hivelore.memories.whole_reader import canonical
from hivelore.search.model import EVERYTHING
from hivelore.storage.ports import MemoryStore, Transaction, View

PAGE = 100
_ALL = BatchFilter(seen=EVERYTHING.visibility)

Kept = tuple[Batch, tuple[Preimage, ...]]


def everything(view: View) -> Iterable[Kept]:
    """All batches with what is kept of them, newest first."""
    page = view.batches(_ALL, None, PAGE)
    while page:
        for one in page:
            yield one, tuple(view.preimages(one.id))
        page = view.batches(_ALL, (page[-1].at, page[-1].id), PAGE)


def copy(view: View, target: MemoryStore) -> None:
    """Let the target have the batches that the view shows, and no others."""
    with target.read() as there:
        known = {kept[0].id: _digest(kept) for kept in everything(there)}
    for kept in everything(view):
        if known.pop(kept[0].id, None) != _digest(kept):
            target.write(lambda tx, kept=kept: _put(tx, kept))
    for gone in known:
        target.write(lambda tx, gone=gone: tx.drop_batch(BatchId(gone)))


def _put(tx: Transaction, kept: Kept) -> None:
    batch, preimages = kept
    tx.drop_batch(batch.id)
    tx.put_batch(batch, preimages)


def _digest(kept: Kept) -> bytes:
    return sha256(canonical(kept)).digest()
