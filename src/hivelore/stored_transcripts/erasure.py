"""Permanent deletion of transcripts, in small transactions, since each one blocks other writers."""

from collections.abc import Callable

from hivelore.storage.ports import MemoryStore
from hivelore.stored_transcripts.model import TranscriptId

_CHUNKS = 10
"""Chunks deleted in one transaction."""


def erase(store: MemoryStore, transcript: TranscriptId, stopping: Callable[[], bool] = lambda: False) -> bool:
    """Deletes a transcript that is marked as being deleted. Returns False if ``stopping`` came first. Purge the log of
    the store afterwards."""
    while not stopping():
        if store.write(lambda tx: tx.erase_transcript(transcript, _CHUNKS)):
            return True
    return False
