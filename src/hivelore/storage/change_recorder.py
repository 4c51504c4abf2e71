"""Noting what memories were before a unit of work changes them, for every store alike."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import cast

from hivelore.changes.model import PreviousState
from hivelore.indexing.model import DocumentKey
from hivelore.memories.whole import WholeMemory
from hivelore.search.model import EVERYTHING
from hivelore.storage.ports import View


class ChangeRecorder:
    """The part of ``storage.ports.MemoryTransaction`` that keeps. Whatever changes a memory calls ``_note`` before
    it does."""

    _noted: dict[DocumentKey, PreviousState | None] | None = None

    @contextmanager
    def journal(self) -> Generator[Mapping[DocumentKey, PreviousState | None]]:
        self._noted = {}
        try:
            yield self._noted
        finally:
            self._noted = None

    @property
    def is_journaling(self) -> bool:
        return self._noted is not None

    def _note(self, *keys: DocumentKey) -> None:
        if self._noted is not None:
            for key in keys:
                if key not in self._noted:
                    self._noted[key] = former(cast(View, self), key)

    def _note_new(self, key: DocumentKey) -> None:
        """Of one that was put here just now."""
        if self._noted is not None:
            self._noted.setdefault(key, None)


def former(view: View, key: DocumentKey) -> PreviousState | None:
    """A memory as the view shows it."""
    memory = view.memories_of([key], EVERYTHING).get(key)
    if memory is None:
        return None
    whole = WholeMemory(
        key,
        memory,
        tuple(view.history(key)),
        tuple(view.chunks(key)),
        tuple(view.observations(key)),
        tuple(view.evidence(key)),
    )
    return PreviousState(whole, tuple(view.proposals_about(key)), tuple(view.events_about(key)))
