"""Quality figures of one answer and of many.

Every figure but the time is a share, 0..1 for one answer and percent for many: the mean over all questions, whatever
collection they belong to.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

DEPTHS = (1, 3, 5, 10)
LIMIT = DEPTHS[-1]
"""How many memories an answer has, as by default."""
DEEP = 50
"""How many are asked for where more has to be known: R@20, and which sessions come first."""
FURTHER = 20
SESSION_HIT = 5
SESSION_RECALL = 10
HIT = 5
COLUMNS = (
    *(f"R@{depth}" for depth in (*DEPTHS, FURTHER)),
    f"hit@{HIT}",
    f"NDCG@{LIMIT}",
    f"MRR@{LIMIT}",
    f"session hit@{SESSION_HIT}",
    f"session R@{SESSION_RECALL}",
)
MS = "ms"

Metrics = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Figures:
    """``shares`` are in percent, by ``COLUMNS``; some may be absent. ``milliseconds`` is the median."""

    count: int
    shares: Metrics
    milliseconds: float

    def cell(self, column: str) -> str:
        if column == MS:
            return f"{self.milliseconds:.1f}"
        return f"{self.shares[column]:.1f}" if column in self.shares else ""


def of_answer(found: Sequence[str], relevant: frozenset[str]) -> dict[str, float]:
    """``found`` are the ids of an answer with the usual limit, best first."""
    return {
        **{f"R@{depth}": recall_at(found, relevant, depth) for depth in DEPTHS},
        f"hit@{HIT}": hit_at(found, relevant, HIT),
        f"NDCG@{LIMIT}": ndcg_at(found, relevant, LIMIT),
        f"MRR@{LIMIT}": reciprocal_rank(found[:LIMIT], relevant),
    }


def of_deep_answer(found: Sequence[str], relevant: frozenset[str], sessions: Mapping[str, str]) -> dict[str, float]:
    """``found`` are the ids of an answer of ``DEEP`` memories; ``sessions`` by id. No session figures if the relevant
    items have no session."""
    metrics = {f"R@{FURTHER}": recall_at(found, relevant, FURTHER)}
    wanted = frozenset(sessions[one] for one in relevant if one in sessions)
    if wanted:
        order = list(dict.fromkeys(sessions[one] for one in found if one in sessions))
        metrics[f"session hit@{SESSION_HIT}"] = hit_at(order, wanted, SESSION_HIT)
        metrics[f"session R@{SESSION_RECALL}"] = recall_at(order, wanted, SESSION_RECALL)
    return metrics


def together(metrics: Sequence[Metrics], seconds: Sequence[float]) -> Figures:
    """Returns the mean figures of many answers, each with its time."""
    columns = [column for column in COLUMNS if all(column in one for one in metrics)]
    shares = {column: 100 * fmean(one[column] for one in metrics) for column in columns}
    return Figures(len(metrics), shares, 1000 * median(seconds))


def recall_at(found: Sequence[str], relevant: frozenset[str], depth: int) -> float:
    return len(relevant.intersection(found[:depth])) / len(relevant)


def hit_at(found: Sequence[str], relevant: frozenset[str], depth: int) -> float:
    return float(not relevant.isdisjoint(found[:depth]))


def ndcg_at(found: Sequence[str], relevant: frozenset[str], depth: int) -> float:
    """Binary NDCG: each relevant item counts 1, discounted by the logarithm of its rank."""
    gain = sum(1 / math.log2(rank + 2) for rank, one in enumerate(found[:depth]) if one in relevant)
    return gain / sum(1 / math.log2(rank + 2) for rank in range(min(len(relevant), depth)))


def reciprocal_rank(found: Sequence[str], relevant: frozenset[str]) -> float:
    return next((1 / (rank + 1) for rank, one in enumerate(found) if one in relevant), 0.0)
