"""Stored transcripts, their chunks, and the digests of their entries."""

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime

from hivelore.core.agents import AgentId
from hivelore.search.model import Visibility
from hivelore.storage.sql.statements import (
    INSTANT,
    PLAIN,
    Codec,
    Columns,
    Param,
    SqlReader,
    SqlWriter,
    Table,
    after_position,
    begins_with,
    plain,
    to_micros,
)
from hivelore.stored_transcripts.model import (
    StoredTranscript,
    TranscriptChunk,
    TranscriptId,
    TranscriptKey,
    TranscriptUsage,
)

TRANSCRIPT = Table(
    StoredTranscript,
    "transcript",
    "id",
    **plain("id owner continues forked_from root program version machine folder chunks entries size stored_size"),
    created_at=INSTANT,
    updated_at=INSTANT,
    last_entry_at=INSTANT,
    removed_at=INSTANT,
    key=Columns(TranscriptKey, None, project_key=PLAIN, session=PLAIN, sub_key=PLAIN),
)
TRANSCRIPT_CHUNK = Table(
    TranscriptChunk,
    "transcript_chunk",
    "transcript number",
    **plain("transcript number size sealed_with"),
    data=Codec(bytes),
)
_DIGESTS_PER_CHUNK = 100
"""Digests that are deleted with each chunk; those of very short entries take further steps."""


def transcript_condition(
    seen: Visibility,
    owner: AgentId | None = None,
    project_key: str | None = None,
    session: str | None = None,
    after: tuple[datetime, str] | None = None,
) -> tuple[str, dict[str, Param]]:
    """Returns a filter of transcripts, to be appended to ``tr.namespace = :namespace``."""
    sql, params = "", dict[str, Param]()
    if not seen.others:
        if seen.own is None:
            return " AND 1 = 0", params
        sql, params["own"] = " AND tr.owner = :own", seen.own
    if owner is not None:
        sql += " AND tr.owner = :owner"
        params["owner"] = owner
    if project_key is not None:
        sql += " AND tr.project_key = :project_key"
        params["project_key"] = project_key
    if session:
        beginning, of_it = begins_with("tr.session", session)
        sql += beginning
        params |= of_it
    behind, of_it = after_position("tr.updated_at, tr.id", after)
    return sql + behind, params | of_it


class TranscriptReader(SqlReader):
    """Implements ``stored_transcripts.ports.TranscriptReads``."""

    TABLES = (TRANSCRIPT, TRANSCRIPT_CHUNK)

    def transcript(self, owner: AgentId, key: TranscriptKey) -> StoredTranscript | None:
        return self.read_one(
            TRANSCRIPT,
            "transcript_by_key",
            owner=owner,
            project_key=key.project_key,
            session=key.session,
            sub_key=key.sub_key,
        )

    def transcript_by_id(self, transcript: TranscriptId) -> StoredTranscript | None:
        return self.read_one(TRANSCRIPT, "transcript_by_id", id=transcript)

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
        sql, params = transcript_condition(seen, owner, project_key, session, after)
        rows = self.rows(self.SQL["transcripts"].replace("{transcript_filter}", sql), {**params, "limit": limit})
        return TRANSCRIPT.read_all(rows)

    def session_owners(self, seen: Visibility, session: str, limit: int) -> Sequence[AgentId]:
        sql, params = transcript_condition(seen)
        statement = self.SQL["transcript_owners"].replace("{transcript_filter}", sql)
        rows = self.rows(statement, {**params, "session": session, "limit": limit})
        return [AgentId(row[0]) for row in rows]

    def session_transcripts(self, owner: AgentId, session: str | None, limit: int) -> Sequence[StoredTranscript]:
        if session is None:
            return self.read_all(TRANSCRIPT, "transcripts_of_owner", owner=owner, limit=limit)
        return self.read_all(TRANSCRIPT, "transcripts_of_session", owner=owner, session=session, limit=limit)

    def continuing_transcripts(self, owner: AgentId, session: str, limit: int) -> Sequence[StoredTranscript]:
        return self.read_all(TRANSCRIPT, "transcripts_continuing", owner=owner, session=session, limit=limit)

    def rooted_transcripts(self, owner: AgentId, root: int, limit: int) -> Sequence[StoredTranscript]:
        return self.read_all(TRANSCRIPT, "transcripts_rooted", owner=owner, root=root, limit=limit)

    def transcripts_after(self, transcript: TranscriptId, limit: int) -> Sequence[StoredTranscript]:
        return self.read_all(TRANSCRIPT, "transcripts_after", after=transcript, limit=limit)

    def transcript_chunks(self, transcript: TranscriptId, after: int, limit: int) -> Sequence[TranscriptChunk]:
        return self.read_all(TRANSCRIPT_CHUNK, "transcript_chunks", transcript=transcript, after=after, limit=limit)

    def transcript_digests(self, transcript: TranscriptId, digests: Collection[int]) -> frozenset[int]:
        params: dict[str, Param] = {"transcript": transcript, "digests": self.array(digests)}
        return frozenset(row[0] for row in self.rows(self.SQL["transcript_digests"], params))

    def transcript_digests_after(self, transcript: TranscriptId, after: int, limit: int) -> Sequence[int]:
        params: dict[str, Param] = {"transcript": transcript, "after": after, "limit": limit}
        return [row[0] for row in self.rows(self.SQL["transcript_digests_after"], params)]

    def transcript_usage(self, owner: AgentId) -> TranscriptUsage:
        found = self.rows(self.SQL["transcript_usage"], {"owner": owner})
        return TranscriptUsage(*map(int, found[0])) if found else TranscriptUsage(0, 0)

    def removed_transcripts(self, limit: int) -> Sequence[TranscriptId]:
        return [TranscriptId(row[0]) for row in self.rows(self.SQL["transcripts_removed"], {"limit": limit})]


