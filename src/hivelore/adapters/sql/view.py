"""Reading one snapshot of a store that speaks SQL: what every dialect does alike."""

import heapq
from abc import ABC, abstractmethod
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hivelore.adapters.sql import recalls, rows
from hivelore.adapters.sql.codes import SCOPE, SCOPE_OF, SOURCE_OF
from hivelore.adapters.sql.instants import to_micros
from hivelore.adapters.sql.where import Param, Params, condition, parts
from hivelore.domain.agent import Agent, AgentId, ApiKey, KeyId
from hivelore.domain.audit import AuditEntry
from hivelore.domain.index import (
    Attributes,
    Change,
    DocumentKey,
    Embedded,
    ModelKey,
    Moment,
    PassageKey,
    Stored,
    StoredChunk,
    TokenCodes,
    Vector,
    Waiting,
)
from hivelore.domain.job import Job, JobId
from hivelore.domain.memory import Memory, MemoryId, Scope, Source, Standing, Version
from hivelore.domain.moving import Counts
from hivelore.domain.recall_log import Recall, RecallFilter
from hivelore.domain.search import Filter, RecallId, Stats
from hivelore.domain.text import Clean
from hivelore.errors import NotFound

_BATCH = 2_000
_COMMON = 1_000
"""Memories that have the same tag, from which on it is common."""


