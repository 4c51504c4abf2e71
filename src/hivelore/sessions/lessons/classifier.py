"""The classifier of lessons: how likely each statement carries one, and how likely a later turn takes it back.

A logistic regression over the features of a statement comes first. Boosted trees then read the same features with the
first estimates of the statements around it. Another regression reads pairs of a turn and an earlier statement. The
weights come from scripts/train_lessons.py.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hivelore.errors import Broken
from hivelore.sessions.lessons.features import Features, Odds, describe, describe_neighbours
from hivelore.sessions.lessons.retractions import describe_pairs
from hivelore.sessions.lessons.statements import Statement
from hivelore.sessions.model import Turn

WEIGHTS = "weights.npz"


class LessonClassifier:
    def __init__(self, weights: Mapping[str, NDArray[Any]]) -> None:
        self._weights = weights
        self._depth = int(weights["depth"])

    def odds(self, turns: Sequence[Turn], statements: Sequence[Statement]) -> Odds:
        """Returns the probability that each statement of these turns carries a lesson."""
        if not statements:
            return np.zeros(0, np.float32)
        features = describe(turns, statements)
        first = self.first_odds(features)
        return self._trees(np.hstack([features, describe_neighbours(statements, first)]))

    def retraction_odds(
        self,
        turns: Sequence[Turn],
        statements: Sequence[Statement],
        odds: Odds,
        pairs: Sequence[tuple[int, int]],
    ) -> Odds:
        """Returns the probability that a turn takes back an earlier statement, for each pair of their numbers."""
        if not pairs:
            return np.zeros(0, np.float32)
        weights, features = self._weights, describe_pairs(turns, statements, odds, pairs)
        scaled = (features - weights["pair_mean"]) / weights["pair_scale"]
        return _logistic(scaled @ weights["pair_coefficients"] + weights["pair_intercept"])

    def first_odds(self, features: Features) -> Odds:
        """Returns the estimates of the logistic regression."""
        weights = self._weights
        scaled = (features - weights["mean"]) / weights["scale"]
        return _logistic(scaled @ weights["coefficients"] + weights["intercept"])

    def _trees(self, features: Features) -> Odds:
        weights = self._weights
        split, threshold, children = weights["feature"], weights["threshold"], weights["children"]
        node = np.repeat(weights["roots"][np.newaxis], len(features), axis=0)
        row = np.arange(len(features))[:, np.newaxis]
        for _ in range(self._depth):  # A leaf is its own child.
            node = children[node, (features[row, split[node]] > threshold[node]).astype(np.intp)]
        return _logistic(weights["value"][node].sum(axis=1) + weights["baseline"])


@lru_cache(maxsize=1)
def shipped_classifier() -> LessonClassifier:
    """Loads the classifier of this package. Raises Broken if its file is missing or damaged."""
    file = Path(str(files("hivelore.sessions.lessons"))) / WEIGHTS
    try:
        with np.load(file) as arrays:
            return LessonClassifier(dict(arrays))
    except (OSError, ValueError, KeyError) as error:
        raise Broken(
            f"The weights of lessons are damaged: {error}. Reinstall them:"
            " pip install --force-reinstall --no-deps hivelore"
        ) from error


def _logistic(values: NDArray[Any]) -> Odds:
    return (1 / (1 + np.exp(-np.clip(values, -30, 30)))).astype(np.float32)
