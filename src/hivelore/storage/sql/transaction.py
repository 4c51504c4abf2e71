"""Transactions of a SQL store: everything that SQLite and PostgreSQL write alike."""

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import cast

from hivelore.changes.model import Batch, BatchId, BatchKind, Preimage
from hivelore.core.agents import Agent, ApiKey, KeyId
from hivelore.core.audit import AuditEntry
from hivelore.core.jobs import Job
from hivelore.core.text import Clean
from hivelore.core.vectors import check_vector
from hivelore.errors import Conflict, NotFound, Stale
from hivelore.events.model import Cooldown, Event, LoggedId
from hivelore.feedback.recalls import Evidence, Recall, merge_evidence
from hivelore.folders.model import KnownFile
from hivelore.indexing.model import (
    ChangeKind,
    ChunkKey,
    DocumentKey,
    ModelKey,
    PassageKey,
    QueuedPassage,
    Stored,
    StoredChunk,
    TokenCodes,
    Vector,
)
from hivelore.memories.model import Action, Chunk, Memory, MemoryId
from hivelore.memories.whole import WholeMemory
from hivelore.observations.model import Held, Observation
from hivelore.review.model import Proposal, ProposalId
from hivelore.sessions.model import Handover, HandoverState, Session
from hivelore.storage.change_recorder import ChangeRecorder
from hivelore.storage.sql import rows
from hivelore.storage.sql.columns import BATCH_KIND, HANDOVER_STATE, MICROSECOND, to_micros, to_micros_or_none
from hivelore.storage.sql.filters import Param, Params
from hivelore.storage.sql.view import Facts, SqlView


