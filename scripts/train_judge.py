"""Trains the model that reads two notes together: all-MiniLM-L6-v2 over both in one sequence, three classes.

First on made pairs (``judge_pairs``), then on the *build* and *train* parts of bench/data/statements.jsonl, the *more*
part of statements_more.jsonl, what follows from them, and the clusters of statement_clusters.jsonl. Needs torch, and
takes an hour on two threads; other machines give slightly other weights (docs/decisions/0015-same-or-conflicting.md has
the commands).
Run as ``python -m scripts.train_judge build/judge.safetensors``.
"""

import argparse
import itertools
import json
import random
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional

from scripts.build_model import DIMENSION, EPSILON, HEADS, LAYERS, MOST_TOKENS, published
from scripts.judge_pairs import CONFLICT, DATA, DIFFERENT, SAME, WORDS, Pair, made

LEARN = "learn"
THREADS = 2
CLASSES = (SAME, CONFLICT, DIFFERENT)
MADE, MADE_RATE = 12_000, 3e-4
EPOCHS, RATE = 3, 2e-4
OF_A_CLUSTER = {SAME: 7, CONFLICT: 8, DIFFERENT: 7}
"""Pairs an epoch, of each label."""
BATCH = 32
WARM_UP = 0.06
LOGIC = frozenset((DATA / "statement_logic.txt").read_text(encoding="utf-8").split())
"""Words that are not to be exchanged: what two notes say may depend on them."""
NO_WORD_OF_A_NAME = r"[\w./:-]"


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(DIMENSION, DIMENSION) for _ in range(4))
        self.inner, self.outer = nn.Linear(DIMENSION, 4 * DIMENSION), nn.Linear(4 * DIMENSION, DIMENSION)
        self.first, self.last = nn.LayerNorm(DIMENSION, EPSILON), nn.LayerNorm(DIMENSION, EPSILON)
        self.drop = nn.Dropout(0.1)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        def heads(y: Tensor) -> Tensor:
            return y.view(*y.shape[:2], HEADS, -1).transpose(1, 2)

        parts = (heads(part(x)) for part in (self.query, self.key, self.value))
        attended = functional.scaled_dot_product_attention(*parts, attn_mask=mask)
        x = self.first(x + self.drop(self.out(attended.transpose(1, 2).reshape(x.shape))))
        return self.last(x + self.drop(self.outer(functional.gelu(self.inner(x)))))


NAMES = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "out": "attention.output.dense",
    "inner": "intermediate.dense",
    "outer": "output.dense",
    "first": "attention.output.LayerNorm",
    "last": "output.LayerNorm",
}
"""What BERT calls them."""


class Judge(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(30_522, DIMENSION).requires_grad_(False)
        self.places, self.which = nn.Embedding(MOST_TOKENS, DIMENSION), nn.Embedding(2, DIMENSION)
        self.embedded = nn.LayerNorm(DIMENSION, EPSILON)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.head = nn.Linear(DIMENSION, len(CLASSES))
        nn.init.normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)
        self.drop = nn.Dropout(0.1)

    def forward(self, ids: Tensor, second: Tensor, mask: Tensor) -> Tensor:
        places = torch.arange(ids.shape[1]).expand_as(ids)
        x = self.embedded(self.words(ids) + self.places(places) + self.which(second))
        for layer in self.layers:
            x = layer(x, mask[:, None, None, :])
        share = mask.to(x.dtype)[..., None]
        return self.head(self.drop((x * share).sum(1) / share.sum(1)))

    def named(self) -> dict[str, str]:
        """What BERT calls each of its parameters, by our name."""
        names = {
            "words.weight": "embeddings.word_embeddings.weight",
            "places.weight": "embeddings.position_embeddings.weight",
            "which.weight": "embeddings.token_type_embeddings.weight",
            **{f"embedded.{kind}": f"embeddings.LayerNorm.{kind}" for kind in ("weight", "bias")},
            **{f"head.{kind}": f"head.{kind}" for kind in ("weight", "bias")},
        }
        parts = itertools.product(range(LAYERS), NAMES.items(), ("weight", "bias"))
        return names | {
            f"layers.{layer}.{ours}.{kind}": f"encoder.layer.{layer}.{theirs}.{kind}"
            for layer, (ours, theirs), kind in parts
        }


