"""Recall with other constants than the shipped ones, over the same store and indexes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from bench.quality.baselines import Ask
from bench.quality.stores import Store
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.embeddings.active_model import ActiveModel
from hivelore.search.model import Hit, Query
from hivelore.search.ranking import Boosts, FusionWeights, RankingConstants, RecencyConflicts, SearchConstants
from hivelore.search.service import SearchDependencies, SearchService

NO_PRIORS = Boosts(company=0.0, brevity=0.0, question=0.0, author=0.0, date=0.0, project=0.0)
NO_UPDATES = RecencyConflicts(among=0)
AGELESS = RankingConstants(tie_weight=0.0, tie_access_weight=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe(SearchConstants):
    """The constants of a recall; by default the shipped ones. ``meaning`` False: without an embedding model."""

    meaning: bool = True


OURS = "Hivelore"
KEYWORDS = "Hivelore, keywords only"
WITHOUT_UPDATES = "without the update rule"
VECTORS = Recipe(
    ranking=AGELESS, fusion_weights=FusionWeights.fixed(1.0, tokens=0.0), boosts=NO_PRIORS, recency_conflicts=NO_UPDATES
)
WITHOUT: Mapping[str, Recipe] = {
    KEYWORDS: Recipe(meaning=False),
    "equal weights": Recipe(fusion_weights=FusionWeights.fixed(0.5)),
    "without late interaction": Recipe(fusion_weights=FusionWeights(tokens=0.0)),
    WITHOUT_UPDATES: Recipe(recency_conflicts=NO_UPDATES),
    "without boosts": Recipe(boosts=NO_PRIORS),
    "without session boost": Recipe(boosts=Boosts(company=0.0)),
    "without brevity boost": Recipe(boosts=Boosts(brevity=0.0)),
    "without question penalty": Recipe(boosts=Boosts(question=0.0)),
    "without author boost": Recipe(boosts=Boosts(author=0.0)),
    "without dates": Recipe(boosts=Boosts(date=0.0)),
}
"""Ours with one ingredient switched off in each."""


def search_service(store: Store, recipe: Recipe) -> SearchService:
    app = store.app
    if recipe.meaning:
        return app.search_service_with(recipe)
    dependencies = SearchDependencies(
        store=app.store,
        keywords=app.keywords,
        keywords_complete=lambda: True,
        active_model=ActiveModel(None),
        write_buffer=app.write_buffer,
        clock=app.clock,
        lifecycle=app.settings.lifecycle,
        lead_sees=app.settings.lead_sees,
    )
    return SearchService(dependencies, recipe)


def asking(store: Store, recipe: Recipe, now: datetime | None = None) -> Ask:
    """``now``: the default time of queries; None: the current time."""
    by = search_service(store, recipe)

    def ask(text: str, limit: int, at: datetime | None = None) -> list[str]:
        return identified(hits(store, by, text, limit, at or now))

    return ask


def hits(store: Store, by: SearchService, text: str, limit: int, now: datetime | None) -> Sequence[Hit]:
    query = replace(_QUERY, text=store.app.redactor.clean(text), limit=limit, now=now)
    return by.recall(query, store.viewer).hits


def identified(found: Sequence[Hit]) -> list[str]:
    return [str(hit.memory.external_id) for hit in found]


_QUERY = Query(text=Clean("x"))
