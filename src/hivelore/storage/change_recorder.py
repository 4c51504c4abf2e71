"""Recording of memory states before a transaction changes them, for all stores."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import cast

from hivelore.changes.model import PreviousState
from hivelore.indexing.model import DocumentKey
from hivelore.memories.whole import WholeMemory
from hivelore.search.model import EVERYTHING
from hivelore.storage.ports import View


class ChangeRecorder:
    """Implements ``journal`` of ``storage.ports.MemoryWrites``. Every method that changes a memory calls ``_note``
    first."""

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
                    self._noted[key] = capture_state(cast(View, self), key)

    def _note_new(self, key: DocumentKey) -> None:
        """Records that a memory did not exist before."""
        if self._noted is not None:
            self._noted.setdefault(key, None)


def capture_state(view: View, key: DocumentKey) -> PreviousState | None:
    """Returns everything the view knows about a memory, or None if it does not exist."""
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
