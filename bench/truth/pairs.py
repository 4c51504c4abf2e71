"""Accuracy of the contradiction judge: same, conflict, update or different, for labelled pairs of notes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from bench.material import Bench
from bench.report import Section, Table
from bench.truth.data import CONFLICT, DIFFERENT, LABELS, OF_EACH, PUBLIC, SAME, TUNING, UPDATE, Pair, pair_sets
from hivelore.core.text import Clean
from hivelore.errors import Invalid
from hivelore.indexing.model import Vector
from hivelore.links.comparer import Comparer
from hivelore.links.judge import PairScores, Verdict, are_equal
from hivelore.models.onnx.pairs import OnnxPairReader

LEAST_PAIRS = 8
"""Of a set, at any scale."""
OURS = "Hivelore"
TEXT = """
Pairs of notes about one service, written by hand for this purpose. `newer` was written after `older`. A pair is the
*same* (a rewording in other units, order, voice or detail), a *conflict* (both cannot be true, and nothing says that
something changed), an *update* (the newer note says that what the older one states has changed), *different* (a
look-alike: both are true) or *related* (the same area, no bearing on each other). The judge has no verdict for
*related*: *different* is right.

- *public* was written by others and is in `HIVELORE_BENCH_DATA`. *aside* is in `bench/data/truth/pairs`. Both train no
  model. The thresholds were chosen without a look at *aside*.
- *tuning* chose the constants: pairs by two writers, and {each} pairs of each label from each of some clusters. Its
  figures are therefore too good.

The rows of the second table, all with the same scores of the model:

- *Hivelore*: equal words are the same, texts that differ in quantities only are compared by these, and the model reads
  all others. *without the check of quantities*: the model reads those too, as for the links between memories.
- *model alone, likeliest class*: without thresholds, so never uncertain.
- *equal words*: equal texts are the same, all others different.
- *cosine only*: the same from a cosine of {cosine:.2f}, otherwise different. This threshold has the most right verdicts
  on *same* and *different* of *tuning*. No threshold finds a conflict.

*found*: share of the pairs with this label that get this verdict. *false change*: share of same, different and related
pairs that are called conflict or update. *false same*: share of all other pairs that are called the same.
All values are percentages.
"""
VERDICTS = tuple(one.value for one in Verdict)
RATES = ("pairs", "conflicts found", "updates found", "rewordings found", "false change", "false same", "uncertain")

Judge = Callable[[Pair], str]
"""Returns the value of a verdict."""
Judged = Sequence[tuple[Pair, str]]
"""Pairs with their verdicts."""


class KnownScores:
    """Implements ``models.ports.PairReader`` with scores that the model gave once."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        reader = OnnxPairReader()
        self.name, self.outage = reader.name, None
        self._scores = {(pair.older, pair.newer): reader.scores(Clean(pair.older), Clean(pair.newer)) for pair in pairs}

    def scores(self, older: Clean, newer: Clean) -> PairScores:
        return self._scores[older, newer]

    def release_unused(self) -> bool:
        return False


def _vector(bench: Bench, text: str) -> Vector:
    """Returns the vector of a text; zeros if the model knows no part of it."""
    try:
        return bench.embedder.embed_documents([Clean(text)])[0]
    except Invalid:
        return np.zeros(bench.embedder.dimension, np.float32)


@dataclass(frozen=True, slots=True)
class Cosines:
    """Cosines of pairs."""

    by_pair: Mapping[Pair, float]

    @classmethod
    def of(cls, bench: Bench, pairs: Sequence[Pair]) -> "Cosines":
        texts = list(dict.fromkeys(text for pair in pairs for text in (pair.older, pair.newer)))
        vectors = {text: _vector(bench, text) for text in texts}
        return cls({pair: float(vectors[pair.older] @ vectors[pair.newer]) for pair in pairs})

    def best_threshold(self, pairs: Sequence[Pair]) -> float:
        """Returns the threshold with the most right verdicts on same and different."""
        known = [(self.by_pair[pair], pair.label) for pair in pairs if pair.label in (SAME, DIFFERENT)]

        def right(threshold: float) -> int:
            return sum((cosine >= threshold) is (label == SAME) for cosine, label in known)

        return max((step / 100 for step in range(30, 100)), key=right)


