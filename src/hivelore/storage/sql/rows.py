"""Conversion of rows to values (``read_...``) and of values to parameters (``..._params``), one pair for each table.

Some tables are laid out for speed. Confidence and usefulness counts have tables of their own beside the memories: few
memories have them, and they change often. A recall is one compact row with memories by key; keys are never reused, so a
forgotten memory leaves no id behind. Sessions, handovers, proposals and pre-images keep JSON that is read as a whole.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import reduce
from struct import pack, unpack
from typing import Any

import numpy as np
import orjson
from msgspec.structs import asdict
from numpy.typing import NDArray

from hivelore.changes.model import Batch, BatchId, Preimage
from hivelore.changes.preimage_codec import former, read_former
from hivelore.core.agents import Agent, ApiKey, Viewer
from hivelore.core.audit import AuditEntry
from hivelore.core.jobs import Job
from hivelore.core.text import Clean
from hivelore.events.model import Cooldown, Event
from hivelore.feedback.model import NO_USAGE, UsageCounts
from hivelore.feedback.recalls import Evidence, Recall, RecalledMemory, count_usage
from hivelore.indexing.model import (
    AttributeColumns,
    Attributes,
    ChunkKey,
    DocumentKey,
    Instants,
    PassageKey,
    PassageVectors,
    Stored,
    StoredChunk,
)
from hivelore.memories.model import (
    ENDING_LENGTH,
    Action,
    Chunk,
    Json,
    Memory,
    MemoryId,
    Passage,
    Provenance,
    RankFeatures,
    Statement,
    Version,
    is_question,
)
from hivelore.memories.whole import Counts
from hivelore.observations.model import Confidence, Held, Observation, Operational
from hivelore.review.model import DecisionRecord, Proposal, ProposalSubject
from hivelore.review.proposal_codec import read_wanted, wanted
from hivelore.search.model import Score
from hivelore.sessions.model import Handover, InjectedMemory, Session, SessionEnd, ShownMemory, SubAgent, Task
from hivelore.storage.sql.columns import (
    ACTION,
    ACTION_OF,
    ASPECT,
    BATCH_KIND,
    BATCH_KIND_OF,
    DECISION,
    DECISION_OF,
    HANDOVER_STATE,
    HANDOVER_STATE_OF,
    INTERFACE,
    INTERFACE_OF,
    JOB_STATE,
    JOB_STATE_OF,
    KIND,
    KIND_OF,
    LEVEL,
    LEVEL_OF,
    MICROSECOND,
    PATH,
    PATH_OF,
    PROPOSAL_KIND,
    PROPOSAL_KIND_OF,
    ROLE,
    ROLE_OF,
    SCOPE,
    SCOPE_OF,
    SIGN,
    SIGN_OF,
    SOURCE,
    SOURCE_OF,
    TRUST,
    TRUST_OF,
    UNDECIDED,
    digest,
    from_micros,
    from_micros_or_none,
    statement_digest,
    to_micros,
    to_micros_or_none,
    topic_digest,
)
from hivelore.storage.sql.filters import Param

Row = Sequence[Any]

_NO_INSTANT = np.iinfo(np.int64).min
"""The value that numpy reads as "not a time"."""

OPERATIONAL_COLUMNS = "o.service, o.tier, o.persistent, o.confidence, o.confident_at, o.is_off"
USE_COLUMNS = ", ".join(f"u.{name}" for name in UsageCounts.__struct_fields__)
MEMORY_COLUMNS = (
    "m.key, m.id, m.owner, m.scope, m.source, m.name, m.content, m.summary, m.category, m.tags, m.project, m.session, "
    "m.author, m.source_task_id, m.source_path, m.external_id, m.metadata, m.created_at, m.updated_at, m.expires_at, "
    "m.accessed_at, m.access_count, m.version, m.actor, m.door, m.trust, m.reason, m.subject, m.valid_from, "
    f"m.valid_until, m.supersedes, {OPERATIONAL_COLUMNS}"
)


def fill_placeholders(
    statements: Mapping[str, str], *, join: str, vectors: str, given: str, now: str
) -> Mapping[str, str]:
    """Fills the placeholders of statements that a dialect or a column list decides.

    ``join`` joins the tables of confidence and usefulness (placeholders ``{table}`` and ``{name}``), ``vectors`` is the
    name of the table of vectors, ``given`` allows an insert with a key, ``now`` is the instant that leases go by."""
    places = {
        "{memory}": MEMORY_COLUMNS,
        "{operational}": join.format(table="operational", name="o"),
        "{running}": OPERATIONAL_COLUMNS,
        "{use}": USE_COLUMNS,
        "{usefulness}": join.format(table="usefulness", name="u"),
        "{vectors}": vectors,
        "{given}": given,
        "{now}": now,
        "{decided_with}": statements["decided_with"].strip(),
    }
    return {
        name: reduce(lambda sql, place: sql.replace(*place), places.items(), text) for name, text in statements.items()
    }


def read_rank_features(row: Row) -> tuple[DocumentKey, RankFeatures]:
    """Columns key, id, created_at, accessed_at, access_count, session, author, length of the content, its last 80 bytes
    (at least 20 characters; SQLite would scan the text to find those), ``OPERATIONAL_COLUMNS`` and ``USE_COLUMNS``."""
    key, memory, created_at, accessed_at, count, session, author, length, end, *more = row
    read, known = from_micros_or_none(accessed_at), read_operational(more[:6])
    use = read_use(more[6:])
    return key, RankFeatures(
        memory, from_micros(created_at), read, count, session, author, length, _asks(end), use, known
    )


def _asks(end: bytes) -> bool:
    return is_question(end.decode(errors="ignore")[-ENDING_LENGTH:])


def read_stored(row: Row) -> Stored:
    """Columns ``MEMORY_COLUMNS``."""
    memory = Memory(
        id=row[1],
        owner=row[2],
        scope=SCOPE_OF[row[3]],
        source=SOURCE_OF[row[4]],
        name=row[5],
        content=row[6],
        summary=row[7],
        category=row[8],
        tags=tuple(orjson.loads(row[9])) if row[9] != "[]" else (),
        project=row[10],
        session=row[11],
        author=row[12],
        source_task_id=row[13],
        source_path=row[14],
        external_id=row[15],
        metadata=orjson.loads(row[16]) if row[16] != "{}" else {},
        created_at=from_micros(row[17]),
        updated_at=from_micros(row[18]),
        expires_at=from_micros_or_none(row[19]),
        accessed_at=from_micros_or_none(row[20]),
        access_count=row[21],
        version=row[22],
        provenance=Provenance(actor=row[23], interface=INTERFACE_OF[row[24]], trust=TRUST_OF[row[25]], reason=row[26]),
        subject=row[27],
        valid_from=from_micros_or_none(row[28]),
        valid_until=from_micros_or_none(row[29]),
        supersedes=row[30],
        operational=read_operational(row[31:]),
    )
    return Stored(DocumentKey(row[0]), memory)


def read_chunk(of_chunk: Sequence[Row]) -> StoredChunk:
    """One row for each passage, or one row without a passage: document, key, position, start, stop and headings of the
    chunk, then key, start and stop of the passage."""
    document, key, position, start, stop, headings, *_ = of_chunk[0]
    passages = [row[6:] for row in of_chunk if row[6] is not None]
    return StoredChunk(
        key=ChunkKey(key),
        document=document,
        chunk=Chunk(
            index=position,
            start=start,
            stop=stop,
            headings=tuple(orjson.loads(headings)) if headings != "[]" else (),
            passages=tuple(Passage(start=first, stop=last) for _, first, last in passages),
        ),
        passages=tuple(PassageKey(passage) for passage, _, _ in passages),
    )


def memory_params(memory: Memory, action: Action) -> dict[str, Param]:
    return {
        "id": memory.id,
        "owner": memory.owner,
        "scope": SCOPE[memory.scope],
        "source": SOURCE[memory.source],
        "name": memory.name,
        "content": memory.content,
        "summary": memory.summary,
        "category": memory.category,
        "tags": to_json(memory.tags),
        "project": memory.project,
        "session": memory.session,
        "author": memory.author,
        "source_task_id": memory.source_task_id,
        "source_path": memory.source_path,
        "external_id": memory.external_id,
        "metadata": to_json(memory.metadata),
        "created_at": to_micros(memory.created_at),
        "updated_at": to_micros(memory.updated_at),
        "expires_at": to_micros_or_none(memory.expires_at),
        "accessed_at": to_micros_or_none(memory.accessed_at),
        "access_count": memory.access_count,
        "version": memory.version,
        "action": ACTION[action],
        "actor": memory.provenance.actor,
        "door": INTERFACE[memory.provenance.interface],
        "trust": TRUST[memory.provenance.trust],
        "reason": memory.provenance.reason,
        "statement": statement_digest(memory.statement),
        "subject": memory.subject,
        "topic": None if memory.topic is None else topic_digest(memory.topic),
        "valid_from": to_micros_or_none(memory.valid_from),
        "valid_until": to_micros_or_none(memory.valid_until),
        "supersedes": memory.supersedes,
    }


def statement_params(statement: Statement) -> dict[str, Param]:
    """Parameters to look up a statement: an index finds the digest, the other columns are compared."""
    return {
        "statement": statement_digest(statement),
        "scope": SCOPE[statement.scope],
        "project": statement.project,
        "session": statement.session,
    }


def to_json(value: Sequence[str] | Mapping[str, Json]) -> str:
    return orjson.dumps(value).decode()


def read_attributes(row: Row) -> Attributes:
    """Columns owner, scope, source, project, session, category, created_at, expires_at, superseded."""
    return Attributes(
        owner=row[0],
        scope=SCOPE_OF[row[1]],
        source=SOURCE_OF[row[2]],
        project=row[3],
        session=row[4],
        category=row[5],
        created_at=from_micros(row[6]),
        expires_at=from_micros_or_none(row[7]),
        superseded=bool(row[8]),
    )


def read_embedded(found: Sequence[Row], floats: Callable[[Sequence[bytes]], NDArray[np.float32]]) -> PassageVectors:
    """Columns document, those of ``read_attributes``, chunk, passage, vector."""
    columns = list(zip(*found, strict=True)) or [()] * 13
    return PassageVectors(
        documents=np.array(columns[0], np.int64),
        chunks=np.array(columns[10], np.int64),
        passages=np.array(columns[11], np.int64),
        vectors=floats(columns[12]) if found else np.empty((0, 0), np.float32),
        attributes=read_attribute_columns(columns[1:10]),
    )


def read_attribute_columns(columns: Sequence[Sequence[Any]]) -> AttributeColumns:
    """The columns of ``read_attributes``, each with its values of all rows."""
    owner, scope, source, project, session, category, created_at, expires_at, superseded = columns
    return AttributeColumns(
        owner=owner,
        scope=[SCOPE_OF[code] for code in scope],
        source=[SOURCE_OF[code] for code in source],
        project=project,
        session=session,
        category=category,
        created_at=_instants(created_at),
        expires_at=_instants(expires_at),
        superseded=[bool(one) for one in superseded],
    )


def _instants(micros: Sequence[int | None]) -> Instants:
    return np.array([_NO_INSTANT if one is None else one for one in micros], np.int64).view("M8[us]")


def chunk_params(document: DocumentKey, chunk: Chunk) -> dict[str, Param]:
    return {
        "document": document,
        "position": chunk.index,
        "start": chunk.start,
        "stop": chunk.stop,
        "headings": to_json(chunk.headings),
    }


def passage_params(document: DocumentKey, chunk: ChunkKey, of_chunk: Chunk) -> list[dict[str, Param]]:
    """Parameters of all passages of a chunk, in order."""
    return [
        {"document": document, "chunk": chunk, "position": position, "start": passage.start, "stop": passage.stop}
        for position, passage in enumerate(of_chunk.passages)
    ]


def read_counts(row: Row) -> Counts:
    """Columns memories, past versions, characters of each, observations, evidence, passages, vectors, token codes,
    agents, keys, audit, recalls, events, cooldowns, proposals, batches, preimages and jobs."""
    memories, past, characters, of_past, observations, evidence, passages, vectors, *others = map(int, row)
    codes, agents, keys, audit, recalls, events, cooldowns, proposals, batches, preimages, jobs = others
    return Counts(
        memories=memories,
        versions=memories + past,
        characters=characters + of_past,
        observations=observations,
        evidence=evidence,
        passages=passages,
        vectors=vectors,
        token_codes=codes,
        agents=agents,
        keys=keys,
        audit=audit,
        recalls=recalls,
        events=events,
        cooldowns=cooldowns,
        proposals=proposals,
        batches=batches,
        preimages=preimages,
        jobs=jobs,
    )


def read_agent(row: Row) -> Agent:
    return Agent(id=row[0], name=row[1], role=ROLE_OF[row[2]], created_at=from_micros(row[3]))


def agent_params(value: Agent) -> dict[str, Param]:
    return {"id": value.id, "name": value.name, "role": ROLE[value.role], "created_at": to_micros(value.created_at)}


def read_api_key(row: Row) -> ApiKey:
    return ApiKey(
        id=row[0],
        agent=row[1],
        role=ROLE_OF[row[2]],
        digest=bytes(row[3]),
        created_at=from_micros(row[4]),
        expires_at=from_micros_or_none(row[5]),
        revoked_at=from_micros_or_none(row[6]),
    )


def api_key_params(value: ApiKey) -> dict[str, Param]:
    return {
        "id": value.id,
        "agent": value.agent,
        "role": ROLE[value.role],
        "digest": value.digest,
        "created_at": to_micros(value.created_at),
        "expires_at": to_micros_or_none(value.expires_at),
        "revoked_at": to_micros_or_none(value.revoked_at),
    }


def read_audit_entry(row: Row) -> AuditEntry:
    return AuditEntry(
        at=from_micros(row[0]),
        actor=row[1],
        interface=INTERFACE_OF[row[2]],
        action=ACTION_OF[row[3]],
        memory=row[4],
        detail=row[5],
    )


def audit_params(entry: AuditEntry) -> dict[str, Param]:
    return {
        "at": to_micros(entry.at),
        "actor": entry.actor,
        "door": INTERFACE[entry.interface],
        "action": ACTION[entry.action],
        "memory": entry.memory,
        "detail": entry.detail,
    }


def read_job(row: Row) -> Job:
    return Job(
        id=row[0],
        kind=row[1],
        state=JOB_STATE_OF[row[2]],
        created_at=from_micros(row[3]),
        updated_at=from_micros(row[4]),
        done=row[5],
        total=row[6],
        error=row[7],
    )


def job_params(value: Job) -> dict[str, Param]:
    return {
        "id": value.id,
        "kind": value.kind,
        "state": JOB_STATE[value.state],
        "created_at": to_micros(value.created_at),
        "updated_at": to_micros(value.updated_at),
        "done": value.done,
        "total": value.total,
        "error": value.error,
    }


def read_version(row: Row) -> Version:
    return Version(
        number=row[0],
        at=from_micros(row[1]),
        action=ACTION_OF[row[2]],
        actor=row[3],
        interface=INTERFACE_OF[row[4]],
        reason=row[5],
        scope=SCOPE_OF[row[6]],
        name=row[7],
        content=row[8],
        summary=row[9],
        category=row[10],
        tags=tuple(Clean(tag) for tag in orjson.loads(row[11])),
        project=row[12],
        expires_at=from_micros_or_none(row[13]),
        subject=row[14],
        valid_from=from_micros_or_none(row[15]),
    )


def version_params(document: DocumentKey, value: Version) -> dict[str, Param]:
    return {
        "document": document,
        "number": value.number,
        "at": to_micros(value.at),
        "action": ACTION[value.action],
        "actor": value.actor,
        "door": INTERFACE[value.interface],
        "reason": value.reason,
        "scope": SCOPE[value.scope],
        "name": value.name,
        "content": value.content,
        "summary": value.summary,
        "category": value.category,
        "tags": to_json(value.tags),
        "project": value.project,
        "expires_at": to_micros_or_none(value.expires_at),
        "subject": value.subject,
        "valid_from": to_micros_or_none(value.valid_from),
    }


def read_operational(row: Sequence[Any]) -> Operational | None:
    """Columns ``OPERATIONAL_COLUMNS``, all NULL for a memory that is not operational."""
    service, tier, persistent, confidence, confident_at, is_off = row
    if confidence is None:
        return None
    held = Held(base=confidence, since=from_micros(confident_at), is_off=bool(is_off))
    return Operational.of(held, service=service, tier=tier, persistent=bool(persistent))


def operational_params(document: DocumentKey, value: Operational) -> dict[str, Param]:
    return {
        **held_params(document, value.held),
        "service": value.service,
        "tier": value.tier,
        "persistent": int(value.persistent),
    }


def held_params(document: DocumentKey, held: Held) -> dict[str, Param]:
    return {
        "document": document,
        "confidence": _stored_confidence(held.base),
        "confident_at": to_micros(held.since),
        "is_off": int(held.is_off),
    }


def _stored_confidence(confidence: Confidence) -> float:
    """Normalizes -0.0, which SQLite stores as 0.0."""
    return abs(float(confidence))


def read_observation(row: Sequence[Any]) -> Observation:
    """Columns at, kind, actor, door, session, text and confidence."""
    return Observation(
        at=from_micros(row[0]),
        kind=KIND_OF[row[1]],
        actor=row[2],
        interface=INTERFACE_OF[row[3]],
        session=row[4],
        text=row[5],
        to=row[6],
    )


def observation_params(document: DocumentKey, value: Observation) -> dict[str, Param]:
    return {
        "document": document,
        "at": to_micros(value.at),
        "kind": KIND[value.kind],
        "actor": value.actor,
        "door": INTERFACE[value.interface],
        "session": value.session,
        "text": value.text,
        "confidence": None if value.to is None else _stored_confidence(value.to),
    }


_NO_AGENT = ""
"""Stands in the agent column, which is part of the primary key."""


def read_use(row: Sequence[Any]) -> UsageCounts:
    """Columns ``USE_COLUMNS``, all NULL without evidence."""
    return NO_USAGE if row[0] is None else UsageCounts(*row)


def use_params(document: DocumentKey, value: UsageCounts) -> dict[str, Param]:
    return {"document": document, **asdict(value)}


def read_evidence(row: Sequence[Any]) -> Evidence:
    """Columns agent, session, sign, at and recall."""
    return Evidence(
        agent=row[0] or None, session=Clean(row[1]), sign=SIGN_OF[row[2]], at=from_micros(row[3]), recall=row[4]
    )


def evidence_params(document: DocumentKey, value: Evidence) -> dict[str, Param]:
    return {
        "document": document,
        "agent": value.agent or _NO_AGENT,
        "session": value.session,
        "aspect": ASPECT[value.sign.aspect],
        "sign": SIGN[value.sign],
        "at": to_micros(value.at),
        "recall": value.recall,
    }


def evidence_statements(
    document: DocumentKey, before: Sequence[Evidence], now: Sequence[Evidence]
) -> Iterator[tuple[str, dict[str, Param]]]:
    """Returns the statements, with parameters, that replace the stored evidence."""
    kept = {one.occasion for one in now}
    for one in before:
        if one.occasion not in kept:
            yield "evidence_drop", evidence_params(document, one)
    for one in now:
        if one not in before:
            yield "evidence_put", evidence_params(document, one)
    if now:
        yield "usefulness_put", use_params(document, count_usage(now))


def read_proposal(row: Sequence[Any], memories: Sequence[ProposalSubject]) -> Proposal:
    """Columns id, kind, wanted, why, actor, door, session, at, how, decided_at, decided_by, decided_door and reason."""
    return Proposal(
        id=row[0],
        kind=PROPOSAL_KIND_OF[row[1]],
        memories=tuple(memories),
        wanted=None if row[2] is None else read_wanted(orjson.loads(row[2])),
        why=row[3],
        actor=row[4],
        interface=INTERFACE_OF[row[5]],
        session=row[6],
        at=from_micros(row[7]),
        decided=None if row[8] == UNDECIDED else _read_decision(row[8:]),
    )


def _read_decision(row: Sequence[Any]) -> DecisionRecord:
    how, at, actor, interface, reason = row
    return DecisionRecord(
        how=DECISION_OF[how], at=from_micros(at), actor=actor, interface=INTERFACE_OF[interface], reason=reason
    )


def proposal_params(value: Proposal) -> dict[str, Param]:
    decided = value.decided
    return {
        "id": value.id,
        "kind": PROPOSAL_KIND[value.kind],
        "wanted": None if value.wanted is None else orjson.dumps(wanted(value.wanted)).decode(),
        "why": value.why,
        "actor": value.actor,
        "door": INTERFACE[value.interface],
        "session": value.session,
        "at": to_micros(value.at),
        "how": UNDECIDED if decided is None else DECISION[decided.how],
        "decided_at": None if decided is None else to_micros(decided.at),
        "decided_by": None if decided is None else decided.actor,
        "decided_door": None if decided is None else INTERFACE[decided.interface],
        "reason": None if decided is None else decided.reason,
    }


def concerned_params(value: Proposal, keys: Mapping[MemoryId, DocumentKey]) -> list[dict[str, Param]]:
    """``keys`` are those of the memories that exist."""
    return [
        {"id": value.id, "position": position, "document": keys[one.memory], "version": one.version}
        for position, one in enumerate(value.memories)
        if one.memory in keys
    ]


def read_batch(row: Sequence[Any]) -> Batch:
    """Columns id, kind, at, actor, door, reason, changes, private, undoes, undone_at and undone_by."""
    return Batch(
        id=row[0],
        kind=BATCH_KIND_OF[row[1]],
        at=from_micros(row[2]),
        actor=row[3],
        interface=INTERFACE_OF[row[4]],
        reason=row[5],
        changes=row[6],
        is_private=bool(row[7]),
        undoes=row[8],
        undone_at=from_micros_or_none(row[9]),
        undone_by=row[10],
    )


def batch_params(value: Batch) -> dict[str, Param]:
    return {
        "id": value.id,
        "kind": BATCH_KIND[value.kind],
        "at": to_micros(value.at),
        "actor": value.actor,
        "door": INTERFACE[value.interface],
        "reason": value.reason,
        "changes": value.changes,
        "private": int(value.is_private),
        "undoes": value.undoes,
        "undone_at": to_micros_or_none(value.undone_at),
        "undone_by": value.undone_by,
    }


def read_preimage(row: Sequence[Any]) -> Preimage:
    """Columns document, memory, before, after and owner."""
    key = DocumentKey(row[0])
    before = None if row[2] is None else read_former(key, orjson.loads(row[2]))
    return Preimage(key=key, memory=row[1], before=before, after=row[3], owner=row[4])


def preimage_params(of: BatchId, value: Preimage) -> dict[str, Param]:
    return {
        "batch": of,
        "document": value.key,
        "memory": value.memory,
        "before": None if value.before is None else orjson.dumps(former(value.before)).decode(),
        "after": value.after,
        "owner": value.owner,
    }


def read_event(row: Sequence[Any]) -> Event:
    """Columns id, at, level, text, actor, door, service and session, and the id of the memory."""
    return Event(
        id=row[0],
        at=from_micros(row[1]),
        level=LEVEL_OF[row[2]],
        text=row[3],
        actor=row[4],
        interface=INTERFACE_OF[row[5]],
        service=row[6],
        session=row[7],
        memory=row[8],
    )


def event_params(value: Event, keys: Mapping[MemoryId, DocumentKey]) -> dict[str, Param]:
    """``keys`` are those of the memories that exist."""
    return {
        "id": value.id,
        "at": to_micros(value.at),
        "level": LEVEL[value.level],
        "text": value.text,
        "actor": value.actor,
        "door": INTERFACE[value.interface],
        "service": value.service,
        "session": value.session,
        "document": None if value.memory is None else keys[value.memory],
    }


def same_event_params(value: Event, within: timedelta) -> dict[str, Param]:
    return {
        "session": value.session,
        "level": LEVEL[value.level],
        "service": value.service or "",
        "text": value.text,
        "after": to_micros(value.at) - within // MICROSECOND,
        "before": to_micros(value.at) + within // MICROSECOND,
    }


def event_digest(value: Event) -> bytes:
    """Returns the digest by which a session's repeated event is recognised."""
    return digest("event", value.session or "", value.level, value.service or "", value.text)


