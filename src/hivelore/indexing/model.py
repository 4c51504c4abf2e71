"""What the indexes and the store tell each other: keys, candidates, changes.

Inside one store every memory, chunk and passage has a small integer key that is never used twice.
Keys do not leave the process: the outside knows memories by their ``MemoryId``.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import IntEnum
from typing import NamedTuple, NewType, overload

import numpy as np
from numpy.typing import NDArray

from hivelore.core.agents import AgentId
from hivelore.core.text import Clean
from hivelore.memories.model import Chunk, Memory, Scope, Source

Vector = NDArray[np.float32]
"""One dimension, float32, L2-normalised; a stack of them has two."""

TokenCodes = bytes
"""The vectors of the tokens of a text, as ``search.late_interaction`` codes them; empty where there are none."""

Keys = NDArray[np.int64]
"""Keys of documents, chunks or passages, (n,)."""
Instants = NDArray[np.datetime64]
"""(n,), microseconds, UTC; not-a-time where there is none."""

DocumentKey = NewType("DocumentKey", int)
ChunkKey = NewType("ChunkKey", int)
PassageKey = NewType("PassageKey", int)
ModelKey = NewType("ModelKey", int)
"""Stands for the fingerprint of an embedding model; vectors of two of them are never compared."""


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk as it lies in the store. ``passages`` has one key per ``chunk.passages``, same order."""

    key: ChunkKey
    document: DocumentKey
    chunk: Chunk
    passages: tuple[PassageKey, ...]


@dataclass(frozen=True, slots=True)
class Stored:
    """A memory and the key it has in this store."""

    key: DocumentKey
    memory: Memory


@dataclass(frozen=True, slots=True)
class KeywordEntry:
    """The terms of one chunk, by column; order and repetition count."""

    chunk: ChunkKey
    document: DocumentKey
    own: tuple[str, ...]
    context: tuple[str, ...]
    header: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class TextEmbedding:
    """A text as an embedding model sees it."""

    vector: Vector
    tokens: TokenCodes = b""


@dataclass(frozen=True, slots=True)
class QueryTokens:
    """The tokens of a question, and the word that each is of, in lower case; as many words as tokens."""

    codes: TokenCodes = b""
    words: tuple[str, ...] = ()


class Candidate(NamedTuple):
    """A document an index proposes, by its best chunk; ``score`` is that engine's own, higher is better."""

    document: DocumentKey
    chunk: ChunkKey
    score: float


@dataclass(frozen=True, slots=True, eq=False)
class Candidates(Sequence[Candidate]):
    """Candidates by columns, best first: a search has hundreds, and few are looked at one by one."""

    documents: Keys
    chunks: Keys
    scores: NDArray[np.float64]

    @classmethod
    def of(cls, candidates: Sequence[Candidate]) -> "Candidates":
        documents, chunks, scores = zip(*candidates, strict=True) if candidates else ((), (), ())
        return cls(np.array(documents, np.int64), np.array(chunks, np.int64), np.array(scores, np.float64))

    def __len__(self) -> int:
        return len(self.documents)

    @overload
    def __getitem__(self, at: int) -> Candidate: ...
    @overload
    def __getitem__(self, at: slice) -> "Candidates": ...
    def __getitem__(self, at: int | slice) -> "Candidate | Candidates":
        documents, chunks, scores = self.documents[at], self.chunks[at], self.scores[at]
        if isinstance(at, slice):
            return Candidates(documents, chunks, scores)
        return Candidate(DocumentKey(int(documents)), ChunkKey(int(chunks)), float(scores))


class Neighbour(NamedTuple):
    """A passage and its cosine (-1..1) to the query."""

    document: DocumentKey
    chunk: ChunkKey
    passage: PassageKey
    cosine: float


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The nearest passages of each document, best first, and how cosines spread over the searched scope."""

    nearest: tuple[Neighbour, ...]
    count: int
    """Passages that were compared: all that the filter admits."""
    mean: float
    deviation: float
    vectors: Mapping[PassageKey, Vector] = field(default_factory=dict[PassageKey, Vector], compare=False)
    """Of ``nearest`` as far as an engine came by them, of unit length: exact ones, or as its codes tell; cosines of
    those are off by less than a hundredth."""


class ChangeKind(IntEnum):
    """What happened to a document, as far as an index must know."""

    CREATED = 1
    CONTENT = 2
    ATTRIBUTES = 3
    VECTORS = 4
    FORGOTTEN = 5


@dataclass(frozen=True, slots=True)
class Change:
    seq: int
    kind: ChangeKind
    document: DocumentKey


@dataclass(frozen=True, slots=True)
class ChangeCursor:
    """How much of a log a view shows: every number up to ``upto`` but those in ``open``, whose writers had not ended.

    Of two moments of one store, the one with the greater ``number`` shows all that the other shows; with the same
    number they are the same."""

    upto: int
    open: tuple[int, ...] = ()

    @property
    def number(self) -> int:
        return self.upto - len(self.open)

    def shows(self, numbers: Keys) -> NDArray[np.bool_]:
        shown = numbers <= self.upto
        return shown & ~np.isin(numbers, self.open) if self.open else shown


BEGINNING = ChangeCursor(0)


@dataclass(frozen=True, slots=True)
class Attributes:
    """What a ``Filter`` asks of a document, without its texts, unless it ``needs_store``."""

    owner: AgentId | None
    scope: Scope
    source: Source
    project: Clean | None
    session: Clean | None
    category: Clean
    created_at: datetime
    expires_at: datetime | None
    superseded: bool


@dataclass(frozen=True, slots=True, eq=False)
class AttributeColumns:
    """The same of n documents, column by column."""

    owner: Sequence[AgentId | None]
    scope: Sequence[Scope]
    source: Sequence[Source]
    project: Sequence[Clean | None]
    session: Sequence[Clean | None]
    category: Sequence[Clean]
    created_at: Instants
    expires_at: Instants
    superseded: Sequence[bool]

    @classmethod
    def of(cls, documents: Sequence[Attributes]) -> "AttributeColumns":
        return cls(
            owner=[one.owner for one in documents],
            scope=[one.scope for one in documents],
            source=[one.source for one in documents],
            project=[one.project for one in documents],
            session=[one.session for one in documents],
            category=[one.category for one in documents],
            created_at=_instants(one.created_at for one in documents),
            expires_at=_instants(one.expires_at for one in documents),
            superseded=[one.superseded for one in documents],
        )


def _instants(instants: Iterable[datetime | None]) -> Instants:
    return np.array([None if one is None else one.astimezone(UTC).replace(tzinfo=None) for one in instants], "M8[us]")


@dataclass(frozen=True, slots=True, eq=False)
class PassageVectors:
    """n passages with their vectors of one model, column by column; ``attributes`` are those of their documents."""

    documents: Keys
    chunks: Keys
    passages: Keys
    vectors: Vector
    """(n, dimension)"""
    attributes: AttributeColumns

    def __len__(self) -> int:
        return len(self.passages)


@dataclass(frozen=True, slots=True)
class QueuedPassage:
    """A passage that has no vector of a model yet."""

    passage: PassageKey
    document: DocumentKey
    text: Clean
    author: Clean | None = None
    """Who said it, where the memory tells."""
