"""Trains the upper layers of a model that says whether a note answers a prompt.

The lower layers are those of the model that reads two notes together (``judge/model.onnx``), which stay as they are.
The model first reads general pairs: subjects and bodies of commits, docstrings and code (``encoder_pairs``), and
wordings of the same statement. Then it reads prompts with their candidates (``relevance_data``). Stores kept aside
train nothing; the end reports how well the right notes stand out there. Needs torch; takes minutes on a GPU and hours
on two threads.
Run as ``python -m scripts.train_relevance build/relevance.json.gz build/pairs.jsonl build/relevance.safetensors``.
"""

import argparse
import gzip
import json
import random
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

from scripts.build_judge import BLOCK, BUCKETS, EPSILON, FOLDER, HEADS, MOST_TOKENS, WORD_BLOCK, buckets
from scripts.train_judge import DIMENSION, DROPPED, WARM_UP, Layer

LAYERS, FROZEN = 8, 5
RATE, FINE_RATE = 4e-5, 2.8e-5
GROUPS = 32
"""Questions of a batch, each with its right and wrong texts."""
PROMPT, PROMPT_END, NOTE = 96, 24, 150
"""Word pieces: of a longer prompt, the beginning and the end are read."""
GENERAL = 0.2
"""The share of general pairs in the second part."""
SEED = 5
CLUSTERS = FOLDER.parents[4] / "bench" / "data" / "statement_clusters.jsonl"


@dataclass(frozen=True, slots=True)
class Group:
    question: str
    texts: Sequence[str]
    right: Sequence[bool]


class Reader(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(30_522, DIMENSION), nn.Embedding(MOST_TOKENS, DIMENSION)
        self.which, self.bias = nn.Embedding(2, DIMENSION), nn.Embedding(BUCKETS, HEADS)
        self.embedded = nn.LayerNorm(DIMENSION, EPSILON)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.head, self.drop = nn.Linear(DIMENSION, 1), nn.Dropout(DROPPED)
        nn.init.normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)

    def forward(self, ids: Tensor, second: Tensor, mask: Tensor) -> Tensor:
        at = np.arange(ids.shape[1])
        places = torch.from_numpy(at).to(ids.device)
        far = torch.from_numpy(buckets(at[None, :] - at[:, None])).to(ids.device)
        bias = self.bias(far).permute(2, 0, 1)[None].masked_fill(~mask[:, None, None, :], -1e4)
        x = self.drop(self.embedded(self.words(ids) + self.places(places)[None] + self.which(second)))
        x = x.to(torch.bfloat16)
        with torch.no_grad():
            for layer in self.layers[:FROZEN]:
                x = layer(x, bias)
        for layer in self.layers[FROZEN:]:
            x = layer(x, bias)
        share = mask.float()[..., None]
        return self.head(self.drop((x.float() * share).sum(1) / share.sum(1))).squeeze(-1)

    def trained(self) -> dict[str, Tensor]:
        """Returns the weights that were trained."""
        upper = tuple(f"layers.{number}." for number in range(FROZEN, LAYERS))
        return {name: value for name, value in self.state_dict().items() if name.startswith((*upper, "head."))}


def shipped(file: Path) -> dict[str, Tensor]:
    """Returns the weights of the shipped model that reads two notes, without its head."""
    graph = onnx.load(file).graph
    constants = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    nodes: Mapping[str, list[Any]] = defaultdict(list)
    for node in graph.node:
        nodes[node.op_type].append(node)
    added = {node.input[0]: constants[node.input[1]] for node in nodes["Add"] if node.input[1] in constants}
    gathered = [(constants[node.input[0]], node.input[1]) for node in nodes["Gather"] if node.input[0] in constants]
    packed, scales = (table for table, numbers in gathered if numbers == "ids")
    halves = np.concatenate([packed & 15, packed >> 4], axis=-1).astype(np.float32) - 7.5
    words = halves.reshape(len(packed), -1, WORD_BLOCK) * scales.astype(np.float32)
    by_distance = next(table for table, _ in gathered if table.shape == (HEADS, 2 * MOST_TOKENS - 1)).T
    distance = buckets(np.arange(1 - MOST_TOKENS, MOST_TOKENS))
    biases = np.zeros((BUCKETS, HEADS), np.float32)  # One bucket stands for no distance.
    for number in set(distance.tolist()):
        biases[number] = by_distance[distance == number].mean(axis=0)
    found = {
        "words.weight": words.reshape(len(packed), DIMENSION),
        "which.weight": next(table for table, numbers in gathered if numbers == "second"),
        "places.weight": next(constants[node.input[0]] for node in nodes["Slice"]),
        "bias.weight": biases,
    }
    norms = [(constants[node.input[1]], constants[node.input[2]]) for node in nodes["LayerNormalization"]]
    found["embedded.weight"], found["embedded.bias"] = norms[0]
    parts = ("qkv", "out", "inner", "outer")
    for place, node in enumerate(nodes["MatMulNBits"]):
        name = f"layers.{place // len(parts)}.{parts[place % len(parts)]}"
        found[f"{name}.weight"] = _four_bits(constants[node.input[1]], constants[node.input[2]])
        found[f"{name}.bias"] = added[node.output[0]]
    for place, norm in enumerate(norms[1:]):
        name = f"layers.{place // 2}.{('first', 'last')[place % 2]}"
        found[f"{name}.weight"], found[f"{name}.bias"] = norm
    return {name: torch.from_numpy(np.array(value, np.float32)) for name, value in found.items()}


