"""Accuracy of the contradiction judge: same, conflict or different, for pairs of notes.

The pairs were written for this and are in ``bench/data``: ``statements.jsonl``, ``statements_more.jsonl``, and what
follows from the clusters of ``statement_clusters.jsonl``. Most were used to build the policy or to train the model,
five parts only to judge it.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path

from bench.material import Bench
from bench.report import Section, Table
from hivelore.core.text import Clean
from hivelore.errors import Invalid
from hivelore.models.onnx.pairs import OnnxPairReader
from hivelore.observations.contradiction.constants import Constants
from hivelore.observations.contradiction.judge import Verdict, judge
from hivelore.observations.model import PairScores

DATA = Path(__file__).parent / "data"
FILES = (DATA / "statements.jsonl", DATA / "statements_more.jsonl")
CLUSTERS = DATA / "statement_clusters.jsonl"
CAUTIOUS = Constants(only_measures=True)
TITLES = {
    "clusters_judge": "Held-out clusters",
    "clusters_choose": "Tuning clusters",
    "more_judge": "Many writers",
    "fresh2": "Second fresh",
    "fresh": "Fresh",
    "judge": "Judge",
    "train": "Train",
    "build": "Build",
}
"""Of the parts, but for the one that is as large as all others together and was only trained on."""
SAME, CONFLICT, DIFFERENT = "same", "conflict", "different"
TEXT = """
{pairs} labelled pairs of notes about one service, written for this purpose. A pair is the same (a rewording in other
units, order, voice or detail), a conflict (in a number, name, negation or order), or different (a look-alike). Most
are English, and {foreign} are German, French, Spanish or Chinese. No note is in two parts.

- The rules were built on *build*. The model was trained on *build*, *train*, 5,613 pairs by many writers, and 3,926
  clusters. A cluster is a fact in five wordings, contradictions in five wordings, and four look-alikes. Few of these
  were read for the rules.
- The model's thresholds were chosen on *tuning clusters* ({chosen:,} pairs). Four other parts were visible as
  totals, many times: *judge* ({judged} pairs), *fresh* ({fresh} pairs, other kinds of services and phrasings),
  *second fresh* ({last} pairs, written independently) and *many writers* ({more:,} pairs).
- *Held-out clusters* ({aside:,} pairs) were written by a person who saw nothing else, and reread. They decided no
  constant.

Here the model reads every pair. A service reads only pairs that are near. The rows:

- *Hivelore* combines rules ([decision](../docs/decisions/0015-contradiction-judge.md)), the cosine, and a small
  trained model. A conflict found by the rules needs the model's agreement. A conflict found by the model alone needs
  high certainty. If the rules are undecided and see no clash, the model may call the pair the same.
- *rules with vectors* omits the model. *rules without vectors* omits the cosine too (`HIVELORE_EMBEDDER=none`).
  *cautious* is *rules with vectors* with conflicts in quantities only.
- *model only* is the likeliest class of the model.
- *same service and category* calls every pair the same (`HIVELORE_REINFORCE=structural`).
- *exact text* calls equal texts the same, and all others different.
- *cosine only* calls pairs from a cosine of {cosine:.2f} the same, and others different. This threshold is the best
  on *build*. No threshold finds a conflict, because a contradiction is as near as a rewording.

