"""Trains the last layer for the single vector of a text; the lower layers and the tokens stay as published.

On pairs of scripts/encoder_pairs.py, contrasted with others of the same project (InfoNCE). What the layers below make
of a text is computed once, by the graph with 8-bit weights that ships. The weights are the mean of those of two runs, a
short and a long one. Needs torch, and takes half an hour on two threads; other machines give slightly other weights
(docs/decisions/0003-embedding-model.md has the commands).
Run as ``python -m scripts.train_encoder build/pairs.jsonl``; it writes scripts/tuned_layer.safetensors.
"""

import json
import random
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional

from scripts.build_model import (
    DIMENSION,
    EPSILON,
    HEADS,
    LAYER_NAMES,
    LAYERS,
    TUNED,
    TUNED_WEIGHTS,
    Encoder,
    Graph,
    Weights,
    first_of,
    int8_linear,
    int8_words,
    position_table,
    published,
    unit_mean,
)
from scripts.encoder_pairs import CODE, COMMIT, Pair

ASIDE = frozenset(
    {"augeas-tools", "libosinfo-1.0-0", "libgstreamer-plugins-bad1.0-0", "libp11-kit0", "man-db", "libgcrypt20"}
)
"""Projects that tell how well it went on what was not learnt from."""
LARGEST_BATCH, SMALLEST_BATCH = 96, 24
MOST = {COMMIT: 1_000, CODE: 400}
"""Pairs of a project."""
QUESTION, PASSAGE = 64, 160
"""Word pieces."""
WARM_UP = 20
TEMPERATURE = 0.05
COMMITS = 0.6
"""The share of batches that are of commits."""


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

        parts = (heads(part(x)).float() for part in (self.query, self.key, self.value))
        with torch.autocast(x.device.type, enabled=False):  # On processors, its gradient is slow in 16 bits.
            attended = functional.scaled_dot_product_attention(*parts, attn_mask=mask)
        x = self.first(x + self.drop(self.out(attended.transpose(1, 2).reshape(x.shape))))
        return self.last(x + self.drop(self.outer(functional.gelu(self.inner(x)))))


@dataclass(frozen=True, slots=True)
class Run:
    steps: int
    rate: float
    hold: float
    """What it costs to leave where a vector was: times one minus the cosine to it."""


RUNS = (Run(100, 2e-4, 0.5), Run(300, 3e-4, 0.2))


@dataclass(frozen=True, slots=True)
class Text:
    below: Tensor
    """What the layers below make of each of its tokens."""
    vector: Tensor
    """By the published last layer."""


class Below:
    """The shipped layers except the last."""

    def __init__(self) -> None:
        weights, self._tokenizer = published()
        graph = Graph()
        encoder = Encoder(graph, weights, int8_words, int8_linear)
        x = encoder.attended(encoder.embedded(first_of(graph, position_table(weights))), LAYERS - 1)
        unit_mean(graph, encoder.layer(x, LAYERS - 1))
        graph.add("Identity", x, outputs=["below"])
        outputs = {"vector": ["batch", DIMENSION], "below": ["batch", "length", DIMENSION]}
        content = graph.model("below", ["ids"], outputs).SerializeToString()
        options: Any = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session: Any = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])

    def texts(self, texts: Sequence[str], most: int) -> list[Text]:
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(lambda text: self._text(text, most), texts))

    def _text(self, text: str, most: int) -> Text:
        ids = self._tokenizer.encode(text).ids
        ids = ids if len(ids) <= most else [*ids[: most - 1], ids[-1]]
        vector, below = self._session.run(["vector", "below"], {"ids": np.array([ids])})
        return Text(torch.from_numpy(below[0]).to(torch.bfloat16), torch.from_numpy(vector[0]))


STATE = {f"{ours}.{kind}": f"{theirs}.{kind}" for ours, theirs in LAYER_NAMES.items() for kind in ("weight", "bias")}
"""What BERT calls each of a layer's parameters, by our name."""
Batch = tuple[list[Text], list[Text]]
"""Questions, and their passages in the same order."""


def batches(pairs: Sequence[Pair], wanted: Mapping[str, int], below: Below) -> dict[str, list[Batch]]:
    """Returns batches of one project each, with a fixed number of each kind."""
    of_project: dict[tuple[str, str], list[Pair]] = defaultdict(list)
    for pair in pairs:
        of_project[pair.kind, pair.source].append(pair)
    found: dict[str, list[list[Pair]]] = defaultdict(list)
    for (kind, _), held in of_project.items():
        random.shuffle(held)
        some = held[: MOST[kind]]
        parts = [some[at : at + LARGEST_BATCH] for at in range(0, len(some), LARGEST_BATCH)]
        found[kind] += [part for part in parts if len(part) >= SMALLEST_BATCH]
    for kind in found:
        random.shuffle(found[kind])
    return {kind: [as_batch(part, below) for part in parts[: wanted[kind]]] for kind, parts in found.items()}


