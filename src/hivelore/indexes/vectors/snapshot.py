"""The state of a vector index between two changes: what it holds, and of which moment that is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hivelore.errors import Unavailable
from hivelore.indexes.vectors.attributes import CodeBook
from hivelore.indexes.vectors.quantised import Quantised
from hivelore.indexes.vectors.slabs import DOCUMENT, Rows, Slabs
from hivelore.indexing.model import (
    AttributeColumns,
    Attributes,
    Change,
    ChangeCursor,
    ChangeKind,
    DocumentKey,
    ModelKey,
    PassageVectors,
)
from hivelore.storage.ports import View

STEPS = 4_096
"""How many steps of following are remembered, and so how old a snapshot may be and still be answered. A step is
what one recall found new: together they are seconds of the heaviest writing, and a recall takes milliseconds."""


@dataclass(frozen=True, slots=True)
class Step:
    """Documents that were read anew, and the number of the moment of the view that they were read from."""

    number: int
    documents: frozenset[DocumentKey]


@dataclass(frozen=True, slots=True)
class VectorSnapshot:
    """The vectors of one model as they were at a moment; ``steps`` say which documents are newer."""

    slabs: Slabs
    codes: CodeBook
    incarnation: str | None
    model: ModelKey | None
    """None: no vector of this model was ever stored."""
    moment: ChangeCursor
    newest: int
    """The newest moment of which something may be in here; ``moment``, unless following stopped half-way."""
    remembers: int
    """Every document that was read from a view behind this moment is in ``steps``."""
    steps: tuple[Step, ...] = ()

    def after(
        self, moment: ChangeCursor, changes: Sequence[Change], model: ModelKey | None, view: View
    ) -> "VectorSnapshot":
        """Some changes later, at the moment these lead to. The documents are read as the view shows them, which may be
        newer still."""
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
        shown = view.moment().number
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
        """What a view of this moment holds, up to which this state has followed.

        Raises Unavailable where nothing is known any more of what came after."""
        if self.newest <= number or self.model is None:
            return self.slabs
        if number < self.remembers:
            raise Unavailable("The store has moved on too far since this search began; search again.", retry_after=0.0)
        newer = sorted({document for step in self.steps if step.number > number for document in step.documents})
        rows = rows_of(view.embedded(self.model, newer), self.slabs.dimension, self.codes)
        return self.slabs.without(self.slabs.slots_of(newer)).set_apart(rows)

    def _relabelled(self, slabs: Slabs, attributes: Mapping[DocumentKey, Attributes]) -> Slabs:
        """With these attributes on all passages of these documents."""
        slots = slabs.slots_of(list(attributes))
        place_of = {document: place for place, document in enumerate(attributes)}
        owners = slabs.keys(slots)[DOCUMENT].tolist()
        places = np.array([place_of[DocumentKey(owner)] for owner in owners], np.intp)
        return slabs.relabelled(slots, self.codes.encode(AttributeColumns.of(list(attributes.values()))).take(places))


def rows_of(embedded: PassageVectors, dimension: int, codes: CodeBook) -> Rows:
    """One row per passage, ready for the slabs."""
    if not embedded:
        return Rows.empty(0, dimension)
    keys = np.stack([embedded.passages, embedded.documents, embedded.chunks])
    return Rows(Quantised.of(embedded.vectors), keys, codes.encode(embedded.attributes))
