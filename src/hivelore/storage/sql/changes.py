"""The change journal: batches of changes, and the pre-images that undo them."""

from collections.abc import Sequence
from datetime import datetime

import orjson

from hivelore.changes.model import Batch, BatchFilter, BatchId, BatchKind, Preimage, PreviousState
from hivelore.changes.preimage_codec import former, read_former
from hivelore.memories.model import MemoryId
from hivelore.memories.stored import DocumentKey
from hivelore.setup_scripts.model import ScriptChange
from hivelore.storage.sql.statements import (
    FLAG,
    INSTANT,
    INTERFACES,
    PLAIN,
    SCRIPT_AGENT,
    Codec,
    Columns,
    Param,
    Row,
    SqlReader,
    SqlWriter,
    Table,
    after_position,
    begins_with,
    codes,
    plain,
    to_micros,
)

KIND = {
    BatchKind.EDITED: 1,
    BatchKind.STORED: 2,
    BatchKind.OPERATED: 3,
    BatchKind.DECIDED: 4,
    BatchKind.PURGED: 5,
    BatchKind.UNDONE: 6,
    BatchKind.REJUDGED: 7,
    BatchKind.CONFIGURED: 8,
    BatchKind.PROFILED: 9,
    BatchKind.REGISTERED: 10,
    BatchKind.SETUP_SCRIPT: 11,
}


def _write_state(state: PreviousState) -> str:
    return orjson.dumps(former(state)).decode()


BATCH = Table(
    Batch,
    "batch",
    "id",
    id=PLAIN,
    kind=codes(KIND),
    at=INSTANT,
    actor=PLAIN,
    interface=INTERFACES,
    **plain("reason changes"),
    is_private=FLAG.named("private"),
    undoes=PLAIN,
    undone_at=INSTANT,
    undone_by=PLAIN,
    script=Columns(
        ScriptChange,
        None,
        agent=SCRIPT_AGENT.named("script_agent"),
        before=PLAIN.named("script_before"),
        after=PLAIN.named("script_after"),
        proposal=PLAIN.named("script_proposal"),
    ),
)
PREIMAGE = Table(
    Preimage,
    "preimage",
    "batch document",
    key=PLAIN.named("document"),
    memory=PLAIN,
    before=Codec(None, _write_state),
    **plain("after owner"),
)
_CHANGED_MEMORY = (
    " AND EXISTS (SELECT 1 FROM preimage pi"
    " WHERE pi.namespace = b.namespace AND pi.batch = b.id AND pi.memory = :memory)"
)


def batch_condition(where: BatchFilter, after: tuple[datetime, BatchId] | None) -> tuple[str, dict[str, Param]]:
    """Returns a filter of batches, to be appended to ``b.namespace = :namespace``."""
    sql, params = after_position("b.at, b.id", after)
    if not where.seen.others:
        sql += " AND b.private = 0" if where.seen.swarm else " AND 1 = 0"
    if where.undone is not None:
        sql += f" AND b.undone_at IS {'NOT ' if where.undone else ''}NULL"
    if where.memory is not None:
        sql, params["memory"] = sql + _CHANGED_MEMORY, where.memory
    if where.prefix is not None:
        begins, ends = begins_with("b.id", where.prefix)
        sql, params = sql + begins, {**params, **ends}
    return sql, params


def _read_preimage(row: Row) -> Preimage:
    document, memory, before, after, owner = row
    key = DocumentKey(document)
    return Preimage(key, memory, None if before is None else read_former(key, orjson.loads(before)), after, owner)


class ChangeJournalReader(SqlReader):
    """Implements ``changes.ports.ChangeJournalReads``."""

    TABLES = (BATCH, PREIMAGE)

    def batch(self, batch: BatchId) -> Batch | None:
        return self.read_one(BATCH, "batch_by_id", id=batch)

    def batches(self, where: BatchFilter, after: tuple[datetime, BatchId] | None, limit: int) -> Sequence[Batch]:
        sql, params = batch_condition(where, after)
        found = self.rows(self.SQL["batches"].replace("{batch_filter}", sql), {**params, "limit": limit})
        return [BATCH.read(row) for row in found]

    def changed_ids_from(self, prefix: str, where: BatchFilter, limit: int) -> Sequence[MemoryId]:
        sql, params = batch_condition(where, None)
        begins, ends = begins_with("pi.memory", prefix)
        statement = self.SQL["changed_ids"].replace("{batch_filter}", f"{begins}{sql}")
        return [MemoryId(row[0]) for row in self.rows(statement, {**params, **ends, "limit": limit})]

    def preimage(self, batch: BatchId, document: DocumentKey) -> Preimage | None:
        row = self.row("preimage_of", batch=batch, document=document)
        return None if row is None else _read_preimage(row)

    def preimages(self, batch: BatchId) -> Sequence[Preimage]:
        return [_read_preimage(row) for row in self.rows(self.SQL["preimages"], {"batch": batch})]

    def last_preimage(self, memory: MemoryId) -> Preimage | None:
        row = self.row("preimage_last", memory=memory)
        return None if row is None else _read_preimage(row)


class ChangeJournalWriter(ChangeJournalReader, SqlWriter):
    """Implements ``changes.ports.ChangeJournalWrites``."""

    def put_batch(self, batch: Batch, preimages: Sequence[Preimage] = ()) -> None:
        self.run("batch_put", BATCH.params(batch))
        self.run_each("preimage_put", [{**PREIMAGE.params(one), "batch": batch.id} for one in preimages])

    def drop_batch(self, batch: BatchId) -> None:
        for name in (
            "preimages_drop",
            "config_changes_drop",
            "profile_changes_drop",
            "repo_changes_drop",
            "batch_drop",
        ):
            self.run(name, {"id": batch})

    def drop_preimages(self, document: DocumentKey) -> None:
        kinds = {"decided": KIND[BatchKind.DECIDED], "rejudged": KIND[BatchKind.REJUDGED]}
        for name in ("batch_reasons_delete", "preimages_delete"):
            self.run(name, {"document": document, **kinds})

    def prune_batches(self, before: datetime, limit: int) -> int:
        old = self.rows(self.SQL["batches_old"], {"before": to_micros(before), "limit": limit})
        for (batch,) in old:
            self.drop_batch(batch)
        return len(old)
