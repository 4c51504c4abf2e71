"""What REST answers, for /openapi.json alone: answers are written past these models, and tests hold them to it."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from hivelore.core.agents import Interface, LeadSees, Role
from hivelore.core.jobs import JobState
from hivelore.health.model import Cause
from hivelore.memories.model import Action, Scope, Source, Trust
from hivelore.search.model import RetrievalMode


class Shown(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, extra="forbid")


class ReasonAnswer(Shown):
    cause: Cause
    message: str
    remedy: str
    since: datetime
    lasting: bool


class Problem(BaseModel):
    """RFC 9457. ``detail`` says what to do next, ``code`` is for programs; others come where they say something."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    field: str | None = None
    """The argument at fault."""
    proposal: str | None = None
    """With code proposed: what others are asked to decide."""
    current: int | None = None
    """With code stale: the version that stands now."""
    pid: int | None = None
    """With code busy: who holds the data."""
    retry_after: float | None = None
    """Seconds."""
    id: str | None = None
    """With code unexpected: what the log calls it."""
    reasons: list[ReasonAnswer] | None = None
    """With code unready: why the service cannot do its work."""

    model_config = ConfigDict(alias_generator=to_camel)


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


class HealthAnswer(Shown):
    status: Literal["ok"]


class ProblemAnswer(ReasonAnswer):
    detail: str


class WorkerAnswer(Shown):
    name: str
    last_success: datetime | None
    last_failure: datetime | None
    failures_in_a_row: int
    failures: int
    error: str | None


class StatusAnswer(BaseModel):
    """Each version may tell more. What is read from the database is null while it cannot be."""

    model_config = ConfigDict(alias_generator=to_camel)

    version: str
    ready: bool
    problems: list[ProblemAnswer]
    workers: list[WorkerAnswer]
    store: str
    incarnation: str | None
    second_wall: bool | None
    keywords: str
    vectors: str | None
    vectors_ready: bool
    model: str | None
    wanted_model: str | None
    pending_embeddings: int | None
    failed_embeddings: int | None
    """Passages that are found by keywords only until one of the later tries to embed them succeeds."""
    embedding_trouble: str | None
    embedding_outage: str | None
    """Why questions are answered by keywords at present although there is a model."""
    hook_events_waiting: int | None
    hook_events_lost: int | None
    briefing_tokens: int
    prompt_tokens: int
    workspace: str
    files_known: int
    files_passed_over: int
    folders_looked_at: datetime | None
    folders_trouble: str | None
    ranking: str
    lead_sees: LeadSees


class CheckAnswer(Shown):
    problems: list[str]
    """Damage to the data."""
    repairs: list[str]
    """What an index lacked, and is being repaired."""
    failed_embeddings: int


class MeAnswer(Shown):
    agent_id: str | None
    name: str | None
    role: Role
    acting: bool
    capabilities: list[str]
    lead_sees: LeadSees
    limits: dict[str, int]


class KeyAnswer(Shown):
    id: str
    agent_id: str | None
    role: Role
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None


class AgentAnswer(Shown):
    id: str
    name: str
    role: Role
    created_at: datetime


class KeyholderAnswer(AgentAnswer):
    keys: list[KeyAnswer] = []
    """For operators."""


class AgentsAnswer(Shown):
    agents: list[KeyholderAnswer]


class IssuedAnswer(Shown):
    agent: AgentAnswer
    key: str
    expires_at: datetime | None


class RevokedAnswer(Shown):
    revoked: int


class JobAnswer(Shown):
    id: str
    kind: str
    state: JobState
    created_at: datetime
    updated_at: datetime
    done: int
    total: int
    error: str | None
