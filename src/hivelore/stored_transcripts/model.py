"""Values of stored transcripts."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NewType

from hivelore.core.agents import AgentId
from hivelore.core.values import Value
from hivelore.local.transcript_entries import MAX_ENTRY_BYTES

TranscriptId = NewType("TranscriptId", str)
"""A UUID (version 7) in its lower-case text form."""
KEY_BYTES = 255
"""Most bytes of a project key, a session id, and each part of a sub-key."""
SUB_KEY_BYTES = 1_000
CHUNK_BYTES = 1_000_000
"""Bytes of entries in one chunk; one entry may have more."""
PAGE_BYTES = 4_000_000
"""Bytes of entries in one page; one chunk may have more."""
MAX_APPENDED = 2_000
"""Most entries of one request."""
MAX_APPENDED_BYTES = MAX_ENTRY_BYTES + CHUNK_BYTES
"""Most bytes of the entries of one request."""
MAX_ENTRIES = 1_000_000
"""Most entries of one transcript."""
LIST_PAGE = 500
MAX_SUB_KEYS = 2_000
"""Most transcripts of sub-agents of one session."""
MAX_TRANSCRIPTS = 50_000
"""Most transcripts of one agent, with those of sub-agents."""
TRANSCRIPT_BYTES = 1_000
CHUNK_OVERHEAD = 200
DIGEST_BYTES = 100
"""Bytes that a transcript, a chunk and a digest are counted with, besides the data."""
MAX_CHAIN = 100
"""Most sessions that continue one another."""


@dataclass(frozen=True, slots=True)
class TranscriptKey:
    """The key of the SessionStore contract. A transcript also belongs to one agent."""

    project_key: str
    """Name of the folder in which Claude Code stores the sessions of a workspace."""
    session: str
    sub_key: str = ""
    """Path of a sub-agent's transcript inside the session, like ``subagents/agent-1``; empty for the session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTranscript:
    id: TranscriptId
    owner: AgentId
    key: TranscriptKey
    continues: str | None = None
    """The session that this one continues under another id."""
    forked_from: str | None = None
    """The session of which this one is a branch. Both go on by themselves."""
    root: int | None = None
    """Digest of the first entry with a uuid. Sessions that continue one another may have copies of it."""
    program: str
    version: str | None = None
    """Version of the program."""
    machine: str | None = None
    """Name of the host that appended last."""
    folder: str | None = None
    """Working folder on the host that created it."""
    created_at: datetime
    updated_at: datetime
    chunks: int = 0
    """Number of the last chunk."""
    entries: int = 0
    size: int = 0
    """Bytes of the entries."""
    stored_size: int = 0
    """Bytes that it takes in the store, about: compressed chunks, digests, and a fixed number for each row."""
    last_entry_at: datetime | None = None
    """The time of the newest entry, as its host says. Entries may be sent long after they were written."""
    removed_at: datetime | None = None
    """Since when it is being deleted, and not found any more."""

    def __post_init__(self) -> None:
        if self.created_at.tzinfo is not UTC or self.updated_at.tzinfo is not UTC:
            raise ValueError("instants are in UTC")

    @property
    def last_used_at(self) -> datetime:
        return self.last_entry_at or self.updated_at


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptChunk:
    """Consecutive entries of a transcript, which never change."""

    transcript: TranscriptId
    number: int
    """From 1 on, without gaps."""
    size: int
    """Bytes of the entries."""
    data: bytes
    """Compressed lines, and encrypted if there is a key."""
    sealed_with: str | None = None
    """Id of the encryption key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePosition:
    """Where lines stand in the file of a transcript, and what is stored of the lines before them."""

    anchor: str | None = None
    """The last uuid before them."""
    distance: int = 0
    """Number of entries between the anchor and them."""
    transcript: str | None = None
    """Id of the transcript that has the lines before them; None if none was sent."""
    entries: int = 0
    """Number of entries that it has at least."""


@dataclass(frozen=True, slots=True)
class TranscriptUsage:
    transcripts: int
    stored_size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptLimits:
    transcript_bytes: int
    """Most bytes of the entries of one transcript."""
    agent_bytes: int
    """Most stored bytes of one agent."""


class TranscriptItem(Value, frozen=True, kw_only=True):
    """A stored transcript as callers see it."""

    id: TranscriptId
    agent_id: AgentId
    project_key: str
    session_id: str
    sub_key: str | None
    continues: str | None
    forked_from: str | None
    program: str
    version: str | None
    machine: str | None
    folder: str | None
    created_at: datetime
    updated_at: datetime
    entries: int
    size: int
    is_exact: bool
    """True if the caller may load the exact transcript; others may read a redacted copy."""


class FoundSession(Value, frozen=True, kw_only=True):
    """A session and what belongs to it."""

    session: TranscriptItem
    sub_keys: tuple[TranscriptItem, ...]
    """Transcripts of its sub-agents."""
    chain: tuple[str, ...]
    """The sessions from the one that was asked for to the newest one that continues it."""


class AppendResult(Value, frozen=True, kw_only=True):
    id: TranscriptId | None
    """None: there was nothing to store."""
    project_key: str
    """The project key under which the entries are stored."""
    appended: int
    known: int
    """Entries that were stored before."""
    shortened: int
    """Entries of which long texts were left out."""
    entries: int
    """Entries of the whole transcript."""
    size: int
    """Bytes of the whole transcript."""
    restart: bool = False
    """True: nothing was appended, because the entries before are not stored any more. Send the file from its start."""


class ReadTurn(Value, frozen=True, kw_only=True):
    """A redacted part of a conversation."""

    speaker: str
    text: str
    tool: str | None
    target: str | None
    """Main input of the tool: a command, path, address or query."""
    failed: bool
    at: datetime | None
