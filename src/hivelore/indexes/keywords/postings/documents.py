"""What a ``Filter`` asks of each document, in memory, following the changes of the store."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from hivelore.indexes.attributes import CodeBook, Labels, Mask
from hivelore.indexes.keywords.postings.segment import Keys
from hivelore.indexes.keywords.postings.sql import ask, attribute_pages
from hivelore.indexing.model import AttributeColumns, Attributes, ChangeCursor, ChangeKind, DocumentKey
from hivelore.search.model import Filter
from hivelore.storage.sql.view import SqlView

_LOSES_CHUNKS = (ChangeKind.CONTENT, ChangeKind.FORGOTTEN)
NOTES = 10_000
"""How many changes of documents are remembered for the sake of older snapshots."""
NOBODY = 0
"""The place of a document that is not known."""


class Documents:
    """Labels are changed in place, for all readers: who follows notes a document first and then labels it anew, who
    reads looks at the labels first and then at the notes, and asks the database about what is noted as newer than the
    snapshot. Only one at a time may follow."""

    def __init__(self, view: SqlView, number: int) -> None:
        self.codes = CodeBook()
        self._notes: list[tuple[int, DocumentKey]] = []
        self._remembers = number
        self._shaken: set[int] = set()
        self._is_surveyed = False
        pages = [(keys, self.codes.encode(columns)) for keys, columns in attribute_pages(view)]
        self._labels = _joined([_nobody(), *(labels for _, labels in pages)])
        self._keys: Keys = np.concatenate([np.zeros(1, np.int64), *(keys for keys, _ in pages)])
        self._count = len(self._keys)
        self._late: dict[int, int] = {}
        """The places of documents that were seen after younger ones: in order of their keys is no room for them."""

    def places(self, documents: Keys) -> NDArray[np.int32]:
        keys = self._keys[: self._count]
        at = np.minimum(np.searchsorted(keys, documents), len(keys) - 1)
        places = np.where(keys[at] == documents, at, NOBODY).astype(np.int32)
        if self._late:
            for where in np.flatnonzero(places == NOBODY).tolist():
                places[where] = self._late.get(int(documents[where]), NOBODY)
        return places

    def follow(self, view: SqlView, since: ChangeCursor) -> None:
        """Apply what the view shows and a moment did not."""
        shown = view.change_cursor().number
        for _, changes in view.changes(since):
            touched = sorted({one.document for one in changes if one.kind is not ChangeKind.VECTORS})
            self._notes.extend((shown, document) for document in touched)
            self._shaken.update(one.document for one in changes if one.kind in _LOSES_CHUNKS)
            present = view.attributes(touched)
            known = self.places(np.array(touched, np.int64)) != NOBODY
            self._relabel(
                {key: present[key] for key, here in zip(touched, known, strict=True) if here and key in present}
            )
            self._append(
                {key: present[key] for key, here in zip(touched, known, strict=True) if not here and key in present}
            )
        if len(self._notes) > 2 * NOTES:
            self._remembers = self._notes[-NOTES][0]
            self._notes = self._notes[-NOTES:]

    def _relabel(self, documents: dict[DocumentKey, Attributes]) -> None:
        if documents:
            at = self.places(np.fromiter(documents, np.int64))
            self._labels.put(at.astype(np.intp), self.codes.encode(AttributeColumns.of(list(documents.values()))))

    def _append(self, documents: dict[DocumentKey, Attributes]) -> None:
        """Ascending by key."""
        if not documents:
            return
        fresh = self._in_order(np.fromiter(documents, np.int64))
        labels = self.codes.encode(AttributeColumns.of(list(documents.values())))
        stop = self._count + len(documents)
        if stop > len(self._keys):
            room = Labels.empty(stop // 4 + 64)
            self._labels = _joined([self._labels.take(slice(self._count)), labels, room])
            self._keys = np.concatenate([self._keys[: self._count], fresh, np.zeros(stop // 4 + 64, np.int64)])
        else:
            self._labels.put(slice(self._count, stop), labels)
            self._keys[self._count : stop] = fresh
        self._count = stop

    def _in_order(self, keys: Keys) -> Keys:
        """The keys to write behind those that are there: a late one repeats the last of them, and is noted apart."""
        last = int(self._keys[self._count - 1])
        for number in range(int(np.searchsorted(keys, last))):
            self._late[int(keys[number])] = self._count + number
        return np.maximum(keys, last)

    def admitted(self, where: Filter, at: NDArray[np.int32]) -> Mask:
        """Which of the documents at these places pass now; but for the tag."""
        labels = self._labels
        known = np.where(at < len(labels.codes[0]), at, NOBODY)
        return self.codes.admitted(where, labels.take(known.astype(np.intp)))

    def survey(self, view: SqlView) -> None:
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

    def newer(self, number: int) -> Sequence[DocumentKey] | None:
        """Those that may have changed after the moment of this number; None where that is not known any more."""
        notes = self._notes
        if number < self._remembers:
            return None
        newer: set[DocumentKey] = set()
        for at in range(len(notes) - 1, -1, -1):
            if notes[at][0] <= number:
                break
            newer.add(notes[at][1])
        return sorted(newer)


class Admission:
    """Which documents a search is about, as the view shows them."""

    def __init__(self, documents: Documents, view: SqlView, where: Filter, number: int) -> None:
        self._documents = documents
        self._view = view
        self._where = where
        self._number = number
        self._keys: Keys | None = None
        if where.needs_store:
            self._keys = self._matching()

    def _matching(self) -> Keys:
        return np.array(self._view.matching_keys(self._where), np.int64)

    def __call__(self, documents: Keys, at: NDArray[np.int32]) -> Mask:
        """``at``: their places, as ``Documents`` tells them."""
        if self._keys is None:
            passing = self._documents.admitted(self._where, at)
            newer = self._documents.newer(self._number)
            if newer is not None and not newer:
                return passing
            if newer is not None:
                admitted = list(self._view.memories_of(newer, self._where))
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
