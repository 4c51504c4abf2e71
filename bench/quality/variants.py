"""Recall with other constants than the shipped ones, over the same store and indexes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from bench.quality.baselines import Ask
from bench.quality.stores import Store
from hivelore.core.text import Clean
from hivelore.embeddings.active_model import ActiveModel
from hivelore.search.boosts import Boosts
from hivelore.search.fusion import FusionWeights
from hivelore.search.model import Hit, Query
from hivelore.search.recency_conflicts import RecencyConflicts
from hivelore.search.scoring import Ranking
from hivelore.search.service import SearchService

NO_PRIORS = Boosts(company=0.0, brevity=0.0, question=0.0, author=0.0, date=0.0)
NO_UPDATES = RecencyConflicts(among=0)
AGELESS = Ranking(tie_weight=0.0, tie_access_weight=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What a recall is made with; by default the shipped constants. ``meaning`` False: as without a model."""

    ranking: Ranking = field(default_factory=Ranking)
    weighting: FusionWeights = field(default_factory=FusionWeights)
    priors: Boosts = field(default_factory=Boosts)
    updating: RecencyConflicts = field(default_factory=RecencyConflicts)
    meaning: bool = True


OURS = "ours"
KEYWORDS = "ours, keywords alone"
WITHOUT_UPDATES = "without updates"
VECTORS = Recipe(ranking=AGELESS, weighting=FusionWeights.fixed(1.0, tokens=0.0), priors=NO_PRIORS, updating=NO_UPDATES)
WITHOUT: Mapping[str, Recipe] = {
    KEYWORDS: Recipe(meaning=False),
    "half and half": Recipe(weighting=FusionWeights.fixed(0.5)),
    "without tokens": Recipe(weighting=FusionWeights(tokens=0.0)),
    WITHOUT_UPDATES: Recipe(updating=NO_UPDATES),
    "without priors": Recipe(priors=NO_PRIORS),
    "without company": Recipe(priors=Boosts(company=0.0)),
    "without brevity": Recipe(priors=Boosts(brevity=0.0)),
    "without question": Recipe(priors=Boosts(question=0.0)),
    "without author": Recipe(priors=Boosts(author=0.0)),
    "without dates": Recipe(priors=Boosts(date=0.0)),
}
"""Ours with one ingredient switched off in each."""


def recalling(store: Store, recipe: Recipe) -> SearchService:
    app = store.app
    if recipe.meaning:
        return app.recalling_by(recipe.ranking, recipe.weighting, recipe.priors, recipe.updating)
    return SearchService(
        store=app.store,
        keywords=app.keywords,
        keywords_complete=lambda: True,
        serving=ActiveModel(None),
        ranking=recipe.ranking,
        weighting=recipe.weighting,
        priors=recipe.priors,
        updating=recipe.updating,
        lifecycle=app.settings.lifecycle,
        lead_sees=app.settings.lead_sees,
        tally=app.tally,
        clock=app.clock,
    )


def asking(store: Store, recipe: Recipe, now: datetime | None = None) -> Ask:
    """``now``: when questions are asked for which nothing else is said; None: the present."""
    by = recalling(store, recipe)

    def ask(text: str, limit: int, at: datetime | None = None) -> list[str]:
        return identified(hits(store, by, text, limit, at or now))

    return ask


def hits(store: Store, by: SearchService, text: str, limit: int, now: datetime | None) -> Sequence[Hit]:
    query = replace(_QUERY, text=store.app.redactor.clean(text), limit=limit, now=now)
    return by.recall(query, store.viewer).hits


def identified(found: Sequence[Hit]) -> list[str]:
    return [str(hit.memory.external_id) for hit in found]


_QUERY = Query(text=Clean("x"))
