"""Trains the model that reads two notes together: transformer layers over both in one sequence, and four classes.

It goes on from the model that ships, with the pairs of ``judge_data``. Needs torch and a processor with AVX512-BF16, or
much time; other machines give slightly other weights (docs/decisions/0028-facts-that-change.md has the commands).
Run as ``python -m scripts.train_judge build/judge.safetensors --minutes 100``.
"""

import argparse
import random
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional

from hivelore.models.onnx.rough_english import WORD_LISTS, RoughEnglish
from scripts.build_judge import BUCKETS, CLASSES, EPSILON, FOLDER, HEADS, MOST_TOKENS, buckets, shipped
from scripts.build_model import published
from scripts.judge_data import CONFLICT, UPDATE, Pair, TrainingPairs

DIMENSION, WORDS = 768, 30_522
LAYERS = 8
NOTE = MOST_TOKENS // 2
"""Word pieces of each note, as in hivelore.models.onnx.pairs."""
LONGEST = 1_000
"""Characters of each note."""
DROPPED = 0.1
POOL = 1 << 24
THREADS, BATCH, RATE, WARM_UP, SEED = 2, 32, 5e-5, 0.04, 12
SMOOTHED = 0.01
"""Of the labels: with 0.05 no pair reached 0.98."""
ALIKE = 16
"""Batches that are drawn at once, to put pairs of similar length together."""
KEPT = 100
"""Steps after which the weights are written."""


class Dropout(nn.Module):
    """Dropout with masks from a pool: drawing new ones would take longer than the products."""

    def __init__(self) -> None:
        super().__init__()
        self.pool: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return x
        if self.pool is None:
            self.pool = (torch.rand(POOL) > DROPPED).to(torch.bfloat16) / (1 - DROPPED)
        start = random.randrange(POOL - x.numel())
        return x * self.pool[start : start + x.numel()].view(x.shape).to(x.dtype)


