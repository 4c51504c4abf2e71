"""Rows become values here, and values parameters; each table in exactly one function."""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from hivelore.core.agents import Agent, ApiKey
from hivelore.core.audit import AuditEntry
from hivelore.core.jobs import Job
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
    Passage,
    Provenance,
    RankFeatures,
    Statement,
    is_question,
)
from hivelore.memories.whole import Counts
from hivelore.storage.sql import digests, usefulness
from hivelore.storage.sql import operational as running
from hivelore.storage.sql.codes import (
    ACTION,
    ACTION_OF,
    DOOR_OF,
    INTERFACE,
    JOB_STATE,
    JOB_STATE_OF,
    ROLE,
    ROLE_OF,
    SCOPE,
    SCOPE_OF,
    SOURCE,
    SOURCE_OF,
    TRUST,
    TRUST_OF,
)
from hivelore.storage.sql.instants import from_micros, from_micros_or_none, to_micros, to_micros_or_none
from hivelore.storage.sql.where import Param

Row = Sequence[Any]

_NO_INSTANT = np.iinfo(np.int64).min
"""What numpy has in the place of not-a-time."""

MEMORY_COLUMNS = (
    "m.key, m.id, m.owner, m.scope, m.source, m.name, m.content, m.summary, m.category, m.tags, m.project, m.session, "
    "m.author, m.source_task_id, m.source_path, m.external_id, m.metadata, m.created_at, m.updated_at, m.expires_at, "
    "m.accessed_at, m.access_count, m.version, m.actor, m.door, m.trust, m.reason, m.subject, m.valid_from, "
    f"m.valid_until, m.supersedes, {running.COLUMNS}"
)


def filled(statements: Mapping[str, str], *, beside: str, vectors: str, given: str, now: str) -> Mapping[str, str]:
    """Statements with their places filled: the columns of a memory and of its use, what joins the tables that some of
    them are in (``runtime.workers``, where ``{table}`` and ``{name}`` stand for each), the name of the table of
    vectors, what
    lets a row have the key that it is given, the instant that leases go by, and the statement ``decided_with``."""
    places = {
        "{memory}": MEMORY_COLUMNS,
        "{operational}": beside.format(table="operational", name="o"),
        "{running}": running.COLUMNS,
        "{use}": usefulness.COLUMNS,
        "{usefulness}": beside.format(table="usefulness", name="u"),
        "{vectors}": vectors,
        "{given}": given,
        "{now}": now,
        "{decided_with}": statements["decided_with"].strip(),
    }
    return {
        name: reduce(lambda told, place: told.replace(*place), places.items(), text)
        for name, text in statements.items()
    }


def standing(row: Row) -> tuple[DocumentKey, RankFeatures]:
    """Columns key, id, created_at, accessed_at, access_count, session, author, length of the content, its last 80
    bytes, which are 20 characters or more (SQLite would count from the beginning to find these), ``running.COLUMNS``
    and those of its use."""
    key, memory, created_at, accessed_at, count, session, author, length, end, *more = row
    read, known = from_micros_or_none(accessed_at), running.operational(more[:6])
    use = usefulness.use(more[6:])
    return key, RankFeatures(
        memory, from_micros(created_at), read, count, session, author, length, _asks(end), use, known
    )


def _asks(end: bytes) -> bool:
    return is_question(end.decode(errors="ignore")[-ENDING_LENGTH:])


def stored(row: Row) -> Stored:
    """A row of ``MEMORY_COLUMNS``."""
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
        provenance=Provenance(actor=row[23], interface=DOOR_OF[row[24]], trust=TRUST_OF[row[25]], reason=row[26]),
        subject=row[27],
        valid_from=from_micros_or_none(row[28]),
        valid_until=from_micros_or_none(row[29]),
        supersedes=row[30],
        operational=running.operational(row[31:]),
    )
    return Stored(DocumentKey(row[0]), memory)


def stored_chunk(of_chunk: Sequence[Row]) -> StoredChunk:
    """A row for each passage, or one where there is none: document, key, position, start, stop and headings of the
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
        "tags": as_json(memory.tags),
        "project": memory.project,
        "session": memory.session,
        "author": memory.author,
        "source_task_id": memory.source_task_id,
        "source_path": memory.source_path,
        "external_id": memory.external_id,
        "metadata": as_json(memory.metadata),
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
        "statement": digests.statement(memory.statement),
        "subject": memory.subject,
        "topic": None if memory.topic is None else digests.topic(memory.topic),
        "valid_from": to_micros_or_none(memory.valid_from),
        "valid_until": to_micros_or_none(memory.valid_until),
        "supersedes": memory.supersedes,
    }


def statement_params(statement: Statement) -> dict[str, Param]:
    """What finds the memories with this statement: one index leads to the digest, the rest is compared."""
    return {
        "statement": digests.statement(statement),
        "scope": SCOPE[statement.scope],
        "project": statement.project,
        "session": statement.session,
    }


def as_json(value: Sequence[str] | Mapping[str, Json]) -> str:
    return orjson.dumps(value).decode()


def attributes(row: Row) -> Attributes:
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


def embedded(found: Sequence[Row], floats: Callable[[Sequence[bytes]], NDArray[np.float32]]) -> PassageVectors:
    """Columns document, those of ``attributes``, chunk, passage, vector."""
    columns = list(zip(*found, strict=True)) or [()] * 13
    return PassageVectors(
        documents=np.array(columns[0], np.int64),
        chunks=np.array(columns[10], np.int64),
        passages=np.array(columns[11], np.int64),
        vectors=floats(columns[12]) if found else np.empty((0, 0), np.float32),
        attributes=attribute_columns(columns[1:10]),
    )


def attribute_columns(columns: Sequence[Sequence[Any]]) -> AttributeColumns:
    """Those of ``attributes``, each with its values of all rows."""
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
        "headings": as_json(chunk.headings),
    }


def passage_params(document: DocumentKey, chunk: ChunkKey, of_chunk: Chunk) -> list[dict[str, Param]]:
    """Of all passages of a chunk, in order."""
    return [
        {"document": document, "chunk": chunk, "position": position, "start": passage.start, "stop": passage.stop}
        for position, passage in enumerate(of_chunk.passages)
    ]


def counts(row: Row) -> Counts:
    """Memories, past versions, characters of each of both, observations, evidence, passages, vectors, codes of tokens,
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


def agent(row: Row) -> Agent:
    return Agent(id=row[0], name=row[1], role=ROLE_OF[row[2]], created_at=from_micros(row[3]))


def agent_params(value: Agent) -> dict[str, Param]:
    return {"id": value.id, "name": value.name, "role": ROLE[value.role], "created_at": to_micros(value.created_at)}


def api_key(row: Row) -> ApiKey:
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


def audit_entry(row: Row) -> AuditEntry:
    return AuditEntry(
        at=from_micros(row[0]),
        actor=row[1],
        interface=DOOR_OF[row[2]],
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


def job(row: Row) -> Job:
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
