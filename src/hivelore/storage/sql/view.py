"""Views of a SQL store: everything that SQLite and PostgreSQL read alike."""

import heapq
from abc import ABC, abstractmethod
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hivelore.changes.model import Batch, BatchFilter, BatchId, Preimage
from hivelore.core.agents import Agent, AgentId, ApiKey, KeyId
from hivelore.core.audit import AuditEntry
from hivelore.core.jobs import Job, JobId
from hivelore.core.text import Clean
from hivelore.errors import NotFound
from hivelore.events.model import Cooldown, Event, EventFilter, LoggedId
from hivelore.feedback.recalls import Evidence, Recall, RecallFilter, merge_evidence
from hivelore.folders.model import KnownFile
from hivelore.indexing.model import (
    Attributes,
    Change,
    ChangeCursor,
    DocumentKey,
    ModelKey,
    PassageKey,
    PassageVectors,
    QueuedPassage,
    Stored,
    StoredChunk,
    TokenCodes,
    Vector,
)
from hivelore.memories.model import Memory, MemoryId, RankFeatures, Scope, Source, Statement, Topic, Version
from hivelore.memories.whole import Counts
from hivelore.observations.model import Observation
from hivelore.review.model import Proposal, ProposalFilter, ProposalId, ProposalSubject
from hivelore.search.model import Filter, RecallId, Stats
from hivelore.sessions.model import EventId, Handover, HandoverState, Session
from hivelore.storage.ports import Deferred
from hivelore.storage.sql import columns, rows
from hivelore.storage.sql.columns import HANDOVER_STATE, SCOPE, SCOPE_OF, SOURCE_OF, to_micros
from hivelore.storage.sql.filters import (
    AMONG,
    Param,
    Params,
    batch_condition,
    condition,
    event_condition,
    parts,
    proposal_condition,
    recall_condition,
)

_BATCH = 2_000
_COMMON_TAG = 1_000
"""A tag of at least this many memories is common."""
_LAST_KEY = DocumentKey(2**63 - 1)


@dataclass(frozen=True, slots=True)
class Facts:
    settings: Mapping[str, str]
    models: Mapping[str, ModelKey]
    """By fingerprint."""


