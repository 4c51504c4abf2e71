"""A pair model that answers by a table."""

from collections.abc import Callable, Mapping

from hivelore.core.text import Clean
from hivelore.links.judge import PairScores, Verdict

_SCORES = {
    Verdict.SAME: PairScores(same=0.994, conflict=0.002, update=0.002, different=0.002),
    Verdict.CONFLICT: PairScores(same=0.002, conflict=0.994, update=0.002, different=0.002),
    Verdict.UPDATE: PairScores(same=0.002, conflict=0.002, update=0.994, different=0.002),
    Verdict.DIFFERENT: PairScores(same=0.002, conflict=0.002, update=0.002, different=0.994),
    Verdict.UNCERTAIN: PairScores(same=0.05, conflict=0.55, update=0.35, different=0.05),
}
"""Probabilities from which the judge makes each verdict."""


class TableReader:
    """Implements ``models.ports.PairReader``. Pairs that the table does not have get the verdict ``others``."""

    outage: str | None = None

    def __init__(
        self,
        table: Mapping[tuple[str, str], Verdict] | None = None,
        *,
        others: Verdict = Verdict.DIFFERENT,
        name: str = "table-1",
        before: Callable[[str, str], None] = lambda older, newer: None,
    ) -> None:
        """``table``: the verdict on an earlier and a later text. ``before`` is called before each answer, with the
        texts, and may raise."""
        self.name = name
        self.table = dict(table or {})
        self.before = before
        self.read: list[tuple[str, str]] = []
        """The pairs it was asked about, those without an answer included."""
        self._others = others

    def scores(self, older: Clean, newer: Clean) -> PairScores:
        self.read.append((older, newer))
        self.before(older, newer)
        return _SCORES[self.table.get((older, newer), self._others)]

    def release_unused(self) -> bool:
        return False