All values are percentages of the pairs with that label. The *wrong* columns are the harmful errors: a rewording that
counts against the older note, or a different note that counts for or against it. All remaining pairs were called
uncertain, or different although they are the same.
"""
HEAD = (
    "",
    "same found",
    "conflicts found",
    "different found",
    "wrong: same as conflict",
    "wrong: different as conflict",
    "wrong: different as same",
    "wrong: conflict as same",
    "uncertain",
)


@dataclass(frozen=True, slots=True)
class Pair:
    half: str
    service: str
    older: str
    newer: str
    label: str
    lang: str


Judge = Callable[[Pair], str]
"""Gives a label or ``uncertain``."""


def pairs() -> Iterator[Pair]:
    for line in chain.from_iterable(file.read_text(encoding="utf-8").splitlines() for file in FILES):
        one = json.loads(line)
        if one["half"] in TITLES:
            yield Pair(one["half"], one["service"], one["older"], one["newer"], one["label"], one["lang"])
    for line in CLUSTERS.read_text(encoding="utf-8").splitlines():
        cluster = json.loads(line)
        half = f"clusters_{cluster['part']}"
        if half in TITLES:
            for older, newer, label in _of_cluster(cluster["says"], cluster["against"], cluster["apart"]):
                yield Pair(half, cluster["service"], older, newer, label, cluster["lang"])


def _of_cluster(
    says: Sequence[str], against: Sequence[Sequence[str]], apart: Sequence[str]
) -> Iterator[tuple[str, str, str]]:
    """Yields every sentence of a cluster paired with one that states the fact."""
    for older, newer in ((0, 1), (2, 3), (4, 0)):
        if max(older, newer) < len(says):
            yield says[older], says[newer], SAME
    for at, newer in enumerate(chain.from_iterable(against)):
        yield says[at % len(says)], newer, CONFLICT
    for at, newer in enumerate(apart, 1):
        yield says[at % len(says)], newer, DIFFERENT


def by_words(pair: Pair) -> str:
    return judge(pair.older, pair.newer, None, service=pair.service).verdict.value


def count_verdicts(labelled: Sequence[Pair], by: Judge) -> Mapping[tuple[str, str], int]:
    """Counts pairs by label and verdict."""
    return Counter((pair.label, by(pair)) for pair in labelled)


def run(bench: Bench) -> Section:
    every = list(pairs())
    every = every[:: max(1, round(1 / bench.scale))] if bench.scale < 1 else every
    near, stance = _likeness(bench, every), _stances(every)
    parts = {half: [pair for pair in every if pair.half == half] for half in TITLES}
    threshold = _best_threshold(parts["build"], near)

    def ours(pair: Pair) -> str:
        judgement = judge(pair.older, pair.newer, near(pair), service=pair.service, stance=stance(pair))
        return judgement.verdict.value

    def by_rules(pair: Pair) -> str:
        return judge(pair.older, pair.newer, near(pair), service=pair.service).verdict.value

    def by_model(pair: Pair) -> str:
        shares = asdict(stance(pair))
        return max(shares, key=lambda label: shares[label])

    def cautious(pair: Pair) -> str:
        return judge(pair.older, pair.newer, near(pair), CAUTIOUS, service=pair.service).verdict.value

    def cosine(pair: Pair) -> str:
        return SAME if (near(pair) or 0.0) >= threshold else DIFFERENT

    judges: dict[str, Judge] = {
        "Hivelore": ours,
        "model only": by_model,
        "rules with vectors": by_rules,
        "rules without vectors": by_words,
        "cautious": cautious,
        "same service and category": lambda _: SAME,
        "exact text": lambda pair: SAME if pair.older == pair.newer else DIFFERENT,
        "cosine only": cosine,
    }
    tables = [
        Table(
            f"**{TITLES[half]}** ({len(labelled)} pairs)",
            HEAD,
            [_row(name, count_verdicts(labelled, by)) for name, by in judges.items()],
        )
        for half, labelled in parts.items()
    ]
    text = TEXT.format(
        pairs=f"{len(every):,}",
        more=len(parts["more_judge"]),
        chosen=len(parts["clusters_choose"]),
        aside=len(parts["clusters_judge"]),
        judged=len(parts["judge"]),
        fresh=len(parts["fresh"]),
        last=len(parts["fresh2"]),
        foreign=sum(pair.lang != "en" for pair in every),
        cosine=threshold,
    )
    return Section("Contradiction judge", text.strip(), tables)


def _likeness(bench: Bench, labelled: Sequence[Pair]) -> Callable[[Pair], float | None]:
    """Returns a function for the cosine of a pair; None without a vector."""
    vectors: dict[str, Sequence[float]] = {}
    for text in dict.fromkeys(text for pair in labelled for text in (pair.older, pair.newer)):
        try:
            vectors[text] = bench.embedder.embed_documents([Clean(text)])[0].tolist()
        except Invalid:
            bench.say(f"no vector: {text}")

    def near(pair: Pair) -> float | None:
        if pair.older not in vectors or pair.newer not in vectors:
            return None
        return sum(one * other for one, other in zip(vectors[pair.older], vectors[pair.newer], strict=True))

    return near


def _stances(labelled: Sequence[Pair]) -> Callable[[Pair], PairScores]:
    reader = OnnxPairReader()
    known = {pair: reader.stance(Clean(pair.older), Clean(pair.newer)) for pair in labelled}
    return lambda pair: known[pair]


def _best_threshold(labelled: Sequence[Pair], near: Callable[[Pair], float | None]) -> float:
    """Returns the threshold with the most correct verdicts on same and different."""
    known = [(near(pair) or 0.0, pair.label) for pair in labelled if pair.label != CONFLICT]

    def right(threshold: float) -> int:
        return sum((cosine >= threshold) is (label == SAME) for cosine, label in known)

    return max((step / 100 for step in range(30, 100)), key=right)


def _row(name: str, counts: Mapping[tuple[str, str], int]) -> list[str]:
    of = Counter[str]()
    for (label, _), count in counts.items():
        of[label] += count

    def share(label: str, called: str) -> str:
        return f"{100 * counts.get((label, called), 0) / (of[label] or 1):.1f}"

    unsure = sum(count for (_, called), count in counts.items() if called == Verdict.UNCERTAIN.value)
    right = [share(label, label) for label in (SAME, CONFLICT, DIFFERENT)]
    wrong = [(SAME, CONFLICT), (DIFFERENT, CONFLICT), (DIFFERENT, SAME), (CONFLICT, SAME)]
    return [name, *right, *(share(*one) for one in wrong), f"{100 * unsure / (of.total() or 1):.1f}"]
