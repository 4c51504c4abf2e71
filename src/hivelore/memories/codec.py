"""Instants, agents, keys and jobs as JSON."""

from datetime import UTC, datetime
from typing import Any

from hivelore.core.agents import Agent, ApiKey
from hivelore.core.jobs import Job
from hivelore.errors import Invalid

Object = dict[str, Any]


def instant(value: datetime | None) -> str | None:
    if value is None:
        return None
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def read_instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text).astimezone(UTC)


def told(value: datetime | None, field: str) -> str | None:
    """An instant from a caller, who has to say its zone."""
    if value is not None and value.tzinfo is None:
        raise Invalid(f"{field} needs a time zone, like 2026-01-31T12:00:00Z.", field=field)
    try:
        return instant(value)
    except OverflowError:
        raise Invalid(f"{field} is no year of the calendar in UTC.", field=field) from None


def agent(value: Agent) -> Object:
    return {"id": value.id, "name": value.name, "role": value.role.value, "createdAt": instant(value.created_at)}


def api_key(value: ApiKey) -> Object:
    """A key without anything that would let one in."""
    return {
        "id": value.id,
        "agentId": value.agent,
        "role": value.role.value,
        "createdAt": instant(value.created_at),
        "expiresAt": instant(value.expires_at),
        "revokedAt": instant(value.revoked_at),
    }


def job(value: Job) -> Object:
    return {
        "id": value.id,
        "kind": value.kind,
        "state": value.state.value,
        "createdAt": instant(value.created_at),
        "updatedAt": instant(value.updated_at),
        "done": value.done,
        "total": value.total,
        "error": value.error,
    }