class SqlView(ABC):
    """Implements ``ports.View`` but for the change log. A dialect brings its statements and a way to run them."""

    SQL: ClassVar[Mapping[str, str]]
    """The named statements of this dialect."""
    dialect: ClassVar[str]
    """The name of its folder; engines that bring SQL of their own have a file for each."""

    @property
    @abstractmethod
    def namespace(self) -> int: ...

    @abstractmethod
    def rows(self, sql: str, params: Params | None = None) -> list[Any]:
        """Run one statement and fetch all it answers. ``:namespace`` is always bound."""

    @abstractmethod
    def stream(self, sql: str, params: Params | None = None) -> Iterator[Any]:
        """The same row by row, for what may not fit into memory."""

    @abstractmethod
    def array(self, keys: Collection[int] | Collection[str]) -> Param:
        """A set as the parameter of a statement."""

    @abstractmethod
    def vector(self, vector: Vector) -> Param:
        """A vector as the parameter of a statement; what ``floats`` reads again."""

    @abstractmethod
    def floats(self, vectors: Sequence[bytes]) -> NDArray[np.float32]:
        """Vectors of one dimension as they come from the table, (n, dimension)."""

    @contextmanager
    def of_everybody(self) -> Generator[None]:
        """Read what belongs to anybody meanwhile, for an index that holds everything: nothing of it is to be shown."""
        yield

    def row(self, statement: str, /, **params: Param) -> Any:
        """The first row of a named statement, or None."""
        found = self.rows(self.SQL[statement], params)
        return found[0] if found else None

    # memories

    def get(self, memory: MemoryId) -> Stored | None:
        return self._stored("memory_by_id", id=memory)

    def _stored(self, statement: str, /, **params: Param) -> Stored | None:
        row = self.row(statement, **params)
        return None if row is None else rows.stored(row)

    def admitted(self, keys: Collection[DocumentKey], where: Filter) -> Mapping[DocumentKey, Memory]:
        if not keys:
            return {}
        sql, params = condition(where)
        found = self.rows(self.SQL["memory_admitted"].replace("{where}", sql), {**params, "keys": self.array(keys)})
        return {entry.key: entry.memory for entry in map(rows.stored, found)}

    def standings(self, keys: Collection[DocumentKey], where: Filter) -> Mapping[DocumentKey, Standing]:
        if not keys:
            return {}
        sql, params = condition(where)
        found = self.rows(self.SQL["memory_standings"].replace("{where}", sql), {**params, "keys": self.array(keys)})
        return dict(map(rows.standing, found))

    def matching(self, where: Filter) -> Sequence[DocumentKey]:
        return [
            row[0]
            for sql, params in parts(where)
            for row in self.rows(self.SQL["memory_keys"].replace("{where}", sql), params)
        ]

    def at_path(self, home: AgentId | None, path: Clean) -> Stored | None:
        if home is None:
            return self._stored("memory_at_shared_path", path=path)
        return self._stored("memory_at_private_path", home=home, path=path)

    def with_external_id(self, home: AgentId | None, external_id: Clean) -> Stored | None:
        if home is None:
            return self._stored("memory_with_shared_external", external_id=external_id)
        return self._stored("memory_with_private_external", home=home, external_id=external_id)

    def same_statement(self, owner: AgentId | None, name: Clean, content: Clean) -> Stored | None:
        return self._stored("memory_with_statement", statement=rows.statement(owner, name, content))

    def page(self, where: Filter, after: tuple[datetime, MemoryId] | None, limit: int) -> Sequence[Memory]:
        behind, position = "", {}
        if after is not None:
            behind = " AND (m.created_at, m.id) < (:after_at, :after_id)"
            position = {"after_at": to_micros(after[0]), "after_id": after[1]}
        found: list[list[Memory]] = []
        for sql, params in parts(where, common_tag=self._is_common(where.tag)):
            statement = self.SQL["memory_page"].replace("{where}", sql + behind)
            page = self.rows(statement, {**params, **position, "limit": limit})
            found.append([rows.stored(row).memory for row in page])
        merged = heapq.merge(*found, key=lambda memory: (memory.created_at, memory.id), reverse=True)
        return [memory for memory, _ in zip(merged, range(limit), strict=False)]

    def _is_common(self, tag: Clean | None) -> bool:
        return tag is not None and self.row("tag_seen", tag=tag, limit=_COMMON)[0] == _COMMON

    def chunks(self, document: DocumentKey) -> Sequence[StoredChunk]:
        return self.chunks_of([document]).get(document, ())

    def chunks_of(self, documents: Collection[DocumentKey]) -> Mapping[DocumentKey, Sequence[StoredChunk]]:
        found: dict[DocumentKey, list[StoredChunk]] = {}
        for _, of_chunk in groupby(self.rows(self.SQL["chunks"], {"documents": self.array(documents)}), itemgetter(1)):
            chunk = rows.stored_chunk(list(of_chunk))
            found.setdefault(chunk.document, []).append(chunk)
        return found

    def before(self, document: DocumentKey, limit: int) -> Sequence[Stored]:
        return self._beside("memory_before", document, limit)

    def after(self, document: DocumentKey, limit: int) -> Sequence[Stored]:
        return self._beside("memory_after", document, limit)

    def _beside(self, name: str, document: DocumentKey, limit: int) -> Sequence[Stored]:
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
        return [rows.stored(row) for row in self.rows(self.SQL[name], params)]

    def history(self, document: DocumentKey) -> Sequence[Version]:
        return [rows.version(row) for row in self.rows(self.SQL["versions"], {"document": document})]

    def histories(self, documents: Collection[DocumentKey]) -> Mapping[DocumentKey, Sequence[Version]]:
        found: dict[DocumentKey, list[Version]] = {}
        for row in self.rows(self.SQL["versions_of"], {"documents": self.array(documents)}):
            found.setdefault(row[0], []).append(rows.version(row[1:]))
        return found

    def stats(self, where: Filter, model: ModelKey | None, now: datetime) -> Stats:
        sql, params = condition(where)
        by_source = dict.fromkeys(Source, 0)
        by_scope = dict.fromkeys(Scope, 0)
        expired = 0
        for part, asked in parts(where):
            counts = self.rows(self.SQL["memory_counts"].replace("{where}", part), {**asked, "now": to_micros(now)})
            for source, scope, count, gone in counts:
                by_source[SOURCE_OF[source]] += count
                by_scope[SCOPE_OF[scope]] += count
                expired += gone
        pending = failed = 0
        if model is not None:
            asked = {**params, "model": model}
            counted = self._queued(self.SQL["pending_visible"].replace("{where}", sql), asked)
            pending = sum(row[0] for row in counted)
            failed = self.rows(self.SQL["failed_visible"].replace("{where}", sql), asked)[0][0]
        return Stats(
            total=sum(by_source.values()),
            by_source=by_source,
            by_scope=by_scope,
            pending_embeddings=pending,
            failed=failed,
            expired=expired,
        )

    # changes and vectors

    @abstractmethod
    def moment(self) -> Moment: ...

    @abstractmethod
    def changes(self, since: Moment) -> Iterator[tuple[Moment, Sequence[Change]]]: ...

    def model(self, fingerprint: str) -> ModelKey | None:
        row = self.row("model_by_fingerprint", fingerprint=fingerprint)
        return None if row is None else ModelKey(row[0])

    def models(self) -> Mapping[str, ModelKey]:
        return dict(self.rows(self.SQL["model_all"]))

    def dimension(self, model: ModelKey) -> int:
        row = self.row("model_dimension", model=model)
        if row is None:
            raise NotFound("No such embedding model. Register it first.")
        return row[0]

    def embedded(self, model: ModelKey, keys: Sequence[DocumentKey]) -> Embedded:
        with self.of_everybody():
            found = self.rows(self.SQL["embedded"], {"model": model, "keys": self.array(set(keys))})
        return rows.embedded(found, self.floats)

    def all_embedded(self, model: ModelKey) -> Iterator[Embedded]:
        with self.of_everybody():
            found = self.stream(self.SQL["embedded_all"], {"model": model})
            while batch := list(islice(found, _BATCH)):
                yield rows.embedded(batch, self.floats)

    def attributes(self, keys: Sequence[DocumentKey]) -> Mapping[DocumentKey, Attributes]:
        with self.of_everybody():
            found = self.rows(self.SQL["attributes"], {"keys": self.array(set(keys))})
        return {row[0]: rows.attributes(row[1:]) for row in found}

    def vectors(self, model: ModelKey, passages: Sequence[PassageKey]) -> Mapping[PassageKey, Vector]:
        found = self.rows(self.SQL["vectors"], {"model": model, "passages": self.array(set(passages))})
        together = self.floats([blob for _, blob in found]) if found else ()
        return dict(zip([key for key, _ in found], together, strict=True))

    def tokens(self, model: ModelKey, passages: Sequence[PassageKey]) -> Mapping[PassageKey, TokenCodes]:
        found = self.rows(self.SQL["tokens"], {"model": model, "passages": self.array(set(passages))})
        return {PassageKey(key): codes for key, codes in found}

    def waiting(self, model: ModelKey, now: datetime, limit: int, *, newest_first: bool = False) -> Sequence[Waiting]:
        statement = self.SQL["waiting"].replace("{free}", "").replace("{locked}", "")
        return self._waiting(statement, model, now, limit, newest_first)

    def _waiting(
        self, statement: str, model: ModelKey, now: datetime, limit: int, newest_first: bool
    ) -> Sequence[Waiting]:
        asked: dict[str, Param] = {"model": model, "now": to_micros(now), "limit": limit}
        statement = statement.replace("{order}", "DESC" if newest_first else "ASC")
        found = sorted(self._queued(statement, asked), key=lambda row: row[0], reverse=newest_first)
        return [
            Waiting(PassageKey(key), DocumentKey(document), Clean(content[start:stop]), author)
            for key, document, start, stop, content, author in found[:limit]
        ]

    def pending(self, model: ModelKey) -> int:
        return sum(row[0] for row in self._queued(self.SQL["pending"], {"model": model}))

    def _queued(self, statement: str, asked: Mapping[str, Param]) -> list[Any]:
        """Run a statement over every part of the queue, each of which is a range of one index."""
        others = [0, *(row[0] for row in self.rows(self.SQL["models"]) if row[0] != asked["model"])]
        found = self.rows(statement.replace("{queue}", self.SQL["queue_again"]), asked)
        for other in others:
            found += self.rows(statement.replace("{queue}", self.SQL["queue_new"]), {**asked, "other": other})
        return found

    def attempts(self, model: ModelKey, passage: PassageKey) -> int:
        row = self.row("attempts", model=model, passage=passage)
        return 0 if row is None else row[0]

    # the swarm

    def agent(self, agent: AgentId) -> Agent | None:
        row = self.row("agent_by_id", id=agent)
        return None if row is None else rows.agent(row)

    def agent_named(self, name: str) -> Agent | None:
        row = self.row("agent_by_name", name=name)
        return None if row is None else rows.agent(row)

    def agents(self) -> Sequence[Agent]:
        return [rows.agent(row) for row in self.rows(self.SQL["agents"])]

    def api_key(self, key: KeyId) -> ApiKey | None:
        row = self.row("api_key_by_id", id=key)
        return None if row is None else rows.api_key(row)

    def api_keys(self) -> Sequence[ApiKey]:
        return [rows.api_key(row) for row in self.rows(self.SQL["api_keys"])]

    def audit(self, limit: int, memory: MemoryId | None = None) -> Sequence[AuditEntry]:
        name, params = ("audit_newest", {}) if memory is None else ("audit_of", {"memory": memory})
        return [rows.audit_entry(row) for row in self.rows(self.SQL[name], {**params, "limit": limit})]

    def audit_after(self, number: int, limit: int) -> Sequence[tuple[int, AuditEntry]]:
        found = self.rows(self.SQL["audit_after"], {"after": number, "limit": limit})
        return [(row[0], rows.audit_entry(row[1:])) for row in found]

    def recalls(self, where: RecallFilter, after: tuple[datetime, RecallId] | None, limit: int) -> Sequence[Recall]:
        given = None if where.memory is None else self.get(where.memory)
        if where.memory is not None and (
            given is None or not where.seen.admits(given.memory.owner, given.memory.scope)
        ):
            return []
        sql, params = recalls.condition(where, None if given is None else given.key, self.SQL["recall_gave"])
        if after is not None:
            sql += " AND (r.at, r.id) < (:after_at, :after_id)"
            params |= {"after_at": to_micros(after[0]), "after_id": after[1]}
        found = self.rows(self.SQL["recalls"].replace("{asked}", sql), {**params, "limit": limit})
        keys = {key for row in found for key in recalls.documents(row)}
        seen = self.standings(keys, Filter(visibility=where.seen))
        ids = {key: standing.id for key, standing in seen.items()}
        return [recalls.recall(row, ids) for row in found]

    def job(self, job: JobId) -> Job | None:
        row = self.row("job_by_id", id=job)
        return None if row is None else rows.job(row)

    def jobs(self, kind: str | None = None) -> Sequence[Job]:
        found = self.rows(self.SQL["jobs"]) if kind is None else self.rows(self.SQL["jobs_of_kind"], {"kind": kind})
        return [rows.job(row) for row in found]

    def setting(self, name: str) -> str | None:
        row = self.row("setting", name=name)
        return None if row is None else row[0]

    def counts(self) -> Counts:
        return rows.counts(self.row("counts"))
