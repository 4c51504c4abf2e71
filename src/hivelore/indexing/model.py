"""Values shared by stores and indexes: vectors, candidates and changes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import IntEnum
from typing import NamedTuple, NewType, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from hivelore.core.agents import AgentId
from hivelore.core.text import Clean
from hivelore.memories.model import Scope, Source
from hivelore.memories.stored import ChunkKey, DocumentKey, PassageKey

T = TypeVar("T")
Deferred = Callable[[], T]
"""A deferred result. Call it once, before the snapshot closes. PostgreSQL sends several deferred queries in one round
trip."""

Vector = NDArray[np.float32]
"""One vector, float32, L2-normalised; two dimensions for several."""

TokenCodes = bytes
"""Token vectors of a text, as encoded by ``search.ranking``; empty if there are none."""

Keys = NDArray[np.int64]
"""Keys of documents, chunks or passages, shape (n,)."""
Instants = NDArray[np.datetime64]
"""Shape (n,), microseconds, UTC; NaT for None."""

ModelKey = NewType("ModelKey", int)
"""Key of an embedding model's fingerprint. Vectors of two models are never compared."""


@dataclass(frozen=True, slots=True)
class KeywordEntry:
    """The terms of one chunk by column, in order and with repetitions."""

    chunk: ChunkKey
    document: DocumentKey
    own: tuple[str, ...]
    context: tuple[str, ...]
    header: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class TextEmbedding:
    """The vector and token vectors of a text."""

    vector: Vector
    tokens: TokenCodes = b""


@dataclass(frozen=True, slots=True)
class QueryTokens:
    """The tokens of a query and the word of each token, in lower case."""

    codes: TokenCodes = b""
    words: tuple[str, ...] = ()


class Candidate(NamedTuple):
    """A document proposed by an index, with its best chunk; ``score`` is specific to the engine, higher is better."""

    document: DocumentKey
    chunk: ChunkKey
    score: float


@dataclass(frozen=True, slots=True, eq=False)
class Candidates(Sequence[Candidate]):
    """Candidates as columns, best first, because a search has hundreds and reads few of them individually."""

    documents: Keys
    chunks: Keys
    scores: NDArray[np.float64]
    rarities: Mapping[str, float] = field(default_factory=dict[str, float])
    """The rarity of each term that was searched for (``KeywordIndex.rarities``)."""

    @classmethod
    def of(cls, candidates: Sequence[Candidate], rarities: Mapping[str, float] | None = None) -> "Candidates":
        documents, chunks, scores = zip(*candidates, strict=True) if candidates else ((), (), ())
        columns = np.array(documents, np.int64), np.array(chunks, np.int64), np.array(scores, np.float64)
        return cls(*columns, rarities or {})

    def __len__(self) -> int:
        return len(self.documents)

    @overload
    def __getitem__(self, at: int) -> Candidate: ...
    @overload
    def __getitem__(self, at: slice) -> "Candidates": ...
    def __getitem__(self, at: int | slice) -> "Candidate | Candidates":
        documents, chunks, scores = self.documents[at], self.chunks[at], self.scores[at]
        if isinstance(at, slice):
            return Candidates(documents, chunks, scores, self.rarities)
        return Candidate(DocumentKey(int(documents)), ChunkKey(int(chunks)), float(scores))


class Neighbour(NamedTuple):
    """A passage and its cosine (-1..1) to the query."""

    document: DocumentKey
    chunk: ChunkKey
    passage: PassageKey
    cosine: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Distribution of the cosines of all passages in the searched scope."""

    count: int = 0
    """Number of compared passages: all that the filter admits."""
    mean: float = 0.0
    deviation: float = 0.0


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The nearest passages of each document, best first, and the distribution of cosines in the searched scope."""

    nearest: tuple[Neighbour, ...] = ()
    spread: Spread = Spread()
    vectors: Mapping[PassageKey, Vector] = field(default_factory=dict[PassageKey, Vector], compare=False)
    """Unit vectors of ``nearest`` if the engine has them: exact, or decoded from its codes with cosine errors below
    0.01."""


class ChangeKind(IntEnum):
    """Kinds of changes to a document that matter to an index."""

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
    """The part of a change log that a snapshot contains: numbers up to ``upto`` except those in ``open``, whose
    transactions were still running.

    Of two cursors of one store, the one with the greater ``number`` contains the other; equal numbers mean equal
    cursors.
    """

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
    """The attributes of a document that a ``Filter`` reads, unless it ``needs_store``."""

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
    """Attributes of n documents as columns."""

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
    """n passages with their vectors of one model as columns; ``attributes`` are those of their documents."""

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
    """A passage without a vector of a model."""

    passage: PassageKey
    document: DocumentKey
    text: Clean
    author: Clean | None = None
    """The author of the memory, if known."""