def read_cooldown(row: Sequence[Any]) -> Cooldown:
    """Columns service, action, until, set_at, actor, door, session, reason and count."""
    return Cooldown(
        service=row[0],
        action=row[1],
        until=from_micros(row[2]),
        set_at=from_micros(row[3]),
        actor=row[4],
        interface=INTERFACE_OF[row[5]],
        session=row[6],
        reason=row[7],
        count=row[8],
    )


def cooldown_params(value: Cooldown) -> dict[str, Param]:
    return {
        "service": value.service,
        "action": value.action,
        "until": to_micros(value.until),
        "set_at": to_micros(value.set_at),
        "actor": value.actor,
        "door": INTERFACE[value.interface],
        "session": value.session,
        "reason": value.reason,
        "count": value.count,
    }


def read_handover(row: Sequence[Any]) -> Handover:
    """Columns id, at, program, session, said, agent, role, door, acting, state, attempts and not_before."""
    said: Mapping[str, Any] = json.loads(row[4])
    task, subagent = said.get("task"), said.get("subagent")
    ended = SessionEnd(
        id=row[0],
        at=from_micros(row[1]),
        program=row[2],
        session=row[3],
        transcript=said.get("transcript"),
        text=said.get("text"),
        last_message=said.get("lastMessage"),
        project=said.get("project"),
        task=None if task is None else Task(*task),
        subagent=None if subagent is None else SubAgent(*subagent),
        is_partial=said.get("goesOn", False),
    )
    return Handover(
        ended=ended,
        by=Viewer(agent=row[5], role=ROLE_OF[row[6]], interface=INTERFACE_OF[row[7]], acting=bool(row[8])),
        state=HANDOVER_STATE_OF[row[9]],
        attempts=row[10],
        not_before=from_micros(row[11]),
    )


