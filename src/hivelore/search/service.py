"""Recalling: the memories most worth reading now."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from hivelore.core.access import memory_for_viewer, visible_to
from hivelore.core.agents import LeadSees, Viewer
from hivelore.core.clock import Clock
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.embeddings.active_model import ActiveModel, EmbeddedQuery
from hivelore.feedback.buffer import WriteBehindBuffer
from hivelore.feedback.recall_log import RecallLog
from hivelore.indexes.ports import KeywordIndex
from hivelore.indexing.model import Candidate, Candidates, DocumentKey, Neighbour, PassageKey, Vector
from hivelore.memories.model import Memory, RankFeatures
from hivelore.observations.confidence import Lifecycle, is_active
from hivelore.observations.model import Operational
from hivelore.search.dates import date_spans
from hivelore.search.fusion import FusionWeights, Relevance, Spread, fuse
from hivelore.search.model import Filter, Hit, Query, RecallResult, RetrievalMode, Score, Visibility
from hivelore.search.query_analysis import QueryAnalysis, analyze_query, text_to_embed
from hivelore.search.ranking import (
    Boosts,
    Profile,
    Ranked,
    RankingConstants,
    RecencyConflicts,
    candidate_boosts,
    promote_updates,
    score,
    sort_by_score,
)
from hivelore.search.selection import Memories, Vectors, is_crowded_by_duplicates, select_hits
from hivelore.search.snippets import build_hits, fit_to_budget, hits_as_of, summary_snippet
from hivelore.storage.ports import MemoryStore, View

LEAST_READ = 50
"""Of the most recent, at a time."""
LEAST_CANDIDATES = 50
"""Candidates asked of each index even for small limits: fusion needs a list to compare within."""
KEYWORD_DEPTH = 500
"""How far down the keyword matches a near passage is looked for: being the 200th of them is still worth something. And
how many candidates are asked of each index, once more, where copies crowd the others out."""

INCOMPLETE = "The keyword index is being built anew: what is not in it yet is not found by its words. Ask again later."


@dataclass(frozen=True, slots=True)
class _Matched:
    """What is done for the keywords while the question is embedded."""

    candidates: Candidates
    rarities: Mapping[str, float]
    """Of the terms of the question."""

    words: int
    """Of the question."""
    weight: float
    """What a full answer weighs."""

    @property
    def answered(self) -> float:
        """How much of the question the best one answers: 0 nothing, about 1 all of its terms."""
        return self.candidates[0].score / self.weight if self.candidates and self.weight > 0.0 else 0.0


@dataclass(frozen=True, slots=True)
class _Found:
    """What the indexes propose, still unchecked."""

    keywords: Mapping[DocumentKey, Candidate]
    nearest: Mapping[DocumentKey, Neighbour]
    relevance: Mapping[DocumentKey, Relevance]
    standings: Mapping[DocumentKey, RankFeatures]
    """As far as the filter admits them."""
    weight: float
    """What all words of the question weigh."""
    vectors: Mapping[PassageKey, Vector]

    def rank(self, key: DocumentKey, features: RankFeatures, score: Score) -> Ranked:
        near, match = self.nearest.get(key), self.keywords.get(key)
        answered = match.score / self.weight if match is not None and self.weight > 0.0 else 0.0
        return Ranked(key, features, score, None if near is None else near.cosine, answered)


class _Reading:
    """The memories of some candidates, each read once."""

    def __init__(self, view: View, where: Filter) -> None:
        self._view, self._where = view, where
        self._read: dict[DocumentKey, Memory] = {}

    def __call__(self, keys: Sequence[DocumentKey]) -> Mapping[DocumentKey, Memory]:
        missing = [key for key in keys if key not in self._read]
        if missing:
            self._read.update(self._view.memories_of(missing, self._where))
        return {key: self._read[key] for key in keys if key in self._read}


class SearchService:
    def __init__(
        self,
        *,
        store: MemoryStore,
        keywords: KeywordIndex,
        active_model: ActiveModel,
        ranking: RankingConstants,
        fusion_weights: FusionWeights,
        boosts: Boosts,
        recency_conflicts: RecencyConflicts,
        lifecycle: Lifecycle,
        lead_sees: LeadSees,
        write_buffer: WriteBehindBuffer,
        clock: Clock,
        keywords_complete: Callable[[], bool],
        log: RecallLog | None = None,
    ) -> None:
        self._store = store
        self._keywords = keywords
        self._active_model = active_model
        self._ranking = ranking
        self._fusion_weights = fusion_weights
        self._boosts = boosts
        self._recency_conflicts = recency_conflicts
        self._lifecycle = lifecycle
        self._lead_sees = lead_sees
        self._write_buffer = write_buffer
        self._clock = clock
        self._keywords_complete = keywords_complete
        self._log = log

    def recall(self, query: Query, viewer: Viewer, deadline: float | None = None) -> RecallResult:
        """The memories most worth reading now, best first, and the truth about how they were found."""
        now = query.now or query.as_of or self._clock.now()
        where = self._filter(query, viewer, now)
        complete = self._keywords_complete()  # asked before the snapshot is taken, which has then as much
        with (
            self._active_model.query_embedding(Clean(text_to_embed(query.text))) as embedding,
            self._store.read(deadline, sees=self._sees(viewer)) as view,
        ):
            asked = analyze_query(query.text, rarities=partial(self._keywords.rarities, view))
            terms, wanted = asked.terms, self._wanted(query.limit)
            matched = self._matched(view, wanted, asked, where)
            embedded, memories = embedding(), _Reading(view, where)
            while True:
                found = self._candidates(view, wanted, matched, embedded, where)
                vectors = self._vectors(view, embedded, found)
                ranked = self._ranked(found, now, query.text)
                ranked = self._renewed(ranked, vectors, memories, query.limit, terms)
                best = select_hits(ranked, query, terms, vectors, memories)
                is_all = len(found.relevance) < wanted or wanted >= KEYWORD_DEPTH
                if is_all or not is_crowded_by_duplicates(best, len(ranked), query.limit):
                    break
                wanted = KEYWORD_DEPTH
            hits = build_hits(view, best, memories, found, matched.rarities)
            if ranked or embedded.vector is not None or query.only_fitting:
                path = RetrievalMode.HYBRID if embedded.vector is not None else RetrievalMode.KEYWORDS
            else:
                hits, path = self._recent(view, where, query.limit, now), RetrievalMode.RECENT
            if query.as_of is not None:
                hits = hits_as_of(view, hits, query.as_of, matched.rarities)
        hits = [hit for hit in hits if (hit.memory.id, hit.memory.version) not in query.known]
        hits = fit_to_budget(hits, query.budget, matched.rarities)
        hits = [replace(hit, memory=memory_for_viewer(viewer, hit.memory)) for hit in hits]
        message = _message(len(hits), path, embedded.missing_reason, silent=bool(ranked) and not hits)
        self._write_buffer.note_reads([hit.memory for hit in hits], viewer, self._clock.now())
        answer = RecallResult(
            message=message if complete else f"{message} {INCOMPLETE}",
            path=path,
            fits=any(hit.fits for hit in hits),
            hits=tuple(hits),
        )
        return answer if self._log is None else self._log.noted(query, viewer, answer, len(ranked))

    # steps

    def _filter(self, query: Query, viewer: Viewer, now: datetime) -> Filter:
        return Filter(
            visibility=visible_to(viewer, self._lead_sees, query.scope),
            owner=query.owner,
            source=query.source,
            project=query.project,
            session=query.session,
            superseded=None if query.superseded or query.as_of is not None else False,
            held_at=query.as_of,
            live_at=query.as_of or now,
        )

    def _sees(self, viewer: Viewer) -> Visibility:
        """The most."""
        return visible_to(viewer, self._lead_sees)

    def _wanted(self, limit: int) -> int:
        """How many candidates each index is to propose."""
        least = 0 if self._ranking.profile is Profile.DOCUMENTED else LEAST_CANDIDATES
        return max(self._ranking.candidate_multiplier * limit, least)

    def _matched(self, view: View, wanted: int, asked: QueryAnalysis, where: Filter) -> _Matched:
        matches = self._keywords.search(view, asked.terms, where, max(wanted, KEYWORD_DEPTH))
        rarities = self._keywords.rarities(view, asked.terms)
        return _Matched(matches, rarities, asked.words, asked.weight(rarities))

    def _candidates(self, view: View, wanted: int, matched: _Matched, embedded: EmbeddedQuery, where: Filter) -> _Found:
        matches = matched.candidates
        documents: list[DocumentKey] = matches.documents.tolist()
        neighbours = self._active_model.nearest(view, embedded, where, wanted, documents[:wanted])
        nearest = {near.document: near for near in neighbours.nearest}
        rows = zip(documents, matches.chunks.tolist(), matches.scores.tolist(), strict=True)
        scored = [Candidate(*row) for place, row in enumerate(rows) if place < wanted or row[0] in nearest]
        looked_at = neighbours.nearest if self._fusion_weights.tokens > 0.0 else ()
        by_tokens = self._active_model.token_scores(view, embedded, looked_at, matched.rarities)
        standings = view.rank_features_of({*nearest, *(one.document for one in scored)}, where)
        relevance = fuse(
            {key: score for key, _, score in scored},
            {key: near.cosine for key, near in nearest.items()},
            by_tokens(),
            Spread(count=neighbours.count, mean=neighbours.mean, deviation=neighbours.deviation),
            matched.answered,
            self._fusion_weights,
            matched.words,
        )
        keywords = {one.document: one for one in scored}
        return _Found(keywords, nearest, relevance, standings, matched.weight, neighbours.vectors)

    def _ranked(self, found: _Found, now: datetime, question: str) -> list[Ranked]:
        """What the filter admits, in order."""
        standings = {key: one for key, one in found.standings.items() if self._is_in_use(one.operational, now)}
        relevance = {key: found.relevance[key].fused for key in standings}
        boosts = candidate_boosts(standings, relevance, question, self._boosts, date_spans(question, now))
        return sort_by_score(
            [
                found.rank(key, one, score(one, found.relevance[key], boosts[key], now, self._ranking))
                for key, one in standings.items()
            ]
        )

    def _is_in_use(self, known: Operational | None, now: datetime) -> bool:
        """What is known about running things and was contradicted, or worn off, is kept for whoever looks it up."""
        return known is None or is_active(known, now, self._lifecycle)

    def _vectors(self, view: View, embedded: EmbeddedQuery, found: _Found) -> Vectors:
        def vectors(keys: Sequence[DocumentKey]) -> Mapping[DocumentKey, Vector]:
            near = {key: found.nearest[key].passage for key in keys if key in found.nearest}
            known = self._active_model.vectors(view, embedded, list(near.values()), found.vectors)
            return {key: known[passage] for key, passage in near.items() if passage in known}

        return vectors

    def _renewed(
        self, ranked: list[Ranked], vectors: Vectors, memories: Memories, limit: int, terms: Collection[str]
    ) -> list[Ranked]:
        if self._ranking.profile is Profile.DOCUMENTED:
            return ranked
        # The best few may change places among themselves: what is shown is among these.
        best = memories([one.key for one in ranked[: max(limit, self._recency_conflicts.among)]])
        return promote_updates(ranked, frozenset(terms), vectors, best, self._recency_conflicts)

    def _recent(self, view: View, where: Filter, limit: int, now: datetime) -> list[Hit]:
        found, after = list[Memory](), None
        while len(found) < limit and (page := view.page(where, after, max(limit, LEAST_READ))):
            found += [one for one in page if self._is_in_use(one.operational, now)]
            after = page[-1].created_at, page[-1].id
        return [
            Hit(memory=memory, passage=summary_snippet(memory), score=Score(total=0.0, similarity=0.0))
            for memory in found[:limit]
        ]


def _message(count: int, path: RetrievalMode, why_not: str | None, *, silent: bool) -> str:
    """``silent``: something was found, and nothing of it fits."""
    if silent:
        return "Nothing fits well enough."
    found = f"{count} {'memory' if count == 1 else 'memories'} found"
    match path:
        case RetrievalMode.HYBRID:
            return f"{found}." if count else "Nothing matches."
        case RetrievalMode.KEYWORDS:
            return f"{found} by keywords only: {why_not}."
        case RetrievalMode.RECENT:
            return f"No keyword matches, and no semantic search ({why_not}): the {count} most recent instead."
