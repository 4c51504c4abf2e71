"""What travels from one store to another, and how much there is of everything."""

from dataclasses import dataclass

from hivelore.feedback.recalls import Evidence
from hivelore.indexing.model import DocumentKey, StoredChunk
from hivelore.memories.model import Memory, Version
from hivelore.observations.model import Observation


@dataclass(frozen=True, slots=True)
class WholeMemory:
    """A memory with all that a store keeps of it but the vectors, under the keys that it has there."""

    key: DocumentKey
    memory: Memory
    history: tuple[Version, ...]
    """Every version, oldest first; the last one is the present."""
    chunks: tuple[StoredChunk, ...]
    """In order."""
    observations: tuple[Observation, ...]
    """Oldest first."""
    evidence: tuple[Evidence, ...]
    """Of its use, oldest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    memories: int
    versions: int
    """Of all memories, the present ones included."""
    characters: int
    """Of the contents of all versions."""
    observations: int
    evidence: int
    passages: int
    vectors: int
    """Of all models."""
    token_codes: int
    """Passages, of all models, whose tokens have vectors."""
    agents: int
    keys: int
    audit: int
    recalls: int
    events: int
    cooldowns: int
    proposals: int
    batches: int
    preimages: int
    jobs: int
