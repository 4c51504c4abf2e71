"""Memories and chunks with their keys in a store.

Every memory, chunk and passage has a small integer key in its store, which is never reused. Keys do not leave the
process; callers use ``MemoryId``.
"""

from dataclasses import dataclass
from typing import NewType

from hivelore.memories.model import Chunk, Memory

DocumentKey = NewType("DocumentKey", int)
ChunkKey = NewType("ChunkKey", int)
PassageKey = NewType("PassageKey", int)


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk in the store. ``passages`` has the keys of ``chunk.passages`` in the same order."""

    key: ChunkKey
    document: DocumentKey
    chunk: Chunk
    passages: tuple[PassageKey, ...]


@dataclass(frozen=True, slots=True)
class Stored:
    """A memory and its key in this store."""

    key: DocumentKey
    memory: Memory
