"""Reading one snapshot of a store that speaks SQL: what every dialect does alike."""

import heapq
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, ClassVar

from hivelore.core.agents import AgentId
from hivelore.core.text import Clean
from hivelore.errors import NotFound
from hivelore.events.model import Event, EventFilter, LoggedId
from hivelore.feedback.recalls import Evidence, Recall, RecallFilter, together
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
from hivelore.search.model import Filter, RecallId, Stats
from hivelore.storage.ports import Deferred
from hivelore.storage.sql import digests, operational, recalls, rows, usefulness, versions
from hivelore.storage.sql import events as happenings
from hivelore.storage.sql.codes import SCOPE, SCOPE_OF, SOURCE_OF
from hivelore.storage.sql.instants import to_micros
from hivelore.storage.sql.swarm import SqlSwarm
from hivelore.storage.sql.where import AMONG, Param, condition, parts

_BATCH = 2_000
_COMMON = 1_000
"""Memories that have the same tag, from which on it is common."""
_BEHIND_ALL = DocumentKey(2**63 - 1)


class SqlView(SqlSwarm):
    """Implements ``storage.ports.View`` but for the change log."""

    among: ClassVar[str] = AMONG

    def get(self, memory: MemoryId) -> Stored | None:
        return self._stored("memory_by_id", id=memory)

    def _stored(self, statement: str, /, **params: Param) -> Stored | None:
        row = self.row(statement, **params)
        return None if row is None else rows.stored(row)

    def _several(self, statement: str, /, **params: Param) -> list[Stored]:
        return [rows.stored(row) for row in self.rows(self.SQL[statement], params)]

    def admitted(self, keys: Collection[DocumentKey], where: Filter) -> Mapping[DocumentKey, Memory]:
        if not keys:
            return {}
        sql, params = condition(where)
        found = self.rows(self.SQL["memory_admitted"].replace("{where}", sql), {**params, "keys": self.array(keys)})
        return {entry.key: entry.memory for entry in map(rows.stored, found)}

    def standings(self, keys: Collection[DocumentKey], where: Filter) -> Mapping[DocumentKey, RankFeatures]:
        if not keys:
            return {}
        sql, params = condition(where)
        found = self.rows(self.SQL["memory_standings"].replace("{where}", sql), {**params, "keys": self.array(keys)})
        return dict(map(rows.standing, found))

    def matching(self, where: Filter) -> Sequence[DocumentKey]:
        return [
            row[0]
            for sql, params in parts(where, among=self.among)
            for row in self.rows(self.SQL["memory_keys"].replace("{where}", sql), params)
        ]

    def documents_below(self, key: DocumentKey, limit: int) -> Sequence[DocumentKey]:
        return [row[0] for row in self.rows(self.SQL["documents_below"], {"below": key, "limit": limit})]

    def at_path(self, home: AgentId | None, path: Clean) -> Sequence[Stored]:
        if home is None:
            return self._several("memory_at_shared_path", path=path)
        return self._several("memory_at_private_path", home=home, path=path)

    def with_external_id(self, home: AgentId | None, external_id: Clean) -> Sequence[Stored]:
        if home is None:
            return self._several("memory_with_shared_external", external_id=external_id)
        return self._several("memory_with_private_external", home=home, external_id=external_id)

    def same_statement(self, statement: Statement) -> Stored | None:
        return self._stored("memory_with_statement", **rows.statement_params(statement))

    def fact_at(self, topic: Topic, at: datetime | None) -> Stored | None:
        if at is None:
            return self._stored("fact_last", topic=digests.topic(topic))
        return self._stored("fact_until", topic=digests.topic(topic), at=to_micros(at))

    def facts_beside(self, document: DocumentKey) -> tuple[Stored | None, Stored | None]:
        this = self._stored("memory_by_key", key=document)
        if this is None or this.memory.topic is None:
            return None, None
        return self._around(document, digests.topic(this.memory.topic), this.memory.holds_since)

    def facts_around(self, topic: Topic, at: datetime) -> tuple[Stored | None, Stored | None]:
        return self._around(_BEHIND_ALL, digests.topic(topic), at)

    def _around(self, document: DocumentKey, topic: bytes, since: datetime) -> tuple[Stored | None, Stored | None]:
        place: dict[str, Param] = {"topic": topic, "at": to_micros(since), "key": document}
        return self._stored("fact_before", **place), self._stored("fact_after", **place)

    def superseding(self, memory: str) -> Sequence[Stored]:
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
            found.append([rows.stored(row).memory for row in page])
        merged = heapq.merge(*found, key=lambda memory: (memory.created_at, memory.id), reverse=True)
        return [memory for memory, _ in zip(merged, range(limit), strict=False)]

    def _is_common(self, tag: Clean | None) -> bool:
        return tag is not None and self.row("tag_seen", tag=tag, limit=_COMMON)[0] == _COMMON

    def chunks(self, document: DocumentKey) -> Sequence[StoredChunk]:
        return self.chunks_of([document])().get(document, ())

    def chunks_of(self, documents: Collection[DocumentKey]) -> Deferred[Mapping[DocumentKey, Sequence[StoredChunk]]]:
        asked = self.later(self.SQL["chunks"], {"documents": self.array(documents)})

        def chunks() -> Mapping[DocumentKey, Sequence[StoredChunk]]:
            found: dict[DocumentKey, list[StoredChunk]] = {}
            for _, of_chunk in groupby(asked(), itemgetter(1)):
                chunk = rows.stored_chunk(list(of_chunk))
                found.setdefault(chunk.document, []).append(chunk)
            return found

        return chunks

    def before(self, document: DocumentKey, limit: int) -> Sequence[Stored]:
        return self._workers("memory_before", document, limit)

    def after(self, document: DocumentKey, limit: int) -> Sequence[Stored]:
        return self._workers("memory_after", document, limit)

    def _workers(self, name: str, document: DocumentKey, limit: int) -> Sequence[Stored]:
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
        return [versions.version(row) for row in self.rows(self.SQL["versions"], {"document": document})]

    def histories(self, documents: Collection[DocumentKey]) -> Mapping[DocumentKey, Sequence[Version]]:
        found: dict[DocumentKey, list[Version]] = {}
        for row in self.rows(self.SQL["versions_of"], {"documents": self.array(documents)}):
            found.setdefault(row[0], []).append(versions.version(row[1:]))
        return found

    def observations(self, document: DocumentKey) -> Sequence[Observation]:
        return self.observations_of([document]).get(document, ())

    def observations_of(self, documents: Collection[DocumentKey]) -> Mapping[DocumentKey, Sequence[Observation]]:
        found: dict[DocumentKey, list[Observation]] = {}
        for row in self.rows(self.SQL["observations_of"], {"documents": self.array(documents)}):
            found.setdefault(row[0], []).append(operational.observation(row[1:]))
        return found

    def evidence(self, document: DocumentKey) -> Sequence[Evidence]:
        return self.evidence_of([document]).get(document, ())

    def evidence_of(self, documents: Collection[DocumentKey]) -> Mapping[DocumentKey, Sequence[Evidence]]:
        found: dict[DocumentKey, list[Evidence]] = {}
        for row in self.rows(self.SQL["evidence_of"], {"documents": self.array(documents)}):
            found.setdefault(row[0], []).append(usefulness.evidence(row[1:]))
        return {key: together(seen, ()) for key, seen in found.items()}

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

    # changes and vectors

    @abstractmethod
    def moment(self) -> ChangeCursor: ...

    @abstractmethod
    def changes(self, since: ChangeCursor) -> Iterator[tuple[ChangeCursor, Sequence[Change]]]: ...

    def model(self, fingerprint: str) -> ModelKey | None:
        return self.facts().models.get(fingerprint)

    def models(self) -> Mapping[str, ModelKey]:
        return self.facts().models

    def dimension(self, model: ModelKey) -> int:
        row = self.row("model_dimension", model=model)
        if row is None:
            raise NotFound("No such embedding model. Register it first.")
        return row[0]

    def embedded(self, model: ModelKey, keys: Sequence[DocumentKey]) -> PassageVectors:
        with self.of_everybody():
            found = self.rows(self.SQL["embedded"], {"model": model, "keys": self.array(set(keys))})
        return rows.embedded(found, self.floats)

    def all_embedded(self, model: ModelKey) -> Iterator[PassageVectors]:
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

    def tokens(self, model: ModelKey, passages: Sequence[PassageKey]) -> Deferred[Mapping[PassageKey, TokenCodes]]:
        asked = self.later(self.SQL["tokens"], {"model": model, "passages": self.array(set(passages))})
        return lambda: {PassageKey(key): codes for key, codes in asked()}

    def waiting(
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

    def pending(self, model: ModelKey) -> int:
        return sum(row[0] for row in self._queued(self.SQL["pending"], {"model": model}))

    def failing(self, model: ModelKey) -> int:
        return sum(row[1] for row in self._queued(self.SQL["pending"], {"model": model}))

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

    def lost_vectors(self) -> int:
        with self.of_everybody():
            return self.rows(self.SQL["lost_vectors"])[0][0]

    # what was asked, what happened, and how much there is

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

    def events(self, where: EventFilter, after: tuple[datetime, LoggedId] | None, limit: int) -> Sequence[Event]:
        seen, own = condition(Filter(visibility=where.seen))
        sql, params = happenings.condition(where, after)
        sql += f" AND (e.document IS NULL OR (m.key IS NOT NULL{seen}))"
        found = self.rows(self.SQL["events"].replace("{narrowed}", sql), {**params, **own, "limit": limit})
        return [happenings.event(row) for row in found]

    def counts(self) -> Counts:
        return rows.counts(self.row("counts"))