class SqlTransaction(ChangeRecorder, SqlView):
    """Implements ``storage.ports.Transaction`` except for the change log. The store begins and ends the transaction."""

    @abstractmethod
    def count(self, name: str, params: Params) -> int:
        """Runs a named statement that returns no rows; returns how many rows it changed."""

    @abstractmethod
    def run_many(self, sql: str, each: Sequence[Params]) -> None:
        """Runs one statement that returns no rows, once for each set of parameters."""

    @abstractmethod
    def claim(self, what: bytes) -> None:
        """Prevents concurrent transactions from deciding about the same thing (``storage.ports.MemoryWrites``)."""

    @abstractmethod
    def savepoint(self) -> AbstractContextManager[object]:
        """An error inside rolls back only what is inside. A caller that handles it can continue the transaction."""

    @abstractmethod
    def number_from(self, table: str, last: int) -> None:
        """Makes the engine assign keys greater than ``last`` to new rows of a table."""

    def run(self, name: str, params: Params) -> int | None:
        """Runs a named statement; returns the first value of its first row, or None."""
        found = self.rows(self.SQL[name], params)
        return found[0][0] if found else None

    def _import_rows(self, table: str, each: Sequence[dict[str, Param]]) -> None:
        """Inserts rows with their keys into a table."""
        self.run_many(self.SQL[f"{table}_move_in"], each)
        if each:
            self.number_from(table, max(cast(int, one["key"]) for one in each))

    def put_agent(self, agent: Agent) -> None:
        with self.savepoint():
            self.run("agent_put", rows.agent_params(agent))

    def put_api_key(self, key: ApiKey) -> None:
        self.run("api_key_put", rows.api_key_params(key))

    def revoke_api_key(self, key: KeyId, at: datetime) -> bool:
        return bool(self.rows(self.SQL["api_key_revoke"], {"id": key, "at": to_micros(at)}))

    def record_audit(self, entry: AuditEntry) -> None:
        self.run("audit_insert", rows.audit_params(entry))

    def import_audit(self, entries: Mapping[int, AuditEntry]) -> None:
        with self.savepoint():
            self._import_rows(
                "audit", [{**rows.audit_params(entry), "key": number} for number, entry in entries.items()]
            )

    def log_recalls(self, entries: Sequence[Recall]) -> None:
        given = {hit.memory for entry in entries for hit in entry.hits}
        keys = dict(self.rows(self.SQL["memory_keys_of"], {"ids": self.array(given)}))
        self.run_many(self.SQL["recall_insert"], [rows.recall_params(entry, keys) for entry in entries])

    def prune_recalls(self, before: datetime, keep: int, limit: int) -> int:
        oldest_kept = self.row("recall_nth", newer=keep - 1)
        at, number = max((to_micros(before), ""), oldest_kept or (to_micros(before), ""))
        return self.count("recalls_prune", {"at": at, "id": number, "limit": limit})

    def log_events(self, events: Sequence[Event]) -> None:
        memories = {event.memory for event in events if event.memory is not None}
        keys = dict(self.rows(self.SQL["memory_keys_of"], {"ids": self.array(memories)})) if memories else {}
        there = [event for event in events if event.memory is None or event.memory in keys]
        self.run_many(self.SQL["event_insert"], [rows.event_params(event, keys) for event in there])

    def drop_event(self, event: LoggedId) -> bool:
        return bool(self.count("event_drop", {"id": event}))

    def prune_events(self, before: datetime, keep: int, limit: int) -> int:
        oldest_kept = self.row("event_nth", newer=keep - 1)
        at, event = max((to_micros(before), ""), oldest_kept or (to_micros(before), ""))
        return self.count("events_prune", {"at": at, "id": event, "limit": limit})

    def put_cooldown(self, cooldown: Cooldown) -> None:
        self.run("cooldown_put", rows.cooldown_params(cooldown))

    def drop_cooldown(self, service: Clean, action: Clean) -> None:
        self.run("cooldown_drop", {"service": service, "action": action})

    def prune_cooldowns(self, before: datetime, limit: int) -> int:
        return self.count("cooldowns_prune", {"at": to_micros(before), "limit": limit})

    def put_session(self, session: Session) -> None:
        self.run("session_put", rows.session_params(session))

    def prune_sessions(self, before: datetime, keep: int, limit: int) -> int:
        return self.count("sessions_prune", {"at": to_micros(before), "keep": keep, "limit": limit})

    def put_files(self, files: Sequence[KnownFile]) -> None:
        self.run_many(self.SQL["file_put"], [asdict(file) for file in files])

    def drop_files(self, place: str, paths: Sequence[str]) -> None:
        self.run_many(self.SQL["file_drop"], [{"place": place, "path": path} for path in paths])

    def put_job(self, job: Job) -> None:
        self.run("job_put", rows.job_params(job))

    def put_handover(self, handover: Handover) -> None:
        self.run("handover_put", rows.handover_params(handover))

    def prune_handovers(self, before: datetime, limit: int) -> int:
        over = {"done": HANDOVER_STATE[HandoverState.DONE], "failed": HANDOVER_STATE[HandoverState.FAILED]}
        return self.count("handovers_prune", {**over, "before": to_micros(before), "limit": limit})

    def put_proposal(self, proposal: Proposal) -> None:
        self.drop_proposal(proposal.id)
        about = {one.memory for one in proposal.memories}
        keys = dict(self.rows(self.SQL["memory_keys_of"], {"ids": self.array(about)}))
        concerned = rows.concerned_params(proposal, keys)
        if concerned:
            self.run("proposal_put", rows.proposal_params(proposal))
            self.run_many(self.SQL["concerned_put"], concerned)

    def drop_proposal(self, proposal: ProposalId) -> None:
        for name in ("concerned_drop", "proposal_drop"):
            self.run(name, {"id": proposal})

    def prune_proposals(self, before: datetime, limit: int) -> int:
        old = self.rows(self.SQL["proposals_old"], {"before": to_micros(before), "limit": limit})
        for (proposal,) in old:
            self.drop_proposal(proposal)
        return len(old)

    def put_batch(self, batch: Batch, preimages: Sequence[Preimage] = ()) -> None:
        self.run("batch_put", rows.batch_params(batch))
        self.run_many(self.SQL["preimage_put"], [rows.preimage_params(batch.id, one) for one in preimages])

    def drop_batch(self, batch: BatchId) -> None:
        for name in ("preimages_drop", "batch_drop"):
            self.run(name, {"id": batch})

    def drop_preimages(self, document: DocumentKey) -> None:
        for name in ("batches_silence", "preimages_delete"):
            self.run(name, {"document": document, "decided": BATCH_KIND[BatchKind.DECIDED]})

    def prune_batches(self, before: datetime, limit: int) -> int:
        old = self.rows(self.SQL["batches_old"], {"before": to_micros(before), "limit": limit})
        for (batch,) in old:
            self.drop_batch(batch)
        return len(old)

    def acquire_lease(self, name: str, holder: str, now: datetime, lease: timedelta) -> bool:
        asked = {"name": name, "holder": holder, "now": to_micros(now), "lease": lease // MICROSECOND}
        return self.run("lease", asked) is not None

    def facts(self) -> Facts:
        """Reads the facts again each time: this transaction may have changed them."""
        return self.read_facts()

    def set_setting(self, name: str, value: str) -> None:
        self.run("setting_put", {"name": name, "value": value})

    def add(self, memory: Memory, chunks: Sequence[Chunk]) -> Stored:
        key = self.run("memory_insert", rows.memory_params(memory, Action.CREATED))
        if key is None:
            raise Conflict("Another one has this id, path or external id already.")
        document = DocumentKey(key)
        self._put_tags(document, memory)
        self._put_operational({document: memory})
        for chunk in chunks:
            self._add_chunk(document, chunk)
        self._changed(ChangeKind.CREATED, document)
        self._note_new(document)
        return Stored(document, memory)

    def import_memories(self, memories: Sequence[WholeMemory]) -> None:
        with self.savepoint():
            self._import_rows("memory", [_imported_memory_params(one) for one in memories])
            for one in memories:
                self._put_tags(one.key, one.memory)
            past = [rows.version_params(one.key, version) for one in memories for version in one.history[:-1]]
            self.run_many(self.SQL["version_move_in"], past)
            self._put_operational({one.key: one.memory for one in memories})
            seen = [rows.observation_params(one.key, each) for one in memories for each in one.observations]
            self.run_many(self.SQL["observation_insert"], seen)
            for one in memories:
                self._put_evidence(one.key, (), one.evidence)
            chunks = [stored for one in memories for stored in one.chunks]
            self._import_rows(
                "chunk", [{**rows.chunk_params(one.document, one.chunk), "key": one.key} for one in chunks]
            )
            self._import_rows("passage", [moved for one in chunks for moved in _imported_passage_params(one)])
        for one in memories:
            self._note_new(one.key)
        created = [{"kind": ChangeKind.CREATED, "document": one.key} for one in memories]
        self.run_many(self.SQL["change_insert"], created)

    def change(self, key: DocumentKey, memory: Memory, chunks: Sequence[Chunk] | None, action: Action) -> None:
        before = self._stored("memory_by_key", key=key)
        if before is None:
            raise NotFound("This memory no longer exists.")
        if memory.version != before.memory.version + 1:
            raise Stale("This memory has been changed in the meantime. Read it again.", current=before.memory.version)
        self._note(key)
        with self.savepoint():
            self.run("version_keep", {"key": key})
            self.run("memory_update", {**rows.memory_params(memory, action), "key": key})
        if memory.tags != before.memory.tags:
            self.run("tags_delete", {"document": key})
            self._put_tags(key, memory)
        if memory.operational != before.memory.operational:
            self.run("operational_delete", {"document": key})
            self._put_operational({key: memory})
        if chunks is None:
            self._changed(ChangeKind.ATTRIBUTES, key)
            return
        self._replace_chunks(key, before.memory.content, memory.content, chunks)
        self._changed(ChangeKind.CONTENT, key)

    def _put_tags(self, document: DocumentKey, memory: Memory) -> None:
        self.run_many(self.SQL["tag_insert"], [{"tag": tag, "document": document} for tag in memory.tags])

    def _put_operational(self, documents: Mapping[DocumentKey, Memory]) -> None:
        known = [(key, memory.operational) for key, memory in documents.items()]
        each = [rows.operational_params(key, one) for key, one in known if one is not None]
        self.run_many(self.SQL["operational_put"], each)

    def _replace_chunks(self, document: DocumentKey, old: str, new: str, chunks: Sequence[Chunk]) -> None:
        """Keeps every chunk with unchanged text, headings and passages; deletes and adds the others."""
        kept: dict[object, list[StoredChunk]] = {}
        for stored in self.chunks(document):
            kept.setdefault(stored.chunk.identity(old), []).append(stored)
        for chunk in chunks:
            same = kept.get(chunk.identity(new))
            if same:
                self._move_chunk(same.pop(0), chunk)
            else:
                self._add_chunk(document, chunk)
        for unused in kept.values():
            for stored in unused:
                self._drop_passages(document, stored.key)
                self.run("chunk_delete", {"key": stored.key})

    def _add_chunk(self, document: DocumentKey, chunk: Chunk) -> None:
        key = ChunkKey(_require_key(self.run("chunk_insert", rows.chunk_params(document, chunk))))
        self.run_many(self.SQL["passage_insert"], rows.passage_params(document, key, chunk))

    def _move_chunk(self, stored: StoredChunk, chunk: Chunk) -> None:
        if stored.chunk == chunk:
            return
        span = {"start": chunk.start, "stop": chunk.stop}
        self.run("chunk_move", {"key": stored.key, "position": chunk.index, **span})
        for key, passage in zip(stored.passages, chunk.passages, strict=True):
            self.run("passage_move", {"key": key, "start": passage.start, "stop": passage.stop})

    def _drop_passages(self, document: DocumentKey, chunk: ChunkKey) -> None:
        for name in ("chunk_vectors_delete", "chunk_tokens_delete", "chunk_failures_delete", "chunk_passages_delete"):
            self.run(name, {"document": document, "chunk": chunk})

    def set_expiry(self, key: DocumentKey, expires_at: datetime | None) -> None:
        self._note(key)
        if self.count("memory_renew", {"key": key, "expires_at": to_micros_or_none(expires_at)}):
            self._changed(ChangeKind.ATTRIBUTES, key)

    def set_validity(self, key: DocumentKey, valid_until: datetime | None, supersedes: MemoryId | None) -> None:
        self._note(key)
        place = {"key": key, "valid_until": to_micros_or_none(valid_until), "supersedes": supersedes}
        if self.count("memory_link", place):
            self._changed(ChangeKind.ATTRIBUTES, key)

    def add_observation(self, key: DocumentKey, held: Held, observation: Observation) -> None:
        self._note(key)
        if self.count("operational_hold", rows.held_params(key, held)):
            self.run("observation_insert", rows.observation_params(key, observation))
            self._changed(ChangeKind.ATTRIBUTES, key)

    def replace_observations(self, key: DocumentKey, held: Held, observations: Sequence[Observation]) -> None:
        self._note(key)
        if self.count("operational_hold", rows.held_params(key, held)):
            self.run("observations_delete", {"document": key})
            seen = [rows.observation_params(key, one) for one in observations]
            self.run_many(self.SQL["observation_insert"], seen)
            self._changed(ChangeKind.ATTRIBUTES, key)

    def erase_quotes(self, words: Collection[Clean]) -> Sequence[DocumentKey]:
        quoting = self.rows(self.SQL["observations_unquote"], {"words": self.array(words)})
        return sorted({DocumentKey(row[0]) for row in quoting})

    def add_evidence(self, found: Mapping[DocumentKey, Sequence[Evidence]]) -> None:
        self._note(*found)
        known = self.evidence_of(found)
        for key, new in found.items():
            before = known.get(key, ())
            now = merge_evidence(before, new)
            if now != before and self.row("memory_exists", key=key) is not None:
                self._put_evidence(key, before, now)
                self._changed(ChangeKind.ATTRIBUTES, key)

    def _put_evidence(self, key: DocumentKey, before: Sequence[Evidence], now: Sequence[Evidence]) -> None:
        for name, params in rows.evidence_statements(key, before, now):
            self.run(name, params)

    def drop_evidence(self, key: DocumentKey) -> None:
        if self.count("evidence_delete", {"document": key}):
            self.run("usefulness_delete", {"document": key})
            self._changed(ChangeKind.ATTRIBUTES, key)

    def forget(self, key: DocumentKey) -> None:
        if self.row("memory_exists", key=key) is None:
            return
        self._note(key)
        for stored in self.chunks(key):
            self._drop_passages(key, stored.key)
        about = ("observations", "operational", "evidence", "usefulness", "events", "proposals", "concerned")
        for of_it in ("chunks", "tags", "versions", *about):
            self.run(f"{of_it}_delete", {"document": key})
        self.run("memory_delete", {"key": key})
        self._changed(ChangeKind.FORGOTTEN, key)

    def count_reads(self, reads: Mapping[DocumentKey, tuple[int, datetime]]) -> None:
        counted = [{"key": key, "count": count, "at": to_micros(at)} for key, (count, at) in reads.items()]
        self.run_many(self.SQL["memory_touch"], counted)

    def _changed(self, kind: ChangeKind, document: DocumentKey) -> None:
        self.run("change_insert", {"kind": kind, "document": document})

    # vectors

    def register_model(self, fingerprint: str, dimension: int) -> ModelKey:
        known = self.model_key(fingerprint)
        if known is not None:
            return known
        return ModelKey(_require_key(self.run("model_insert", {"fingerprint": fingerprint, "dimension": dimension})))

    def put_vectors(
        self,
        model: ModelKey,
        vectors: Mapping[PassageKey, Vector],
        tokens: Mapping[PassageKey, TokenCodes] | None = None,
    ) -> int:
        dimension = self.dimension(model)
        for vector in vectors.values():
            check_vector(vector, dimension)
        documents = self._embedded(model, list(vectors))
        with_codes = {passage: codes for passage, codes in (tokens or {}).items() if codes and passage in documents}
        without_codes = [passage for passage in documents if passage not in with_codes]
        packed = [
            {"model": model, "passage": passage, "vector": self.vector(vectors[passage])} for passage in documents
        ]
        self.run_many(self.SQL["vector_put"], packed)
        coded = [{"model": model, "passage": passage, "codes": codes} for passage, codes in with_codes.items()]
        self.run_many(self.SQL["tokens_put"], coded)
        self.run("tokens_delete", {"model": model, "passages": self.array(without_codes)})
        self.run("failures_forget", {"model": model, "passages": self.array(documents)})
        changed = [{"kind": ChangeKind.VECTORS, "document": document} for document in dict.fromkeys(documents.values())]
        self.run_many(self.SQL["change_insert"], changed)
        return len(documents)

    def _embedded(self, model: ModelKey, passages: Sequence[PassageKey]) -> dict[PassageKey, DocumentKey]:
        """Marks passages as embedded; returns the documents of those that still exist."""
        found = {passage: self.run("passage_embedded", {"model": model, "passage": passage}) for passage in passages}
        return {passage: DocumentKey(document) for passage, document in found.items() if document is not None}

    def embedding_failed(self, model: ModelKey, passage: PassageKey, error: Clean, not_before: datetime) -> None:
        params = {"model": model, "passage": passage, "not_before": to_micros(not_before), "error": error}
        self.run("failure_put", params)
        self.release_passages([passage])

    def lease_passages(
        self, model: ModelKey, now: datetime, limit: int, *, lease: timedelta, newest_first: bool = False
    ) -> Sequence[QueuedPassage]:
        free = self.SQL["waiting"].replace("{free}", self.SQL["free"]).replace("{locked}", self.SQL["locked"])
        found = self._waiting(free, model, now, limit, newest_first)
        passages = self.array([one.passage for one in found])
        self.run("passages_lease", {"passages": passages, "now": to_micros(now), "lease": lease // MICROSECOND})
        return found

    def release_passages(self, passages: Sequence[PassageKey]) -> None:
        self.run_many(self.SQL["passage_release"], [{"passage": passage} for passage in passages])

    def retry_failed(self, model: ModelKey, limit: int) -> int:
        return self.count("failures_clear", {"model": model, "limit": limit})

    def adopt_vectors(self, model: ModelKey, after: PassageKey, limit: int) -> Sequence[PassageKey]:
        page = {"model": model, "after": after, "limit": limit}
        self.run("passages_adopt", page)
        return [PassageKey(row[0]) for row in self.rows(self.SQL["vectors_behind"], page)]

    def requeue(self, model: ModelKey, after: PassageKey, limit: int) -> Sequence[PassageKey]:
        queued = self.rows(self.SQL["passages_queue"], {"model": model, "after": after, "limit": limit})
        return sorted(PassageKey(row[0]) for row in queued)

    def cancel_requeue(self, model: ModelKey, limit: int) -> int:
        return self.count("passages_leave_queue", {"model": model, "limit": limit})

    def requeue_lost(self, limit: int) -> int:
        return self.count("passages_requeue", {"limit": limit})

    def drop_vectors(self, model: ModelKey, limit: int) -> int:
        self.run("tokens_drop", {"model": model, "limit": limit})
        dropped = self.count("vectors_drop", {"model": model, "limit": limit})
        for name in ("passages_unmark", "passages_unqueue"):
            self.run(name, {"model": model})
        return dropped


def _imported_memory_params(one: WholeMemory) -> dict[str, Param]:
    return {**rows.memory_params(one.memory, one.history[-1].action), "key": one.key}


def _imported_passage_params(one: StoredChunk) -> list[dict[str, Param]]:
    params = rows.passage_params(one.document, one.key, one.chunk)
    return [{**passage, "key": key} for passage, key in zip(params, one.passages, strict=True)]


def _require_key(key: int | None) -> int:
    if key is None:
        raise AssertionError("the statement returns the key of its row")
    return key
