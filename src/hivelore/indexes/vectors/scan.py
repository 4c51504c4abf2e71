"""The default engine: a scan of all vectors in memory, one byte per dimension, with exact rescoring of the best. Among
very many vectors it scans only those whose signs are similar to the query's."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from threading import Lock

import numpy as np

from hivelore.core.values import replace
from hivelore.errors import Unavailable
from hivelore.indexes.attributes import CodeBook
from hivelore.indexes.ports import VectorIndex
from hivelore.indexes.vectors.cosines import NOBODY, neighbours, unit
from hivelore.indexes.vectors.search import (
    DEPTH,
    LEAST_DEPTH,
    SCATTERED,
    SIGNS_FROM,
    Admitted,
    Search,
    by_bytes,
    by_signs,
)
from hivelore.indexes.vectors.slabs import DOCUMENT, SLAB_SIZE, Quantised, Rows, Slabs, bytes_per_slot
from hivelore.indexing.model import (
    AttributeColumns,
    Attributes,
    Change,
    ChangeCursor,
    ChangeKind,
    ModelKey,
    Neighbours,
    PassageVectors,
    Vector,
)
from hivelore.memories.stored import DocumentKey
from hivelore.search.model import Filter
from hivelore.storage.ports import MemoryStore, View

STEPS = 4_096
"""Number of remembered steps, which limits how old a view may be. A step holds the changes that one recall found;
together they cover seconds of the heaviest writing, while a recall takes milliseconds."""


@dataclass(frozen=True, slots=True)
class Step:
    """Documents that were read again, and the number of the view's change cursor."""

    number: int
    documents: frozenset[DocumentKey]


@dataclass(frozen=True, slots=True)
class VectorSnapshot:
    """The vectors of one model as of a change cursor; ``steps`` lists the documents that are newer."""

    slabs: Slabs
    codes: CodeBook
    incarnation: str | None
    model: ModelKey | None
    """None if no vector of this model was ever stored."""
    moment: ChangeCursor
    newest: int
    """The newest change this state may contain; that of ``moment``, unless following stopped half-way."""
    remembers: int
    """``steps`` is complete for views newer than this number."""
    steps: tuple[Step, ...] = ()

    def after(
        self, moment: ChangeCursor, changes: Sequence[Change], model: ModelKey | None, view: View
    ) -> "VectorSnapshot":
        """Returns the state after some changes. Documents are read from the view, which may be newer still."""
        if not changes:
            return replace(self, moment=moment)
        touched = frozenset(change.document for change in changes)
        reread = frozenset(change.document for change in changes if change.kind is not ChangeKind.ATTRIBUTES)
        slabs = self.slabs
        if model is not None:
            rows = rows_of(view.embedded(model, sorted(reread)), slabs.dimension, self.codes)
            slabs = slabs.without(slabs.slots_of(sorted(reread))).added(rows)
            relabelled = sorted(touched - reread)
            if relabelled:
                slabs = self._relabelled(slabs, view.attributes(relabelled))
        shown = view.change_cursor().number
        steps = (*self.steps, Step(shown, touched))
        return replace(
            self,
            slabs=slabs.compacted(),
            model=model,
            moment=moment,
            newest=max(self.newest, shown),
            remembers=max((self.remembers, *(step.number for step in steps[:-STEPS]))),
            steps=steps[-STEPS:],
        )

    def as_of(self, view: View, number: int) -> Slabs:
        """Returns the passages as of a view at or before this state.

        Raises Unavailable if the later changes are no longer remembered."""
        if self.newest <= number or self.model is None:
            return self.slabs
        if number < self.remembers:
            raise Unavailable("The store has moved on too far since this search began; search again.", retry_after=0.0)
        newer = sorted({document for step in self.steps if step.number > number for document in step.documents})
        rows = rows_of(view.embedded(self.model, newer), self.slabs.dimension, self.codes)
        return self.slabs.without(self.slabs.slots_of(newer)).set_apart(rows)

    def _relabelled(self, slabs: Slabs, attributes: Mapping[DocumentKey, Attributes]) -> Slabs:
        """Returns the slabs with new attributes on all passages of these documents."""
        slots = slabs.slots_of(list(attributes))
        place_of = {document: place for place, document in enumerate(attributes)}
        owners = slabs.keys(slots)[DOCUMENT].tolist()
        places = np.array([place_of[DocumentKey(owner)] for owner in owners], np.intp)
        return slabs.relabelled(slots, self.codes.encode(AttributeColumns.of(list(attributes.values()))).take(places))


def rows_of(embedded: PassageVectors, dimension: int, codes: CodeBook) -> Rows:
    """Quantises passages and encodes their attributes."""
    if not embedded:
        return Rows.empty(0, dimension)
    keys = np.stack([embedded.passages, embedded.documents, embedded.chunks])
    return Rows(Quantised.of(embedded.vectors), keys, codes.encode(embedded.attributes))


WIDENING = 4
"""Factor by which a search goes deeper if a long document hides others."""


