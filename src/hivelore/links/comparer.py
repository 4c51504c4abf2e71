"""Compares two statements with the trained model, within a limit."""

from collections.abc import Callable
from contextlib import suppress

from hivelore.core.text import Clean
from hivelore.errors import Broken, Unavailable
from hivelore.links.judge import EQUAL, NOT_READ, Judgement, PairScores, are_equal, judge, judge_quantities
from hivelore.models.ports import PairReader

Compare = Callable[[Clean, Clean], Judgement]
"""Returns the verdict on an earlier and a later statement."""


class Comparer:
    """Thread-safe if the reader is."""

    def __init__(self, reader: PairReader | None) -> None:
        """``reader``: the pair model; without it only equal words and quantities count."""
        self._reader = reader

    @property
    def model(self) -> Clean | None:
        """Name of the model; None without one."""
        return None if self._reader is None else Clean(self._reader.name)

    def release_unused(self) -> bool:
        """See ``PairReader.release_unused``."""
        return self._reader is not None and self._reader.release_unused()

    def compare(self, older: Clean, newer: Clean) -> Judgement:
        """Returns the verdict, as if there were no model if it fails."""
        with suppress(Broken, Unavailable):
            return self.read(older, newer)
        return NOT_READ

    def read(self, older: Clean, newer: Clean) -> Judgement:
        """Returns the verdict. Raises Unavailable if the model fails, or Broken for a permanent failure."""
        known = judge_without_model(older, newer)
        if known is not None or self._reader is None:
            return known or NOT_READ
        return judge(older, newer, self._reader.scores(older, newer))

    def scores(self, older: Clean, newer: Clean) -> PairScores:
        """Returns what the model answers. Raises the errors of ``read``, and Unavailable without a model."""
        if self._reader is None:
            raise Unavailable("No model compares. Set HIVELORE_JUDGE, or install the extra that contains the model.")
        return self._reader.scores(older, newer)


def judge_without_model(older: str, newer: str) -> Judgement | None:
    """Returns the verdict if it needs no model."""
    return EQUAL if are_equal(older, newer) else judge_quantities(older, newer)