def handover_params(value: Handover) -> dict[str, Param]:
    ended = value.ended
    said = {
        "transcript": ended.transcript,
        "text": ended.text,
        "lastMessage": ended.last_message,
        "project": ended.project,
        "task": None if ended.task is None else (ended.task.id, ended.task.text),
        "subagent": None if ended.subagent is None else (ended.subagent.id, ended.subagent.type),
        "goesOn": ended.is_partial or None,
    }
    return {
        "id": ended.id,
        "at": to_micros(ended.at),
        "program": ended.program,
        "session": ended.session,
        "said": json.dumps({name: one for name, one in said.items() if one is not None}, ensure_ascii=False),
        "agent": value.by.agent,
        "role": ROLE[value.by.role],
        "door": INTERFACE[value.by.interface],
        "acting": int(value.by.acting),
        "state": HANDOVER_STATE[value.state],
        "attempts": value.attempts,
        "not_before": to_micros(value.not_before),
    }


SCORE_PARTS = (
    "total",
    "similarity",
    "keyword",
    "vector",
    "prior",
    "recency",
    "access",
    "update",
    "confidence",
    "usefulness",
)
"""The parts of a score in the column ``parts``: for each hit 32-bit floats, fit and fits first. New parts are appended;
old rows have fewer."""
_FORGOTTEN = DocumentKey(0)
_NOTHING = RecalledMemory(MemoryId(""), 0, Score(total=0.0, similarity=0.0), 0.0, False)
"""Stands for a withheld hit."""
_BYTES = 4


