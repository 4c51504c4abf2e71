"""Reads complete memories in batches, and checksums to compare two stores."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import orjson
from msgspec import Struct

from hivelore.core.vectors import to_blob
from hivelore.indexing.model import ModelKey, TokenCodes, Vector
from hivelore.memories.stored import DocumentKey, PassageKey
from hivelore.memories.whole import WholeMemory
from hivelore.observations.model import Operational
from hivelore.search.model import EVERYTHING
from hivelore.storage.ports import View

BATCH_SIZE = 100
"""Maximum memories in a batch."""
BATCH_CHARACTERS = 2_000_000
"""A batch ends once its contents reach this size."""
_FEATURES_BATCH = 1_000
_SIZE = 32


@dataclass(frozen=True, slots=True, eq=False)
class ModelVectors:
    """The vectors of one model for the passages of a batch."""

    dimension: int
    vectors: Mapping[PassageKey, Vector]
    tokens: Mapping[PassageKey, TokenCodes]


@dataclass(frozen=True, slots=True, eq=False)
class MemoryBatch:
    memories: Sequence[WholeMemory]
    embedded: Mapping[str, ModelVectors]
    """Vectors by model fingerprint, oldest model first; models without vectors are omitted."""


def split_into_batches(view: View, keys: Iterable[DocumentKey]) -> Iterator[list[DocumentKey]]:
    """Splits keys into batches of limited size, in the given order."""
    for some in in_batches(keys, _FEATURES_BATCH):
        standings = view.rank_features_of(some, EVERYTHING)
        portion, characters = list[DocumentKey](), 0
        for key in some:
            portion.append(key)
            characters += standings[key].length if key in standings else 0
            if len(portion) >= BATCH_SIZE or characters >= BATCH_CHARACTERS:
                yield portion
                portion, characters = [], 0
        if portion:
            yield portion


def in_batches(keys: Iterable[DocumentKey], size: int) -> Iterator[list[DocumentKey]]:
    everything = list(keys)
    return (everything[start : start + size] for start in range(0, len(everything), size))


def read_memories(view: View, keys: Sequence[DocumentKey]) -> MemoryBatch:
    """Returns the existing memories among these keys, sorted by key."""
    found = view.memories_of(keys, EVERYTHING)
    chunks, histories = view.chunks_of(found), view.histories(found)
    parts = chunks()
    observations, evidence = view.observations_of(found), view.evidence_of(found)
    memories = [
        WholeMemory(
            key,
            found[key],
            tuple(histories[key]),
            tuple(parts.get(key, ())),
            tuple(observations.get(key, ())),
            tuple(evidence.get(key, ())),
        )
        for key in sorted(found)
    ]
    passages = [passage for one in memories for chunk in one.chunks for passage in chunk.passages]
    embedded: dict[str, ModelVectors] = {}
    for fingerprint, model in list_models(view):
        vectors = view.vectors(model, passages)
        if vectors:
            embedded[fingerprint] = ModelVectors(
                view.dimension(model), vectors, view.token_codes(model, list(vectors))()
            )
    return MemoryBatch(memories, embedded)


def list_models(view: View) -> list[tuple[str, ModelKey]]:
    """Returns every model by its fingerprint, oldest first."""
    return sorted(view.model_keys().items(), key=lambda one: one[1])


def memory_digests(load: MemoryBatch) -> dict[DocumentKey, bytes]:
    """Returns a digest of each memory with its records and vectors. Keys are excluded."""
    return {one.key: _digest(one, load.embedded) for one in load.memories}


def _digest(one: WholeMemory, embedded: Mapping[str, ModelVectors]) -> bytes:
    passages = [passage for stored in one.chunks for passage in stored.passages]
    chunks = [stored.chunk for stored in one.chunks]
    digest = hashlib.sha256(canonical((one.memory, one.history, one.observations, one.evidence, chunks)))
    for fingerprint, made in sorted(embedded.items()):
        for place, passage in enumerate(passages):
            if passage in made.vectors:
                digest.update(canonical((fingerprint, place)))
                digest.update(to_blob(made.vectors[passage]))
                digest.update(made.tokens.get(passage, b""))
    return digest.digest()


class Checksum:
    """A count and an order-independent sum of digests."""

    __slots__ = ("_total", "count")

    def __init__(self) -> None:
        self.count = 0
        self._total = 0

    def add(self, digest: bytes) -> None:
        self.count += 1
        self._total = (self._total + int.from_bytes(digest)) % 2 ** (8 * _SIZE)

    def add_all(self, values: Iterable[object]) -> None:
        for value in values:
            self.add(hashlib.sha256(canonical(value)).digest())

    @property
    def digest(self) -> bytes:
        return self._total.to_bytes(_SIZE)


def canonical(value: object) -> bytes:
    """Returns the same bytes for equal values, in this release and in earlier ones: the change journal stores digests
    of them."""
    return orjson.dumps(value, default=_plain, option=orjson.OPT_PASSTHROUGH_DATETIME)


_FORMER_NAMES = {"interface": "door"}
"""Fields that had another name when the first digests were stored."""


def _plain(value: Any) -> object:
    """Converts instants, days, structs, named tuples and bytes for the encoder."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Operational):
        # Its fields had another shape when the first digests were stored.
        return {
            "held": value.held,
            "service": value.service,
            "tier": value.tier,
            "persistent": value.persistent,
        }
    if isinstance(value, Struct):
        return {_FORMER_NAMES.get(name, name): getattr(value, name) for name in value.__struct_fields__}
    return value.hex() if isinstance(value, bytes) else list(value)
