"""What REST answers, for /openapi.json alone: answers are written past these models, and tests hold them to it."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from hivelore.core.agents import Interface
from hivelore.memories.model import Action, Scope, Source, Trust
from hivelore.search.model import RetrievalMode


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


class UsefulnessAnswer(Shown):
    factor: float
    """What scores are multiplied by; 1 where nothing is known."""
    seen: dict[str, int]
    """How much evidence there is of each sign: unused, repeated, opened, cited, applied, useless, useful, failed,
    succeeded."""


class OneMemoryAnswer(MemoryAnswer):
    usefulness: UsefulnessAnswer | None = None
    """Left out of a memory of whose use nothing is known."""


class IndexAnswer(Shown):
    queued: bool
    memory_ids: list[str]
    proposal: str | None
    """It was to take the place of what others share: a lead decides about this proposal, and it stands beside them."""
    dropped: bool
    """That was not even proposed: too many proposals of the agent wait that weigh more."""


class Kept(Shown):
    memory: MemoryAnswer
    created: bool
    changed: bool
    proposal: str | None
    """As for index."""
    dropped: bool


class BatchAnswer(Shown):
    results: list[Kept]


class SnippetAnswer(Shown):
    content: str
    chunk_index: int
    total_chunks: int
    headings: list[str]


class HitAnswer(Shown):
    memory: MemoryAnswer
    passage: SnippetAnswer
    score: dict[str, float]
    """The parts of the score by name; ``total`` is what ranks."""
    fit: float
    """How far it has to do with the question at all, 0..3, whatever else was found."""
    fits: bool
    """Whether it is worth giving to somebody who did not ask."""
    alike: int
    """How many others that say the same were left out."""


class SearchAnswer(Shown):
    message: str
    recall_id: str | None
    """Under which the recall is logged."""
    path: RetrievalMode
    fits: bool
    """Whether any of it fits."""
    results: list[HitAnswer]


class PageAnswer(Shown):
    memories: list[MemoryAnswer]
    next: str | None


class ForgottenAnswer(Shown):
    forgotten: int


class StatsAnswer(Shown):
    total: int
    by_source: dict[str, int]
    by_scope: dict[str, int]
    pending_embeddings: int
    failed: int
    expired: int


class ChunksAnswer(Shown):
    chunks: list[SnippetAnswer]


class VersionAnswer(Shown):
    version: int
    at: datetime
    action: Action
    actor: str | None
    door: Interface
    reason: str | None
    scope: Scope
    name: str
    content: str
    summary: str
    category: str
    tags: list[str]
    project: str | None
    expires_at: datetime | None
    subject: str | None
    valid_from: datetime | None


class TakenBackAnswer(Shown):
    at: datetime
    actor: str | None
    door: Interface
    change: str
    """What it was, and its batch; or ``what was known of its use``."""


class HistoryAnswer(Shown):
    versions: list[VersionAnswer]
    supersedes: str | None
    """The memory whose place this one took."""
    superseded_by: list[str]
    """Those that took its place, as far as the caller may see them."""
    taken_back: list[TakenBackAnswer]
    """Changes that are no version any more, newest first."""


class DifferenceAnswer(Shown):
    from_: int = Field(alias="from")
    to: int
    fields: dict[str, str]
    """Those that differ, each as a unified diff."""
