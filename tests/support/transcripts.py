"""Stored transcripts for tests."""

import json
from typing import Any

from hypothesis import strategies as st

from hivelore.core.agents import AgentId
from hivelore.storage.ports import MemoryStore, Transaction
from hivelore.stored_transcripts.model import StoredTranscript, TranscriptChunk, TranscriptId, TranscriptKey
from support.memories import ADA, instant

SESSION = "00000000-0000-4000-8000-000000000001"


def transcript_id(number: int) -> TranscriptId:
    return TranscriptId(f"00000000-0000-7000-8000-{number:012d}")


def session_id(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


def a_key(number: int = 1, sub_key: str = "", project_key: str = "-work") -> TranscriptKey:
    return TranscriptKey(project_key, session_id(number), sub_key)


def a_transcript(number: int = 1, owner: AgentId = ADA, **more: Any) -> StoredTranscript:
    default: dict[str, Any] = {
        "key": a_key(number),
        "program": "claude-code",
        "created_at": instant(0),
        "updated_at": instant(0),
    }
    return StoredTranscript(id=transcript_id(number), owner=owner, **(default | more))


def a_chunk(number: int = 1, transcript: int = 1, **more: Any) -> TranscriptChunk:
    default: dict[str, Any] = {"size": 3, "data": b"\0x" + bytes([number])}
    return TranscriptChunk(transcript=transcript_id(transcript), number=number, **(default | more))


def put(store: MemoryStore, *values: StoredTranscript | TranscriptChunk) -> None:
    def work(tx: Transaction) -> None:
        for value in values:
            if isinstance(value, StoredTranscript):
                tx.put_transcript(value)
            else:
                tx.put_transcript_chunk(value)

    store.write(work)


def a_line(uuid: str | None = None, **more: Any) -> str:
    """Returns an entry in a line."""
    return json.dumps({"type": "x", **({} if uuid is None else {"uuid": uuid}), **more})


def said(role: str, text: str, uuid: str, **more: Any) -> str:
    """Returns the entry of a message as Claude Code writes it."""
    entry: dict[str, Any] = {
        "type": role,
        "uuid": uuid,
        "timestamp": "2026-11-28T07:00:00.000Z",
        "sessionId": SESSION,
        "cwd": "/work",
        "version": "2.1.330",
        "message": {"role": role, "content": text},
    }
    return json.dumps(entry | more)


_TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)
_INSTANTS = st.integers(-3, 3).map(instant)


@st.composite
def transcripts(draw: st.DrawFn) -> StoredTranscript:
    return a_transcript(
        key=TranscriptKey(draw(_TEXTS), draw(_TEXTS), draw(st.just("") | _TEXTS)),
        continues=draw(st.none() | _TEXTS),
        forked_from=draw(st.none() | _TEXTS),
        root=draw(st.none() | st.integers(0, 2**63 - 1)),
        program=draw(_TEXTS),
        version=draw(st.none() | _TEXTS),
        machine=draw(st.none() | _TEXTS),
        folder=draw(st.none() | _TEXTS),
        created_at=draw(_INSTANTS),
        updated_at=draw(_INSTANTS),
        chunks=draw(st.integers(0, 9)),
        entries=draw(st.integers(0, 2**31 - 1)),
        size=draw(st.integers(0, 2**40)),
        stored_size=draw(st.integers(0, 2**40)),
        last_entry_at=draw(st.none() | _INSTANTS),
    )
