"""The health and status of a running service."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from hivelore.core.agents import LeadSees
from hivelore.core.values import Value
from hivelore.sessions.missed_answers import MissedAnswers


class Cause(StrEnum):
    """The cause of a problem; its value is public."""

    DISK_FULL = "disk-full"
    WRITES = "writes-failing"
    READS = "reads-failing"
    DAMAGED = "database-damaged"
    REPLACED = "database-replaced"
    SERVER = "database-server"
    KEYWORDS = "keyword-search"
    EMBEDDING = "embedding"
    WORKER = "background-worker"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Fixed texts for people, free of paths, names and contents: they are shown to callers without a key."""

    what: str
    remedy: str


EXPLANATIONS: Mapping[Cause, Explanation] = {
    Cause.DISK_FULL: Explanation(
        "The disk of the database is full: nothing can be stored.",
        "Free some space; then the service continues on its own.",
    ),
    Cause.WRITES: Explanation(
        "Writes to the database fail.",
        "Check the disk, and the permissions of the database and its folder; then the service continues on its own.",
    ),
    Cause.READS: Explanation(
        "Reads from the database fail.", "Check the disk; the service continues on its own once it answers."
    ),
    Cause.DAMAGED: Explanation(
        "Data that was read from the database is damaged.",
        "Run 'hivelore doctor', which reads the whole database. If it finds damage, keep a copy of the home folder, "
        "then restore your last backup or export.",
    ),
    Cause.REPLACED: Explanation(
        "The database was removed, replaced or restored while the service was running: nothing is stored.",
        "Run 'hivelore stop', put the right database in place, without a '-wal' or '-shm' file of the previous one, "
        "then run 'hivelore start'.",
    ),
    Cause.SERVER: Explanation(
        "The database server does not answer.",
        "Check that it runs and that HIVELORE_DATABASE names it; then the service continues on its own.",
    ),
    Cause.KEYWORDS: Explanation(
        "Keyword search does not work.",
        "Check the service log for the reason, and run 'hivelore doctor', which checks the whole database for damage.",
    ),
    Cause.EMBEDDING: Explanation(
        "The embedding model does not answer: searches use keywords only.",
        "Check HIVELORE_EMBEDDER and its settings; nothing is lost meanwhile.",
    ),
    Cause.WORKER: Explanation(
        "A background worker fails each time it is restarted.", "Check the service log for the reason."
    ),
}

DEGRADING = frozenset({Cause.EMBEDDING})
"""Causes with which the service still works, but not as well."""


class Reason(Value, frozen=True, kw_only=True):
    """A problem, as shown to callers without a key."""

    cause: Cause
    message: str
    remedy: str
    since: datetime
    lasting: bool
    """True if waiting has not helped so far."""


class HealthProblem(Reason, frozen=True, kw_only=True):
    detail: str
    """What failed, with secrets masked."""


class Worker(Value, frozen=True, kw_only=True):
    """The record of one background worker."""

    name: str
    last_success: datetime | None = None
    last_failure: datetime | None = None
    failures_in_a_row: int = 0
    """Failures since the last success."""
    failures: int = 0
    """Failures since the start."""
    error: str | None = None
    """The last failure; None after a success."""


@dataclass(frozen=True, slots=True)
class Health:
    problems: tuple[HealthProblem, ...]
    workers: tuple[Worker, ...]

    @property
    def is_ready(self) -> bool:
        """True if no problem stops the service from doing its work."""
        return all(problem.cause in DEGRADING for problem in self.problems)


class Status(Value, frozen=True, kw_only=True):
    """Engines, models and queues. Values from the database are None while it is unavailable."""

    version: str
    ready: bool
    problems: tuple[HealthProblem, ...]
    workers: tuple[Worker, ...]
    store: str
    database_id: str | None
    """Changes when the database is restored or moved."""
    row_level_security: bool | None
    """True if row-level security checks visibility too; None if the database has none."""
    keywords: str
    pending_keywords: int | None
    vectors: str | None
    vectors_ready: bool
    model: str | None
    wanted_model: str | None
    pending_embeddings: int | None
    failed_embeddings: int | None
    """Passages that only keywords find, until a later attempt succeeds."""
    pending_comparisons: int | None
    """Memories that wait to be compared with others, counted in the last half minute; None without a pair model."""
    embedding_trouble: str | None
    embedding_outage: str | None
    """Why searches use keywords only although there is a model."""
    relevance_outage: str | None
    """Why searches are not reranked and prompts get memories without the relevance model; None if it works."""
    summarizer: str
    tokens_today: int | None
    tokens_a_day: int
    pending_summaries: int | None
    failed_summaries: int | None
    summary_trouble: str | None
    judge: str
    judge_trouble: str | None
    hook_events_waiting: int | None
    hook_events_lost: int | None
    missed_answers: tuple[MissedAnswers, ...] | None
    """Answers to hooks, of the last days, that reached no agent program; programs without any are left out."""
    briefing_tokens: int
    prompt_tokens: int
    workspace: str
    files_known: int
    files_passed_over: int
    folders_looked_at: str | None
    folders_trouble: str | None
    ranking: str
    lead_sees: LeadSees
    categories: tuple[str, ...]
    aliases: tuple[str, ...]
    """Further names of services and categories, such as ``pg-main=postgres``."""
    memory_budget: str
