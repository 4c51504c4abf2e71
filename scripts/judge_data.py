"""Training data of the model that reads two notes together: the labelled pairs of bench/data, and those that
follow from them."""

import itertools
import json
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from scripts.judge_pairs import CONFLICT, DATA, DIFFERENT, SAME, WORDS, Pair, made

LEARN = ("learn", "next")
"""Parts of statement_clusters.jsonl."""
OF_A_CLUSTER = {SAME: 5, CONFLICT: 6, DIFFERENT: 5}
"""Pairs of each label."""
RENAMED = 0.3
"""The share of pairs in which words that both have are exchanged for others."""
LOGIC = frozenset((DATA / "statement_logic.txt").read_text(encoding="utf-8").split())
"""Words that are not to be exchanged: what two notes say may depend on them."""
NO_WORD_OF_A_NAME = r"[\w./:-]"


def epoch(rng: random.Random) -> list[Pair]:
    """Returns the written pairs, some that follow from them, some of each cluster, and generated ones."""
    rows = to_train_on()
    labelled = [(row["older"], row["newer"], row["label"]) for row in rows]
    follow = following(rows)
    of_clusters = [of_cluster(one) for part in LEARN for one in clusters(part)]
    other = renamed([*labelled, *follow, *itertools.chain.from_iterable(of_clusters)], rng)
    pairs = [*labelled, *rng.sample(follow, len(labelled) // 3)]
    pairs += [pair for one in of_clusters for pair in some_of(one, rng)]
    pairs = [other(pair) if rng.random() < RENAMED else pair for pair in pairs]
    return [*pairs, *made(len(labelled) // 4, rng.randrange(1_000_000))]


def to_train_on() -> list[Mapping[str, str]]:
    files = (DATA / "statements.jsonl", DATA / "statements_more.jsonl")
    rows = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if row["half"] in ("build", "train", "more")]


def following(rows: Sequence[Mapping[str, str]]) -> list[Pair]:
    """Returns the pairs that follow within a group: same is transitive, and notes that are the same have the same
    conflicts."""
    parents: dict[tuple[str, str], tuple[str, str]] = {}

    def root(of: tuple[str, str]) -> tuple[str, str]:
        while parents.setdefault(of, of) != of:
            of = parents[of]
        return of

    def ends(row: Mapping[str, str]) -> tuple[tuple[str, str], tuple[str, str]]:
        return root((row["group"], row["older"])), root((row["group"], row["newer"]))

    for row in rows:
        one, other = ends(row)
        if row["label"] == SAME:
            parents[one] = other
    members = defaultdict[tuple[str, str], list[str]](list)
    for of in list(parents):
        members[root(of)].append(of[1])
    labels = {frozenset(ends(row)): row["label"] for row in rows if row["label"] != SAME}
    known = {frozenset((row["older"], row["newer"])) for row in rows}
    found = [(*pair, SAME) for texts in members.values() for pair in itertools.combinations(texts, 2)]
    for classes, label in labels.items():
        one, other = classes
        found += [(*pair, label) for pair in itertools.product(members[one], members[other])]
    return [one for one in found if frozenset(one[:2]) not in known]


def clusters(part: str) -> list[Mapping[str, Any]]:
    """Returns clusters about one fact each: wordings that state it (``says``), contradict it (``against``, lists) or
    are unrelated (``apart``)."""
    rows = [json.loads(line) for line in (DATA / "statement_clusters.jsonl").read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if row["part"] == part]


def of_cluster(cluster: Mapping[str, Any]) -> list[Pair]:
    """Returns all pairs with a known label."""
    says, against, apart = cluster["says"], cluster["against"], cluster["apart"]
    same = [pair for texts in (says, *against) for pair in itertools.combinations(texts, 2)]
    conflict = [pair for texts in against for pair in itertools.product(says, texts)]
    different = [pair for texts in (says, *against) for pair in itertools.product(texts, apart)]
    return [
        (*pair, label)
        for label, pairs in ((SAME, same), (CONFLICT, conflict), (DIFFERENT, different))
        for pair in pairs
    ]


def some_of(pairs: Sequence[Pair], rng: random.Random) -> Iterator[Pair]:
    for label, count in OF_A_CLUSTER.items():
        of_label = [pair for pair in pairs if pair[2] == label]
        yield from rng.sample(of_label, min(count, len(of_label)))


def renamed(pairs: Sequence[Pair], rng: random.Random) -> Callable[[Pair], Pair]:
    """Exchanges words that both notes have, which does not change their label."""
    pool = sorted({word for pair in pairs for word in _shared(pair)} | {*WORDS["things"], *WORDS["parts"]})

    def exchanged(pair: Pair) -> Pair:
        one, other, label = pair
        words = _shared(pair)
        for word in rng.sample(words, min(len(words), rng.choice((0, 0, 1, 1, 2)))):
            new = rng.choice(pool)
            one, other = (re.sub(rf"\b{word}\b", new, text) for text in (one, other))
        return one, other, label

    return exchanged


def _shared(pair: Pair) -> list[str]:
    pattern = rf"(?<!{NO_WORD_OF_A_NAME})[a-z]{{4,}}(?!{NO_WORD_OF_A_NAME})"
    one, other = (set(re.findall(pattern, text)) for text in pair[:2])
    return sorted((one & other) - LOGIC)
