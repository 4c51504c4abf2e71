"""How often it is told right whether two notes say the same, contradict each other, or say different things.

The pairs were written for this and are in ``bench/data/statements.jsonl``; most of them were used to build the policy,
three parts only to judge it.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.material import Bench
from bench.report import Section, Table
from hivelore.adapters.onnx.pairs import OnnxPairReader
from hivelore.domain.observed import Stance
from hivelore.domain.text import Clean
from hivelore.errors import Invalid
from hivelore.policies.truth.constants import Constants
from hivelore.policies.truth.judging import Verdict, judge

FILE = Path(__file__).parent / "data" / "statements.jsonl"
CAUTIOUS = Constants(only_measures=True)
BUILD, TRAIN, JUDGE, FRESH, LAST = "build", "train", "judge", "fresh", "fresh2"
TITLES = ("Second fresh", "Fresh", "To judge by", "To train on", "To build on")
SAME, CONFLICT, DIFFERENT = "same", "conflict", "different"
TEXT = """
{pairs} pairs of notes about one service, written for this, each labelled as the same, a conflict, or different:
rewordings in other units, order, voice or detail, notes that contradict each other in a number, a name, a negation or
an order, and notes that only look alike. Most are English, {foreign} are German, French, Spanish or Chinese. No note
is in two parts. The rules were built on the *build* part, the model was trained on that and on the *train* part, which
the rules have not seen. The *judge* part ({judged} pairs) was only counted, though several times; the *fresh* part
({fresh} pairs, other kinds of services and phrasings) was counted when the rules were done, and again when it was
decided whether the model has a say; the *second fresh* part ({last} pairs) was written apart from all that, nobody had
read it, and it was counted once when rules and model were done. All three were counted once more when it was decided
that the model may find rewordings: how many of the same are found there is therefore no clean figure.

- *ours* compares what the notes say by rules (see [the decision](../docs/decisions/0015-same-or-conflicting.md)), with
  the cosine of their vectors; what they take for a conflict is one where a small trained model agrees, and what they
  cannot tell, and clashes nowhere, is the same where that model finds so.
- *rules with vectors* are the same rules without that model, *rules alone* have no cosine either
  (`HIVELORE_EMBEDDER=none`). *Cautious* are rules with vectors that take only clashing quantities for a conflict.
- *model alone* takes what the model finds likeliest.
- *same service and category* takes every pair for the same (`HIVELORE_REINFORCE=structural`).
- *exact text* takes only the same words for the same, and all else for different.
- *cosine alone* takes what is as near as {cosine:.2f} for the same and the rest for different: what is right most often
  on the build part. No threshold finds a conflict: a contradiction is as near as a rewording.

All in percent of the pairs with a label. *Wrong* columns are what does harm: a rewording that counts against the older
note, a different note that counts for or against it. What is neither right nor wrong was called uncertain, or told
apart where it is the same.
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
    for line in FILE.read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        yield Pair(one["half"], one["service"], one["older"], one["newer"], one["label"], one["lang"])


def by_words(pair: Pair) -> str:
    return judge(pair.older, pair.newer, None, service=pair.service).verdict.value


def counted(told: Sequence[Pair], by: Judge) -> Mapping[tuple[str, str], int]:
    """How many pairs of each label were called what."""
    return Counter((pair.label, by(pair)) for pair in told)


def run(bench: Bench) -> Section:
    every = list(pairs())
    every = every[:: max(1, round(1 / bench.scale))] if bench.scale < 1 else every
    near, stance = _likeness(bench, every), _stances(every)
    parts = {half: [pair for pair in every if pair.half == half] for half in (LAST, FRESH, JUDGE, TRAIN, BUILD)}
    threshold = _best_threshold(parts[BUILD], near)

    def ours(pair: Pair) -> str:
        told = judge(pair.older, pair.newer, near(pair), service=pair.service, stance=stance(pair))
        return told.verdict.value

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
        "ours": ours,
        "model alone": by_model,
        "rules with vectors": by_rules,
        "rules alone": by_words,
        "cautious": cautious,
        "same service and category": lambda _: SAME,
        "exact text": lambda pair: SAME if pair.older == pair.newer else DIFFERENT,
        "cosine alone": cosine,
    }
    tables = [
        Table(f"**{half}** ({len(told)} pairs)", HEAD, [_row(name, counted(told, by)) for name, by in judges.items()])
        for half, told in zip(
            ("Second fresh", "Fresh", "To judge by", "To train on", "To build on"), parts.values(), strict=True
        )
    ]
    text = TEXT.format(
        pairs=f"{len(every):,}",
        judged=len(parts[JUDGE]),
        fresh=len(parts[FRESH]),
        last=len(parts[LAST]),
        foreign=sum(pair.lang != "en" for pair in every),
        cosine=threshold,
    )
    return Section("Same, conflicting or different", text.strip(), tables)


def _likeness(bench: Bench, told: Sequence[Pair]) -> Callable[[Pair], float | None]:
    """None where the model knows no word of a text."""
    vectors: dict[str, Sequence[float]] = {}
    for text in dict.fromkeys(text for pair in told for text in (pair.older, pair.newer)):
        try:
            vectors[text] = bench.embedder.embed_documents([Clean(text)])[0].tolist()
        except Invalid:
            bench.say(f"no vector: {text}")

    def near(pair: Pair) -> float | None:
        if pair.older not in vectors or pair.newer not in vectors:
            return None
        return sum(one * other for one, other in zip(vectors[pair.older], vectors[pair.newer], strict=True))

    return near


def _stances(told: Sequence[Pair]) -> Callable[[Pair], Stance]:
    reader = OnnxPairReader()
    known = {pair: reader.stance(Clean(pair.older), Clean(pair.newer)) for pair in told}
    return lambda pair: known[pair]


def _best_threshold(told: Sequence[Pair], near: Callable[[Pair], float | None]) -> float:
    """At which most of the same and the different are told right."""
    known = [(near(pair) or 0.0, pair.label) for pair in told if pair.label != CONFLICT]

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
