"""How batches and maintenance look as JSON."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from hivelore.core.jobs import Job
from hivelore.maintenance.model import DuplicateGroup, Expired, MaintenancePlan, MaintenanceResult
from hivelore.memories.codec import Object, instant, job
from hivelore.memories.model import MemoryId


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
