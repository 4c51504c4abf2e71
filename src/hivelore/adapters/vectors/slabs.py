"""Passages in memory, in blocks of slots that only grow: immutable states that share their buffers.

A state is never seen to change: new rows go behind the slots it uses, and what marks or relabels a slot
copies that (small) column first. So readers need no lock. Only the newest state may be added to.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hivelore.adapters.vectors.attributes import Labels, Mask, Places
from hivelore.adapters.vectors.quantised import Quantised

Slots = NDArray[np.intp]
Keys = NDArray[np.int64]

PASSAGE, DOCUMENT, CHUNK = range(3)

SLAB_SIZE = 65_536
SPARSE = 0.25
"""A slab with a greater part of dead slots is rewritten."""

_LAST_BUCKET = 0xFFF


def bytes_per_slot(dimension: int) -> int:
    one = Rows.empty(1, dimension)
    arrays = (one.vectors.codes, one.vectors.shrink, one.keys, one.labels.codes, one.labels.instants)
    return sum(array.nbytes for array in arrays) + np.dtype(np.bool_).itemsize


@dataclass(frozen=True, slots=True)
class Rows:
    """n passages: their vectors, their keys, (3, n) with passage, document and chunk, and their labels."""

    vectors: Quantised
    keys: Keys
    labels: Labels

    @classmethod
    def empty(cls, size: int, dimension: int) -> "Rows":
        vectors = Quantised(np.empty((size, dimension), np.int8), np.empty(size, np.float32))
        return cls(vectors, np.empty((CHUNK + 1, size), np.int64), Labels.empty(size))

    def __len__(self) -> int:
        return self.keys.shape[1]

    def take(self, at: Places) -> "Rows":
        return Rows(self.vectors.take(at), self.keys[:, at], self.labels.take(at))

    def put(self, at: Places, other: "Rows") -> None:
        self.vectors.codes[at] = other.vectors.codes
        self.vectors.shrink[at] = other.vectors.shrink
        self.keys[:, at] = other.keys
        self.labels.put(at, other.labels)


@dataclass(frozen=True, slots=True)
class Slab:
    """One state of one block. What lies in ``rows`` at ``used`` and behind it means nothing."""

    rows: Rows
    alive: Mask
    used: int = 0
    dead: int = 0

    @classmethod
    def empty(cls, size: int, dimension: int) -> "Slab":
        return cls(Rows.empty(size, dimension), np.empty(size, np.bool_))

    @property
    def present(self) -> Rows:
        """All slots in use, the dead ones too."""
        return self.rows.take(slice(self.used))

    @property
    def room(self) -> int:
        return len(self.rows) - self.used

    @property
    def is_sparse(self) -> bool:
        return self.dead > SPARSE * self.used

    def living(self) -> Mask:
        return self.alive[: self.used]

    def added(self, rows: Rows) -> "Slab":
        place = slice(self.used, self.used + len(rows))
        self.rows.put(place, rows)
        self.alive[place] = True
        return replace(self, used=place.stop)

    def without(self, slots: Slots) -> "Slab":
        alive = self.alive.copy()
        alive[slots] = False
        return replace(self, alive=alive, dead=self.dead + len(slots))

    def relabelled(self, slots: Slots, labels: Labels) -> "Slab":
        fresh = self.rows.labels.copy()
        fresh.put(slots, labels)
        return replace(self, rows=replace(self.rows, labels=fresh))

    def slots_of(self, documents: Keys) -> Slots:
        """The living slots of some documents."""
        buckets = np.zeros(_LAST_BUCKET + 1, np.bool_)
        buckets[documents & _LAST_BUCKET] = True
        owners = self.rows.keys[DOCUMENT, : self.used]
        maybe = np.flatnonzero(buckets[owners & _LAST_BUCKET] & self.living())
        return maybe[np.isin(owners[maybe], documents)]


@dataclass(frozen=True, slots=True)
class Slabs:
    """All blocks. A slot has one number throughout: its block times the size of a block, plus its place there."""

    dimension: int
    size: int = SLAB_SIZE
    blocks: tuple[Slab, ...] = ()

    def __len__(self) -> int:
        return sum(slab.used - slab.dead for slab in self.blocks)

    @property
    def memory_bytes(self) -> int:
        return sum(slab.used for slab in self.blocks) * bytes_per_slot(self.dimension)

    def slots_of(self, documents: Sequence[int] | Keys) -> Slots:
        """The living slots of some documents, ascending."""
        wanted = np.asarray(documents, np.int64)
        if not len(wanted) or not self.blocks:
            return np.empty(0, np.intp)
        return np.concatenate([number * self.size + slab.slots_of(wanted) for number, slab in enumerate(self.blocks)])

    def keys(self, slots: Slots) -> Keys:
        """(3, n), same order."""
        keys = np.empty((CHUNK + 1, len(slots)), np.int64)
        for number, places, at in self._split(slots):
            keys[:, at] = self.blocks[number].rows.keys[:, places]
        return keys

    def added(self, rows: Rows) -> "Slabs":
        blocks = list(self.blocks)
        start = 0
        while start < len(rows):
            if not blocks or not blocks[-1].room:
                blocks.append(Slab.empty(self.size, self.dimension))
            stop = start + blocks[-1].room
            blocks[-1] = blocks[-1].added(rows.take(slice(start, stop)))
            start = stop
        return replace(self, blocks=tuple(blocks))

    def set_apart(self, rows: Rows) -> "Slabs":
        """Like ``added``, for any state and not only the newest: shares no block that others may add to."""
        own = replace(self, blocks=()).added(rows)
        return replace(self, blocks=self.blocks + own.blocks)

    def without(self, slots: Slots) -> "Slabs":
        blocks = list(self.blocks)
        for number, places, _ in self._split(slots):
            blocks[number] = blocks[number].without(places)
        return replace(self, blocks=tuple(blocks))

    def relabelled(self, slots: Slots, labels: Labels) -> "Slabs":
        blocks = list(self.blocks)
        for number, places, at in self._split(slots):
            blocks[number] = blocks[number].relabelled(places, labels.take(at))
        return replace(self, blocks=tuple(blocks))

    def compacted(self) -> "Slabs":
        """Without the blocks that have many dead slots; their living rows move to the end."""
        sparse = [slab for slab in self.blocks if slab.is_sparse]
        dense = replace(self, blocks=tuple(slab for slab in self.blocks if not slab.is_sparse))
        for slab in sparse:
            dense = dense.added(slab.present.take(slab.living()))
        return dense

    def _split(self, slots: Slots) -> Iterator[tuple[int, Slots, Slots]]:
        """Per block: its number, the places in it, and where in ``slots`` they stood."""
        numbers, places = np.divmod(slots, self.size)
        for number in np.unique(numbers):
            at = np.flatnonzero(numbers == number)
            yield int(number), places[at], at
