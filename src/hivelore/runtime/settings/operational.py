"""Settings of what is known about running things."""

from datetime import timedelta

from pydantic import field_validator
from pydantic_settings import BaseSettings

from hivelore.errors import Invalid
from hivelore.observations.confidence import Lifecycle
from hivelore.observations.markers import CATEGORIES, NAME_PATTERN
from hivelore.observations.outcomes import MatchingMode
from hivelore.observations.token_budget import parse_budget
from hivelore.runtime.settings.parts import Judges, Names, setting


class OperationalSettings(BaseSettings):
    memory_budget: str = setting(
        "HIVELORE_MEMORY_BUDGET",
        "Tokens, about, of what an agent is told of running things before it begins. 0: nothing. Or a table by tier "
        "and by a part of the model's name: `2000, tier1=800, opus=6000`.",
        default="2000",
    )
    categories: Names = setting(
        "HIVELORE_CATEGORIES",
        "What a [MEMORY:category] of an agent may be about, separated by commas.",
        default=CATEGORIES,
    )
    reinforce: MatchingMode = setting(
        "HIVELORE_REINFORCE",
        "What reinforces what is known about a service: `meaning`, an observation that says the same, while the "
        "opposite contradicts; `cautious`, likewise, but only quantities contradict and all else is put to review; "
        "`structural`, any of the same service and category.",
        default=MatchingMode.MEANING,
    )
    judge: Judges = setting(
        "HIVELORE_JUDGE",
        "Who decides where it is uncertain whether one observation contradicts another. `rules`: a person, in the "
        "review inbox; `model`: the language model of HIVELORE_SUMMARIZER is asked first, beside the calls and within "
        "HIVELORE_SUMMARIZER_DAILY_TOKENS, and a person where it is not sure.",
        default=Judges.RULES,
    )
    confidence_default: float = setting(
        "HIVELORE_CONFIDENCE_DEFAULT", "How sure a new observation is, 0 to 1.", default=0.7, ge=0, le=1
    )
    confidence_reinforcement: float = setting(
        "HIVELORE_CONFIDENCE_REINFORCEMENT", "How much surer it gets when it is seen again.", default=0.1, ge=0, le=1
    )
    confidence_contradiction: float = setting(
        "HIVELORE_CONFIDENCE_CONTRADICTION", "How much less sure when the opposite is seen.", default=0.2, ge=0, le=1
    )
    confidence_threshold: float = setting(
        "HIVELORE_CONFIDENCE_THRESHOLD", "What is less sure is inactive: kept, and not told.", default=0.3, ge=0, le=1
    )
    confidence_grace_days: float = setting(
        "HIVELORE_CONFIDENCE_GRACE_DAYS",
        "Days that an observation stays as sure as it was.",
        default=30,
        ge=0,
        le=36_500,
    )
    confidence_decay: float = setting(
        "HIVELORE_CONFIDENCE_DECAY", "How much a week takes from it after that.", default=0.1, ge=0, le=1
    )

    @field_validator("memory_budget")
    @classmethod
    def _table(cls, value: str) -> str:
        try:
            parse_budget(value)
        except Invalid as error:
            raise ValueError(str(error)) from None
        return value

    @field_validator("categories")
    @classmethod
    def _markable(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value:
            raise ValueError("name one category at least")
        for one in value:
            if not NAME_PATTERN.fullmatch(one):
                raise ValueError(f"{one!r} cannot stand in a marker: use letters, digits, _ and -")
        return value

    @property
    def lifecycle(self) -> Lifecycle:
        return Lifecycle(
            default=self.confidence_default,
            reinforcement=self.confidence_reinforcement,
            contradiction=self.confidence_contradiction,
            threshold=self.confidence_threshold,
            grace=timedelta(days=self.confidence_grace_days),
            decay=self.confidence_decay,
        )
