"""Batches as they lie in tables: one row each, and one for each memory that it changed, with what that was as JSON."""

from collections.abc import Sequence
from typing import Any

import orjson

from hivelore.changes.model import Batch, BatchId, Preimage
from hivelore.changes.preimage_codec import former, read_former
from hivelore.indexing.model import DocumentKey
from hivelore.storage.sql.codes import BATCH_KIND, BATCH_KIND_OF, DOOR_OF, INTERFACE
from hivelore.storage.sql.instants import from_micros, from_micros_or_none, to_micros, to_micros_or_none
from hivelore.storage.sql.where import Param


def read_batch(row: Sequence[Any]) -> Batch:
    """Columns id, kind, at, actor, door, reason, changes, private, undoes, undone_at and undone_by."""
    return Batch(
        id=row[0],
        kind=BATCH_KIND_OF[row[1]],
        at=from_micros(row[2]),
        actor=row[3],
        interface=DOOR_OF[row[4]],
        reason=row[5],
        changes=row[6],
        is_private=bool(row[7]),
        undoes=row[8],
        undone_at=from_micros_or_none(row[9]),
        undone_by=row[10],
    )


def batch_params(value: Batch) -> dict[str, Param]:
    return {
        "id": value.id,
        "kind": BATCH_KIND[value.kind],
        "at": to_micros(value.at),
        "actor": value.actor,
        "door": INTERFACE[value.interface],
        "reason": value.reason,
        "changes": value.changes,
        "private": int(value.is_private),
        "undoes": value.undoes,
        "undone_at": to_micros_or_none(value.undone_at),
        "undone_by": value.undone_by,
    }


def read_preimage(row: Sequence[Any]) -> Preimage:
    """Columns document, memory, before, after and owner."""
    key = DocumentKey(row[0])
    before = None if row[2] is None else read_former(key, orjson.loads(row[2]))
    return Preimage(key=key, memory=row[1], before=before, after=row[3], owner=row[4])


def preimage_params(of: BatchId, value: Preimage) -> dict[str, Param]:
    return {
        "batch": of,
        "document": value.key,
        "memory": value.memory,
        "before": None if value.before is None else orjson.dumps(former(value.before)).decode(),
        "after": value.after,
        "owner": value.owner,
    }