class Encoded:
    """Pairs as tensors."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._known: dict[str, list[int]] = {}

    def length(self, pair: tuple[str, ...]) -> int:
        return len(self._ids(pair[0])) + len(self._ids(pair[1]))

    def batch(self, pairs: Sequence[tuple[str, str]]) -> tuple[Tensor, Tensor, Tensor]:
        rows = [(self._ids(one)[:128], self._ids(other)[1:128]) for one, other in pairs]
        longest = max(len(one) + len(other) for one, other in rows)
        ids, second = (torch.zeros(len(rows), longest, dtype=torch.long) for _ in range(2))
        mask = torch.zeros(len(rows), longest, dtype=torch.bool)
        for row, (one, other) in enumerate(rows):
            end = len(one) + len(other)
            ids[row, :end], mask[row, :end] = torch.tensor(one + other), True
            second[row, len(one) : end] = 1
        return ids, second, mask

    def _ids(self, text: str) -> list[int]:
        if text not in self._known:
            self._known[text] = self._tokenizer.encode(text).ids
        return self._known[text]


def train(model: Judge, encoded: Encoded, epochs: Sequence[Sequence[Pair]], rate: float, seed: int) -> None:
    rng = random.Random(seed)
    torch.manual_seed(seed)
    wanted = [one for one in model.parameters() if one.requires_grad]
    groups = [
        {"params": [one for one in wanted if one.ndim > 1], "weight_decay": 0.01},
        {"params": [one for one in wanted if one.ndim == 1], "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98))
    batches = [batch for epoch in epochs for batch in _batches(list(epoch), encoded, rng)]
    model.train()
    began, losses = time.monotonic(), list[float]()
    for step, batch in enumerate(batches):
        done = step / len(batches)
        for group in optimiser.param_groups:
            group["lr"] = rate * min(done / WARM_UP, max(0.02, (1 - done) / (1 - WARM_UP)))
        pairs = [(one, other) if rng.random() < 0.5 else (other, one) for one, other, _ in batch]
        with torch.autocast("cpu", torch.bfloat16):
            odds = model(*encoded.batch(pairs))
        wanted_classes = torch.tensor([CLASSES.index(label) for *_, label in batch])
        loss = functional.cross_entropy(odds.float(), wanted_classes, label_smoothing=0.05)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(wanted, 1.0)
        optimiser.step()
        losses.append(loss.item())
        if step % 100 == 99:
            print(f"{step + 1} of {len(batches)}: {np.mean(losses[-100:]):.3f}, {time.monotonic() - began:.0f} s")


def _batches(pairs: list[Pair], encoded: Encoded, rng: random.Random) -> Iterator[list[Pair]]:
    """Of about the same length each."""
    rng.shuffle(pairs)
    for start in range(0, len(pairs), 16 * BATCH):
        some = sorted(pairs[start : start + 16 * BATCH], key=encoded.length)
        batches = [some[at : at + BATCH] for at in range(0, len(some), BATCH)]
        rng.shuffle(batches)
        yield from batches


def to_train_on() -> list[Mapping[str, str]]:
    files = (DATA / "statements.jsonl", DATA / "statements_more.jsonl")
    rows = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if row["half"] in ("build", "train", "more")]


def following(rows: Sequence[Mapping[str, str]]) -> list[Pair]:
    """What is the same as the same is the same, and contradicts what that contradicts; within a group."""
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
    """Of one fact each: what ``says`` it, what is ``against`` it (lists of wordings), and what stands ``apart``."""
    rows = [json.loads(line) for line in (DATA / "statement_clusters.jsonl").read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if row["part"] == part]


def of_cluster(cluster: Mapping[str, Any]) -> list[Pair]:
    """All pairs of which it is known how they stand to each other."""
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
    """Exchanges words that both notes have, which changes nothing about how they stand to each other."""
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


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("target", type=Path)
    options.add_argument("--share", type=float, default=1.0, help="of all pairs, to try the script out")
    given = options.parse_args()
    torch.set_num_threads(THREADS)
    weights, tokenizer = published()
    model, encoded = Judge(), Encoded(tokenizer)
    names = model.named()
    known = {ours: torch.tensor(weights[theirs]) for ours, theirs in names.items() if theirs in weights}
    known["places.weight"] = known["places.weight"][:MOST_TOKENS]
    model.load_state_dict(known, strict=False)
    train(model, encoded, [made(int(MADE * given.share), 1)], MADE_RATE, 0)
    train(model, encoded, _epochs(given.share, random.Random(5)), RATE, 10)
    given.target.parent.mkdir(parents=True, exist_ok=True)
    save_file({names[ours]: value.contiguous() for ours, value in model.state_dict().items()}, given.target)


def _epochs(share: float, rng: random.Random) -> list[list[Pair]]:
    rows, every = to_train_on(), round(1 / share)
    told = [(row["older"], row["newer"], row["label"]) for row in rows][::every]
    follow = following(rows)
    of_clusters = [of_cluster(one) for one in clusters(LEARN)][::every]
    other = renamed([*told, *follow, *itertools.chain.from_iterable(of_clusters)], rng)
    print(f"{len(told)} pairs, {len(follow)} follow from them, {sum(map(len, of_clusters))} of clusters")
    epochs: list[list[Pair]] = []
    for at in range(EPOCHS):
        pairs = [*told, *rng.sample(follow, min(len(follow), len(told) // 3))]
        pairs += [pair for one in of_clusters for pair in some_of(one, rng)]
        pairs = pairs if at == EPOCHS - 1 else [other(pair) for pair in pairs]
        epochs.append([*pairs, *made(len(told) // 6, 100 + at)])
    return epochs


if __name__ == "__main__":
    main()
