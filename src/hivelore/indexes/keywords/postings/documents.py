"""Attributes of all documents in memory, for filters; they follow the changes of the store."""

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
"""Number of document changes that are remembered for older snapshots."""
UNKNOWN = 0
"""The position of an unknown document."""


class Documents:
    """Labels change in place for all readers. A follower first notes a document, then relabels it. A reader first reads
    the labels, then the notes, and checks documents that are newer than its snapshot in the database. Only one
    thread may follow at a time."""

    def __init__(self, view: SqlView, number: int) -> None:
        self.codes = CodeBook()
        self._notes: list[tuple[int, DocumentKey]] = []
        self._remembers = number
        self._may_have_lost_chunks: set[int] = set()
        self._is_surveyed = False
        pages = [(keys, self.codes.encode(columns)) for keys, columns in attribute_pages(view)]
        self._labels = _joined([_no_labels(), *(labels for _, labels in pages)])
        self._keys: Keys = np.concatenate([np.zeros(1, np.int64), *(keys for keys, _ in pages)])
        self._count = len(self._keys)
        self._late: dict[int, int] = {}
        """Positions of documents that arrived after ones with greater keys, outside the sorted order."""

    def places(self, documents: Keys) -> NDArray[np.int32]:
        keys = self._keys[: self._count]
        at = np.minimum(np.searchsorted(keys, documents), len(keys) - 1)
        places = np.where(keys[at] == documents, at, UNKNOWN).astype(np.int32)
        if self._late:
            for where in np.flatnonzero(places == UNKNOWN).tolist():
                places[where] = self._late.get(int(documents[where]), UNKNOWN)
        return places

    def follow(self, view: SqlView, since: ChangeCursor) -> None:
        """Applies the changes that the view shows and ``since`` did not."""
        shown = view.change_cursor().number
        for _, changes in view.changes(since):
            touched = sorted({one.document for one in changes if one.kind is not ChangeKind.VECTORS})
            self._notes.extend((shown, document) for document in touched)
            self._may_have_lost_chunks.update(one.document for one in changes if one.kind in _LOSES_CHUNKS)
            present = view.attributes(touched)
            known = self.places(np.array(touched, np.int64)) != UNKNOWN
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
        """Appends documents, ascending by key."""
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
        """Returns the keys to append. A late key is replaced by the last one and remembered in ``_late``."""
        last = int(self._keys[self._count - 1])
        for number in range(int(np.searchsorted(keys, last))):
            self._late[int(keys[number])] = self._count + number
        return np.maximum(keys, last)

    def admitted(self, where: Filter, at: NDArray[np.int32]) -> Mask:
        """Returns a mask of the documents at these positions that pass now, ignoring tags."""
        labels = self._labels
        known = np.where(at < len(labels.codes[0]), at, UNKNOWN)
        return self.codes.admitted(where, labels.take(known.astype(np.intp)))

    def survey(self, view: SqlView) -> None:
        """Finds, once, chunks that no longer exist but still have terms."""
        if not self._is_surveyed:
            self._may_have_lost_chunks.update(row[0] for row in ask(view, "orphans"))
            self._is_surveyed = True

    def may_have_lost(self, documents: Keys) -> Sequence[int]:
        """Returns the positions of documents that may lack an indexed chunk."""
        if not self._is_surveyed:
            return range(len(documents))
        shaken = self._may_have_lost_chunks
        return [at for at, document in enumerate(documents.tolist()) if document in shaken] if shaken else ()

    def newer(self, number: int) -> Sequence[DocumentKey] | None:
        """Returns the documents that may have changed after this number; None if that is no longer remembered."""
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
    """The documents that a filter admits, as of the view of a search."""

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
        """Returns a mask of the admitted documents; ``at`` are their positions in ``Documents``."""
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


def _no_labels() -> Labels:
    labels = Labels.empty(1)
    labels.codes[:] = -1
    labels.instants[:] = 0
    return labels


def _joined(labels: Iterable[Labels]) -> Labels:
    parts = list(labels)
    return Labels(
        np.concatenate([one.codes for one in parts], axis=1), np.concatenate([one.instants for one in parts], axis=1)
    )