def run(bench: Bench) -> Section:
    sets = {
        name: pairs[:: max(1, len(pairs) // bench.count(len(pairs), LEAST_PAIRS))]
        for name, pairs in pair_sets(bench.data).items()
    }
    if PUBLIC not in sets:
        bench.say("public: left out, its pairs are not there (HIVELORE_BENCH_DATA)")
    every = [pair for pairs in sets.values() for pair in pairs]
    bench.say(f"reading {len(every):,} pairs")
    cosines = Cosines.of(bench, every)
    threshold = cosines.best_threshold(sets[TUNING])
    judges = make_judges(KnownScores(every), cosines, threshold)
    judged = {
        name: {row: [(pair, by(pair)) for pair in pairs] for row, by in judges.items()} for name, pairs in sets.items()
    }
    tables = [
        Table("**Verdicts of Hivelore by label**", ["set: label", "pairs", *VERDICTS], list(_verdict_rows(judged))),
        Table(
            "**Rates**",
            ["set: judge", *RATES],
            [[f"{name}: {row}", *rates(one)] for name, rows in judged.items() for row, one in rows.items()],
        ),
        *(
            Table(f"**Hivelore by domain, style and language: {name}**", ["", *RATES], list(_group_rows(rows[OURS])))
            for name, rows in judged.items()
        ),
    ]
    return Section("Contradiction judge", TEXT.format(each=OF_EACH, cosine=threshold).strip(), tables)


def make_judges(scores: KnownScores, cosines: Cosines, threshold: float) -> Mapping[str, Judge]:
    comparer = Comparer(scores)

    def ours(pair: Pair) -> str:
        return comparer.compare(Clean(pair.older), Clean(pair.newer)).verdict.value

    def by_model(pair: Pair) -> str:
        return comparer.read(Clean(pair.older), Clean(pair.newer)).verdict.value

    def by_likeliest(pair: Pair) -> str:
        shares = asdict(scores.scores(Clean(pair.older), Clean(pair.newer)))
        return max(shares, key=lambda label: shares[label])

    return {
        OURS: ours,
        "without the check of quantities": by_model,
        "model alone, likeliest class": by_likeliest,
        "equal words": lambda pair: SAME if are_equal(pair.older, pair.newer) else DIFFERENT,
        "cosine only": lambda pair: SAME if cosines.by_pair[pair] >= threshold else DIFFERENT,
    }


def rates(judged: Judged) -> list[str]:
    """Returns the cells of ``RATES``; empty without a pair that counts."""

    def share(labels: Sequence[str], *called: str) -> str:
        verdicts = [verdict for pair, verdict in judged if pair.label in labels]
        return f"{100 * sum(one in called for one in verdicts) / len(verdicts):.1f}" if verdicts else ""

    return [
        f"{len(judged):,}",
        share([CONFLICT], CONFLICT),
        share([UPDATE], UPDATE),
        share([SAME], SAME),
        share([one for one in LABELS if one not in (CONFLICT, UPDATE)], CONFLICT, UPDATE),
        share([one for one in LABELS if one != SAME], SAME),
        share(LABELS, Verdict.UNCERTAIN.value),
    ]


def _verdict_rows(judged: Mapping[str, Mapping[str, Judged]]) -> Iterator[list[str]]:
    for name, rows in judged.items():
        for label in LABELS:
            verdicts = [verdict for pair, verdict in rows[OURS] if pair.label == label]
            if verdicts:
                shares = (f"{100 * verdicts.count(one) / len(verdicts):.1f}" for one in VERDICTS)
                yield [f"{name}: {label}", f"{len(verdicts):,}", *shares]


def _group_rows(judged: Judged) -> Iterator[list[str]]:
    """Yields a row for each domain, style and language. A pair in two styles counts for both."""
    groups: dict[str, list[tuple[Pair, str]]] = {}
    for kind, named in GROUPS.items():
        for one in judged:
            for value in named(one[0]):
                groups.setdefault(f"{kind} {value}", []).append(one)
    for name, members in groups.items():
        yield [name, *rates(members)]


GROUPS: Mapping[str, Callable[[Pair], Sequence[str]]] = {
    "domain": lambda pair: [pair.domain],
    "style": lambda pair: pair.styles,
    "language": lambda pair: [pair.lang],
}
