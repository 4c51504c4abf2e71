"""Decisions about stored transcripts: who may load and delete one, and what fits."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from hivelore.core.agents import AgentId, Role, Viewer
from hivelore.errors import Conflict, Forbidden
from hivelore.search.model import Visibility
from hivelore.sessions.transcripts.entries import parse_instant
from hivelore.stored_transcripts.model import (
    MAX_ENTRIES,
    MAX_TRANSCRIPTS,
    FilePosition,
    StoredTranscript,
    TranscriptKey,
    TranscriptLimits,
    TranscriptUsage,
)


def may_see(seen: Visibility, transcript: StoredTranscript) -> bool:
    """Returns True if a viewer may know of a transcript, which is as private as the private memories of its agent."""
    return seen.others or (seen.own is not None and transcript.owner == seen.own)


def exact_owner(viewer: Viewer) -> AgentId:
    """Returns the agent whose exact transcripts the viewer may load: its own. They have secrets and private text, so
    acting for the agent is not enough. Raises Forbidden."""
    if viewer.agent is None or viewer.acting:
        raise Forbidden(
            "Only the session's own agent may load exact transcripts, with its own key (HIVELORE_KEY). Others may read "
            "a redacted copy ('hivelore session show')."
        )
    return viewer.agent


def may_load(viewer: Viewer, transcript: StoredTranscript) -> bool:
    """Returns True if the viewer may load the exact transcript; see ``exact_owner``."""
    return viewer.agent == transcript.owner and not viewer.acting


def may_delete(viewer: Viewer, owner: AgentId) -> bool:
    """Returns True if the viewer may delete transcripts of an agent."""
    return viewer.role is Role.OPERATOR or viewer.agent == owner


def is_audited(viewer: Viewer, owner: AgentId) -> bool:
    """Returns True if the audit trail records what a viewer reads or deletes: it belongs to another agent, or to one
    that the viewer acts for."""
    return viewer.agent != owner or viewer.acting


def check_room(
    before: StoredTranscript, after: StoredTranscript, usage: TranscriptUsage, limits: TranscriptLimits
) -> None:
    """Raises Conflict if a transcript, or all those of its agent, would become too large."""
    if after.size > limits.transcript_bytes or after.entries > MAX_ENTRIES:
        raise Conflict(
            f"The transcript would have {after.size:,} bytes and {after.entries:,} entries; at most "
            f"{limits.transcript_bytes:,} and {MAX_ENTRIES:,} are stored. What is stored can be resumed. Start a new "
            "session, or raise HIVELORE_TRANSCRIPT_MB."
        )
    if before.chunks == 0 and usage.transcripts >= MAX_TRANSCRIPTS:
        raise Conflict(
            f"This agent has {usage.transcripts:,} stored transcripts; at most {MAX_TRANSCRIPTS:,} are stored. Delete "
            "some ('hivelore session delete'), or lower HIVELORE_TRANSCRIPT_DAYS."
        )
    total = usage.stored_size + after.stored_size - before.stored_size
    if total > limits.agent_bytes:
        raise Conflict(
            f"The transcripts of this agent would take {total:,} bytes; at most {limits.agent_bytes:,} are stored. "
            "Delete some ('hivelore session delete'), or raise HIVELORE_TRANSCRIPTS_MB."
        )


def stored_key(asked: TranscriptKey, of_session: Iterable[StoredTranscript], *, from_file: bool) -> TranscriptKey:
    """Returns the key under which entries are stored. The lines of a file go to the transcript that its agent has of
    the same session, although the folder has another name on another host. ``of_session``: the agent's transcripts of
    the session and its sub-agents."""
    known = [one for one in of_session if one.key.session == asked.session]
    if not from_file or not known or any(one.key.project_key == asked.project_key for one in known):
        return asked
    newest = max(known, key=lambda one: (one.updated_at, one.id))
    return TranscriptKey(newest.key.project_key, asked.session, asked.sub_key)


def has_lines_before(known: StoredTranscript | None, file: FilePosition, *, has_anchor: bool) -> bool:
    """Returns True if the lines of a file before a position are stored, as far as its sender sent any. ``has_anchor``:
    whether the anchor is stored."""
    if file.transcript is None:
        return True
    if known is None or known.id != file.transcript or known.entries < file.entries:
        return False
    return file.anchor is None or has_anchor


def written_at(entries: Iterable[Mapping[str, Any]], now: datetime) -> datetime | None:
    """Returns when the newest of some entries was written, as they say. A clock that is fast counts as ``now``."""
    found = [at for entry in entries if (at := parse_instant(entry.get("timestamp"))) is not None]
    return min(max(found), now) if found else None


def described(entries: Iterable[Mapping[str, Any]], name: str) -> str | None:
    """Returns the last text that entries have under a name, such as ``version`` or ``cwd``."""
    found: str | None = None
    for entry in entries:
        value = entry.get(name)
        if isinstance(value, str) and value:
            found = value
    return found
