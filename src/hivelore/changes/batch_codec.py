"""How batches and maintenance look as JSON."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from hivelore.changes.model import Batch, BatchDetail, BatchId, BatchKind, BatchPage, ChangedMemory, UndoResult
from hivelore.core.agents import AgentId, Interface
from hivelore.core.jobs import Job
from hivelore.maintenance.model import DuplicateGroup, Expired, MaintenancePlan, MaintenanceResult
from hivelore.memories.codec import Object, instant, job, read_instant
from hivelore.memories.model import MemoryId


def batch(value: Batch) -> Object:
    return {
        "id": value.id,
        "kind": value.kind.value,
        "at": instant(value.at),
        "actor": value.actor,
        "door": value.interface.value,
        "reason": value.reason,
        "changes": value.changes,
        "private": value.is_private,
        "undoes": value.undoes,
        "undoneAt": instant(value.undone_at),
        "undoneBy": value.undone_by,
    }


def read_batch(data: Mapping[str, Any]) -> Batch:
    return Batch(
        id=BatchId(data["id"]),
        kind=BatchKind(data["kind"]),
        at=_at(data["at"]),
        actor=None if data["actor"] is None else AgentId(data["actor"]),
        interface=Interface(data["door"]),
        reason=data["reason"],
        changes=data["changes"],
        is_private=data["private"],
        undoes=data["undoes"],
        undone_at=read_instant(data["undoneAt"]),
        undone_by=data["undoneBy"],
    )


def page(value: BatchPage) -> Object:
    return {"batches": [batch(one) for one in value.batches], "next": value.next}


def read_page(data: Mapping[str, Any]) -> BatchPage:
    return BatchPage(batches=tuple(read_batch(one) for one in data["batches"]), next=data["next"])


def case(value: BatchDetail) -> Object:
    return {"batch": batch(value.batch), "memories": [{"id": one.id, "name": one.name} for one in value.memories]}


def read_case(data: Mapping[str, Any]) -> BatchDetail:
    memories = tuple(ChangedMemory(id=MemoryId(one["id"]), name=one["name"]) for one in data["memories"])
    return BatchDetail(batch=read_batch(data["batch"]), memories=memories)


def undone(value: UndoResult) -> Object:
    return {"batch": batch(value.batch), "by": value.by, "memories": list(value.memories), "forgotten": value.forgotten}


def read_undone(data: Mapping[str, Any]) -> UndoResult:
    memories = tuple(MemoryId(one) for one in data["memories"])
    return UndoResult(batch=read_batch(data["batch"]), by=data["by"], memories=memories, forgotten=data["forgotten"])


def wish(value: MaintenancePlan) -> Object:
    return {
        "purgeExpired": value.purge_expired,
        "merge": value.merge,
        "reindex": value.reindex,
        "vacuum": value.vacuum,
    }


def maintained(value: MaintenanceResult) -> Object:
    return {
        "applied": value.applied,
        "memories": value.memories,
        "expired": value.expired,
        "mostUnasked": value.most,
        "examples": [{"id": one.id, "name": one.name, "expiredAt": instant(one.expired_at)} for one in value.examples],
        "alike": [
            {"older": one.older, "newer": one.newer, "names": list(one.names), "why": one.why} for one in value.alike
        ],
        "proposed": value.proposed,
        "purged": value.purged,
        "batch": value.batch,
        "done": dict(value.done),
    }


def maintenance_job(value: Job, result: MaintenanceResult | None) -> Object:
    return {**job(value), "result": None if result is None else maintained(result)}


def read_maintained(data: Mapping[str, Any]) -> MaintenanceResult:
    return MaintenanceResult(
        applied=data["applied"],
        memories=data["memories"],
        expired=data["expired"],
        most=data["mostUnasked"],
        examples=tuple(
            Expired(id=MemoryId(one["id"]), name=one["name"], expired_at=_at(one["expiredAt"]))
            for one in data["examples"]
        ),
        alike=tuple(_read_alike(one) for one in data["alike"]),
        proposed=data["proposed"],
        purged=data["purged"],
        batch=data["batch"],
        done=data["done"],
    )


def _read_alike(data: Mapping[str, Any]) -> DuplicateGroup:
    first, second = data["names"]
    return DuplicateGroup(
        older=MemoryId(data["older"]), newer=MemoryId(data["newer"]), names=(first, second), why=data["why"]
    )


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)