def recall_params(recall: Recall, keys: Mapping[MemoryId, DocumentKey]) -> dict[str, Param]:
    """``keys`` are those of the memories that exist."""
    hits = {hit.rank: hit for hit in recall.hits}
    documents: list[str] = []
    floats: list[float] = []
    for rank in range(1, len(hits) + recall.withheld + 1):
        hit = hits.get(rank, _NOTHING)
        documents.append(str(keys.get(hit.memory, _FORGOTTEN)))
        floats += (hit.fit, hit.fits, *(getattr(hit.score, part) for part in SCORE_PARTS))
    return {
        "id": recall.id,
        "at": to_micros(recall.at),
        "agent": recall.agent,
        "role": ROLE[recall.role],
        "door": INTERFACE[recall.interface],
        "project": recall.project,
        "session": recall.session,
        "question": recall.question,
        "path": PATH[recall.path],
        "candidates": recall.candidates,
        "documents": f",{','.join(documents)}," if documents else "",
        "parts": pack(f"<{len(floats)}f", *floats),
    }


def recalled_documents(row: Sequence[Any]) -> list[DocumentKey]:
    """Returns the documents of a row of ``read_recall``, best first."""
    return [DocumentKey(int(key)) for key in row[10].split(",") if key]


def read_recall(row: Sequence[Any], seen: Mapping[DocumentKey, MemoryId]) -> Recall:
    """Columns id, at, agent, role, door, project, session, question, path, candidates, documents and parts."""
    keys = recalled_documents(row)
    floats = unpack(f"<{len(row[11]) // _BYTES}f", row[11])
    width = len(floats) // len(keys) if keys else 0
    hits = tuple(
        _read_hit(seen[key], rank, floats[(rank - 1) * width : rank * width])
        for rank, key in enumerate(keys, start=1)
        if key in seen
    )
    return Recall(
        id=row[0],
        at=from_micros(row[1]),
        agent=row[2],
        role=ROLE_OF[row[3]],
        interface=INTERFACE_OF[row[4]],
        project=row[5],
        session=row[6],
        question=row[7],
        path=PATH_OF[row[8]],
        candidates=row[9],
        hits=hits,
        withheld=len(keys) - len(hits),
    )


