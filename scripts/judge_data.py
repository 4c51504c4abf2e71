"""Training data of the model that reads two notes together: labelled pairs of bench/data, endless and in random order.

The parts and who wrote them: bench/data/truth/README.md and docs/decisions/0028-facts-that-change.md.
"""

import itertools
import json
import math
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parent.parent / "bench" / "data"
SAME, CONFLICT, UPDATE, DIFFERENT = "same", "conflict", "update", "different"
TRUTH = DATA / "truth"
CHOOSE = ("flo", "una")
"""Clusters that choose constants."""
CLUSTERS = sorted(file.stem for file in (TRUTH / "clusters").glob("*.jsonl") if file.stem not in CHOOSE)
CHAINS = ("abe", "ivy", "jan", "oda", "rex", "sol", "tia", "udo")
LEARN = ("learn", "next")
"""Parts of statement_clusters.jsonl."""
SHARES = {"unrelated": 0.16, "chains": 0.22, "clusters": 0.46, "statements": 0.10, "written": 0.06}
"""Of the pairs, by where they come from."""
OF_CLUSTERS = {SAME: 0.22, CONFLICT: 0.24, UPDATE: 0.28, DIFFERENT: 0.26}
HARD = 48
"""Of the pairs that are drawn at once, those that are read because they look most like a change; as many others are
read too."""
UNRELATED_DRAWN, LOOK_ALIKES_DRAWN = 320, 144
RENAMED = 0.25
"""The share of pairs in which words that both have are exchanged for others."""
IN_LOWER_CASE = 0.06
LOGIC = frozenset((DATA / "statement_logic.txt").read_text(encoding="utf-8").split())
"""Words that are not to be exchanged: what two notes say may depend on them."""
NO_WORD_OF_A_NAME = r"[\w./:-]"
_WORD = re.compile(r"\w{3,}")

Pair = tuple[str, str, str]
"""Two notes and their label."""
Cluster = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Labelled:
    """Two notes and how the second relates to the first; ``is_ordered``: the first is the earlier one."""

    pair: Pair
    is_ordered: bool = False


