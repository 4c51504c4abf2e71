"""What REST answers, for /openapi.json alone: answers are written past these models, and tests hold them to it."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from hivelore.core.agents import Interface
from hivelore.memories.model import Scope, Source, Trust


class Shown(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, extra="forbid")


class Origin(Shown):
    actor: str | None
    door: Interface
    trust: Trust
    reason: str | None


class OperationalAnswer(Shown):
    """What a memory about running things has besides."""

    service: str | None
    """null: it holds for all."""
    confidence: float
    """0..1, when it was last observed (``confidentAt``)."""
    confident_at: datetime
    tier: int
    persistent: bool
    """Time does not wear it off."""
    off: bool
    """An operator took it out of use."""


class MemoryAnswer(Shown):
    id: str
    agent_id: str | None
    scope: Scope
    name: str
    content: str
    summary: str
    source: Source
    source_task_id: str | None
    source_path: str | None
    external_id: str | None
    category: str
    tags: list[str]
    project: str | None
    session: str | None
    author: str | None
    metadata: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    accessed_at: datetime | None
    access_count: int
    expires_at: datetime | None
    subject: str | None
    valid_from: datetime | None
    """null: since createdAt."""
    valid_until: datetime | None
    """When another one took its place; null: none did."""
    supersedes: str | None
    version: int
    provenance: Origin
    operational: OperationalAnswer | None = None
    """Left out of a memory that is not about running things."""
