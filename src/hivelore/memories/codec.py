"""How values look as JSON, at every door: camelCase, instants in ISO 8601 with Z, never a vector.

Reading is tolerant of unknown keys, so that a client may be older than its service.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from hivelore.core.agents import AgentId, Interface
from hivelore.core.text import Clean
from hivelore.errors import Invalid
from hivelore.feedback.model import NO_USAGE, UsageCounts, Usefulness
from hivelore.memories.drafts import Draft, Edit, WriteResult
from hivelore.memories.model import Memory, MemoryId, Provenance, Scope, Source, Trust
from hivelore.observations.model import DEFAULT_TIER, Confidence, Held, Operational
from hivelore.search.model import Hit, MemoryPage, RecallResult, RetrievalMode, Score, Snippet, Stats

Object = dict[str, Any]


def instant(value: datetime | None) -> str | None:
    if value is None:
        return None
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def read_instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text).astimezone(UTC)


def operational(value: Operational) -> Object:
    return {
        "service": value.service,
        "confidence": value.held.base,
        "confidentAt": instant(value.held.since),
        "tier": value.tier,
        "persistent": value.persistent,
        "off": value.held.is_off,
    }


def read_operational(data: Mapping[str, Any]) -> Operational:
    """Raises KeyError, TypeError or ValueError for what is none."""
    held = Held(
        base=Confidence(float(data["confidence"])),
        since=datetime.fromisoformat(data["confidentAt"]).astimezone(UTC),
        is_off=data.get("off") is True,
    )
    service, tier = data.get("service"), int(data.get("tier", DEFAULT_TIER))
    return Operational(held=held, service=service, tier=tier, persistent=data.get("persistent") is True)


def memory(value: Memory) -> Object:
    """``operational`` is only there where there is something to say."""
    known = {} if value.operational is None else {"operational": operational(value.operational)}
    return {
        "id": value.id,
        "agentId": value.owner,
        "scope": value.scope.value,
        "name": value.name,
        "content": value.content,
        "summary": value.summary,
        "source": value.source.value,
        "sourceTaskId": value.source_task_id,
        "sourcePath": value.source_path,
        "externalId": value.external_id,
        "category": value.category,
        "tags": list(value.tags),
        "project": value.project,
        "session": value.session,
        "author": value.author,
        "metadata": dict(value.metadata),
        "createdAt": instant(value.created_at),
        "updatedAt": instant(value.updated_at),
        "accessedAt": instant(value.accessed_at),
        "accessCount": value.access_count,
        "expiresAt": instant(value.expires_at),
        "subject": value.subject,
        "validFrom": instant(value.valid_from),
        "validUntil": instant(value.valid_until),
        "supersedes": value.supersedes,
        "version": value.version,
        "provenance": {
            "actor": value.provenance.actor,
            "door": value.provenance.interface.value,
            "trust": value.provenance.trust.value,
            "reason": value.provenance.reason,
        },
        **known,
    }


def read_memory(data: Mapping[str, Any]) -> Memory:
    """The memory of an answer of the service."""
    origin = data["provenance"]
    return Memory(
        id=MemoryId(data["id"]),
        owner=None if data["agentId"] is None else AgentId(data["agentId"]),
        scope=Scope(data["scope"]),
        name=Clean(data["name"]),
        content=Clean(data["content"]),
        summary=Clean(data["summary"]),
        source=Source(data["source"]),
        source_task_id=data["sourceTaskId"],
        source_path=data["sourcePath"],
        external_id=data["externalId"],
        category=Clean(data["category"]),
        tags=tuple(Clean(tag) for tag in data["tags"]),
        project=data["project"],
        session=data["session"],
        author=data["author"],
        metadata=data["metadata"],
        created_at=datetime.fromisoformat(data["createdAt"]).astimezone(UTC),
        updated_at=datetime.fromisoformat(data["updatedAt"]).astimezone(UTC),
        accessed_at=read_instant(data["accessedAt"]),
        access_count=data["accessCount"],
        expires_at=read_instant(data["expiresAt"]),
        subject=data["subject"],
        valid_from=read_instant(data["validFrom"]),
        valid_until=read_instant(data["validUntil"]),
        supersedes=data["supersedes"],
        version=data["version"],
        provenance=Provenance(
            actor=origin["actor"],
            interface=Interface(origin["door"]),
            trust=Trust(origin["trust"]),
            reason=origin["reason"],
        ),
        operational=read_operational(data["operational"]) if data.get("operational") else None,
    )


def usefulness(value: Usefulness) -> Object:
    """Without the signs that were never seen."""
    return {"factor": value.factor, "seen": {name: count for name, count in value.use._asdict().items() if count}}


def read_usefulness(data: Mapping[str, Any] | None) -> Usefulness:
    """None: nothing is known."""
    if data is None:
        return Usefulness(factor=1.0, use=NO_USAGE)
    known = {name: count for name, count in data["seen"].items() if name in UsageCounts._fields}
    return Usefulness(factor=data["factor"], use=NO_USAGE._replace(**known))


def remembered(value: WriteResult) -> Object:
    return {
        "memory": memory(value.memory),
        "created": value.created,
        "changed": value.changed,
        "proposal": value.proposal,
        "dropped": value.dropped,
    }


def read_remembered(data: Mapping[str, Any]) -> WriteResult:
    return WriteResult(
        memory=read_memory(data["memory"]),
        created=data["created"],
        changed=data["changed"],
        proposal=data.get("proposal"),
        dropped=data.get("dropped", False),
    )


def draft(value: Draft) -> Object:
    """A draft as a service takes it in; what is not said is left out."""
    given = {
        "content": value.content,
        "name": value.name,
        "scope": value.scope.value,
        "source": value.source.value,
        "agentId": value.owner,
        "summary": value.summary,
        "category": value.category,
        "tags": list(value.tags),
        "project": value.project,
        "session": value.session,
        "author": value.author,
        "sourceTaskId": value.source_task_id,
        "sourcePath": value.source_path,
        "externalId": value.external_id,
        "metadata": None if value.metadata is None else dict(value.metadata),
        "createdAt": told(value.created_at, "createdAt"),
        "expiresAt": told(value.expires_at, "expiresAt"),
        "subject": value.subject,
        "validFrom": told(value.valid_from, "validFrom"),
        "supersedes": value.supersedes,
        "operational": None if value.operational is None else operational(value.operational),
    }
    return {name: part for name, part in given.items() if part is not None}


_EDITED = {"expires_at": "expiresAt", "valid_from": "validFrom"}


def edit(value: Edit) -> Object:
    """The changed fields, as a service takes them in."""
    given = {_EDITED.get(name, name): part for name, part in value.changed_fields().items()}
    if "scope" in given:
        given["scope"] = given["scope"].value
    if "tags" in given:
        given["tags"] = list(given["tags"])
    for name in _EDITED.values():
        if given.get(name) is not None:
            given[name] = told(given[name], name)
    if value.reason is not None:
        given["reason"] = value.reason
    return given


def told(value: datetime | None, field: str) -> str | None:
    """An instant from a caller, who has to say its zone."""
    if value is not None and value.tzinfo is None:
        raise Invalid(f"{field} needs a time zone, like 2026-01-31T12:00:00Z.", field=field)
    try:
        return instant(value)
    except OverflowError:
        raise Invalid(f"{field} is no year of the calendar in UTC.", field=field) from None


def excerpt(value: Snippet) -> Object:
    return {
        "content": value.content,
        "chunkIndex": value.chunk_index,
        "totalChunks": value.total_chunks,
        "headings": list(value.headings),
    }


def read_excerpt(data: Mapping[str, Any]) -> Snippet:
    return Snippet(
        content=data["content"],
        chunk_index=data["chunkIndex"],
        total_chunks=data["totalChunks"],
        headings=tuple(data["headings"]),
    )


def score(value: Score) -> Object:
    return {name: round(part, 6) for name, part in value.parts.items()}


def hit(value: Hit) -> Object:
    return {
        "memory": memory(value.memory),
        "passage": excerpt(value.passage),
        "score": score(value.score),
        "fit": round(value.fit, 4),
        "fits": value.fits,
        "alike": value.alike,
    }


def read_hit(data: Mapping[str, Any]) -> Hit:
    return Hit(
        memory=read_memory(data["memory"]),
        passage=read_excerpt(data["passage"]),
        score=Score(**data["score"]),
        fit=data["fit"],
        fits=data["fits"],
        alike=data["alike"],
    )


def answer(value: RecallResult) -> Object:
    return {
        "message": value.message,
        "recallId": value.id,
        "path": value.path.value,
        "fits": value.fits,
        "results": [hit(one) for one in value.hits],
    }


def read_answer(data: Mapping[str, Any]) -> RecallResult:
    return RecallResult(
        hits=tuple(read_hit(one) for one in data["results"]),
        path=RetrievalMode(data["path"]),
        message=data["message"],
        id=data.get("recallId"),
    )


def page(value: MemoryPage) -> Object:
    return {"memories": [memory(one) for one in value.memories], "next": value.next}


def read_page(data: Mapping[str, Any]) -> MemoryPage:
    return MemoryPage(memories=tuple(read_memory(one) for one in data["memories"]), next=data["next"])


def stats(value: Stats) -> Object:
    return {
        "total": value.total,
        "bySource": {source.value: count for source, count in value.by_source.items()},
        "byScope": {scope.value: count for scope, count in value.by_scope.items()},
        "pendingEmbeddings": value.pending_embeddings,
        "failed": value.failed,
        "expired": value.expired,
    }


def read_stats(data: Mapping[str, Any]) -> Stats:
    return Stats(
        total=data["total"],
        by_source={Source(name): count for name, count in data["bySource"].items()},
        by_scope={Scope(name): count for name, count in data["byScope"].items()},
        pending_embeddings=data["pendingEmbeddings"],
        failed=data["failed"],
        expired=data["expired"],
    )