class Layer(nn.Module):
    def __init__(self, drop: Dropout) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(DIMENSION, 3 * DIMENSION), nn.Linear(DIMENSION, DIMENSION)
        self.inner, self.outer = nn.Linear(DIMENSION, 4 * DIMENSION), nn.Linear(4 * DIMENSION, DIMENSION)
        self.first, self.last = nn.LayerNorm(DIMENSION, EPSILON), nn.LayerNorm(DIMENSION, EPSILON)
        self.drop = drop

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        batch, length, _ = x.shape
        # In 32 bits: the gradient of attention is slow in 16.
        query, key, value = self.qkv(x).float().view(batch, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        with torch.autocast("cpu", enabled=False):
            attended = functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        x = self.first(x + self.drop(self.out(attended.transpose(1, 2).reshape(x.shape))))
        return self.last(x + self.drop(self.outer(functional.gelu(self.inner(x)))))


class Judge(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, DIMENSION).requires_grad_(False)
        self.places, self.which = nn.Embedding(MOST_TOKENS, DIMENSION), nn.Embedding(2, DIMENSION)
        self.embedded, self.bias = nn.LayerNorm(DIMENSION, EPSILON), nn.Embedding(BUCKETS, HEADS)
        self.drop = Dropout()
        self.layers = nn.ModuleList(Layer(self.drop) for _ in range(LAYERS))
        self.head = nn.Linear(DIMENSION, len(CLASSES))

    def forward(self, ids: Tensor, second: Tensor, mask: Tensor) -> Tensor:
        at = np.arange(ids.shape[1])
        x = self.embedded(self.words(ids) + self.places(torch.from_numpy(at))[None] + self.which(second))
        bias = self.bias(torch.from_numpy(buckets(at[None, :] - at[:, None]))).permute(2, 0, 1)[None]
        bias = bias.masked_fill(~mask[:, None, None, :], -1e4).contiguous()
        x = self.drop(x)
        for layer in self.layers:
            x = layer(x, bias)
        share = mask.float()[..., None]
        return self.head(self.drop((x.float() * share).sum(1) / share.sum(1)))


class Encoded:
    """Pairs as tensors."""

    def __init__(self, tokenizer: Any) -> None:
        tokenizer.no_truncation()
        self._tokenizer = tokenizer
        self._in_english = RoughEnglish.read(*(FOLDER / name for name in WORD_LISTS))
        self._known: dict[str, list[int]] = {}

    def length(self, pair: Pair) -> int:
        return len(self._ids(pair[0])) + len(self._ids(pair[1]))

    def batch(self, pairs: Sequence[Pair]) -> tuple[Tensor, Tensor, Tensor]:
        rows = [(self._ids(one), self._ids(other)[1:]) for one, other, _ in pairs]
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
            ids = self._tokenizer.encode(self._in_english(text[:LONGEST])).ids
            self._known[text] = ids if len(ids) <= NOTE else [*ids[: NOTE - 1], ids[-1]]
        return self._known[text]


def train(model: Judge, encoded: Encoded, seconds: float, rate: float, target: Path) -> None:
    rng = random.Random(SEED)
    free = [one for one in model.parameters() if one.requires_grad]
    groups = [
        {"params": [one for one in free if one.ndim > 1], "weight_decay": 0.01},
        {"params": [one for one in free if one.ndim == 1], "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98), fused=True)
    model.train()
    began, losses = time.monotonic(), list[float]()
    for step, batch in enumerate(batches(encoded, iter(TrainingPairs(rng, partial(hardness, model, encoded))), rng), 1):
        done = (time.monotonic() - began) / seconds
        if done >= 1:
            break
        for group in optimiser.param_groups:
            group["lr"] = rate * min(max(done, 0.001) / WARM_UP, max(0.01, (1 - done) / (1 - WARM_UP)))
        with torch.autocast("cpu", torch.bfloat16):
            odds = model(*encoded.batch(batch))
        wanted = torch.tensor([CLASSES.index(label) for *_, label in batch])
        loss = functional.cross_entropy(odds.float(), wanted, label_smoothing=SMOOTHED)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(free, 1.0)
        optimiser.step()
        losses.append(loss.item())
        if step % 20 == 0:
            print(f"{step}: {np.mean(losses[-100:]):.3f}, {100 * done:.0f} % of the time", flush=True)
        if step % KEPT == 0:
            save(model, target)
    save(model, target)


def hardness(model: Judge, encoded: Encoded, pairs: Sequence[Pair]) -> list[float]:
    """Returns the probability of a change for each pair."""
    model.eval()
    order = sorted(range(len(pairs)), key=lambda place: encoded.length(pairs[place]))
    found = [0.0] * len(pairs)
    for at in range(0, len(order), BATCH):
        places = order[at : at + BATCH]
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            odds = model(*encoded.batch([pairs[place] for place in places]))
        changes = odds.float().softmax(-1)[:, [CLASSES.index(CONFLICT), CLASSES.index(UPDATE)]].sum(-1)
        for place, change in zip(places, changes.tolist(), strict=True):
            found[place] = change
    model.train()
    return found


def save(model: Judge, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    save_file({name: value.contiguous() for name, value in model.state_dict().items()}, target)


def batches(encoded: Encoded, pairs: Iterable[Pair], rng: random.Random) -> Iterator[list[Pair]]:
    """Yields endless batches, each of texts of similar length."""
    left = iter(pairs)
    while True:
        some = sorted(islice(left, ALIKE * BATCH), key=encoded.length)
        parts = [some[at : at + BATCH] for at in range(0, len(some), BATCH)]
        rng.shuffle(parts)
        yield from parts


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("target", type=Path)
    options.add_argument("--minutes", type=float, default=100.0)
    options.add_argument("--rate", type=float, default=RATE)
    options.add_argument("--from", type=Path, dest="start", help="weights of an earlier run")
    given = options.parse_args()
    torch.set_num_threads(THREADS)
    torch.manual_seed(SEED)
    random.seed(SEED)
    _, tokenizer = published()
    model = Judge()
    known = shipped() if given.start is None else load_file(given.start)
    model.load_state_dict({name: torch.as_tensor(value).float() for name, value in known.items()})
    train(model, Encoded(tokenizer), 60 * given.minutes, given.rate, given.target)


if __name__ == "__main__":
    main()