def rows_of(file: Path) -> list[Mapping[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


class TrainingPairs:
    def __init__(self, rng: random.Random, hardness: Callable[[Sequence[Pair]], Sequence[float]]) -> None:
        """``hardness``: how much each pair looks like a change to the model, greatest for the hardest."""
        self._rng = rng
        self._hard_unrelated = _Hardest(self._unrelated, UNRELATED_DRAWN, hardness, rng)
        self._hard_look_alikes = _Hardest(self._look_alike, LOOK_ALIKES_DRAWN, hardness, rng)
        self._groups = [rows_of(TRUTH / "clusters" / f"{name}.jsonl") for name in CLUSTERS]
        """Clusters of each writer."""
        self._statements = [of_statements(row) for row in _statement_clusters()]
        self._written = [(row["older"], row["newer"], row["label"]) for row in _written()]

    def __iter__(self) -> Iterator[Pair]:
        rng = self._rng
        sources = {
            "unrelated": self._hard_unrelated,
            "chains": self._of_chain,
            "clusters": self._of_cluster,
            "statements": self._of_statements,
            "written": lambda: Labelled(rng.choice(self._written)),
        }
        while True:
            (name,) = rng.choices(list(SHARES), list(SHARES.values()))
            labelled = sources[name]()
            one, other, label = self._renamed(labelled.pair) if rng.random() < RENAMED else labelled.pair
            if not labelled.is_ordered and rng.random() < 0.5:
                one, other = other, one
            one, other = (text.lower() if rng.random() < IN_LOWER_CASE else text for text in (one, other))
            yield one, other, label

    def _of_cluster(self) -> Labelled:
        rng = self._rng
        cluster = rng.choice(self._clusters)
        says, against, updates = (cluster[name] for name in ("says", "against", "updates"))
        (label,) = rng.choices(list(OF_CLUSTERS), list(OF_CLUSTERS.values()))
        if label == SAME:
            several = [says] * 3 + [texts for texts in (*against, *updates) if len(texts) > 1]
            one, other = rng.sample(rng.choice(several), 2)
            return Labelled((one, other, SAME))
        if label == UPDATE:
            return Labelled((rng.choice(says), rng.choice(rng.choice(updates)), UPDATE), is_ordered=True)
        if label == DIFFERENT:
            return self._hard_look_alikes()
        if len(against) > 1 and rng.random() < 0.12:
            one, other = rng.sample(against, 2)
            return Labelled((rng.choice(one), rng.choice(other), CONFLICT))
        if rng.random() < 0.05:  # Who repeats the former state later contradicts the update.
            return Labelled((rng.choice(rng.choice(updates)), rng.choice(says), CONFLICT), is_ordered=True)
        return Labelled((rng.choice(says), rng.choice(rng.choice(against)), CONFLICT))

    def _look_alike(self) -> Labelled:
        rng = self._rng
        cluster = rng.choice(self._clusters)
        says, against, updates, apart = (cluster[name] for name in ("says", "against", "updates", "apart"))
        texts = rng.choices((says, rng.choice(against), rng.choice(updates), apart), (80, 7, 7, 6))[0]
        one = rng.choice(texts)
        return Labelled((one, rng.choice([text for text in apart if text != one]), DIFFERENT))

    @cached_property
    def _clusters(self) -> Sequence[Cluster]:
        return list(itertools.chain.from_iterable(self._groups))

    def _of_statements(self) -> Labelled:
        label = self._rng.choice((SAME, CONFLICT, DIFFERENT))
        pairs = self._rng.choice(self._statements)
        return Labelled(self._rng.choice([pair for pair in pairs if pair[2] == label] or pairs))

    def _of_chain(self) -> Labelled:
        """Returns two tellings of a fact, or a telling and a note that only looks like one."""
        rng = self._rng
        chain, near = rng.choice(self._chains)
        tellings, part = chain["tellings"], rng.random()
        if near and part < 0.45:
            texts = near if part >= 0.35 else [telling["text"] for telling in tellings]
            one = rng.choice(texts)
            return Labelled((one, rng.choice([text for text in near if text != one]), DIFFERENT))
        first, last = sorted(rng.sample(range(len(tellings)), 2))
        between = {telling["value"] for telling in tellings[first : last + 1]}
        one, other = tellings[first], tellings[last]
        if one["value"] == other["value"] and len(between) > 1:
            return self._of_chain()  # It went away and came back.
        label = SAME if len(between) == 1 else UPDATE
        return Labelled((one["text"], other["text"], label), is_ordered=True)

    @cached_property
    def _chains(self) -> Sequence[tuple[Mapping[str, Any], Sequence[str]]]:
        found = list[tuple[Mapping[str, Any], Sequence[str]]]()
        for name in CHAINS:
            near = defaultdict[str, list[str]](list)
            for row in rows_of(TRUTH / "chains" / f"{name}-others.jsonl"):
                near[row["near"]].append(row["text"])
            found += [(row, near[row["key"]]) for row in rows_of(TRUTH / "chains" / f"{name}.jsonl")]
        return found

    def _unrelated(self) -> Labelled:
        """Returns notes of two clusters or chains of one writer, often those that share the rarest words."""
        rng = self._rng
        index = rng.choice(self._indexes if rng.random() < 0.4 else self._chain_indexes)
        place = rng.randrange(len(index.texts))
        others = index.sharing(place)
        if others and rng.random() < 0.6:
            other = max(others, key=lambda one: others[one] * rng.uniform(0.6, 1.0))
        else:
            other = rng.choice([one for one in range(len(index.texts)) if index.cluster[one] != index.cluster[place]])
        return Labelled((index.texts[place], index.texts[other], DIFFERENT))

    @cached_property
    def _indexes(self) -> Sequence["_Index"]:
        return [
            _Index(
                [
                    (number, text)
                    for number, cluster in enumerate(clusters)
                    for text in (*cluster["says"], *cluster["apart"], *itertools.chain(*cluster["updates"]))
                ]
            )
            for clusters in self._groups
        ]

    @cached_property
    def _chain_indexes(self) -> Sequence["_Index"]:
        notes = defaultdict[str, list[tuple[int, str]]](list)
        for number, (chain, near) in enumerate(self._chains):
            texts = (*(telling["text"] for telling in chain["tellings"]), *near)
            notes[chain["key"].partition("-")[0]] += [(number, text) for text in texts]
        return [_Index(some) for some in notes.values()]

    def _renamed(self, pair: Pair) -> Pair:
        """Exchanges words that both notes have, which does not change their label."""
        one, other, label = pair
        words = _shared(pair)
        for word in self._rng.sample(words, min(len(words), self._rng.choice((0, 0, 1, 1, 2)))):
            new = self._rng.choice(self._names)
            one, other = (re.sub(rf"\b{word}\b", new, text) for text in (one, other))
        return one, other, label

    @cached_property
    def _names(self) -> Sequence[str]:
        pairs = [*self._written, *itertools.chain.from_iterable(self._statements[:1_500])]
        return sorted({word for pair in pairs for word in _shared(pair)})


class _Hardest:
    """Pairs without a change; half of them are those that the model takes for a change most."""

    def __init__(
        self,
        draw: Callable[[], Labelled],
        drawn: int,
        hardness: Callable[[Sequence[Pair]], Sequence[float]],
        rng: random.Random,
    ) -> None:
        self._draw = draw
        self._drawn = drawn
        self._hardness = hardness
        self._rng = rng
        self._left = list[Labelled]()

    def __call__(self) -> Labelled:
        if not self._left:
            drawn = [self._draw() for _ in range(self._drawn)]
            hardness = self._hardness([one.pair for one in drawn])
            by_hardness = sorted(range(self._drawn), key=lambda place: hardness[place])
            places = (*by_hardness[-HARD:], *self._rng.sample(by_hardness[:-HARD], HARD))
            self._left = [drawn[place] for place in places]
            self._rng.shuffle(self._left)
        return self._left.pop()


class _Index:
    """The notes of one writer by their words."""

    def __init__(self, notes: Sequence[tuple[int, str]]) -> None:
        """``notes``: each with the number of its cluster or chain."""
        self.cluster = [number for number, _ in notes]
        self.texts = [text for _, text in notes]
        self._words = [frozenset(_WORD.findall(text.lower())) for text in self.texts]
        self._places = defaultdict[str, list[int]](list)
        for place, words in enumerate(self._words):
            for word in words:
                self._places[word].append(place)

    def sharing(self, place: int) -> Mapping[int, float]:
        """Returns the notes of other clusters that share words with one, by how rare these are."""
        found = defaultdict[int, float](float)
        for word in self._words[place]:
            places = self._places[word]
            if len(places) < len(self.texts) / 8:
                for other in places:
                    if self.cluster[other] != self.cluster[place]:
                        found[other] += 1 / math.log(2 + len(places))
        return found


def of_statements(cluster: Cluster) -> Sequence[Pair]:
    """Returns all pairs of a cluster of statement_clusters.jsonl with a known label."""
    says, against, apart = cluster["says"], cluster["against"], cluster["apart"]
    same = [pair for texts in (says, *against) for pair in itertools.combinations(texts, 2)]
    conflict = [pair for texts in against for pair in itertools.product(says, texts)]
    different = [pair for texts in (says, *against) for pair in itertools.product(texts, apart)]
    labelled = ((SAME, same), (CONFLICT, conflict), (DIFFERENT, different))
    return [(*pair, label) for label, pairs in labelled for pair in pairs]


def _statement_clusters() -> list[Cluster]:
    return [row for row in rows_of(DATA / "statement_clusters.jsonl") if row["part"] in LEARN]


def _written() -> list[Mapping[str, Any]]:
    rows = [row for name in ("statements", "statements_more") for row in rows_of(DATA / f"{name}.jsonl")]
    return [row for row in rows if row["half"] in ("build", "train", "more")]


def _shared(pair: Pair) -> list[str]:
    pattern = rf"(?<!{NO_WORD_OF_A_NAME})[a-z]{{4,}}(?!{NO_WORD_OF_A_NAME})"
    one, other = (set(re.findall(pattern, text)) for text in pair[:2])
    return sorted((one & other) - LOGIC)
