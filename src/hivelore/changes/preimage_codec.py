"""Pre-images as JSON in the change journal: a whole memory, so that it can be restored."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from msgspec import convert, to_builtins

from hivelore.changes.model import PreviousState
from hivelore.core.agents import AgentId
from hivelore.core.text import Clean
from hivelore.events.model import Event
from hivelore.feedback.recalls import Evidence, Sign
from hivelore.links.model import Link, StoredLink
from hivelore.memories.model import Chunk, Memory, Passage, Version
from hivelore.memories.stored import ChunkKey, DocumentKey, PassageKey, StoredChunk
from hivelore.memories.whole import WholeMemory
from hivelore.observations.model import Observation
from hivelore.review.model import Proposal
from hivelore.search.model import RecallId


def former(value: PreviousState) -> dict[str, Any]:
    whole = value.whole
    return {
        "memory": to_builtins(whole.memory),
        "history": to_builtins(whole.history),
        "chunks": [_chunk(one) for one in whole.chunks],
        "observations": to_builtins(whole.observations),
        "evidence": [_evidence(one) for one in whole.evidence],
        "proposals": to_builtins(value.proposals),
        "events": to_builtins(value.events),
        "links": [_link(one) for one in value.links],
    }


def read_former(key: DocumentKey, data: Mapping[str, Any]) -> PreviousState:
    _rename_fields(data)
    whole = WholeMemory(
        key,
        convert(data["memory"], Memory),
        convert(data["history"], tuple[Version, ...]),
        tuple(_read_chunk(key, one) for one in data["chunks"]),
        convert(data["observations"], tuple[Observation, ...]),
        tuple(_read_evidence(one) for one in data["evidence"]),
    )
    return PreviousState(
        whole,
        convert(data["proposals"], tuple[Proposal, ...]),
        convert(data["events"], tuple[Event, ...]),
        tuple(_read_link(one) for one in data.get("links", ())),
    )


def _rename_fields(data: Mapping[str, Any]) -> None:
    """Renames the fields of pre-images that were stored while ``interface`` was called ``door``."""
    decided = [one["decided"] for one in data["proposals"] if one.get("decided")]
    records = [data["memory"].get("provenance", {}), *data["history"], *data["observations"], *data["proposals"]]
    for record in [*records, *decided, *data["events"]]:
        if "door" in record:
            record["interface"] = record.pop("door")


def _chunk(value: StoredChunk) -> dict[str, Any]:
    chunk = value.chunk
    return {
        "key": value.key,
        "place": [chunk.index, chunk.start, chunk.stop],
        "headings": list(chunk.headings),
        "passages": [[key, one.start, one.stop] for key, one in zip(value.passages, chunk.passages, strict=True)],
    }


def _read_chunk(document: DocumentKey, data: Mapping[str, Any]) -> StoredChunk:
    index, start, stop = data["place"]
    passages = tuple(Passage(start=one[1], stop=one[2]) for one in data["passages"])
    chunk = Chunk(index=index, start=start, stop=stop, headings=tuple(data["headings"]), passages=passages)
    keys = tuple(PassageKey(one[0]) for one in data["passages"])
    return StoredChunk(key=ChunkKey(data["key"]), document=document, chunk=chunk, passages=keys)


def _evidence(value: Evidence) -> dict[str, Any]:
    return {
        "agent": value.agent,
        "session": value.session,
        "sign": value.sign.value,
        "at": to_builtins(value.at),
        "recall": value.recall,
    }


def _read_evidence(data: Mapping[str, Any]) -> Evidence:
    return Evidence(
        agent=None if data["agent"] is None else AgentId(data["agent"]),
        session=Clean(data["session"]),
        sign=Sign(data["sign"]),
        at=_at(data["at"]),
        recall=None if data["recall"] is None else RecallId(data["recall"]),
    )


def _link(value: StoredLink) -> dict[str, Any]:
    return {"source": value.source, "target": value.target, "link": to_builtins(value.link)}


def _read_link(data: Mapping[str, Any]) -> StoredLink:
    return StoredLink(DocumentKey(data["source"]), DocumentKey(data["target"]), convert(data["link"], Link))


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)