def _four_bits(packed: np.ndarray[Any, Any], scales: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    columns, count, _ = packed.shape
    numbers = np.stack([packed & 15, packed >> 4], axis=-1).reshape(columns, count, BLOCK).astype(np.float32)
    return ((numbers - 8) * scales.reshape(columns, count, 1)).reshape(columns, count * BLOCK)


class Encoded:
    """Pairs as tensors on a device."""

    def __init__(self, device: torch.device) -> None:
        self._tokenizer = Tokenizer.from_file(str(FOLDER.parent / "model" / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._device = device
        self._known: dict[str, list[int]] = {}

    def batch(self, pairs: Sequence[tuple[str, str]]) -> tuple[Tensor, Tensor, Tensor]:
        rows = [(self._prompt(one), self._ids(other)[1:NOTE]) for one, other in pairs]
        longest = min(MOST_TOKENS, max(len(one) + len(other) for one, other in rows))
        ids, second = np.zeros((2, len(rows), longest), np.int64)
        mask = np.zeros((len(rows), longest), bool)
        for row, (one, other) in enumerate(rows):
            both = [*one, *other][:longest]
            ids[row, : len(both)], mask[row, : len(both)] = both, True
            second[row, len(one) : len(both)] = 1
        on_device = [torch.from_numpy(array).to(self._device) for array in (ids, second, mask)]
        return on_device[0], on_device[1], on_device[2]

    def _prompt(self, text: str) -> list[int]:
        ids = self._ids(text)
        return ids if len(ids) <= PROMPT else ids[: PROMPT - PROMPT_END] + ids[-PROMPT_END:]

    def _ids(self, text: str) -> list[int]:
        if text not in self._known:
            self._known[text] = self._tokenizer.encode(text).ids
        return self._known[text]


def general_groups(pairs: Sequence[Mapping[str, str]], chance: random.Random) -> Iterator[Group]:
    """Yields endless groups: a short line with its text and others of the same source, or wordings of a statement with
    other statements about the same service."""
    sources: dict[str, list[str]] = defaultdict(list)
    for pair in pairs:
        sources[pair["source"]].append(pair["passage"][:700])
    lines = CLUSTERS.read_text(encoding="utf-8").splitlines()
    clusters = [one for one in map(json.loads, lines) if one["part"] in ("learn", "next")]
    items: list[Mapping[str, Any]] = [*pairs, *clusters, *clusters]
    while True:
        chance.shuffle(items)
        for item in items:
            if "question" in item:
                question, right = item["question"][:300], item["passage"][:700]
                wrong = _alike(question, sources[item["source"]], chance)
            else:
                question, right = chance.sample(item["says"], 2)
                wrong = chance.sample(item["apart"], min(2, len(item["apart"])))
                wrong.append(chance.choice(clusters)["says"][0])
            wrong = [one for one in wrong if one != right]
            yield Group(question, [right, *wrong], [True, *(False for _ in wrong)])


def _alike(question: str, passages: Sequence[str], chance: random.Random) -> list[str]:
    """Returns the two of thirty passages that share most words with the question, and another one."""
    words = set(question.lower().split())
    some = chance.sample(passages, min(30, len(passages)))
    some.sort(key=lambda one: -len(words.intersection(one.lower().split())))
    return [*some[:2], some[-1]]


def prompt_groups(data: Mapping[str, Any], chance: random.Random) -> Iterator[Group]:
    """Yields endless groups: a prompt with right, near and other candidates, and now and then one of another store."""
    stores = {name: store for name, store in data["stores"].items() if not store["aside"]}
    asked = [(name, prompt) for name, store in stores.items() for prompt in store["prompts"]]
    small_talk = data["small_talk"]
    while True:
        chance.shuffle(asked)
        for name, prompt in asked:
            notes = stores[name]["notes"]
            gold = chance.sample(prompt["gold"], min(2, len(prompt["gold"])))
            near = chance.sample(prompt["near"], min(3, len(prompt["near"])))
            first = [one for one in prompt["candidates"] if one not in (*prompt["gold"], *prompt["near"])][:12]
            others = chance.sample(first, min(len(first), max(2, 7 - len(gold) - len(near))))
            texts = [notes[one] for one in (*gold, *near, *others)]
            question = prompt["prompt"].lower() if chance.random() < 0.15 else prompt["prompt"]
            yield Group(question, texts, [place < len(gold) for place in range(len(texts))])
            kind = chance.random()
            if kind < 0.2:
                foreign = stores[chance.choice([one for one in stores if one != name])]["notes"]
                texts = chance.sample(list(foreign.values()), 5)
                yield Group(chance.choice(small_talk) if kind < 0.08 else prompt["prompt"], texts, [False] * 5)


def mixed(often: Iterator[Group], seldom: Iterator[Group], share: float, chance: random.Random) -> Iterator[Group]:
    while True:
        yield next(seldom) if chance.random() < share else next(often)


def train(model: Reader, encoded: Encoded, groups: Iterator[Group], steps: int, rate: float) -> None:
    free = [one for one in model.parameters() if one.requires_grad]
    decays = [{"params": [one for one in free if one.ndim > 1], "weight_decay": 0.01}]
    optimiser = torch.optim.AdamW(
        [*decays, {"params": [one for one in free if one.ndim == 1], "weight_decay": 0.0}], lr=rate, betas=(0.9, 0.98)
    )
    model.train()
    began, losses = time.monotonic(), list[float]()
    for step in range(steps):
        done = step / steps
        for group in optimiser.param_groups:
            group["lr"] = rate * min(done / WARM_UP, max(0.02, (1 - done) / (1 - WARM_UP)))
        some = [next(groups) for _ in range(GROUPS)]
        loss = _loss(model, encoded, some)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(free, 1.0)
        optimiser.step()
        losses.append(loss.item())
        if step % 50 == 49:
            print(f"{step + 1} of {steps}: {np.mean(losses[-50:]):.3f}, {time.monotonic() - began:.0f} s", flush=True)


def _loss(model: Reader, encoded: Encoded, groups: Sequence[Group]) -> Tensor:
    """Returns the mean loss of each pair, and of the right ones among those of their question."""
    odds = _odds(model, encoded, [(one.question, text) for one in groups for text in one.texts])
    right = torch.tensor([float(good) for one in groups for good in one.right], device=odds.device)
    loss = functional.binary_cross_entropy_with_logits(odds, right * 0.96 + 0.02)
    sizes = [len(one.texts) for one in groups]
    listed = [
        torch.logsumexp(part, 0) - torch.logsumexp(part[good > 0], 0)
        for part, good in zip(odds.split(sizes), right.split(sizes), strict=True)
        if 0 < good.sum() < len(good)
    ]
    return loss + 0.3 * torch.stack(listed).mean() if listed else loss


def _odds(model: Reader, encoded: Encoded, pairs: Sequence[tuple[str, str]]) -> Tensor:
    ids, second, mask = encoded.batch(pairs)
    with torch.autocast(ids.device.type, torch.bfloat16):
        return model(ids, second, mask).float()


@torch.no_grad()
def report(model: Reader, encoded: Encoded, stores: Mapping[str, Any], among: int = 5) -> None:
    """Prints, for stores kept aside, how often a right note among the first candidates stands out from the best ones
    of 75 and 90 % of the prompts without an answer."""
    model.eval()
    best: dict[str, list[float]] = defaultdict(list)
    for store in stores.values():
        for prompt in [*store["prompts"], *store["foreign"]]:
            first = prompt["candidates"][:among]
            if not first:
                continue
            odds = _odds(model, encoded, [(prompt["prompt"], store["notes"][one]) for one in first]).tolist()
            good = [value for one, value in zip(first, odds, strict=True) if one in prompt["gold"]]
            best[prompt["kind"]].append(max(good, default=-99.0) if prompt["gold"] else max(odds))
    for share in (0.75, 0.9):
        floor = float(np.quantile(best["same-project"], share))
        above = {kind: f"{100 * np.mean([one > floor for one in each]):.0f}" for kind, each in best.items()}
        print(f"floor {floor:.2f}: {above}")


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("data", type=Path)
    options.add_argument("pairs", type=Path)
    options.add_argument("target", type=Path)
    options.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options.add_argument("--general", type=int, default=2_000, help="steps of the first part")
    options.add_argument("--prompts", type=int, default=1_200, help="steps of the second part")
    given = options.parse_args()
    torch.manual_seed(SEED)
    chance, device = random.Random(SEED), torch.device(given.device)
    data = json.loads(gzip.decompress(given.data.read_bytes()))
    pairs = [json.loads(line) for line in given.pairs.read_text(encoding="utf-8").splitlines()]
    model, encoded = Reader(), Encoded(device)
    model.load_state_dict(model.state_dict() | shipped(FOLDER / "model.onnx"))
    model.to(device)
    for part in (model.words, model.places, model.which, model.bias, model.embedded, *model.layers[:FROZEN]):
        part.requires_grad_(False)
    aside = {name: store for name, store in data["stores"].items() if store["aside"]}
    general = general_groups(pairs, chance)
    train(model, encoded, general, given.general, RATE)
    train(model, encoded, mixed(prompt_groups(data, chance), general, GENERAL, chance), given.prompts, FINE_RATE)
    report(model, encoded, aside)
    given.target.parent.mkdir(parents=True, exist_ok=True)
    save_file({name: value.half().contiguous().cpu() for name, value in model.trained().items()}, given.target)


if __name__ == "__main__":
    main()
