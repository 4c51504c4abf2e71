"""What a ``Filter`` asks of each document, in memory, following the changes of the store."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from hivelore.adapters.keywords.postings.part import Keys
from hivelore.adapters.keywords.postings.sql import ask, attribute_pages
from hivelore.adapters.sqlite.view import SqliteView
from hivelore.adapters.vectors.attributes import CodeBook, Labels, Mask
from hivelore.domain.index import AttributeColumns, Attributes, ChangeKind, DocumentKey
from hivelore.domain.search import Filter

_LOSES_CHUNKS = (ChangeKind.CONTENT, ChangeKind.FORGOTTEN)
PAGE = 1_000
"""Changes that are followed at a time."""
NOTES = 10_000
"""How many changes of documents are remembered for the sake of older snapshots."""
NOBODY = 0
"""The place of a document that is not known."""


class Documents:
    """Labels are changed in place, for all readers: who follows notes a document first and then labels it anew, who
    reads looks at the labels first and then at the notes, and asks the database about what is noted as newer than the
    snapshot. Only one at a time may follow."""

    def __init__(self, view: SqliteView, seq: int) -> None:
        self.codes = CodeBook()
        self._notes: list[tuple[int, DocumentKey]] = []
        self._remembers = seq
        self._shaken: set[int] = set()
        self._is_surveyed = False
        pages = [(keys, self.codes.encode(columns)) for keys, columns in attribute_pages(view)]
        self._labels = _joined([_nobody(), *(labels for _, labels in pages)])
        self._keys: Keys = np.concatenate([np.zeros(1, np.int64), *(keys for keys, _ in pages)])
        self._count = len(self._keys)

    def places(self, documents: Keys) -> NDArray[np.int32]:
        keys = self._keys[: self._count]
        at = np.minimum(np.searchsorted(keys, documents), len(keys) - 1)
        return np.where(keys[at] == documents, at, NOBODY).astype(np.int32)

    def follow(self, view: SqliteView, after: int, shown: int) -> None:
        """Apply what happened behind the change ``after``; ``shown`` is the last one that the view shows."""
        while changes := view.changes(after, PAGE):
            after = changes[-1].seq
            touched = sorted({one.document for one in changes if one.kind is not ChangeKind.VECTORS})
            self._notes.extend((shown, document) for document in touched)
            self._shaken.update(one.document for one in changes if one.kind in _LOSES_CHUNKS)
            present = view.attributes(touched)
            last = int(self._keys[self._count - 1])
            self._relabel({key: present[key] for key in touched if key in present and key <= last})
            self._append({key: present[key] for key in touched if key in present and key > last})
        if len(self._notes) > 2 * NOTES:
            self._remembers = self._notes[-NOTES][0]
            self._notes = self._notes[-NOTES:]

    def _relabel(self, documents: dict[DocumentKey, Attributes]) -> None:
        if documents:
            at = self.places(np.fromiter(documents, np.int64))
            known = at != NOBODY
            labels = self.codes.encode(AttributeColumns.of(list(documents.values())))
            self._labels.put(at[known].astype(np.intp), labels.take(known))

    def _append(self, documents: dict[DocumentKey, Attributes]) -> None:
        if not documents:
            return
        labels = self.codes.encode(AttributeColumns.of(list(documents.values())))
        stop = self._count + len(documents)
        if stop > len(self._keys):
            room = Labels.empty(stop // 4 + 64)
            self._labels = _joined([self._labels.take(slice(self._count)), labels, room])
            fresh = np.fromiter(documents, np.int64)
            self._keys = np.concatenate([self._keys[: self._count], fresh, np.zeros(stop // 4 + 64, np.int64)])
        else:
            self._labels.put(slice(self._count, stop), labels)
            self._keys[self._count : stop] = np.fromiter(documents, np.int64)
        self._count = stop

    def admitted(self, where: Filter, at: NDArray[np.int32]) -> Mask:
        """Which of the documents at these places pass now; but for the tag."""
        labels = self._labels
        known = np.where(at < len(labels.codes[0]), at, NOBODY)
        return self.codes.admitted(where, labels.take(known.astype(np.intp)))

    def survey(self, view: SqliteView) -> None:
        """Look once for chunks that are gone while their terms are still there."""
        if not self._is_surveyed:
            self._shaken.update(row[0] for row in ask(view, "orphans"))
            self._is_surveyed = True

    def may_have_lost(self, documents: Keys) -> Sequence[int]:
        """Where in these those are that may lack a chunk that is indexed."""
        if not self._is_surveyed:
            return range(len(documents))
        shaken = self._shaken
        return [at for at, document in enumerate(documents.tolist()) if document in shaken] if shaken else ()

    def newer(self, seq: int) -> Sequence[DocumentKey] | None:
        """Those that may have changed behind ``seq``; None where that is not known any more."""
        notes = self._notes
        if seq < self._remembers:
            return None
        newer: set[DocumentKey] = set()
        for at in range(len(notes) - 1, -1, -1):
            if notes[at][0] <= seq:
                break
            newer.add(notes[at][1])
        return sorted(newer)


class Admission:
    """Which documents a search is about, as the view shows them."""

    def __init__(self, documents: Documents, view: SqliteView, where: Filter, seq: int) -> None:
        self._documents = documents
        self._view = view
        self._where = where
        self._seq = seq
        self._keys: Keys | None = None
        if where.tag is not None:
            self._keys = self._matching()

    def _matching(self) -> Keys:
        return np.array(self._view.matching(self._where), np.int64)

    def __call__(self, documents: Keys, at: NDArray[np.int32]) -> Mask:
        """``at``: their places, as ``Documents`` tells them."""
        if self._keys is None:
            passing = self._documents.admitted(self._where, at)
            newer = self._documents.newer(self._seq)
            if newer is not None and not newer:
                return passing
            if newer is not None:
                admitted = list(self._view.admitted(newer, self._where))
                return (passing & ~np.isin(documents, newer)) | np.isin(documents, admitted)
            self._keys = self._matching()
        return np.isin(documents, self._keys)


def _nobody() -> Labels:
    labels = Labels.empty(1)
    labels.codes[:] = -1
    labels.instants[:] = 0
    return labels


def _joined(labels: Iterable[Labels]) -> Labels:
    them = list(labels)
    return Labels(
        np.concatenate([one.codes for one in them], axis=1), np.concatenate([one.instants for one in them], axis=1)
    )