class SqlView(ABC):
    """Implements ``storage.ports.View`` except for the change log. A dialect adds its statements and runs them."""

    SQL: ClassVar[Mapping[str, str]]
    """The named statements of this dialect."""
    dialect: ClassVar[str]
    """The name of the dialect. Indexes with their own SQL have one file for each."""

    among: ClassVar[str] = AMONG
    """SQL that selects a key among the results of a subquery."""

    _facts: Facts | None = None

    @property
    @abstractmethod
    def namespace(self) -> int: ...

    @abstractmethod
    def rows(self, sql: str, params: Params | None = None) -> list[Any]:
        """Runs one statement and fetches all its rows. ``:namespace`` is always bound."""

    def deferred(self, sql: str, params: Params | None = None) -> Deferred[list[Any]]:
        """Like ``rows``, but a server may answer as late as the call of the result."""
        found = self.rows(sql, params)
        return lambda: found

    @abstractmethod
    def stream(self, sql: str, params: Params | None = None) -> Iterator[Any]:
        """Runs one statement and yields its rows, for results that may not fit into memory."""

    @abstractmethod
    def array(self, keys: Collection[int] | Collection[str]) -> Param:
        """Encodes a set as the parameter of a statement."""

    @abstractmethod
    def vector(self, vector: Vector) -> Param:
        """Encodes a vector as the parameter of a statement; ``floats`` decodes it."""

    @abstractmethod
    def floats(self, vectors: Sequence[bytes]) -> NDArray[np.float32]:
        """Decodes vectors of one dimension into an array (n, dimension)."""

    @contextmanager
    def unrestricted(self) -> Generator[None]:
        """Suspends row-level security, for indexes that hold the data of all viewers. Never show what is read here."""
        yield

    def row(self, statement: str, /, **params: Param) -> Any:
        """Runs a named statement and returns its first row, or None."""
        found = self.rows(self.SQL[statement], params)
        return found[0] if found else None

    def agent(self, agent: AgentId) -> Agent | None:
        row = self.row("agent_by_id", id=agent)
        return None if row is None else rows.read_agent(row)

    def agent_named(self, name: str) -> Agent | None:
        row = self.row("agent_by_name", name=name)
        return None if row is None else rows.read_agent(row)

    def agents(self) -> Sequence[Agent]:
        return [rows.read_agent(row) for row in self.rows(self.SQL["agents"])]

    def api_key(self, key: KeyId) -> ApiKey | None:
        row = self.row("api_key_by_id", id=key)
        return None if row is None else rows.read_api_key(row)

    def api_keys(self) -> Sequence[ApiKey]:
        return [rows.read_api_key(row) for row in self.rows(self.SQL["api_keys"])]

    def audit(self, limit: int, memory: MemoryId | None = None) -> Sequence[AuditEntry]:
        name, params = ("audit_newest", {}) if memory is None else ("audit_of", {"memory": memory})
        return [rows.read_audit_entry(row) for row in self.rows(self.SQL[name], {**params, "limit": limit})]

    def audit_after(self, number: int, limit: int) -> Sequence[tuple[int, AuditEntry]]:
        found = self.rows(self.SQL["audit_after"], {"after": number, "limit": limit})
        return [(row[0], rows.read_audit_entry(row[1:])) for row in found]

    def session(self, agent: AgentId, session: Clean) -> Session | None:
        row = self.row("session", agent=agent, id=session)
        return None if row is None else rows.read_session(row)

    def cooldowns(self, at: datetime) -> Sequence[Cooldown]:
        return [rows.read_cooldown(row) for row in self.rows(self.SQL["cooldowns"], {"at": to_micros(at)})]

    def cooldown(self, service: Clean, action: Clean) -> Cooldown | None:
        row = self.row("cooldown", service=service, action=action)
        return None if row is None else rows.read_cooldown(row)

    def files_after(self, place: str, path: str, limit: int) -> Sequence[KnownFile]:
        found = self.rows(self.SQL["files_behind"], {"place": place, "path": path, "limit": limit})
        return [KnownFile(*row) for row in found]

    def job(self, job: JobId) -> Job | None:
        row = self.row("job_by_id", id=job)
        return None if row is None else rows.read_job(row)

    def jobs(self, kind: str | None = None) -> Sequence[Job]:
        found = self.rows(self.SQL["jobs"]) if kind is None else self.rows(self.SQL["jobs_of_kind"], {"kind": kind})
        return [rows.read_job(row) for row in found]

    def handover(self, event: EventId) -> Handover | None:
        row = self.row("handover_by_id", id=event)
        return None if row is None else rows.read_handover(row)

    def handovers_due(self, now: datetime, limit: int) -> Sequence[Handover]:
        asked = {"waiting": HANDOVER_STATE[HandoverState.WAITING], "now": to_micros(now), "limit": limit}
        return [rows.read_handover(row) for row in self.rows(self.SQL["handovers_due"], asked)]

    def handovers_after(self, event: EventId, limit: int) -> Sequence[Handover]:
        found = self.rows(self.SQL["handovers_behind"], {"after": event, "limit": limit})
        return [rows.read_handover(row) for row in found]

    def handover_counts(self) -> Mapping[HandoverState, int]:
        found = dict(self.rows(self.SQL["handover_counts"]))
        return {state: found.get(code, 0) for state, code in HANDOVER_STATE.items()}

    def proposal(self, proposal: ProposalId) -> Proposal | None:
        return next(iter(self._proposals(self.SQL["proposal_by_id"], {"id": proposal})), None)

    def proposals(
        self, where: ProposalFilter, after: tuple[datetime, ProposalId] | None, limit: int
    ) -> Sequence[Proposal]:
        seen, own = condition(Filter(visibility=where.seen))
        sql, params = proposal_condition(where)
        if after is not None:
            sql += " AND (pr.at, pr.id) < (:after_at, :after_id)"
            params |= {"after_at": to_micros(after[0]), "after_id": after[1]}
        statement = self.SQL["proposals"].replace("{where}", seen).replace("{proposed}", sql)
        return self._proposals(statement, {**own, **params, "limit": limit})

    def proposals_about(self, document: DocumentKey) -> Sequence[Proposal]:
        return self._proposals(self.SQL["proposals_about"], {"document": document})

    def count_open_proposals(self, actor: AgentId | None) -> int:
        if actor is None:
            return self.row("proposals_open_of_nobody")[0]
        return self.row("proposals_open", actor=actor)[0]

    def open_proposals(self, actor: AgentId | None) -> Sequence[Proposal]:
        if actor is None:
            return self._proposals(self.SQL["proposals_waiting_of_nobody"], {})
        return self._proposals(self.SQL["proposals_waiting"], {"actor": actor})

    def _proposals(self, statement: str, asked: Params) -> list[Proposal]:
        found = self.rows(statement, asked)
        memories: dict[str, list[ProposalSubject]] = {row[0]: [] for row in found}
        if found:
            for proposal, memory, version in self.rows(self.SQL["concerned_of"], {"ids": self.array(memories.keys())}):
                memories[proposal].append(ProposalSubject(memory, version))
        return [rows.read_proposal(row, memories[row[0]]) for row in found if memories[row[0]]]

    def events_about(self, document: DocumentKey) -> Sequence[Event]:
        return [rows.read_event(row) for row in self.rows(self.SQL["events_about"], {"document": document})]

    def same_event(self, event: Event, within: timedelta) -> Event | None:
        row = self.row("event_same", **rows.same_event_params(event, within))
        return None if row is None else rows.read_event(row)

    def batch(self, batch: BatchId) -> Batch | None:
        row = self.row("batch_by_id", id=batch)
        return None if row is None else rows.read_batch(row)

    def batches(self, where: BatchFilter, after: tuple[datetime, BatchId] | None, limit: int) -> Sequence[Batch]:
        sql, params = batch_condition(where, after)
        found = self.rows(self.SQL["batches"].replace("{batched}", sql), {**params, "limit": limit})
        return [rows.read_batch(row) for row in found]

    def preimage(self, batch: BatchId, document: DocumentKey) -> Preimage | None:
        row = self.row("preimage_of", batch=batch, document=document)
        return None if row is None else rows.read_preimage(row)

    def preimages(self, batch: BatchId) -> Sequence[Preimage]:
        return [rows.read_preimage(row) for row in self.rows(self.SQL["preimages"], {"batch": batch})]

    def last_preimage(self, memory: MemoryId) -> Preimage | None:
        row = self.row("preimage_last", memory=memory)
        return None if row is None else rows.read_preimage(row)

    def setting(self, name: str) -> str | None:
        return self.facts().settings.get(name)

    def facts(self) -> Facts:
        """Returns all settings and models. They are read once per view, since most calls need several of them."""
        if self._facts is None:
            self._facts = self.read_facts()
        return self._facts

    def read_facts(self) -> Facts:
        found = self.rows(self.SQL["facts"])
        return Facts(
            settings={name: value for name, value, model in found if model is None},
            models={name: ModelKey(model) for name, _, model in found if model is not None},
        )

    def get(self, memory: MemoryId) -> Stored | None:
        return self._stored("memory_by_id", id=memory)

    def _stored(self, statement: str, /, **params: Param) -> Stored | None:
        row = self.row(statement, **params)
        return None if row is None else rows.read_stored(row)

    def _several(self, statement: str, /, **params: Param) -> list[Stored]:
        return [rows.read_stored(row) for row in self.rows(self.SQL[statement], params)]

    def memories_of(self, keys: Collection[DocumentKey], where: Filter) -> Mapping[DocumentKey, Memory]:
        if not keys:
            return {}
        sql, params = condition(where)
        found = self.rows(self.SQL["memory_admitted"].replace("{where}", sql), {**params, "keys": self.array(keys)})
        return {entry.key: entry.memory for entry in map(rows.read_stored, found)}

    def rank_features_of(self, keys: Collection[DocumentKey], where: Filter) -> Mapping[DocumentKey, RankFeatures]:
        if not keys:
            return {}
        sql, params = condition(where)
        found = self.rows(self.SQL["memory_standings"].replace("{where}", sql), {**params, "keys": self.array(keys)})
        return dict(map(rows.read_rank_features, found))

    def matching_keys(self, where: Filter) -> Sequence[DocumentKey]:
        return [
            row[0]
            for sql, params in parts(where, among=self.among)
            for row in self.rows(self.SQL["memory_keys"].replace("{where}", sql), params)
        ]

    def keys_below(self, key: DocumentKey, limit: int) -> Sequence[DocumentKey]:
        return [row[0] for row in self.rows(self.SQL["documents_below"], {"below": key, "limit": limit})]

    def memories_at_path(self, home: AgentId | None, path: Clean) -> Sequence[Stored]:
        if home is None:
            return self._several("memory_at_shared_path", path=path)
        return self._several("memory_at_private_path", home=home, path=path)

    def memories_with_external_id(self, home: AgentId | None, external_id: Clean) -> Sequence[Stored]:
        if home is None:
            return self._several("memory_with_shared_external", external_id=external_id)
        return self._several("memory_with_private_external", home=home, external_id=external_id)

    def memory_with_statement(self, statement: Statement) -> Stored | None:
        return self._stored("memory_with_statement", **rows.statement_params(statement))

    def fact_at(self, topic: Topic, at: datetime | None) -> Stored | None:
        if at is None:
            return self._stored("fact_last", topic=columns.topic_digest(topic))
        return self._stored("fact_until", topic=columns.topic_digest(topic), at=to_micros(at))

    def adjacent_facts(self, document: DocumentKey) -> tuple[Stored | None, Stored | None]:
        this = self._stored("memory_by_key", key=document)
        if this is None or this.memory.topic is None:
            return None, None
        return self._around(document, columns.topic_digest(this.memory.topic), this.memory.holds_since)

    def facts_around(self, topic: Topic, at: datetime) -> tuple[Stored | None, Stored | None]:
        return self._around(_LAST_KEY, columns.topic_digest(topic), at)

    def _around(self, document: DocumentKey, topic: bytes, since: datetime) -> tuple[Stored | None, Stored | None]:
        place: dict[str, Param] = {"topic": topic, "at": to_micros(since), "key": document}
        return self._stored("fact_before", **place), self._stored("fact_after", **place)

    def successors_of(self, memory: str) -> Sequence[Stored]:
        return self._several("superseding", memory=memory)

    def page(self, where: Filter, after: tuple[datetime, MemoryId] | None, limit: int) -> Sequence[Memory]:
        behind, position = "", {}
        if after is not None:
            behind = " AND (m.created_at, m.id) < (:after_at, :after_id)"
            position = {"after_at": to_micros(after[0]), "after_id": after[1]}
        found: list[list[Memory]] = []
        for sql, params in parts(where, common_tag=self._is_common(where.tag), among=self.among):
            statement = self.SQL["memory_page"].replace("{where}", sql + behind)
            page = self.rows(statement, {**params, **position, "limit": limit})
            found.append([rows.read_stored(row).memory for row in page])
        merged = heapq.merge(*found, key=lambda memory: (memory.created_at, memory.id), reverse=True)
        return [memory for memory, _ in zip(merged, range(limit), strict=False)]

    def _is_common(self, tag: Clean | None) -> bool:
        return tag is not None and self.row("tag_seen", tag=tag, limit=_COMMON_TAG)[0] == _COMMON_TAG

    def chunks(self, document: DocumentKey) -> Sequence[StoredChunk]:
        return self.chunks_of([document])().get(document, ())

    def chunks_of(self, documents: Collection[DocumentKey]) -> Deferred[Mapping[DocumentKey, Sequence[StoredChunk]]]:
        asked = self.deferred(self.SQL["chunks"], {"documents": self.array(documents)})

        def chunks() -> Mapping[DocumentKey, Sequence[StoredChunk]]:
            found: dict[DocumentKey, list[StoredChunk]] = {}
            for _, of_chunk in groupby(asked(), itemgetter(1)):
                chunk = rows.read_chunk(list(of_chunk))
                found.setdefault(chunk.document, []).append(chunk)
            return found

        return chunks

    def earlier_in_session(self, document: DocumentKey, limit: int) -> Sequence[Stored]:
        return self._in_session("memory_before", document, limit)

    def later_in_session(self, document: DocumentKey, limit: int) -> Sequence[Stored]:
        return self._in_session("memory_after", document, limit)

    def _in_session(self, name: str, document: DocumentKey, limit: int) -> Sequence[Stored]:
        this = self._stored("memory_by_key", key=document)
        if this is None or this.memory.session is None:
            return []
        params: dict[str, Param] = {
            "session": this.memory.session,
            "owner": this.memory.owner,
            "scope": SCOPE[this.memory.scope],
            "key": document,
            "limit": limit,
        }
        return [rows.read_stored(row) for row in self.rows(self.SQL[name], params)]

    def history(self, document: DocumentKey) -> Sequence[Version]:
        return [rows.read_version(row) for row in self.rows(self.SQL["versions"], {"document": document})]

    def histories(self, documents: Collection[DocumentKey]) -> Mapping[DocumentKey, Sequence[Version]]:
        found: dict[DocumentKey, list[Version]] = {}
        for row in self.rows(self.SQL["versions_of"], {"documents": self.array(documents)}):
            found.setdefault(row[0], []).append(rows.read_version(row[1:]))
        return found

    def observations(self, document: DocumentKey) -> Sequence[Observation]:
        return self.observations_of([document]).get(document, ())

    def observations_of(self, documents: Collection[DocumentKey]) -> Mapping[DocumentKey, Sequence[Observation]]:
        found: dict[DocumentKey, list[Observation]] = {}
        for row in self.rows(self.SQL["observations_of"], {"documents": self.array(documents)}):
            found.setdefault(row[0], []).append(rows.read_observation(row[1:]))
        return found

    def evidence(self, document: DocumentKey) -> Sequence[Evidence]:
        return self.evidence_of([document]).get(document, ())

    def evidence_of(self, documents: Collection[DocumentKey]) -> Mapping[DocumentKey, Sequence[Evidence]]:
        found: dict[DocumentKey, list[Evidence]] = {}
        for row in self.rows(self.SQL["evidence_of"], {"documents": self.array(documents)}):
            found.setdefault(row[0], []).append(rows.read_evidence(row[1:]))
        return {key: merge_evidence(seen, ()) for key, seen in found.items()}

    def stats(self, where: Filter, model: ModelKey | None, now: datetime) -> Stats:
        sql, params = condition(where)
        by_source = dict.fromkeys(Source, 0)
        by_scope = dict.fromkeys(Scope, 0)
        expired = 0
        for part, asked in parts(where, among=self.among):
            counts = self.rows(self.SQL["memory_counts"].replace("{where}", part), {**asked, "now": to_micros(now)})
            for source, scope, count, gone in counts:
                by_source[SOURCE_OF[source]] += count
                by_scope[SCOPE_OF[scope]] += count
                expired += gone
        pending = failed = 0
        if model is not None:
            asked = {**params, "model": model}
            counted = self._queued(self.SQL["pending_visible"].replace("{where}", sql), asked)
            pending, failed = (sum(one) for one in zip(*counted, strict=True))
        return Stats(
            total=sum(by_source.values()),
            by_source=by_source,
            by_scope=by_scope,
            pending_embeddings=pending,
            failed=failed,
            expired=expired,
        )

    # change log and vectors

    @abstractmethod
    def change_cursor(self) -> ChangeCursor: ...

    @abstractmethod
    def changes(self, since: ChangeCursor) -> Iterator[tuple[ChangeCursor, Sequence[Change]]]: ...

    def model_key(self, fingerprint: str) -> ModelKey | None:
        return self.facts().models.get(fingerprint)

    def model_keys(self) -> Mapping[str, ModelKey]:
        return self.facts().models

    def dimension(self, model: ModelKey) -> int:
        row = self.row("model_dimension", model=model)
        if row is None:
            raise NotFound("This embedding model is not registered. Register it first.")
        return row[0]

    def embedded(self, model: ModelKey, keys: Sequence[DocumentKey]) -> PassageVectors:
        with self.unrestricted():
            found = self.rows(self.SQL["embedded"], {"model": model, "keys": self.array(set(keys))})
        return rows.read_embedded(found, self.floats)

    def all_embedded(self, model: ModelKey) -> Iterator[PassageVectors]:
        with self.unrestricted():
            found = self.stream(self.SQL["embedded_all"], {"model": model})
            while batch := list(islice(found, _BATCH)):
                yield rows.read_embedded(batch, self.floats)

    def attributes(self, keys: Sequence[DocumentKey]) -> Mapping[DocumentKey, Attributes]:
        with self.unrestricted():
            found = self.rows(self.SQL["attributes"], {"keys": self.array(set(keys))})
        return {row[0]: rows.read_attributes(row[1:]) for row in found}

    def vectors(self, model: ModelKey, passages: Sequence[PassageKey]) -> Mapping[PassageKey, Vector]:
        found = self.rows(self.SQL["vectors"], {"model": model, "passages": self.array(set(passages))})
        merge_evidence = self.floats([blob for _, blob in found]) if found else ()
        return dict(zip([key for key, _ in found], merge_evidence, strict=True))

    def token_codes(self, model: ModelKey, passages: Sequence[PassageKey]) -> Deferred[Mapping[PassageKey, TokenCodes]]:
        asked = self.deferred(self.SQL["tokens"], {"model": model, "passages": self.array(set(passages))})
        return lambda: {PassageKey(key): codes for key, codes in asked()}

    def queued_passages(
        self, model: ModelKey, now: datetime, limit: int, *, newest_first: bool = False
    ) -> Sequence[QueuedPassage]:
        statement = self.SQL["waiting"].replace("{free}", "").replace("{locked}", "")
        return self._waiting(statement, model, now, limit, newest_first)

    def _waiting(
        self, statement: str, model: ModelKey, now: datetime, limit: int, newest_first: bool
    ) -> Sequence[QueuedPassage]:
        asked: dict[str, Param] = {"model": model, "now": to_micros(now), "limit": limit}
        statement = statement.replace("{order}", "DESC" if newest_first else "ASC")
        found = sorted(self._queued(statement, asked), key=lambda row: row[0], reverse=newest_first)
        return [
            QueuedPassage(PassageKey(key), DocumentKey(document), Clean(content[start:stop]), author)
            for key, document, start, stop, content, author in found[:limit]
        ]

    def count_pending(self, model: ModelKey) -> int:
        return sum(row[0] for row in self._queued(self.SQL["pending"], {"model": model}))

    def count_failing(self, model: ModelKey) -> int:
        return sum(row[1] for row in self._queued(self.SQL["pending"], {"model": model}))

    def _queued(self, statement: str, asked: Mapping[str, Param]) -> list[Any]:
        """Runs a statement over every part of the embedding queue. Each part is one range of an index."""
        others = [0, *(row[0] for row in self.rows(self.SQL["models"]) if row[0] != asked["model"])]
        found = self.rows(statement.replace("{queue}", self.SQL["queue_again"]), asked)
        for other in others:
            found += self.rows(statement.replace("{queue}", self.SQL["queue_new"]), {**asked, "other": other})
        return found

    def embedding_attempts(self, model: ModelKey, passage: PassageKey) -> int:
        row = self.row("attempts", model=model, passage=passage)
        return 0 if row is None else row[0]

    def count_lost_vectors(self) -> int:
        with self.unrestricted():
            return self.rows(self.SQL["lost_vectors"])[0][0]

    # recall log, events and counts

    def recalls(self, where: RecallFilter, after: tuple[datetime, RecallId] | None, limit: int) -> Sequence[Recall]:
        given = None if where.memory is None else self.get(where.memory)
        if where.memory is not None and (
            given is None or not where.seen.admits(given.memory.owner, given.memory.scope)
        ):
            return []
        sql, params = recall_condition(where, None if given is None else given.key, self.SQL["recall_gave"])
        if after is not None:
            sql += " AND (r.at, r.id) < (:after_at, :after_id)"
            params |= {"after_at": to_micros(after[0]), "after_id": after[1]}
        found = self.rows(self.SQL["recalls"].replace("{asked}", sql), {**params, "limit": limit})
        keys = {key for row in found for key in rows.recalled_documents(row)}
        seen = self.rank_features_of(keys, Filter(visibility=where.seen))
        ids = {key: standing.id for key, standing in seen.items()}
        return [rows.read_recall(row, ids) for row in found]

    def events(self, where: EventFilter, after: tuple[datetime, LoggedId] | None, limit: int) -> Sequence[Event]:
        seen, own = condition(Filter(visibility=where.seen))
        sql, params = event_condition(where, after)
        sql += f" AND (e.document IS NULL OR (m.key IS NOT NULL{seen}))"
        found = self.rows(self.SQL["events"].replace("{narrowed}", sql), {**params, **own, "limit": limit})
        return [rows.read_event(row) for row in found]

    def counts(self) -> Counts:
        return rows.read_counts(self.row("counts"))
