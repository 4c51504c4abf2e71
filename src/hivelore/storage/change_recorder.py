"""Recording of memory states before a transaction changes them, for all stores."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import cast

from hivelore.changes.model import PreviousState
from hivelore.memories.stored import DocumentKey
from hivelore.memories.whole import WholeMemory
from hivelore.search.model import EVERYTHING
from hivelore.storage.ports import View


class ChangeRecorder:
    """Implements ``journal`` of ``memories.ports.MemoryWrites``. Every method that changes a memory first calls
    ``record_state``, and the one that deletes it ``record_removal``."""

    _recorded: dict[DocumentKey, PreviousState | None] | None = None

    @contextmanager
    def journal(self) -> Generator[Mapping[DocumentKey, PreviousState | None]]:
        self._recorded = {}
        try:
            yield self._recorded
        finally:
            self._recorded = None

    @property
    def is_journaling(self) -> bool:
        return self._recorded is not None

    def record_state(self, *keys: DocumentKey) -> None:
        """Records the state of memories that are about to change."""
        if self._recorded is not None:
            for key in keys:
                if key not in self._recorded:
                    self._recorded[key] = capture_state(cast(View, self), key)

    def record_removal(self, key: DocumentKey) -> None:
        """Records the state of a memory that is about to be deleted, and of those whose links are deleted with it."""
        if self._recorded is not None:
            links = cast(View, self).links_of([key])
            self.record_state(key, *(end for one in links for end in (one.source, one.target)))

    def record_new(self, key: DocumentKey) -> None:
        """Records that a memory did not exist before."""
        if self._recorded is not None:
            self._recorded.setdefault(key, None)


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
    return PreviousState(
        whole, tuple(view.proposals_about(key)), tuple(view.events_about(key)), tuple(view.links_of([key]))
    )