def as_batch(pairs: Sequence[Pair], below: Below) -> Batch:
    questions = below.texts([pair.question for pair in pairs], QUESTION)
    return questions, below.texts([pair.passage for pair in pairs], PASSAGE)


def vectors(layer: Layer, texts: Sequence[Text]) -> Tensor:
    """Returns the unit vectors of texts."""
    longest = max(len(text.below) for text in texts)
    x = torch.zeros(len(texts), longest, DIMENSION)
    mask = torch.zeros(len(texts), longest, dtype=torch.bool)
    for row, text in enumerate(texts):
        x[row, : len(text.below)], mask[row, : len(text.below)] = text.below, True
    x = layer(x, mask[:, None, None, :]) * mask[..., None]
    return functional.normalize(x.sum(1) / mask.sum(1, keepdim=True), dim=-1)


def loss_of(layer: Layer, batch: Batch, hold: float) -> Tensor:
    questions, passages = (vectors(layer, texts) for texts in batch)
    odds, same = questions @ passages.T / TEMPERATURE, torch.arange(len(questions))
    contrast = (functional.cross_entropy(odds, same) + functional.cross_entropy(odds.T, same)) / 2
    moved = (
        (1 - (now * torch.stack([text.vector for text in texts])).sum(1)).mean()
        for now, texts in zip((questions, passages), batch, strict=True)
    )
    return contrast + hold * sum(moved)


def train(layer: Layer, found: Mapping[str, Sequence[Batch]], run: Run) -> None:
    groups = [
        {"params": [one for one in layer.parameters() if one.ndim > 1], "weight_decay": 0.01},
        {"params": [one for one in layer.parameters() if one.ndim == 1], "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(groups, lr=run.rate, betas=(0.9, 0.98))
    rounds = {kind: endless(some) for kind, some in found.items()}
    for step in range(1, run.steps + 1):
        left = 1 - max(0, step - WARM_UP) / (run.steps - WARM_UP)
        for group in optimiser.param_groups:
            group["lr"] = run.rate * min(1, step / WARM_UP) * (0.1 + 0.9 * left)
        loss = loss_of(layer, next(rounds[COMMIT if random.random() < COMMITS else CODE]), run.hold)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(layer.parameters(), 1.0)
        optimiser.step()
        if step % 20 == 0:
            print(f"step {step}: {loss.item():.3f}", flush=True)


def endless(some: Sequence[Batch]) -> Iterator[Batch]:
    while True:
        yield from some


def gain(layer: Layer, aside: Sequence[Batch]) -> float:
    """Returns NDCG@10 in percent; each query searches its batch."""
    gains: list[Tensor] = []
    with torch.no_grad():
        for questions, passages in aside:
            scores = vectors(layer, questions) @ vectors(layer, passages).T
            better = (scores > scores.diagonal()[:, None]).sum(1)
            gains.append(torch.where(better < 10, 1 / torch.log2(better + 2.0), torch.zeros(())))
    return 100 * float(torch.cat(gains).mean())


def main(file: Path) -> None:
    random.seed(1)
    torch.manual_seed(1)
    torch.set_num_threads(2)
    weights, _ = published()
    pairs = [Pair(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]
    below = Below()
    aside = batches([one for one in pairs if one.source in ASIDE], {COMMIT: 30, CODE: 0}, below)[COMMIT]
    learnt = batches([one for one in pairs if one.source not in ASIDE], {COMMIT: 160, CODE: 90}, below)
    before = published_layer(weights)
    print(f"before: {gain(before, aside):.1f} on projects kept aside", flush=True)
    made: list[Mapping[str, Tensor]] = []
    for run in RUNS:
        layer = published_layer(weights)
        train(layer, learnt, run)
        print(f"after {run}: {gain(layer, aside):.1f}", flush=True)
        made.append(layer.state_dict())
    mean = {ours: torch.stack([one[ours] for one in made]).mean(0) for ours in STATE}
    before.load_state_dict(mean)
    print(f"the mean of them: {gain(before, aside):.1f}")
    tuned = {f"encoder.layer.{TUNED}.{theirs}": mean[ours].half() for ours, theirs in STATE.items()}
    save_file(tuned, TUNED_WEIGHTS)


def published_layer(weights: Weights) -> Layer:
    layer = Layer().eval()  # nothing is dropped
    name = f"encoder.layer.{LAYERS - 1}"
    layer.load_state_dict({ours: torch.from_numpy(weights[f"{name}.{theirs}"]) for ours, theirs in STATE.items()})
    return layer


if __name__ == "__main__":
    main(Path(sys.argv[1]))
