"""The health of a running service: problems with what it depends on, and records of its background workers."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Cause(StrEnum):
    """What a problem is about; also its public name."""

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
        "The disk of the database is full: nothing can be stored.", "Free some space; the service goes on by itself."
    ),
    Cause.WRITES: Explanation(
        "Writes to the database fail.",
        "Look at the disk and at the permissions of the database and its folder; the service goes on by itself.",
    ),
    Cause.READS: Explanation(
        "Reads from the database fail.", "Look at the disk; the service goes on by itself once it answers."
    ),
    Cause.DAMAGED: Explanation(
        "Something that was read from the database is damaged.",
        "Run 'hivelore doctor', which reads all of it. Where it finds damage, keep a copy of the home folder, then "
        "restore your last backup or export.",
    ),
    Cause.REPLACED: Explanation(
        "The database was removed, replaced or restored while the service runs: nothing is stored.",
        "Run 'hivelore stop'; see that the right database is in its place, with no '-wal' or '-shm' file of the former "
        "one beside it; then 'hivelore start'.",
    ),
    Cause.SERVER: Explanation(
        "The database server does not answer.",
        "See that it runs, and that HIVELORE_DATABASE names it; the service goes on by itself.",
    ),
    Cause.KEYWORDS: Explanation(
        "Keyword search does not work.",
        "Look into the service's log for the reason; 'hivelore doctor' reads the whole database for damage.",
    ),
    Cause.EMBEDDING: Explanation(
        "The embedding model does not answer: searches use keywords only.",
        "Look at HIVELORE_EMBEDDER and what belongs to it; nothing is lost meanwhile.",
    ),
    Cause.WORKER: Explanation(
        "A background worker fails each time it is restarted.", "Look into the service's log for the reason."
    ),
}

DEGRADING = frozenset({Cause.EMBEDDING})
"""Causes with which the service still does its work, though not as well."""


@dataclass(frozen=True, slots=True)
class Problem:
    """``detail`` is what failed, masked: for callers with a key. ``lasting``: waiting has not helped so far."""

    cause: Cause
    since: datetime
    lasting: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Worker:
    """The record of one background worker. ``failures`` are those since its last success, ``failed`` all there were;
    ``error`` is the last failure's, None after a success."""

    name: str
    last_success: datetime | None
    last_failure: datetime | None
    failures: int
    failed: int
    error: str | None


@dataclass(frozen=True, slots=True)
class Health:
    problems: tuple[Problem, ...]
    workers: tuple[Worker, ...]

    @property
    def is_ready(self) -> bool:
        """Whether the service can do what it is there for."""
        return all(problem.cause in DEGRADING for problem in self.problems)
