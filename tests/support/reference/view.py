"""Reads of memories and counts from the reference store."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from copy import deepcopy
from datetime import datetime
from heapq import nlargest, nsmallest
from itertools import islice
from typing import Final

import numpy as np

from hivelore.core.agents import AgentId
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import NotFound
from hivelore.feedback.model import UsageCounts
from hivelore.feedback.recalls import Evidence, count_usage
from hivelore.indexing.model import (
    AttributeColumns,
    Attributes,
    Change,
    ChangeCursor,
    Deferred,
    ModelKey,
    PassageVectors,
    QueuedPassage,
    TokenCodes,
    Vector,
)
from hivelore.links.judge import PairScores
from hivelore.memories.model import (
    Memory,
    MemoryId,
    RankFeatures,
    Scope,
    Source,
    Statement,
    Topic,
    Version,
    rank_features,
)
from hivelore.memories.stored import ChunkKey, DocumentKey, PassageKey, Stored, StoredChunk
from hivelore.memories.whole import Counts
from hivelore.observations.model import Observation, Pair
from hivelore.search.model import Filter, Stats
from support.reference.state import (
    NO_DOCUMENTS,
    UNJUDGED,
    LookupKey,
    State,
    external_place,
    id_place,
    path_place,
    statement_place,
    superseded_place,
    thread_place,
    topic_place,
)
from support.reference.swarm_view import ReferenceSwarmView

BATCH: Final = 1_000
PAGE: Final = 1_000
"""Changes in a batch."""


def detached(memory: Memory) -> Memory:
    """Returns a copy of a memory with separate metadata, the only part that a caller could change in place."""
    return replace(memory, metadata=deepcopy(dict(memory.metadata))) if memory.metadata else memory


class ReferenceView(ReferenceSwarmView):
    """A snapshot. ``state`` is for the indexes of this store."""

    def __init__(self, state: State) -> None:
        self.state = state

    def get(self, memory: MemoryId) -> Stored | None:
        return next(iter(self._at(id_place(memory))), None)

    def keys_of(self, memories: Collection[MemoryId]) -> Mapping[MemoryId, DocumentKey]:
        return {memory: one.key for memory in memories if (one := self.get(memory)) is not None}

    def memories_of(self, keys: Collection[DocumentKey], where: Filter) -> Mapping[DocumentKey, Memory]:
        found = {key: document.memory for key in keys if (document := self.state.documents.get(key))}
        return {key: detached(memory) for key, memory in found.items() if where.admits(memory)}

    def rank_features_of(self, keys: Collection[DocumentKey], where: Filter) -> Mapping[DocumentKey, RankFeatures]:
        found = self.memories_of(keys, where)
        return {
            key: rank_features(memory)._replace(use=count_usage(self.evidence(key))) for key, memory in found.items()
        }

    def matching_keys(self, where: Filter) -> Sequence[DocumentKey]:
        return [key for key, document in self.state.documents.items() if where.admits(document.memory)]

    def keys_below(self, key: DocumentKey, limit: int) -> Sequence[DocumentKey]:
        return nlargest(limit, (document for document in self.state.documents if document < key))

    def memories_at_path(self, home: AgentId | None, path: Clean) -> Sequence[Stored]:
        return self._at(path_place(home, path))

    def memories_with_external_id(self, home: AgentId | None, external_id: Clean) -> Sequence[Stored]:
        return self._at(external_place(home, external_id))

    def memory_with_statement(self, statement: Statement) -> Stored | None:
        return max(self._at(statement_place(statement)), key=lambda one: self._created(one.key), default=None)

    def fact_at(self, topic: Topic, at: datetime | None) -> Stored | None:
        facts = [one for one in self._facts(topic) if at is None or one.memory.holds_since <= at]
        return facts[-1] if facts else None

    def adjacent_facts(self, document: DocumentKey) -> tuple[Stored | None, Stored | None]:
        this = self.state.documents.get(document)
        if this is None or this.memory.topic is None:
            return None, None
        facts = self._facts(this.memory.topic)
        place = [one.key for one in facts].index(document)
        return facts[place - 1] if place else None, facts[place + 1] if place + 1 < len(facts) else None

    def facts_around(self, topic: Topic, at: datetime) -> tuple[Stored | None, Stored | None]:
        facts = self._facts(topic)
        until = [one for one in facts if one.memory.holds_since <= at]
        return until[-1] if until else None, facts[len(until)] if len(until) < len(facts) else None

    def successors_of(self, memory: str) -> Sequence[Stored]:
        return self._at(superseded_place(memory))

    def _at(self, place: LookupKey) -> list[Stored]:
        """Returns the memories with a lookup key, in order of arrival."""
        return [self._stored(key) for key in sorted(self.state.places.get(place, NO_DOCUMENTS))]

    def _facts(self, topic: Topic) -> list[Stored]:
        """Returns facts by instant, then in order of arrival."""
        return sorted(self._at(topic_place(topic)), key=lambda one: (one.memory.holds_since, one.key))

    def categories(self) -> Collection[Clean]:
        return {document.memory.category for document in self.state.documents.values()}

    def services(self) -> Collection[Clean]:
        known = (document.memory.operational for document in self.state.documents.values())
        return {one.service for one in known if one is not None and one.service is not None}

    def page(self, where: Filter, after: tuple[datetime, MemoryId] | None, limit: int) -> Sequence[Memory]:
        behind = (
            document.memory
            for document in self.state.documents.values()
            if (after is None or (document.memory.created_at, document.memory.id) < after)
            and where.admits(document.memory)
        )
        return [detached(memory) for memory in nlargest(limit, behind, key=lambda one: (one.created_at, one.id))]

    def ids_from(self, prefix: str, where: Filter, limit: int) -> Sequence[MemoryId]:
        memories = [document.memory for document in self.state.documents.values()]
        return sorted(one.id for one in memories if one.id.startswith(prefix) and where.admits(one))[:limit]

    def chunks(self, document: DocumentKey) -> Sequence[StoredChunk]:
        found = self.state.documents.get(document)
        return found.chunks if found else ()

    def chunks_of(self, documents: Collection[DocumentKey]) -> Deferred[Mapping[DocumentKey, Sequence[StoredChunk]]]:
        found = {key: chunks for key in documents if (chunks := self.chunks(key))}
        return lambda: found

    def earlier_in_session(self, document: DocumentKey, limit: int) -> Sequence[Stored]:
        earlier, _ = self._thread(document)
        return [self._stored(key) for key in islice(reversed(earlier), limit)]

    def later_in_session(self, document: DocumentKey, limit: int) -> Sequence[Stored]:
        _, later = self._thread(document)
        return [self._stored(key) for key in islice(later, limit)]

    def history(self, document: DocumentKey) -> Sequence[Version]:
        found = self.state.documents.get(document)
        return found.history if found else ()

    def histories(self, documents: Collection[DocumentKey]) -> Mapping[DocumentKey, Sequence[Version]]:
        return {key: found for key in documents if (found := self.history(key))}

    def observations(self, document: DocumentKey) -> Sequence[Observation]:
        found = self.state.documents.get(document)
        return sorted(found.observations, key=lambda one: one.at) if found else ()

    def observations_of(self, documents: Collection[DocumentKey]) -> Mapping[DocumentKey, Sequence[Observation]]:
        return {key: found for key in documents if (found := self.observations(key))}

    def verdicts(self, model: Clean, pairs: Collection[Pair]) -> Mapping[Pair, PairScores]:
        found = ((pair, self.state.verdicts.get((model, pair))) for pair in pairs)
        return {pair: scores for pair, scores in found if scores is not None}

    def observation_counts(self, documents: Collection[DocumentKey]) -> Mapping[DocumentKey, int]:
        return {key: len(found) for key, found in self.observations_of(documents).items()}

    def unjudged(self, mark: Clean) -> Sequence[DocumentKey]:
        latest: dict[tuple[Clean | None, Clean], DocumentKey] = {}
        for key, one in sorted(self.state.documents.items()):
            if one.memory.operational is not None and self.state.judged.get(key, UNJUDGED)[0] != mark:
                latest[one.memory.operational.service, one.memory.category] = key
        return sorted(latest.values(), reverse=True)

    def kept(self, documents: Collection[DocumentKey]) -> Set[DocumentKey]:
        return {key for key in documents if self.state.judged.get(key, UNJUDGED)[1]}

    def evidence(self, document: DocumentKey) -> Sequence[Evidence]:
        found = self.state.documents.get(document)
        return found.evidence if found else ()

    def most_used(self, where: Filter, limit: int) -> Sequence[tuple[Memory, UsageCounts]]:
        found = self.memories_of(self.matching_keys(where), where)
        uses = {key: count_usage(self.evidence(key)) for key in found}
        weight = {key: use.opened + use.cited + use.applied + use.useful + use.useless for key, use in uses.items()}
        best = sorted((key for key in found if weight[key]), key=lambda key: (weight[key], key), reverse=True)
        return [(found[key], uses[key]) for key in best[:limit]]

    def evidence_of(self, documents: Collection[DocumentKey]) -> Mapping[DocumentKey, Sequence[Evidence]]:
        return {key: found for key in documents if (found := self.evidence(key))}

    def stats(self, where: Filter, model: ModelKey | None, now: datetime) -> Stats:
        counted = {key: one for key, one in self.state.documents.items() if where.admits(one.memory)}
        sources = Counter(one.memory.source for one in counted.values())
        scopes = Counter(one.memory.scope for one in counted.values())
        failed, pending = 0, 0
        if model is not None:
            passages = [passage for one in counted.values() for chunk in one.chunks for passage in chunk.passages]
            failed = sum(self._is_failing(model, passage) for passage in passages)
            pending = sum(self._is_pending(model, passage) for passage in passages)
        return Stats(
            total=len(counted),
            by_source={source: sources[source] for source in Source},
            by_scope={scope: scopes[scope] for scope in Scope},
            pending_embeddings=pending,
            failed=failed,
            expired=sum(not one.memory.is_live(now) for one in counted.values()),
        )

    def change_cursor(self) -> ChangeCursor:
        return ChangeCursor(len(self.state.changes))

    def changes(self, since: ChangeCursor) -> Iterator[tuple[ChangeCursor, Sequence[Change]]]:
        last = len(self.state.changes)
        for before in range(since.upto, last, PAGE):
            batch = range(before + 1, min(before + PAGE, last) + 1)
            yield ChangeCursor(batch[-1]), [self.state.changes[seq] for seq in batch]

    def model_key(self, fingerprint: str) -> ModelKey | None:
        found = self.state.models.get(fingerprint)
        return found.key if found else None

    def model_keys(self) -> Mapping[str, ModelKey]:
        return {fingerprint: model.key for fingerprint, model in self.state.models.items()}

    def dimension(self, model: ModelKey) -> int:
        for known in self.state.models.values():
            if known.key == model:
                return known.dimension
        raise NotFound("This embedding model is not registered. Register it first.")

    def embedded(self, model: ModelKey, keys: Sequence[DocumentKey]) -> PassageVectors:
        attributes = self.attributes(keys)
        found = [(key, *rest) for key in attributes for rest in self._embedded_passages(model, key)]
        return PassageVectors(
            documents=np.array([document for document, *_ in found], np.int64),
            chunks=np.array([chunk for _, chunk, *_ in found], np.int64),
            passages=np.array([passage for _, _, passage, _ in found], np.int64),
            vectors=np.array([vector for *_, vector in found], np.float32).reshape(len(found), -1 if found else 0),
            attributes=AttributeColumns.of([attributes[document] for document, *_ in found]),
        )

    def all_embedded(self, model: ModelKey) -> Iterator[PassageVectors]:
        keys = iter(self.state.documents)
        while batch := list(islice(keys, BATCH)):
            if found := self.embedded(model, batch):
                yield found

    def attributes(self, keys: Sequence[DocumentKey]) -> Mapping[DocumentKey, Attributes]:
        found = {key: document.memory for key in keys if (document := self.state.documents.get(key))}
        return {
            key: Attributes(
                owner=memory.owner,
                scope=memory.scope,
                source=memory.source,
                project=memory.project,
                session=memory.session,
                category=memory.category,
                created_at=memory.created_at,
                expires_at=memory.expires_at,
                superseded=memory.valid_until is not None,
            )
            for key, memory in found.items()
        }

    def vectors(self, model: ModelKey, passages: Sequence[PassageKey]) -> Mapping[PassageKey, Vector]:
        found = self.state.vectors
        return {passage: found[model, passage] for passage in passages if (model, passage) in found}

    def token_codes(self, model: ModelKey, passages: Sequence[PassageKey]) -> Deferred[Mapping[PassageKey, TokenCodes]]:
        known = self.state.tokens
        found = {passage: known[model, passage] for passage in passages if (model, passage) in known}
        return lambda: found

    def queued_passages(
        self, model: ModelKey, now: datetime, limit: int, *, newest_first: bool = False
    ) -> Sequence[QueuedPassage]:
        due = (
            passage
            for passage in self.state.passages
            if self._wants_vector(model, passage) and self._is_due(model, passage, now)
        )
        first = nlargest(limit, due) if newest_first else nsmallest(limit, due)
        return [self._waiting(passage) for passage in first]

    def count_pending(self, model: ModelKey) -> int:
        return sum(self._is_pending(model, passage) for passage in self.state.passages)

    def count_failing(self, model: ModelKey) -> int:
        return sum(self._is_failing(model, passage) for passage in self.state.passages)

    def embedding_attempts(self, model: ModelKey, passage: PassageKey) -> int:
        failure = self.state.failures.get((model, passage))
        return failure.attempts if failure else 0

    def count_lost_vectors(self) -> int:
        """Returns 0: every passage without a vector is queued."""
        return 0

    def counts(self) -> Counts:
        versions = [version for document in self.state.documents.values() for version in document.history]
        return Counts(
            memories=len(self.state.documents),
            versions=len(versions),
            characters=sum(len(version.content) for version in versions),
            observations=sum(len(document.observations) for document in self.state.documents.values()),
            evidence=sum(len(document.evidence) for document in self.state.documents.values()),
            passages=len(self.state.passages),
            vectors=len(self.state.vectors),
            token_codes=len(self.state.tokens),
            agents=len(self.state.agents),
            keys=len(self.state.api_keys),
            audit=len(self.state.audit),
            recalls=len(self.state.recalls),
            events=len(self.state.events),
            cooldowns=len(self.state.cooldowns),
            proposals=len(self.state.proposals),
            links=len(self.state.links),
            batches=len(self.state.batches),
            preimages=sum(len(one.preimages) for one in self.state.batches.values()),
            config_entries=len(self.state.config_entries),
            config_versions=len(self.state.config_versions),
            repos=len(self.state.repos),
            repo_reports=len(self.state.repo_reports),
            setup_scripts=len(self.state.setup_scripts),
            script_drafts=len(self.state.script_drafts),
            profiles=len(self.state.profiles),
            profile_versions=len(self.state.profile_versions),
            jobs=len(self.state.jobs),
        )

    def _stored(self, key: DocumentKey) -> Stored:
        return Stored(key, detached(self.state.documents[key].memory))

    def _created(self, key: DocumentKey) -> tuple[datetime, MemoryId]:
        memory = self.state.documents[key].memory
        return memory.created_at, memory.id

    def _thread(self, key: DocumentKey) -> tuple[list[DocumentKey], list[DocumentKey]]:
        """Returns the documents before and after this one in its session, each oldest first."""
        document = self.state.documents.get(key)
        if document is None or document.memory.session is None:
            return [], []
        thread = sorted(self.state.places[thread_place(document.memory)])
        position = thread.index(key)
        return thread[:position], thread[position + 1 :]

    def _embedded_passages(self, model: ModelKey, key: DocumentKey) -> list[tuple[ChunkKey, PassageKey, Vector]]:
        return [
            (chunk.key, passage, vector)
            for chunk in self.chunks(key)
            for passage, vector in self.vectors(model, chunk.passages).items()
        ]

    def _waiting(self, passage: PassageKey) -> QueuedPassage:
        key = self.state.passages[passage]
        document = self.state.documents[key]
        stored = next(chunk for chunk in document.chunks if passage in chunk.passages)
        span = stored.chunk.passages[stored.passages.index(passage)]
        return QueuedPassage(
            passage, key, Clean(document.memory.content[span.start : span.stop]), document.memory.author
        )

    def _wants_vector(self, model: ModelKey, passage: PassageKey) -> bool:
        return (model, passage) not in self.state.vectors or (model, passage) in self.state.queued

    def _is_pending(self, model: ModelKey, passage: PassageKey) -> bool:
        return self._wants_vector(model, passage) and (model, passage) not in self.state.failures

    def _is_due(self, model: ModelKey, passage: PassageKey, now: datetime) -> bool:
        failure = self.state.failures.get((model, passage))
        return failure is None or failure.not_before <= now

    def _is_failing(self, model: ModelKey, passage: PassageKey) -> bool:
        return self._wants_vector(model, passage) and (model, passage) in self.state.failures
