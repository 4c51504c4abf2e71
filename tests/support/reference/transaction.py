"""Transactions of the reference store: views whose state is replaced by each write."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from heapq import nsmallest

import numpy as np

from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.core.vectors import check_vector
from hivelore.errors import Conflict, NotFound, Stale
from hivelore.feedback.recalls import Evidence, merge_evidence
from hivelore.indexing.model import (
    Change,
    ChangeKind,
    ModelKey,
    QueuedPassage,
    TokenCodes,
    Vector,
)
from hivelore.links.judge import PairScores
from hivelore.memories.model import Action, Chunk, Memory, MemoryId
from hivelore.memories.stored import ChunkKey, DocumentKey, PassageKey, Stored, StoredChunk
from hivelore.memories.whole import WholeMemory
from hivelore.observations.model import Held, Observation, ObservationKind, Pair
from hivelore.storage.change_recorder import ChangeRecorder
from support.reference import events, links, proposals
from support.reference.state import (
    NO_DOCUMENTS,
    UNJUDGED,
    Document,
    Failure,
    Judged,
    Model,
    external_place,
    id_place,
    in_project,
    path_place,
    places,
    unique_places,
    version_of,
)
from support.reference.swarm import ReferenceSwarm
from support.reference.view import detached


class ReferenceTransaction(ChangeRecorder, ReferenceSwarm):
    def add(self, memory: Memory, chunks: Sequence[Chunk]) -> Stored:
        self._refuse_taken(memory, None)
        key = DocumentKey(self._new_key())
        memory = detached(memory)
        stored = tuple(self._new_chunk(key, chunk) for chunk in chunks)
        self._put_document(key, Document(memory, (version_of(memory, Action.CREATED),), stored))
        self._log(ChangeKind.CREATED, key)
        self.record_new(key)
        return self._stored(key)

    def import_memories(self, memories: Sequence[WholeMemory]) -> None:
        before = self.state
        try:
            for one in memories:
                self._import_rows(one)
        except Conflict:
            self.state = before
            raise

    def _import_rows(self, one: WholeMemory) -> None:
        passages = [passage for stored in one.chunks for passage in stored.passages]
        taken = self.state.passages
        if one.key in self.state.documents or any(passage in taken for passage in passages):
            raise Conflict(f"The key of the memory {one.memory.id} is taken.")
        self._refuse_taken(one.memory, None)
        for passage in passages:
            taken = taken.put(passage, one.key)
        last = max(self.state.last_key, one.key, *passages, *(stored.key for stored in one.chunks))
        self.state = replace(self.state, passages=taken, last_key=last)
        self.record_new(one.key)
        document = Document(detached(one.memory), one.history, one.chunks, one.observations, one.evidence)
        self._put_document(one.key, document)
        self._log(ChangeKind.CREATED, one.key)

    def change(self, key: DocumentKey, memory: Memory, chunks: Sequence[Chunk] | None, action: Action) -> None:
        before = self.state.documents.get(key)
        if before is None:
            raise NotFound("This memory no longer exists.")
        if memory.version != before.memory.version + 1:
            raise Stale(
                f"The memory has version {before.memory.version} now. Read it again and repeat the change.",
                current=before.memory.version,
            )
        self._refuse_taken(memory, key)
        self.record_state(key)
        memory = replace(
            detached(memory), access_count=before.memory.access_count, accessed_at=before.memory.accessed_at
        )
        stored = before.chunks if chunks is None else self._rechunked(key, before, memory, chunks)
        history = (*before.history, version_of(memory, action))
        self._put_document(key, replace(before, memory=memory, history=history, chunks=stored))
        self._log(ChangeKind.ATTRIBUTES if chunks is None else ChangeKind.CONTENT, key)

    def drop_version(self, key: DocumentKey, number: int) -> None:
        document = self.state.documents.get(key)
        if document is not None:
            *previous, current = document.history
            kept = (*(one for one in previous if one.number != number), current)
            self._put_document(key, replace(document, history=kept))

    def set_expiry(self, key: DocumentKey, expires_at: datetime | None) -> None:
        self.record_state(key)
        document = self.state.documents.get(key)
        if document is None:
            return
        memory = replace(document.memory, expires_at=expires_at)
        history = (*document.history[:-1], replace(document.history[-1], expires_at=expires_at))
        self._put_document(key, replace(document, memory=memory, history=history))
        self._log(ChangeKind.ATTRIBUTES, key)

    def set_validity(self, key: DocumentKey, valid_until: datetime | None, supersedes: MemoryId | None) -> None:
        self.record_state(key)
        document = self.state.documents.get(key)
        if document is not None:
            memory = replace(document.memory, valid_until=valid_until, supersedes=supersedes)
            self._put_document(key, replace(document, memory=memory))
            self._log(ChangeKind.ATTRIBUTES, key)

    def add_observation(self, key: DocumentKey, held: Held, observation: Observation) -> None:
        before = self.state.documents.get(key)
        self.replace_observations(key, held, () if before is None else (*before.observations, observation))

    def replace_observations(self, key: DocumentKey, held: Held, observations: Sequence[Observation]) -> None:
        self.record_state(key)
        document = self.state.documents.get(key)
        if document is None or document.memory.operational is None:
            return
        memory = replace(document.memory, operational=document.memory.operational.with_confidence(held))
        self._put_document(key, replace(document, memory=memory, observations=tuple(observations)))
        self._log(ChangeKind.ATTRIBUTES, key)

    def claim(self, what: bytes) -> None:
        """Does nothing: transactions are serial."""

    def erase_quotes(self, words: Collection[Clean]) -> Sequence[DocumentKey]:
        quoting: list[DocumentKey] = []
        for key, document in self.state.documents.items():
            codes_of_it = tuple(
                replace(one, text=None) if one.kind is ObservationKind.CONTRADICTED and one.text in words else one
                for one in document.observations
            )
            if codes_of_it != document.observations:
                self._put_document(key, replace(document, observations=codes_of_it))
                quoting.append(key)
        return sorted(quoting)

    def put_verdicts(self, model: Clean, verdicts: Mapping[Pair, PairScores]) -> None:
        known = self.state.verdicts
        for pair, scores in verdicts.items():
            known = known.put((model, pair), scores)
        self.state = replace(self.state, verdicts=known)

    def drop_verdicts(self, texts: Collection[Clean]) -> None:
        known = self.state.verdicts
        for place in list(known):
            if set(place[1]) & set(texts):
                known = known.drop(place)
        self.state = replace(self.state, verdicts=known)

    def drop_other_verdicts(self, model: Clean) -> None:
        known = self.state.verdicts
        for place in list(known):
            if place[0] != model:
                known = known.drop(place)
        self.state = replace(self.state, verdicts=known)

    def put_judged(self, documents: Collection[DocumentKey], mark: Clean | None) -> None:
        for key in documents:
            self._put_judged(key, (mark, self.state.judged.get(key, UNJUDGED)[1]))

    def keep(self, documents: Collection[DocumentKey]) -> None:
        for key in documents:
            self._put_judged(key, (self.state.judged.get(key, UNJUDGED)[0], True))

    def _put_judged(self, key: DocumentKey, judged: Judged) -> None:
        if key in self.state.documents:
            self.state = replace(self.state, judged=self.state.judged.put(key, judged))

    def add_evidence(self, found: Mapping[DocumentKey, Sequence[Evidence]]) -> None:
        self.record_state(*found)
        for key, new in found.items():
            self._put_evidence(key, merge_evidence(self.evidence(key), new))

    def drop_evidence(self, key: DocumentKey) -> None:
        self._put_evidence(key, ())

    def _put_evidence(self, key: DocumentKey, evidence: tuple[Evidence, ...]) -> None:
        document = self.state.documents.get(key)
        if document is not None and document.evidence != evidence:
            self._put_document(key, replace(document, evidence=evidence))
            self._log(ChangeKind.ATTRIBUTES, key)

    def forget(self, key: DocumentKey) -> None:
        if key not in self.state.documents:
            return
        self.record_removal(key)
        self._drop_passages(self.state.documents[key].chunks)
        self.state = links.without(proposals.without(self.state, self.state.documents[key].memory.id), key)
        self._leave_places(key)
        self.state = events.forgotten(replace(self.state, documents=self.state.documents.drop(key)), key)
        self._log(ChangeKind.FORGOTTEN, key)

    def count_reads(self, reads: Mapping[DocumentKey, tuple[int, datetime]]) -> None:
        for key, (count, at) in reads.items():
            if document := self.state.documents.get(key):
                memory = document.memory
                last = at if memory.accessed_at is None else max(at, memory.accessed_at)
                touched = replace(memory, access_count=memory.access_count + count, accessed_at=last)
                self._put_document(key, replace(document, memory=touched))

    def register_model(self, fingerprint: str, dimension: int) -> ModelKey:
        if known := self.model_key(fingerprint):
            return known
        model = Model(ModelKey(len(self.state.models) + 1), dimension)
        self.state = replace(self.state, models=self.state.models.put(fingerprint, model))
        return model.key

    def put_vectors(
        self,
        model: ModelKey,
        vectors: Mapping[PassageKey, Vector],
        tokens: Mapping[PassageKey, TokenCodes] | None = None,
    ) -> int:
        dimension = self.dimension(model)
        for vector in vectors.values():
            check_vector(vector, dimension)
        present = {passage: vector for passage, vector in vectors.items() if passage in self.state.passages}
        stored, failures, queued = self.state.vectors, self.state.failures, self.state.queued
        codes = self.state.tokens
        for passage, vector in present.items():
            own = np.array(vector, dtype=np.float32)
            own.setflags(write=False)
            place = model, passage
            stored, failures, queued = stored.put(place, own), failures.drop(place), queued.drop(place)
            codes_of_it = (tokens or {}).get(passage)
            codes = codes.put(place, codes_of_it) if codes_of_it else codes.drop(place)
        self.state = replace(self.state, vectors=stored, tokens=codes, failures=failures, queued=queued)
        self.release_passages(list(present))
        for key in sorted({self.state.passages[passage] for passage in present}):
            self._log(ChangeKind.VECTORS, key)
        return len(present)

    def embedding_failed(self, model: ModelKey, passage: PassageKey, error: Clean, not_before: datetime) -> None:
        if passage in self.state.passages:
            failure = Failure(error, not_before, self.embedding_attempts(model, passage) + 1)
            failures = self.state.failures.put((model, passage), failure)
            self.state = replace(self.state, failures=failures)
            self.release_passages([passage])

    def lease_passages(
        self, model: ModelKey, now: datetime, limit: int, *, lease: timedelta, newest_first: bool = False
    ) -> Sequence[QueuedPassage]:
        leased = self.state.leased
        waiting = self.queued_passages(model, now, len(self.state.passages), newest_first=newest_first)
        free = [one for one in waiting if leased.get(one.passage, now) <= now][:limit]
        for one in free:
            leased = leased.put(one.passage, now + lease)
        self.state = replace(self.state, leased=leased)
        return free

    def release_passages(self, passages: Sequence[PassageKey]) -> None:
        leased = self.state.leased
        for passage in passages:
            leased = leased.drop(passage)
        self.state = replace(self.state, leased=leased)

    def retry_failed(self, model: ModelKey, limit: int) -> int:
        failures = self.state.failures
        noted = [place for place in failures if place[0] == model][:limit]
        for place in noted:
            failures = failures.drop(place)
        self.state = replace(self.state, failures=failures)
        return len(noted)

    def adopt_vectors(self, model: ModelKey, after: PassageKey, limit: int) -> Sequence[PassageKey]:
        return nsmallest(limit, (passage for key, passage in self.state.vectors if key == model and passage > after))

    def requeue(self, model: ModelKey, after: PassageKey, limit: int) -> Sequence[PassageKey]:
        queued = self.state.queued
        chosen = self.adopt_vectors(model, after, limit)
        for passage in chosen:
            for other in self.state.models.values():
                queued = queued.drop((other.key, passage))
            queued = queued.put((model, passage), True)
        self.state = replace(self.state, queued=queued)
        return chosen

    def cancel_requeue(self, model: ModelKey, limit: int) -> int:
        queued = self.state.queued
        leaving = [place for place in queued if place[0] == model][:limit]
        for place in leaving:
            queued = queued.drop(place)
        self.state = replace(self.state, queued=queued)
        return len(leaving)

    def requeue_lost(self, limit: int) -> int:
        del limit
        return self.count_lost_vectors()

    def drop_vectors(self, model: ModelKey, limit: int) -> int:
        vectors, tokens, queued = self.state.vectors, self.state.tokens, self.state.queued
        doomed = [place for place in vectors if place[0] == model][:limit]
        for place in doomed:
            vectors, tokens, queued = vectors.drop(place), tokens.drop(place), queued.drop(place)
        self.state = replace(self.state, vectors=vectors, tokens=tokens, queued=queued)
        return len(doomed)

    def _new_key(self) -> int:
        self.state = replace(self.state, last_key=self.state.last_key + 1)
        return self.state.last_key

    def _log(self, kind: ChangeKind, key: DocumentKey) -> None:
        change = Change(self.change_cursor().upto + 1, kind, key)
        self.state = replace(self.state, changes=self.state.changes.put(change.seq, change))

    def _refuse_taken(self, memory: Memory, by: DocumentKey | None) -> None:
        scope = "among the shared memories" if memory.home is None else f"among the memories of {memory.home}"
        words = {id_place(memory.id): f"A memory with the id {memory.id} exists already. Change that one."}
        if memory.source_path is not None:
            place = in_project(path_place(memory.home, memory.source_path), memory)
            words[place] = f"{memory.source_path} is taken {scope}."
        if memory.external_id is not None:
            place = in_project(external_place(memory.home, memory.external_id), memory)
            words[place] = f"{memory.external_id} is taken {scope}."
        for place in unique_places(memory):
            if self.state.places.get(place, NO_DOCUMENTS) - {by}:
                raise Conflict(words[place])

    def _put_document(self, key: DocumentKey, document: Document) -> None:
        self._leave_places(key)
        taken = self.state.places
        for place in places(document.memory):
            taken = taken.put(place, taken.get(place, NO_DOCUMENTS) | {key})
        self.state = replace(self.state, documents=self.state.documents.put(key, document), places=taken)

    def _leave_places(self, key: DocumentKey) -> None:
        document = self.state.documents.get(key)
        taken = self.state.places
        for place in places(document.memory) if document else ():
            others = taken[place] - {key}
            taken = taken.put(place, others) if others else taken.drop(place)
        self.state = replace(self.state, places=taken)

    def _rechunked(
        self, key: DocumentKey, before: Document, memory: Memory, chunks: Sequence[Chunk]
    ) -> tuple[StoredChunk, ...]:
        """Returns these chunks as stored. An unchanged chunk keeps its keys at any position."""
        left: defaultdict[object, list[StoredChunk]] = defaultdict(list)
        for stored in reversed(before.chunks):
            left[stored.chunk.identity(before.memory.content)].append(stored)
        now: list[StoredChunk] = []
        for chunk in chunks:
            same = left[chunk.identity(memory.content)]
            now.append(replace(same.pop(), chunk=chunk) if same else self._new_chunk(key, chunk))
        self._drop_passages([stored for rest in left.values() for stored in rest])
        return tuple(now)

    def _new_chunk(self, key: DocumentKey, chunk: Chunk) -> StoredChunk:
        stored = StoredChunk(
            key=ChunkKey(self._new_key()),
            document=key,
            chunk=chunk,
            passages=tuple(PassageKey(self._new_key()) for _ in chunk.passages),
        )
        passages = self.state.passages
        for passage in stored.passages:
            passages = passages.put(passage, key)
        self.state = replace(self.state, passages=passages)
        return stored

    def _drop_passages(self, chunks: Sequence[StoredChunk]) -> None:
        passages, vectors, tokens = self.state.passages, self.state.vectors, self.state.tokens
        failures, queued = self.state.failures, self.state.queued
        for passage in (passage for chunk in chunks for passage in chunk.passages):
            passages = passages.drop(passage)
            for model in self.state.models.values():
                place = model.key, passage
                vectors, tokens = vectors.drop(place), tokens.drop(place)
                failures, queued = failures.drop(place), queued.drop(place)
        self.state = replace(
            self.state, passages=passages, vectors=vectors, tokens=tokens, failures=failures, queued=queued
        )