def _read_hit(memory: MemoryId, rank: int, floats: Sequence[float]) -> RecalledMemory:
    fit, fits, *parts = floats
    return RecalledMemory(memory, rank, Score(**dict(zip(SCORE_PARTS, parts, strict=False))), fit, bool(fits))


def session_params(session: Session) -> dict[str, Param]:
    state = {
        "begun": None if session.begun_at is None else to_micros(session.begun_at),
        "goal": session.goal,
        "asked": session.last_prompt,
        "briefed": session.context_event,
        "told": [list(one) for one in session.injected],
        "shown": [[*one[:-1], to_micros(one.at)] for one in session.shown],
    }
    return {
        "agent": session.agent,
        "id": session.id,
        "updated_at": to_micros(session.updated_at),
        "state": orjson.dumps(state).decode(),
    }


def read_session(row: Sequence[Any]) -> Session:
    """Columns agent, id, updated_at and state."""
    state = orjson.loads(row[3])
    begun = state.get("begun")
    return Session(
        agent=row[0],
        id=row[1],
        updated_at=from_micros(row[2]),
        begun_at=None if begun is None else from_micros(begun),
        goal=state["goal"],
        last_prompt=state["asked"],
        context_event=state["briefed"],
        injected=tuple(InjectedMemory(*one) for one in state["told"]),
        shown=tuple(
            ShownMemory(memory, recall, event, from_micros(at)) for memory, recall, event, at in state.get("shown", ())
        ),
    )