class ScanVectors:
    """Follows the changes of the store. Results match the view, even if the index is older or newer.

    The owner calls ``build`` whenever the index is not ``ready``: at the start, and after the store was replaced (its
    incarnation changed).
    """

    name = "scan"

    def __init__(
        self,
        fingerprint: str,
        dimension: int,
        memory_limit: int | None = None,
        *,
        slab_size: int = SLAB_SIZE,
        signs_from: int = SIGNS_FROM,
        least_depth: int = LEAST_DEPTH,
    ) -> None:
        """``memory_limit`` is in bytes; None: no limit. From ``signs_from`` passages on, a search compares the signs of
        all passages and the bytes of at least ``least_depth``."""
        self._fingerprint = fingerprint
        self._dimension = dimension
        self._memory_limit = memory_limit
        self._slab_size = slab_size
        self._signs_from = signs_from
        self._least_depth = least_depth
        self._state: VectorSnapshot | None = None
        self._following = Lock()
        self._building = Lock()

    @property
    def ready(self) -> bool:
        return self._state is not None

    @property
    def memory_bytes(self) -> int:
        state = self._state
        return 0 if state is None else state.slabs.memory_bytes

    @property
    def count(self) -> int:
        """Number of passages in the index."""
        state = self._state
        return 0 if state is None else len(state.slabs)

    def fits(self, passages: int) -> bool:
        """Returns True if this many passages fit into the memory limit."""
        return self._memory_limit is None or passages * bytes_per_slot(self._dimension) <= self._memory_limit

    def build(self, view: View) -> bool:
        """Reads all vectors unless they are loaded. Returns False, and stays not ready, if they do not fit.

        It takes a while and does not block concurrent calls of ``follow``."""
        with self._building:
            incarnation = view.setting("incarnation")
            if self._state is not None and self._state.incarnation == incarnation:
                return True
            model = view.model_key(self._fingerprint)
            codes = CodeBook()
            slabs = Slabs(self._dimension, self._slab_size)
            for batch in () if model is None else view.all_embedded(model):
                slabs = slabs.added(rows_of(batch, self._dimension, codes))
                if not self.fits(len(slabs)):
                    return False
            moment = view.change_cursor()
            number = moment.number
            with self._following:
                self._state = VectorSnapshot(slabs, codes, incarnation, model, moment, newest=number, remembers=number)
            return True

    def follow(self, view: View) -> None:
        state = self._state
        if state is None:
            return
        if state.incarnation == view.setting("incarnation") and view.change_cursor().number <= state.moment.number:
            return
        with self._following:
            if self._state is None:
                return
            if self._state.incarnation != view.setting("incarnation"):
                self._state = None
                return
            if view.change_cursor().number <= self._state.moment.number:
                return
            for moment, changes in view.changes(self._state.moment):
                model = self._state.model if self._state.model is not None else view.model_key(self._fingerprint)
                self._state = self._state.after(moment, changes, model, view)

    def maintain(self, store: MemoryStore, stopping: Callable[[], bool]) -> bool:
        del store, stopping
        return False

    def nearest(
        self, view: View, query: Vector, where: Filter, limit: int, also: Collection[DocumentKey] = ()
    ) -> Neighbours:
        query = unit(query, self._dimension)
        state, slabs = self._as_of(view)
        admitted = Admitted(slabs, view, where, state.codes)
        if state.model is None or not admitted.count:
            return NOBODY
        coarse = Quantised.of(query[np.newaxis])
        search = Search(view, state.model, query, coarse, admitted)
        depth = self._depth(len(slabs), admitted.count)
        while True:
            look = by_bytes(admitted, coarse) if depth is None else by_signs(admitted, coarse, depth)
            found = search.nearest(look, limit, also)
            if found is not None:
                return neighbours(found, look.spread, search.vectors)
            depth = None if depth is None else WIDENING * depth

    def _depth(self, held: int, admitted: int) -> int | None:
        """Returns how many passages to select by their signs; None: do not use signs."""
        if held < self._signs_from or admitted < SCATTERED * self._signs_from:
            return None
        return max(self._least_depth, int(DEPTH * sqrt(admitted)))

    def _as_of(self, view: View) -> tuple[VectorSnapshot, Slabs]:
        number = view.change_cursor().number
        state = self._state
        if state is not None and (state.moment.number < number or state.incarnation != view.setting("incarnation")):
            self.follow(view)
            state = self._state
        if state is None or state.incarnation != view.setting("incarnation"):
            raise Unavailable("The vectors are still being read into memory; search by keywords meanwhile.")
        return state, state.as_of(view, number)


class CappedVectors:
    """Uses ``scan`` until the vectors exceed its memory limit, then ``beyond`` until the next start."""

    def __init__(self, scan: ScanVectors, beyond: VectorIndex) -> None:
        self._scan: ScanVectors | None = scan
        self._beyond = beyond

    @property
    def name(self) -> str:
        return self._current.name

    @property
    def ready(self) -> bool:
        return self._current.ready

    @property
    def _current(self) -> VectorIndex:
        return self._scan or self._beyond

    def build(self, view: View) -> bool:
        if self._scan is not None and self._scan.build(view):
            return True
        self._scan = None
        return self._beyond.build(view)

    def follow(self, view: View) -> None:
        scan = self._scan
        if scan is not None:
            scan.follow(view)
            if scan.fits(scan.count):
                return
        self._scan = None
        if self._beyond.ready:
            self._beyond.follow(view)

    def maintain(self, store: MemoryStore, stopping: Callable[[], bool]) -> bool:
        return self._beyond.maintain(store, stopping)

    def nearest(
        self, view: View, query: Vector, where: Filter, limit: int, also: Collection[DocumentKey] = ()
    ) -> Neighbours:
        scan = self._scan
        if scan is None or not scan.fits(scan.count):
            self.follow(view)
            return self._current.nearest(view, query, where, limit, also)
        return scan.nearest(view, query, where, limit, also)
