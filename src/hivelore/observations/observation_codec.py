"""How what is known about running things looks as JSON (C23)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from hivelore.memories.codec import Object, instant
from hivelore.memories.model import Memory
from hivelore.observations.model import Observation
from hivelore.observations.outcomes import (
    ConfidenceTimeline,
    ObservationResult,
    RatedMemory,
    RatedPage,
    State,
    TimelinePoint,
)


def _known(memory: Memory) -> Object:
    known = memory.operational
    assert known is not None
    return {
        "id": memory.id,
        "service": known.service,
        "category": memory.category,
        "observation": memory.content,
        "tier": known.tier,
        "persistent": known.persistent,
        "session": memory.session,
        "project": memory.project,
        "agentId": memory.owner,
        "createdAt": instant(memory.created_at),
        "updatedAt": instant(max(memory.updated_at, known.held.since)),
        "observedAt": instant(known.held.since),
        "version": memory.version,
    }


def rated(value: RatedMemory) -> Object:
    """``confidence`` is that of the time of asking."""
    return {
        **_known(value.memory),
        "confidence": round(value.confidence, 4),
        "active": value.state is State.ACTIVE,
    }


def rated_page(value: RatedPage) -> Object:
    return {"memories": [rated(one) for one in value.memories], "next": value.next}


def observed(value: ObservationResult, now: RatedMemory) -> Object:
    """What became of an observation, and the memory that holds it."""
    return {
        "effect": value.effect.value,
        "about": list(value.about),
        "why": [*value.why, *value.dropped_message],
        "dropped": value.dropped,
        "memory": rated(now),
    }


def observation(value: Observation) -> Object:
    return {
        "at": instant(value.at),
        "kind": value.kind.value,
        "actor": value.actor,
        "door": value.interface.value,
        "session": value.session,
        "text": value.text,
        "confidence": value.to,
    }


def _point(value: TimelinePoint) -> Object:
    return {
        "at": instant(value.at),
        "confidence": round(value.confidence, 4),
        "active": value.state is State.ACTIVE,
    }


def life(value: ConfidenceTimeline) -> Object:
    return {
        "observations": [observation(one) for one in value.observations],
        "timeline": [_point(one) for one in value.timeline],
        "next": value.next,
    }


def told(*, observation: str, category: str, at: datetime | None = None, **more: Any) -> Mapping[str, Any]:
    """An observation as a service takes it in; what is not said is left out."""
    given = {"observation": observation, "category": category, "at": instant(at), **more}
    return {name: value for name, value in given.items() if value is not None}
