"""Recall with other constants than the shipped ones, over the same store and indexes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from bench.quality.baselines import Ask
from bench.quality.stores import Store
from hivelore.domain.search import Hit, Query
from hivelore.domain.text import Clean
from hivelore.policies.fusion import Weighting
from hivelore.policies.priors import Priors
from hivelore.policies.ranking import Ranking
from hivelore.policies.updates import Updating
from hivelore.services.recall import Recalling
from hivelore.services.serving import Serving

NO_PRIORS = Priors(company=0.0, brevity=0.0, question=0.0, author=0.0, date=0.0)
NO_UPDATES = Updating(among=0)
AGELESS = Ranking(tie_weight=0.0, tie_access_weight=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What a recall is made with; by default the shipped constants. ``meaning`` False: as without a model."""

    ranking: Ranking = field(default_factory=Ranking)
    weighting: Weighting = field(default_factory=Weighting)
    priors: Priors = field(default_factory=Priors)
    updating: Updating = field(default_factory=Updating)
    meaning: bool = True


OURS = "Hivelore"
KEYWORDS = "Hivelore, keywords only"
WITHOUT_UPDATES = "without the update rule"
VECTORS = Recipe(ranking=AGELESS, weighting=Weighting.fixed(1.0, tokens=0.0), priors=NO_PRIORS, updating=NO_UPDATES)
WITHOUT: Mapping[str, Recipe] = {
    KEYWORDS: Recipe(meaning=False),
    "equal weights": Recipe(weighting=Weighting.fixed(0.5)),
    "without late interaction": Recipe(weighting=Weighting(tokens=0.0)),
    WITHOUT_UPDATES: Recipe(updating=NO_UPDATES),
    "without boosts": Recipe(priors=NO_PRIORS),
    "without session boost": Recipe(priors=Priors(company=0.0)),
    "without brevity boost": Recipe(priors=Priors(brevity=0.0)),
    "without question penalty": Recipe(priors=Priors(question=0.0)),
    "without author boost": Recipe(priors=Priors(author=0.0)),
    "without dates": Recipe(priors=Priors(date=0.0)),
}
"""Ours with one ingredient switched off in each."""


def recalling(store: Store, recipe: Recipe) -> Recalling:
    app = store.app
    if recipe.meaning:
        return app.recalling_by(recipe.ranking, recipe.weighting, recipe.priors, recipe.updating)
    return Recalling(
        store=app.store,
        keywords=app.keywords,
        keywords_complete=lambda: True,
        serving=Serving(None),
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


def hits(store: Store, by: Recalling, text: str, limit: int, now: datetime | None) -> Sequence[Hit]:
    query = replace(_QUERY, text=store.app.redactor.clean(text), limit=limit, now=now)
    return by.recall(query, store.viewer).hits


def identified(found: Sequence[Hit]) -> list[str]:
    return [str(hit.memory.external_id) for hit in found]


_QUERY = Query(text=Clean("x"))