class TranscriptWriter(TranscriptReader, SqlWriter):
    """Implements ``stored_transcripts.ports.TranscriptWrites``."""

    def put_transcript(self, transcript: StoredTranscript) -> None:
        before = self.transcript_by_id(transcript.id)
        with self.savepoint():
            self.run("transcript_put", TRANSCRIPT.params(transcript))
        self._count([before] if before else [], [] if transcript.removed_at is not None else [transcript])

    def put_transcript_chunk(self, chunk: TranscriptChunk) -> None:
        self.run("transcript_chunk_put", TRANSCRIPT_CHUNK.params(chunk))

    def put_transcript_digests(self, transcript: TranscriptId, digests: Collection[int]) -> None:
        self.run_each("transcript_digest_put", [{"transcript": transcript, "digest": one} for one in digests])

    def erase_transcript(self, transcript: TranscriptId, limit: int) -> bool:
        params: dict[str, Param] = {"transcript": transcript, "limit": limit}
        erased = self.count("transcript_chunks_erase", params)
        most = limit * _DIGESTS_PER_CHUNK
        digests = self.count("transcript_digests_erase", {**params, "limit": most})
        if erased >= limit or digests >= most:
            return False
        before = self.transcript_by_id(transcript)
        self.run("transcript_erase", {"transcript": transcript})
        self._count([before] if before else [], [])
        return True

    def remove_transcripts(self, transcripts: Collection[StoredTranscript], at: datetime) -> None:
        self.run("transcripts_remove", {"ids": self.array([one.id for one in transcripts]), "at": to_micros(at)})
        self._count(transcripts, [])

    def expire_transcripts(self, before: datetime, at: datetime, limit: int) -> int:
        found = self.read_all(TRANSCRIPT, "transcripts_unused", before=to_micros(before), limit=limit)
        self.remove_transcripts(found, at)
        return len(found)

    def _count(self, before: Collection[StoredTranscript], after: Collection[StoredTranscript]) -> None:
        """Changes the usage of owners: transcripts that counted before, and those that count now."""
        numbers, sizes = Counter[AgentId](), Counter[AgentId]()
        for some, sign in ((before, -1), (after, 1)):
            for one in some:
                numbers[one.owner] += sign
                sizes[one.owner] += sign * one.stored_size
        changes = [
            {"owner": owner, "transcripts": numbers[owner], "stored_size": sizes[owner]}
            for owner in sorted(numbers)
            if numbers[owner] or sizes[owner]
        ]
        self.run_each("transcript_usage_add", changes)
