"""An immutable state of the vector index, with the change cursor up to which it followed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hivelore.core.values import replace
from hivelore.errors import Unavailable
from hivelore.indexes.attributes import CodeBook
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
