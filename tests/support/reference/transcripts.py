"""Stored transcripts of the reference store."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from hivelore.core.agents import AgentId
from hivelore.errors import Conflict
from hivelore.search.model import Visibility
from hivelore.stored_transcripts.decisions import may_see
from hivelore.stored_transcripts.model import (
    StoredTranscript,
    TranscriptChunk,
    TranscriptId,
    TranscriptKey,
    TranscriptUsage,
)
from support.reference.state import State

_DIGESTS_PER_CHUNK = 100


class TranscriptsView:
    """The part of ``storage.ports.View`` that reads stored transcripts."""

    state: State

    def transcript(self, owner: AgentId, key: TranscriptKey) -> StoredTranscript | None:
        return next((one for one in self._present() if (one.owner, one.key) == (owner, key)), None)

    def transcript_by_id(self, transcript: TranscriptId) -> StoredTranscript | None:
        return next((one for one in self._present() if one.id == transcript), None)

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
        found = [
            one
            for one in self._present()
            if not one.key.sub_key
            and may_see(seen, one)
            and owner in (None, one.owner)
            and project_key in (None, one.key.project_key)
            and one.key.session.startswith(session or "")
            and (after is None or (one.updated_at, one.id) < after)
        ]
        return sorted(found, key=lambda one: (one.updated_at, one.id), reverse=True)[:limit]

    def session_owners(self, seen: Visibility, session: str, limit: int) -> Sequence[AgentId]:
        found = {one.owner for one in self._present() if one.key.session == session and may_see(seen, one)}
        mains = {one.owner for one in self._present() if one.key.session == session and not one.key.sub_key}
        return sorted(found & mains)[:limit]

    def session_transcripts(self, owner: AgentId, session: str | None, limit: int) -> Sequence[StoredTranscript]:
        found = [one for one in self._present() if one.owner == owner and session in (None, one.key.session)]
        return sorted(found, key=lambda one: (one.key.session, one.key.sub_key, one.key.project_key))[:limit]

    def continuing_transcripts(self, owner: AgentId, session: str, limit: int) -> Sequence[StoredTranscript]:
        found = [one for one in self._present() if (one.owner, one.continues) == (owner, session)]
        return sorted(found, key=lambda one: (one.updated_at, one.id), reverse=True)[:limit]

    def rooted_transcripts(self, owner: AgentId, root: int, limit: int) -> Sequence[StoredTranscript]:
        found = [one for one in self._present() if (one.owner, one.root) == (owner, root)]
        return sorted(found, key=lambda one: (one.updated_at, one.id), reverse=True)[:limit]

    def transcripts_after(self, transcript: TranscriptId, limit: int) -> Sequence[StoredTranscript]:
        found = [one for one in self.state.transcripts.values() if one.id > transcript]
        return sorted(found, key=lambda one: one.id)[:limit]

    def transcript_chunks(self, transcript: TranscriptId, after: int, limit: int) -> Sequence[TranscriptChunk]:
        found = (one for one in self.state.transcript_chunks.values() if one.transcript == transcript)
        return sorted((one for one in found if one.number > after), key=lambda one: one.number)[:limit]

    def transcript_digests(self, transcript: TranscriptId, digests: Collection[int]) -> frozenset[int]:
        return self.state.transcript_digests.get(transcript, frozenset()) & frozenset(digests)

    def transcript_digests_after(self, transcript: TranscriptId, after: int, limit: int) -> Sequence[int]:
        return sorted(one for one in self.state.transcript_digests.get(transcript, frozenset()) if one > after)[:limit]

    def transcript_usage(self, owner: AgentId) -> TranscriptUsage:
        found = [one.stored_size for one in self._present() if one.owner == owner]
        return TranscriptUsage(len(found), sum(found))

    def removed_transcripts(self, limit: int) -> Sequence[TranscriptId]:
        return sorted(one.id for one in self.state.transcripts.values() if one.removed_at is not None)[:limit]

    def _present(self) -> Iterator[StoredTranscript]:
        return (one for one in self.state.transcripts.values() if one.removed_at is None)


def put(state: State, transcript: StoredTranscript) -> State:
    if transcript.removed_at is None:
        for one in state.transcripts.values():
            is_same = (one.owner, one.key) == (transcript.owner, transcript.key)
            if is_same and one.removed_at is None and one.id != transcript.id:
                raise Conflict("Another transcript has this key.")
    return replace(state, transcripts=state.transcripts.put(transcript.id, transcript))


def put_chunk(state: State, chunk: TranscriptChunk) -> State:
    return replace(state, transcript_chunks=state.transcript_chunks.put((chunk.transcript, chunk.number), chunk))


def put_digests(state: State, transcript: TranscriptId, digests: Collection[int]) -> State:
    known = state.transcript_digests.get(transcript, frozenset())
    return replace(state, transcript_digests=state.transcript_digests.put(transcript, known | frozenset(digests)))


def erased(state: State, transcript: TranscriptId, limit: int) -> tuple[State, bool]:
    numbers = sorted(number for of, number in state.transcript_chunks if of == transcript)[:limit]
    chunks = state.transcript_chunks
    for number in numbers:
        chunks = chunks.drop((transcript, number))
    most = limit * _DIGESTS_PER_CHUNK
    known = sorted(state.transcript_digests.get(transcript, frozenset()))
    left = frozenset(known[most:])
    digests = state.transcript_digests.put(transcript, left) if left else state.transcript_digests.drop(transcript)
    state = replace(state, transcript_chunks=chunks, transcript_digests=digests)
    if len(numbers) >= limit or len(known) >= most:
        return state, False
    return replace(state, transcripts=state.transcripts.drop(transcript)), True


def remove_transcripts(state: State, transcripts: Collection[StoredTranscript], at: datetime) -> State:
    for one in transcripts:
        state = put(state, replace(one, removed_at=at))
    return state


def expired(state: State, before: datetime, at: datetime, limit: int) -> tuple[State, int]:
    old = [one for one in state.transcripts.values() if one.removed_at is None and one.updated_at < before]
    old = sorted(old, key=lambda one: one.updated_at)[:limit]
    return remove_transcripts(state, old, at), len(old)
