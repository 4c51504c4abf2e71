"""All vector engines for the contract suite, and a common driver. One line adds a new one."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import count
from typing import Unpack

import numpy as np
import pytest

from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.indexes.ports import VectorIndex
from hivelore.indexes.vectors.brute_force import ExactVectors, sqlite_vec
from hivelore.indexes.vectors.pgvector import PgVectors
from hivelore.indexes.vectors.scan import CappedVectors, ScanVectors, bytes_per_slot
from hivelore.indexing.model import ModelKey, Neighbours, Vector
from hivelore.memories.model import Action, Chunk, Memory, Passage
from hivelore.memories.stored import DocumentKey, PassageKey
from hivelore.search.model import Filter
from hivelore.storage.ports import MemoryStore, Transaction, View
from support.memories import EVERYTHING, Parts, a_memory, next_version
from support.stores import change, forget

MODEL = "the model"
OTHER_MODEL = "another model of the same dimension"
DIMENSION = 16
SLAB = 32
"""So small that a few dozen vectors already cross from one slab to the next."""
MANY = 200
"""More than any engine considers at once, and several slabs full."""
NEARLY = 0.01
"""How far a cosine may be off that decides no place among the nearest."""

_numbers = count(1)


def by_signs(model: str, dimension: int) -> ScanVectors:
    """One that looks at the signs from a slab full on, and then at the bytes of as many as there are in most tests:
    what 16 signs say decides nothing."""
    return ScanVectors(model, dimension, slab_size=SLAB, signs_from=SLAB, least_depth=9_000)


def capped(model: str, dimension: int, beyond: Callable[[str, int], VectorIndex] = sqlite_vec) -> CappedVectors:
    """One whose memory is for a few vectors only, so that it changes over in the middle of most tests."""
    scan = ScanVectors(model, dimension, memory_limit=3 * bytes_per_slot(dimension), slab_size=SLAB)
    return CappedVectors(scan, beyond(model, dimension))


@dataclass(frozen=True)
class EngineKind:
    stores: Collection[str]
    """The kinds of store it works on."""
    make: Callable[[str, int], VectorIndex]
    """Takes the fingerprint of a model and its dimension."""


ENGINES: Mapping[str, EngineKind] = {
    "exact": EngineKind(("reference", "sqlite"), ExactVectors),
    "scan": EngineKind(
        ("reference", "sqlite", "postgres"), lambda model, dimension: ScanVectors(model, dimension, slab_size=SLAB)
    ),
    "scan by signs": EngineKind(("reference", "sqlite"), by_signs),
    "sqlite-vec": EngineKind(("sqlite",), sqlite_vec),
    "pgvector": EngineKind(("postgres",), PgVectors),
    "capped": EngineKind(("sqlite",), capped),
    "capped, then pgvector": EngineKind(("postgres",), lambda model, dimension: capped(model, dimension, PgVectors)),
}

Setting = tuple[str, str]
"""An engine and a store it works on, by their names."""

SETTINGS = [(engine, store) for engine, kind in ENGINES.items() for store in kind.stores]

in_memory = pytest.mark.parametrize("setting", [("exact", "reference")], ids="-".join, indirect=True)
"""For a test that brings its own engine."""


def towards(*numbers: float, dimension: int = DIMENSION) -> Vector:
    """Returns a unit vector with these first coordinates in proportion."""
    vector = np.zeros(dimension)
    vector[: len(numbers)] = numbers
    return (vector / np.linalg.norm(vector)).astype(np.float32)


NORTH, EAST = towards(1), towards(0, 1)


def near(degrees: float) -> Vector:
    """Returns a vector at this distance from NORTH, towards EAST."""
    return towards(np.cos(np.radians(degrees)), np.sin(np.radians(degrees)))


def clustered(
    size: int, dimension: int = DIMENSION, *, seed: int = 0, clusters: int = 20, spread: float = 0.5
) -> Vector:
    """Unit vectors in clusters, as embeddings of texts about a few subjects are; always the same for one seed."""
    random = np.random.default_rng(seed)
    centres = random.standard_normal((clusters, dimension))
    rows = centres[random.integers(0, clusters, size)] + spread * random.standard_normal((size, dimension))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def batched(vectors: Iterable[Vector], size: int) -> list[list[Vector]]:
    rest = list(vectors)
    return [rest[start : start + size] for start in range(0, len(rest), size)]


def cut(size: int) -> tuple[Clean, tuple[Chunk, ...]]:
    """Returns a unique content in one chunk with this many passages."""
    content = Clean(f"{next(_numbers):08}" + "x" * size)
    passages = tuple(Passage(start=at, stop=at + 1) for at in range(size))
    return content, (Chunk(index=0, start=0, stop=len(content), headings=(), passages=passages),)


def passages_of(view: View, key: DocumentKey) -> list[PassageKey]:
    return [passage for chunk in view.chunks(key) for passage in chunk.passages]


def follow(index: VectorIndex, view: View) -> None:
    """Applies changes to an index, as its owner and a search do."""
    if not index.ready:
        index.build(view)
    index.follow(view)


def ask(
    index: VectorIndex,
    view: View,
    query: Vector,
    where: Filter = EVERYTHING,
    limit: int = 10,
    also: Collection[DocumentKey] = (),
) -> Neighbours:
    follow(index, view)
    return index.nearest(view, query, where, limit, also)


class Library:
    """A store with vectors and an index over them; each call is a separate transaction."""

    def __init__(self, store: MemoryStore, index: VectorIndex, model: str = MODEL, dimension: int = DIMENSION) -> None:
        self.store = store
        self.index = index
        self.model = model
        self.dimension = dimension

    def add(self, *vectors: Vector, **parts: Unpack[Parts]) -> DocumentKey:
        """Adds a memory with one passage for each vector."""
        return self.keep([(a_memory(**parts), vectors)])[0]

    def add_all(self, vectors: Iterable[Vector], **parts: Unpack[Parts]) -> list[DocumentKey]:
        """Adds a separate memory for each vector."""
        return self.keep([(a_memory(**parts), [vector]) for vector in vectors])

    def keep(self, memories: Sequence[tuple[Memory, Sequence[Vector]]]) -> list[DocumentKey]:
        """Adds memories as given, but with unique ids and contents, with one passage for each vector."""

        def add_memories(tx: Transaction) -> list[DocumentKey]:
            model = tx.register_model(self.model, self.dimension) if any(vectors for _, vectors in memories) else None
            return [_keep(tx, model, memory, vectors) for memory, vectors in memories]

        return self.store.write(add_memories)

    def embed(self, key: DocumentKey, vectors: Sequence[Vector], model: str | None = None) -> None:
        """Stores these vectors for the first passages of a document."""

        def put_vectors(tx: Transaction) -> None:
            registered = tx.register_model(model or self.model, self.dimension)
            tx.put_vectors(registered, dict(zip(passages_of(tx, key), vectors, strict=False)))

        self.store.write(put_vectors)

    def edit(self, key: DocumentKey, *vectors: Vector) -> None:
        """Replaces the content, with one new passage for each vector."""
        content, chunks = cut(len(vectors))
        change(self.store, key, next_version(self.memory(key), content), chunks)
        self.embed(key, vectors)

    def relabel(self, key: DocumentKey, **parts: Unpack[Parts]) -> None:
        change(self.store, key, next_version(self.memory(key), **parts), None, Action.EDITED)

    def forget(self, key: DocumentKey) -> None:
        forget(self.store, key)

    def keys(self) -> Sequence[DocumentKey]:
        with self.store.read() as view:
            return sorted(view.matching_keys(EVERYTHING))

    def memory(self, key: DocumentKey) -> Memory:
        with self.store.read() as view:
            return view.memories_of([key], EVERYTHING)[key]

    def nearest(
        self, query: Vector, where: Filter = EVERYTHING, limit: int = 10, also: Collection[DocumentKey] = ()
    ) -> Neighbours:
        with self.store.read() as view:
            return ask(self.index, view, query, where, limit, also)

    def found(self, query: Vector, where: Filter = EVERYTHING, limit: int = 10) -> list[DocumentKey]:
        return [near.document for near in self.nearest(query, where, limit).nearest]


NewLibrary = Callable[[], AbstractContextManager[Library]]


def _keep(tx: Transaction, model: ModelKey | None, memory: Memory, vectors: Sequence[Vector]) -> DocumentKey:
    content, chunks = cut(len(vectors))
    key = tx.add(replace(memory, id=a_memory().id, content=content), chunks).key
    if model is not None:
        tx.put_vectors(model, dict(zip(passages_of(tx, key), vectors, strict=True)))
    return key


def assert_right(
    index: VectorIndex,
    view: View,
    query: Vector,
    where: Filter = EVERYTHING,
    limit: int = 10,
    also: Collection[DocumentKey] = (),
    model: str = MODEL,
) -> None:
    """The answer is that of exact search, up to cosines that are within 1e-5 of each other; those of documents that are
    there only because they were asked for may be off by ``NEARLY``."""
    tie = 1e-5
    answer = ask(index, view, query, where, limit, also)
    truth = ExactVectors(model, len(query)).nearest(view, query, where, 10**9)
    best = {near.document: near.cosine for near in truth.nearest}
    last = truth.nearest[limit - 1].cosine if len(truth.nearest) >= limit else -2.0
    found = [near.document for near in answer.nearest]
    assert len(found) == len(set(found))
    assert {document for document, cosine in best.items() if cosine > last + tie} <= set(found)
    assert {document for document in also if document in best} <= set(found)
    assert all(document in also or best.get(document, -3.0) >= last - tie for document in found)
    assert len(found) >= min(limit, len(best))
    assert [near.cosine for near in answer.nearest] == sorted((near.cosine for near in answer.nearest), reverse=True)
    model_key = view.model_key(model)
    for near in answer.nearest:
        is_near = best[near.document] >= last - tie
        assert abs(near.cosine - best[near.document]) <= (tie if is_near else NEARLY)
        assert model_key is not None
        neighbours_found = float(view.vectors(model_key, [near.passage])[near.passage] @ query)
        assert abs(neighbours_found - near.cosine) <= (tie if is_near else NEARLY)
        assert near.passage in {
            passage for chunk in view.chunks(near.document) if chunk.key == near.chunk for passage in chunk.passages
        }
    assert answer.spread.count == truth.spread.count
    assert abs(answer.spread.mean - truth.spread.mean) < 0.01
    assert abs(answer.spread.deviation - truth.spread.deviation) < 0.01
