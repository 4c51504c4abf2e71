"""A complete memory for transfer and undo, and row counts of a store."""

from dataclasses import dataclass

from hivelore.feedback.recalls import Evidence
from hivelore.memories.model import Memory, Version
from hivelore.memories.stored import DocumentKey, StoredChunk
from hivelore.observations.model import Observation


@dataclass(frozen=True, slots=True)
class WholeMemory:
    """A memory with all its records except vectors, under the keys of its store."""

    key: DocumentKey
    memory: Memory
    history: tuple[Version, ...]
    """Every version, oldest first; the last one is current."""
    chunks: tuple[StoredChunk, ...]
    """In order."""
    observations: tuple[Observation, ...]
    """Oldest first."""
    evidence: tuple[Evidence, ...]
    """Usage evidence, oldest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    memories: int
    versions: int
    """Versions of all memories, including the current ones."""
    characters: int
    """Characters in the contents of all versions."""
    observations: int
    evidence: int
    passages: int
    vectors: int
    """Vectors of all models."""
    token_codes: int
    """Passages with token vectors, of all models."""
    agents: int
    keys: int
    audit: int
    recalls: int
    events: int
    cooldowns: int
    proposals: int
    links: int
    batches: int
    preimages: int
    config_entries: int
    config_versions: int
    repos: int
    repo_reports: int
    setup_scripts: int
    script_drafts: int
    profiles: int
    profile_versions: int
    jobs: int
