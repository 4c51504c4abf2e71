"""Search service: recalls the memories most relevant to a query."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from heapq import nlargest

from hivelore.core.access import memory_for_viewer, visible_to
from hivelore.core.agents import LeadSees, Viewer
from hivelore.core.clock import Clock
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.embeddings import latest_writes
from hivelore.embeddings.active_model import ActiveModel, EmbeddedQuery
from hivelore.errors import Broken, Unavailable
from hivelore.feedback.recall_log import RecallLog, WriteBehindBuffer
from hivelore.indexes.ports import KeywordIndex
from hivelore.indexing.model import Candidate, Neighbours, Vector
from hivelore.links.chains import MOST_LATEST, MOST_SUCCESSORS, follow_updates, successors_first
from hivelore.links.decisions import DOUBT_ORDERED, may_update, stated_at
from hivelore.memories.model import Memory, MemoryId, RankFeatures
from hivelore.memories.stored import DocumentKey
from hivelore.models.ports import RelevanceReader
from hivelore.observations.confidence import Lifecycle, confidence_at, is_active
from hivelore.observations.model import Operational
from hivelore.observations.naming import DEFAULT_NAMING, Naming
from hivelore.search.dates import Span, date_spans
from hivelore.search.model import Filter, Hit, Query, RecallResult, RetrievalMode, Score, Updated
from hivelore.search.ranking import (
    Profile,
    Proposals,
    Ranked,
    SearchConstants,
    Selection,
    fuse,
    is_crowded_by_duplicates,
    place_successors,
    promote_updates,
    rank_candidates,
    select_hits,
)
from hivelore.search.relevance import FLOOR, asks_something, identifiers, relevance
from hivelore.search.snippets import build_hits, fit_to_budget, hits_as_of, summary_snippet
from hivelore.search.tokenizer import QueryAnalysis, analyze_query, text_to_embed, whole_terms
from hivelore.storage.ports import MemoryStore, View

LEAST_READ = 50
"""Least number of recent memories read at a time."""
TOP = 10
"""Best hits whose duplicates decide about a second attempt."""
MOST_SPANS = 3
"""Time spans of a query in which further candidates are looked up."""
LINKED = 50
"""Best candidates whose updates are looked up."""
KEYWORD_DEPTH = 500
"""Number of keyword matches among which near passages are looked up; the 200th match still counts. Also the number of
candidates requested from each index in a second attempt, if duplicates crowd out others."""

DOUBTED, MOST_DOUBTS = 3, 2
"""First memories whose doubts bring in later ones, and the number of these for each."""
NO_READER = "no relevance model is configured"
READING_TIME = 0.1
"""Seconds in which the relevance model reads hits. Those that it does not reach count by the other evidence."""
INCOMPLETE = (
    "The keyword index is being rebuilt. Memories that it does not contain yet are not found by their words. "
    "Try again later."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchDependencies:
    """Stores, indexes and settings that a search uses. ``wait_for_latest`` waits for the vectors of the memories that a
    viewer just wrote, before a deadline, and returns how many of the last ``latest_writes.MOST`` have none yet; None:
    searches do not wait. ``log`` None: searches are not logged."""

    store: MemoryStore
    keywords: KeywordIndex
    keywords_complete: Callable[[], bool]
    active_model: ActiveModel
    write_buffer: WriteBehindBuffer
    clock: Clock
    lifecycle: Lifecycle
    lead_sees: LeadSees
    relevance_reader: RelevanceReader | None = None
    wait_for_latest: Callable[[Viewer, float | None], int] | None = None
    log: RecallLog | None = None
    naming: Naming = DEFAULT_NAMING


@dataclass(frozen=True, slots=True)
class _Found:
    """The best hits by their scores, before their relevance counts."""

    hits: Sequence[Hit]
    path: RetrievalMode
    candidates: int
    """Number of memories that were ranked."""
    no_vector: str | None
    """Why the query has no vector."""
    terms: Sequence[str]
    """Terms of the query."""
    rarities: Mapping[str, float]
    known: frozenset[MemoryId]
    """Those that the caller has seen."""
    behind: Mapping[MemoryId, Sequence[MemoryId]]
    """The hits that update, or may update, a hit: they come before it."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """Log odds of the first hits by the relevance model, by place, or the reason why there are none. Neither if it was
    not asked to read."""

    odds: Mapping[int, float]
    missing_reason: str | None = None


_NOT_READ = _Reading({})


class SearchService:
    def __init__(self, dependencies: SearchDependencies, constants: SearchConstants) -> None:
        self._on = dependencies
        self._constants = constants

    def recall(self, query: Query, viewer: Viewer, deadline: float | None = None) -> RecallResult:
        """Returns the memories most relevant to the query, best first, and how they were found."""
        on = self._on
        missing = 0
        if query.awaits_latest and on.wait_for_latest is not None:
            missing = on.wait_for_latest(viewer, deadline)
        is_complete = on.keywords_complete()  # Before the snapshot, which then contains at least as much.
        found = self._find(query, viewer, deadline)
        hits, reading = found.hits, _NOT_READ
        if found.path is not RetrievalMode.RECENT:
            asks = asks_something(found.terms)
            reading = self._read(query, hits) if asks else _NOT_READ
            relevant = _relevant(query, hits, asks, reading.odds, found.behind)
            hits = [one for one in relevant if one.memory.id not in found.known]
        hits = fit_to_budget(hits, query.budget, found.rarities)
        shown = [memory_for_viewer(viewer, hit.memory) for hit in hits]
        hits = [
            hit if hit.memory is memory else replace(hit, memory=memory)
            for hit, memory in zip(hits, shown, strict=True)
        ]
        message = _message(len(hits), found.path, found.no_vector, silent=found.candidates > 0 and not hits)
        message = message if is_complete else f"{message} {INCOMPLETE}"
        if missing and found.path is RetrievalMode.HYBRID:
            message = f"{message} {_notice_of_missing(missing)}"
        if reading.missing_reason is not None:
            message = f"{message} Not reranked: {reading.missing_reason}."
        at = on.clock.now()
        on.write_buffer.note_reads(shown, viewer, at)
        logged = None if on.log is None else on.log.log_recall(query, viewer, hits, found.path, found.candidates, at)
        fits = any(hit.fits for hit in hits)
        return RecallResult(message=message, path=found.path, fits=fits, hits=tuple(hits), id=logged)

    def _find(self, query: Query, viewer: Viewer, deadline: float | None) -> _Found:
        """Returns the best hits of one snapshot."""
        on = self._on
        now = query.now or query.as_of or on.clock.now()
        with (
            on.active_model.query_embedding(Clean(text_to_embed(query.text))) as embedding,
            on.store.read(deadline, sees=visible_to(viewer, on.lead_sees)) as view,
        ):
            where = self._filter(view, query, viewer, now)
            search = _Search(on, self._constants, view, where, now)
            # Another thread embeds the query meanwhile.
            search.match_keywords(query.text, max(self._wanted(query), KEYWORD_DEPTH))
            embedded, names = embedding(), identifiers(query.text)
            proposals, ranked, best = self._rank(search, query, embedded, names, now)
            hits = build_hits(view, best, search.memories, proposals, names, search.matches.rarities)
            known = {hit.memory.id for hit, one in zip(hits, best, strict=True) if one.is_known}
            shown = [one.key for one in best]
            hits = _mark_updated(hits, search.updated_by(shown))
            behind = search.behind(shown, [one.key for one in best if one.is_known])
            if ranked or embedded.vector is not None or query.only_fitting or query.least_relevance > 0.0:
                path = RetrievalMode.HYBRID if embedded.vector is not None else RetrievalMode.KEYWORDS
            else:
                recent, path = search.recent_hits(query.limit), RetrievalMode.RECENT
                hits = [hit for hit in recent if (hit.memory.id, hit.memory.version) not in query.known]
            if query.as_of is not None:
                hits = hits_as_of(view, hits, query.as_of, search.matches.rarities)
        terms, rarities = search.analysis.terms, search.matches.rarities
        return _Found(hits, path, len(ranked), embedded.missing_reason, terms, rarities, frozenset(known), behind)

    def _rank(
        self, search: "_Search", query: Query, embedded: EmbeddedQuery, names: Collection[str], now: datetime
    ) -> tuple[Proposals, Sequence[Ranked], Sequence[Selection]]:
        """Returns the proposed candidates, all of them ranked, and the best ones: as many as are asked for or read."""
        constants, wanted = self._constants, self._wanted(query)
        is_documented = constants.ranking.profile is Profile.DOCUMENTED
        top = query.limit if is_documented else TOP
        if not is_documented and constants.pool.named:
            search.look_up_named(embedded, wanted, names, date_spans(query.text, now)[:MOST_SPANS])
        while True:
            proposals = search.propose(embedded, wanted)
            ranked = rank_candidates(proposals, query, now, constants)
            if not is_documented:
                # The best few may swap places, and the answer is among these.
                among = max(query.limit, constants.recency_conflicts.among)
                memories = search.memories([one.key for one in ranked[:among]])
                terms = frozenset(search.analysis.terms)
                ranked = promote_updates(ranked, terms, search.vectors, memories, constants.recency_conflicts)
            ranked = search.order_top(search.place_successors(ranked))
            best = select_hits(ranked, query, top, search.vectors, search.memories, search.in_order())
            is_all = len(proposals.similarity) < wanted or wanted >= KEYWORD_DEPTH
            if is_all or not is_crowded_by_duplicates(best, len(ranked), top):
                break
            wanted = KEYWORD_DEPTH
        most = max(query.limit, query.reads)
        if most > top:
            best = select_hits(ranked, query, most, search.vectors, search.memories, search.in_order())
        return proposals, ranked, best[:most]

    def _wanted(self, query: Query) -> int:
        """Returns the number of candidates that each index proposes at first."""
        constants = self._constants
        if constants.ranking.profile is Profile.DOCUMENTED:
            return constants.ranking.candidate_multiplier * query.limit
        return constants.pool.each

    def _filter(self, view: View, query: Query, viewer: Viewer, now: datetime) -> Filter:
        naming, category = self._on.naming, query.category
        return Filter(
            visibility=visible_to(viewer, self._on.lead_sees, query.scope),
            owner=query.owner,
            source=query.source,
            project=query.project,
            session=query.session,
            tag=query.tag,
            categories=None if category is None else naming.categories_like(category, view.categories()),
            superseded=None if query.superseded or query.as_of is not None else False,
            held_at=query.as_of,
            live_at=query.as_of or now,
            created_after=query.created_after,
            created_before=query.created_before,
        )

    def _read(self, query: Query, hits: Sequence[Hit]) -> _Reading:
        """Lets the relevance model read the first hits, as many as it manages in time. If it is missing or fails, the
        other evidence has to do."""
        reader, clock = self._on.relevance_reader, self._on.clock
        if not query.reads or not hits:
            return _NOT_READ
        if reader is None:
            return _Reading({}, NO_READER)
        until, odds = clock.monotonic() + READING_TIME, dict[int, float]()
        try:
            read = reader.read(query.text)
            for place, hit in enumerate(hits[: query.reads]):
                if clock.monotonic() > until:
                    break
                odds[place] = read(_statement(hit))
        except (Unavailable, Broken) as error:
            return _Reading({}, str(error).rstrip("."))
        return _Reading(odds)


def _relevant(
    query: Query,
    hits: Sequence[Hit],
    asks: bool,
    odds: Mapping[int, float],
    behind: Mapping[MemoryId, Sequence[MemoryId]],
) -> list[Hit]:
    """Returns the hits with their relevance, up to the limits of the query, without those below its floor. ``asks``:
    whether the query asks something. ``odds``: those of the relevance model, by place. ``behind``: the successors
    of a hit, which are as relevant as the hit and come first."""
    rated = list[Hit]()
    floor = FLOOR if query.floor is None else query.floor
    for place, hit in enumerate(hits):
        evidence = replace(hit.evidence, read=odds.get(place))
        value = relevance(evidence) if asks else 0.0
        rated.append(replace(hit, relevance=round(value, 4), fits=value >= floor, evidence=evidence.rounded()))
    if odds:
        rated[: query.reads] = sorted(rated[: query.reads], key=lambda hit: hit.relevance, reverse=True)
    rated = _successors_first(rated, behind, floor)
    least = max(query.least_relevance, floor if query.only_fitting else 0.0)
    most, fitting, found = query.most_fitting or query.limit, 0, list[Hit]()
    for hit in rated:
        fitting += hit.fits
        if hit.relevance >= least and not (hit.fits and fitting > most):
            found.append(hit)
    return found[: query.limit]


def _successors_first(hits: Sequence[Hit], before: Mapping[MemoryId, Sequence[MemoryId]], floor: float) -> list[Hit]:
    by_id = {hit.memory.id: hit for hit in hits}
    placed, behind = list[Hit](), dict[MemoryId, float]()
    for memory in reversed(successors_first(by_id, before)):
        hit = by_id[memory]
        value = max(hit.relevance, behind.get(memory, 0.0))
        for successor in before.get(memory, ()):
            behind[successor] = max(behind.get(successor, 0.0), value)
        placed.append(hit if value == hit.relevance else replace(hit, relevance=value, fits=value >= floor))
    return placed[::-1]


def _mark_updated(hits: Sequence[Hit], updated_by: Mapping[MemoryId, Sequence[Updated]]) -> list[Hit]:
    """Returns the hits with the latest statement that updates each."""
    marked = list[Hit]()
    for hit in hits:
        successors = updated_by.get(hit.memory.id)
        marked.append(replace(hit, updated=successors[0]) if successors else hit)
    return marked


def _statement(hit: Hit) -> Clean:
    """Returns the text of a hit that the relevance model reads: its snippet, after the name if that says more."""
    name, shown = hit.memory.name, hit.passage.content
    return Clean(shown if shown.startswith(name.rstrip("…")) else f"{name}: {shown}")


class _Search:
    """One search in one snapshot: proposes candidates, and reads each memory once."""

    analysis: QueryAnalysis

    def __init__(
        self, on: SearchDependencies, constants: SearchConstants, view: View, where: Filter, now: datetime
    ) -> None:
        self._on, self._constants, self._view, self._where, self._now = on, constants, view, where, now
        self._memories: dict[DocumentKey, Memory] = {}
        self._named: dict[DocumentKey, Candidate] = {}
        self._dated: list[Neighbours] = []
        self._successors: dict[DocumentKey, Sequence[DocumentKey]] = {}
        self._stated_at: Mapping[DocumentKey, datetime] = {}
        self._later_in_top: dict[DocumentKey, Sequence[DocumentKey]] = {}

    def match_keywords(self, text: str, limit: int) -> None:
        keywords, view = self._on.keywords, self._view
        self.analysis = analyze_query(text, rarities=partial(keywords.rarities, view))
        self.matches = keywords.search(view, self.analysis.terms, self._where, limit)

    def look_up_named(self, query: EmbeddedQuery, wanted: int, names: Collection[str], spans: Sequence[Span]) -> None:
        """Looks up further candidates: those with an identifier of the query, and those of its time spans. If the
        keyword index has at most ``wanted`` matches, they are all candidates anyway."""
        keywords, view, limit = self._on.keywords, self._view, self._constants.pool.named
        windows = [_within(self._where, span) for span in spans]
        if len(self.matches) > wanted:
            for one in keywords.search(view, whole_terms(names, self.matches.rarities), self._where, limit):
                self._named[one.document] = one
            for window in windows:
                # After the others, because these scores count all terms.
                self._named.update(
                    (one.document, one) for one in keywords.search(view, self.analysis.terms, window, limit)
                )
        self._dated = [self._on.active_model.nearest(view, query, window, limit, ()) for window in windows]

    def propose(self, query: EmbeddedQuery, wanted: int) -> Proposals:
        """Returns about ``wanted`` candidates of each index and the named ones, with the features of those that the
        filter admits."""
        matches, model, view, named = self.matches, self._on.active_model, self._view, self._named
        documents: list[DocumentKey] = matches.documents.tolist()
        neighbours = model.nearest(view, query, self._where, wanted, [*documents[:wanted], *named])
        nearest = {near.document: near for found in (*self._dated, neighbours) for near in found.nearest}
        rows = zip(documents, matches.chunks.tolist(), matches.scores.tolist(), strict=True)
        also = nearest.keys() | named.keys()
        listed = {row[0]: Candidate(*row) for place, row in enumerate(rows) if place < wanted or row[0] in also}
        keywords = {**named, **listed}
        weights = self._constants.fusion_weights
        compared = list(nearest.values()) if weights.tokens > 0.0 else ()
        token_scores = model.token_scores(view, query, compared, matches.rarities)
        features = view.rank_features_of({*nearest, *keywords}, self._where)
        weight = self.analysis.weight(matches.rarities)
        scale = self._constants.pool.scale
        nearest_first = nlargest(scale, nearest, key=lambda key: nearest[key].cosine)
        similarity = fuse(
            {key: one.score for key, one in keywords.items()},
            {key: near.cosine for key, near in nearest.items()},
            token_scores(),
            neighbours.spread,
            float(matches.scores[0]) / weight if documents and weight > 0.0 else 0.0,
            weights,
            self.analysis.words,
            dict.fromkeys([*documents[:scale], *nearest_first]),
        )
        self._query, self._passages = query, {key: near.passage for key, near in nearest.items()}
        self._vectors = {key: one for found in (*self._dated, neighbours) for key, one in found.vectors.items()}
        active = {key: one for key, one in features.items() if self._is_active(one.operational)}
        confidences = {
            key: confidence_at(one.operational, self._now, self._on.lifecycle)
            for key, one in active.items()
            if one.operational is not None
        }
        return Proposals(keywords, nearest, similarity, active, confidences)

    def place_successors(self, ranked: Sequence[Ranked]) -> Sequence[Ranked]:
        """Returns the ranking with each of the best candidates behind the memories that update it. The latest of these
        are added if they are missing."""
        best = [one.key for one in ranked[:LINKED]]
        found = follow_updates(best, partial(self._view.updates_of, at=self._where.held_at or self._now))
        if not found:
            return ranked
        known = {one.key for one in ranked}
        missing = {one.key for key in best for one in found.get(key, ())[:MOST_LATEST]} - known
        features = dict[DocumentKey, RankFeatures]()
        if missing:
            read = self._view.rank_features_of(missing, self._where)
            features |= {key: one for key, one in read.items() if self._is_active(one.operational)}
        newer = {one.key for successors in found.values() for one in successors}
        self._stated_at = self._read_dates([one for one in newer if one in known or one in features])
        for key, successors in found.items():
            latest = [one for one in successors if one.key in self._stated_at]
            latest.sort(key=lambda one: (self._stated_at[one.key], one.id), reverse=True)
            self._successors[key] = [one.key for one in latest]
        added = {one for key in best for one in self._successors.get(key, ())[:MOST_SUCCESSORS]}
        return place_successors(ranked, self._successors, {key: features[key] for key in added if key in features})

    def order_top(self, ranked: Sequence[Ranked]) -> Sequence[Ranked]:
        """Returns the ranking with each of the first memories behind those among them that update it, contradict it or
        may update it. What may update the very first ones is one of them, also if it was no candidate."""
        self._later_in_top = {}
        top = {**{one.key: one.features for one in ranked[:TOP]}, **self._doubts_about(ranked)}
        found = self._view.later_among(top, DOUBT_ORDERED)
        if found:
            memories = self.memories(list(top))
            dates = self._read_dates(list({one for newer in found.values() for one in newer}))
            for older, newer in found.items():
                later = [one for one in newer if one in dates and may_update(memories[older], memories[one])]
                if later:
                    self._later_in_top[older] = later
        return place_successors(ranked, self.in_order(), top) if self._later_in_top else ranked

    def _doubts_about(self, ranked: Sequence[Ranked]) -> Mapping[DocumentKey, RankFeatures]:
        """Returns what most certainly may update or contradict the first memories, where nothing updates either."""
        at, known = self._where.held_at or self._now, {one.key: one.features for one in ranked}
        first = [one.key for one in ranked[:DOUBTED] if not self._successors.get(one.key)]
        doubts = self._view.doubts_of(first, DOUBT_ORDERED, at)
        later = {key for some in doubts.values() for key in some[:MOST_DOUBTS]}
        later -= self._view.updates_of(later, at).keys()
        missing = later - known.keys()
        found: dict[DocumentKey, RankFeatures] = {key: known[key] for key in later if key in known}
        if missing:
            read = self._view.rank_features_of(missing, self._where)
            found |= {key: one for key, one in read.items() if self._is_active(one.operational)}
        return found

    def in_order(self) -> Mapping[DocumentKey, Sequence[DocumentKey]]:
        """Returns, by memory, those that come before it because they update it or may do so."""
        keys = self._successors.keys() | self._later_in_top.keys()
        return {key: [*self._successors.get(key, ()), *self._later_in_top.get(key, ())] for key in keys}

    def behind(
        self, keys: Sequence[DocumentKey], known: Collection[DocumentKey]
    ) -> Mapping[MemoryId, Sequence[MemoryId]]:
        """Returns, by the id of a memory among ``keys``, those of the others that come before it. A doubt about a
        memory that the caller knows does not count: it would bring in the later memory alone."""
        shown, before = self.memories(keys), {**self.in_order()}
        before |= {key: self._successors.get(key, ()) for key in known}
        return {shown[key].id: [shown[one].id for one in before[key] if one in shown] for key in keys if key in before}

    def _read_dates(self, keys: Sequence[DocumentKey]) -> Mapping[DocumentKey, datetime]:
        """Returns when each memory's statement was made, without those that were made after the time of the filter."""
        memories, at = self.memories(keys), self._where.held_at
        histories = self._view.histories([key for key, one in memories.items() if one.version > 1])
        dates = {key: stated_at(one, histories.get(key, ())) for key, one in memories.items()}
        return {key: date for key, date in dates.items() if at is None or date <= at}

    def updated_by(self, keys: Sequence[DocumentKey]) -> Mapping[MemoryId, Sequence[Updated]]:
        """Returns, by the id of a memory among ``keys``, those of the others that update it, latest first."""
        shown = self.memories(keys)
        return {
            shown[key].id: [
                Updated(by=shown[one].id, at=self._stated_at[one]) for one in self._successors[key] if one in shown
            ]
            for key in keys
            if key in self._successors
        }

    def memories(self, keys: Sequence[DocumentKey]) -> dict[DocumentKey, Memory]:
        """Returns the memories that the filter admits."""
        missing = [key for key in keys if key not in self._memories]
        if missing:
            self._memories.update(self._view.memories_of(missing, self._where))
        return {key: self._memories[key] for key in keys if key in self._memories}

    def vectors(self, keys: Sequence[DocumentKey]) -> dict[DocumentKey, Vector]:
        """Returns the vectors of the nearest passages of the proposed candidates."""
        passages = {key: self._passages[key] for key in keys if key in self._passages}
        missing = [passage for passage in passages.values() if passage not in self._vectors]
        if missing:
            self._vectors.update(self._on.active_model.vectors(self._view, self._query, missing))
        return {key: self._vectors[passage] for key, passage in passages.items() if passage in self._vectors}

    def recent_hits(self, limit: int) -> list[Hit]:
        found, after = list[Memory](), None
        while len(found) < limit and (page := self._view.page(self._where, after, max(limit, LEAST_READ))):
            found += [one for one in page if self._is_active(one.operational)]
            after = page[-1].created_at, page[-1].id
        return [
            Hit(memory=memory, passage=summary_snippet(memory), score=Score(total=0.0, similarity=0.0))
            for memory in found[:limit]
        ]

    def _is_active(self, operational: Operational | None) -> bool:
        """Returns False for operational memories that were contradicted or decayed. They are kept, but not recalled."""
        return operational is None or is_active(operational, self._now, self._on.lifecycle)


def _notice_of_missing(count: int) -> str:
    if count == 1:
        return "1 of your latest memories is not embedded yet and is found by its words only."
    number = f"At least {count}" if count >= latest_writes.MOST else count  # Older ones are not counted.
    return f"{number} of your latest memories are not embedded yet and are found by their words only."


def _within(where: Filter, span: Span) -> Filter:
    """Returns the filter, limited to memories created in a time span."""
    after = span.start if where.created_after is None else max(where.created_after, span.start)
    before = span.stop if where.created_before is None else min(where.created_before, span.stop)
    return replace(where, created_after=after, created_before=before)


def _message(count: int, path: RetrievalMode, missing_reason: str | None, *, silent: bool) -> str:
    """``silent``: nothing that was found is relevant enough."""
    if silent:
        return "Nothing fits well enough."
    found = f"{count} {'memory' if count == 1 else 'memories'} found"
    match path:
        case RetrievalMode.HYBRID:
            return f"{found}." if count else "Nothing matches."
        case RetrievalMode.KEYWORDS:
            return f"{found} by keywords only: {missing_reason}."
        case RetrievalMode.RECENT:
            return f"No keyword matches, and no semantic search ({missing_reason}): the {count} most recent instead."
