"""Ports of stored transcripts."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from hivelore.core.agents import AgentId
from hivelore.search.model import Visibility
from hivelore.stored_transcripts.model import (
    StoredTranscript,
    TranscriptChunk,
    TranscriptId,
    TranscriptKey,
    TranscriptUsage,
)


class TranscriptReads(Protocol):
    """Stored transcripts, their chunks, and the digests of their entries. Only ``transcripts_after`` returns those that
    are being deleted."""

    def transcript(self, owner: AgentId, key: TranscriptKey) -> StoredTranscript | None: ...

    def transcript_by_id(self, transcript: TranscriptId) -> StoredTranscript | None: ...

    def transcripts(
        self,
        seen: Visibility,
        limit: int,
        *,
        owner: AgentId | None = None,
        project_key: str | None = None,
        session: str | None = None,
        after: tuple[datetime, TranscriptId] | None = None,
    ) -> Sequence[StoredTranscript]:
        """Returns transcripts of sessions, without those of sub-agents: most recently updated first, then by greater
        id. ``after``: the last update and the id of the one before the first. They are as private as the private
        memories of their agent. ``session``: the beginning of its id."""
        ...

    def session_owners(self, seen: Visibility, session: str, limit: int) -> Sequence[AgentId]:
        """Returns the agents that have a transcript of a session, by id. ``session``: the whole id."""
        ...

    def session_transcripts(self, owner: AgentId, session: str | None, limit: int) -> Sequence[StoredTranscript]:
        """Returns the transcripts of a session and its sub-agents; None: of all sessions. By session, sub-key and
        project key."""
        ...

    def continuing_transcripts(self, owner: AgentId, session: str, limit: int) -> Sequence[StoredTranscript]:
        """Returns transcripts of sessions that continue one, most recently updated first, then by greater id."""
        ...

    def rooted_transcripts(self, owner: AgentId, root: int, limit: int) -> Sequence[StoredTranscript]:
        """Returns transcripts of sessions with the same first entry, most recently updated first, then by greater
        id."""
        ...

    def transcripts_after(self, transcript: TranscriptId, limit: int) -> Sequence[StoredTranscript]:
        """Returns a page of all transcripts by id. The first page begins after an empty id."""
        ...

    def transcript_chunks(self, transcript: TranscriptId, after: int, limit: int) -> Sequence[TranscriptChunk]:
        """Returns a page of chunks by number. The first page begins after 0."""
        ...

    def transcript_digests(self, transcript: TranscriptId, digests: Collection[int]) -> frozenset[int]:
        """Returns those of the digests that entries of a transcript have."""
        ...

    def transcript_digests_after(self, transcript: TranscriptId, after: int, limit: int) -> Sequence[int]:
        """Returns a page of digests, in order. The first page begins after -1."""
        ...

    def transcript_usage(self, owner: AgentId) -> TranscriptUsage:
        """Returns what the transcripts of an agent take, without reading them."""
        ...

    def removed_transcripts(self, limit: int) -> Sequence[TranscriptId]:
        """Returns ids of transcripts that are being deleted."""
        ...


class TranscriptWrites(Protocol):
    def put_transcript(self, transcript: StoredTranscript) -> None:
        """Inserts or replaces a transcript. Raises Conflict if another one, which is not being deleted, has its owner
        and key."""
        ...

    def put_transcript_chunk(self, chunk: TranscriptChunk) -> None:
        """Inserts or replaces a chunk."""
        ...

    def put_transcript_digests(self, transcript: TranscriptId, digests: Collection[int]) -> None:
        """Adds digests; known ones stay."""
        ...

    def erase_transcript(self, transcript: TranscriptId, limit: int) -> bool:
        """Deletes up to ``limit`` chunks and as many digests, and the transcript itself once it has no more. Returns
        True if it does not exist any more."""
        ...

    def remove_transcripts(self, transcripts: Collection[StoredTranscript], at: datetime) -> None:
        """Marks transcripts, as they are stored, as being deleted."""
        ...

    def expire_transcripts(self, before: datetime, at: datetime, limit: int) -> int:
        """Marks up to ``limit`` transcripts as being deleted that were last updated before an instant. Returns how
        many."""
        ...
