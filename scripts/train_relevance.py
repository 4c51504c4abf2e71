"""Trains the model that reads a prompt and a note together and says whether the note helps with the prompt.

It begins as the published encoder (``scripts/build_model.py``), whose word table stays as it is. The model first reads
general pairs: subjects and bodies of commits, docstrings and code (``encoder_pairs``), and wordings of the same
statement. Then it reads prompts with their candidates (``relevance_data``). Stores kept aside train nothing; the end
reports how well the right notes stand out there. Needs torch; takes about an hour on two threads.
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
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

from scripts.build_model import DIMENSION, EPSILON, LAYER_NAMES, LAYERS, MOST_TOKENS, published
from scripts.build_relevance import rounded_words, shipped
from scripts.train_encoder import Layer

RATE, FINE_RATE = 8e-5, 6e-5
WARM_UP = 0.06
"""The share of the steps in which the rate rises."""
GROUPS = 16
"""Questions of a batch, each with its right and wrong texts."""
ALIKE = 24
"""Pairs of about the same length that are read together."""
PROMPT, PROMPT_END, NOTE = 96, 24, 150
"""Word pieces: of a longer prompt, the beginning and the end are read."""
QUESTION, PASSAGE = 160, 260
"""Characters of a general pair."""
GENERAL = 0.15
"""The share of general pairs in the second part."""
SEED = 5
CLUSTERS = Path(__file__).resolve().parents[1] / "bench" / "data" / "statement_clusters.jsonl"


@dataclass(frozen=True, slots=True)
class Group:
    question: str
    texts: Sequence[str]
    right: Sequence[bool]


class Reader(nn.Module):
    def __init__(self, weights: Mapping[str, Any]) -> None:
        super().__init__()
        tables = (weights[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type"))
        words, places, which = (np.array(table, np.float32) for table in tables)
        words = rounded_words(words)  # As it will ship.
        self.words, self.places = (
            nn.Embedding.from_pretrained(torch.from_numpy(table), freeze=True) for table in (words, places)
        )
        self.which = nn.Embedding.from_pretrained(torch.from_numpy(which), freeze=False)
        self.embedded = nn.LayerNorm(DIMENSION, EPSILON)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.head, self.drop = nn.Linear(DIMENSION, 1), nn.Dropout(0.1)
        nn.init.normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)
        found = {f"embedded.{kind}": weights[f"embeddings.LayerNorm.{kind}"] for kind in ("weight", "bias")}
        for number in range(LAYERS):
            for ours, theirs in LAYER_NAMES.items():
                for kind in ("weight", "bias"):
                    found[f"layers.{number}.{ours}.{kind}"] = weights[f"encoder.layer.{number}.{theirs}.{kind}"]
        state = {name: torch.from_numpy(np.array(value, np.float32)) for name, value in found.items()}
        self.load_state_dict(self.state_dict() | state)

    def forward(self, ids: Tensor, second: Tensor, mask: Tensor) -> Tensor:
        places = torch.arange(ids.shape[1], device=ids.device)
        x = self.drop(self.embedded(self.words(ids) + self.places(places)[None] + self.which(second)))
        for layer in self.layers:
            x = layer(x, mask[:, None, None, :])
        share = mask.float()[..., None]
        return self.head(self.drop((x * share).sum(1) / share.sum(1))).squeeze(-1)

    def trained(self) -> dict[str, Tensor]:
        """Returns the weights that were trained."""
        return {name: value for name, value in self.named_parameters() if value.requires_grad}


class Encoded:
    """Pairs as tensors on a device."""

    def __init__(self, tokenizer: Tokenizer, device: torch.device) -> None:
        self._tokenizer = tokenizer
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.device = device
        self._known: dict[str, list[int]] = {}

    def batches(self, pairs: Sequence[tuple[str, str]]) -> Iterator[tuple[list[int], tuple[Tensor, Tensor, Tensor]]]:
        """Yields the places of pairs of about the same length, with their word pieces, parts and mask."""
        rows = [(self._prompt(one), self._ids(other)[1:NOTE]) for one, other in pairs]
        order = sorted(range(len(rows)), key=lambda at: len(rows[at][0]) + len(rows[at][1]))
        for start in range(0, len(order), ALIKE):
            places = order[start : start + ALIKE]
            yield places, self._tensors([rows[at] for at in places])

    def _tensors(self, rows: Sequence[tuple[list[int], list[int]]]) -> tuple[Tensor, Tensor, Tensor]:
        longest = min(MOST_TOKENS, max(len(one) + len(other) for one, other in rows))
        ids, second = np.zeros((2, len(rows), longest), np.int64)
        mask = np.zeros((len(rows), longest), bool)
        for row, (one, other) in enumerate(rows):
            both = [*one, *other][:longest]
            ids[row, : len(both)], mask[row, : len(both)] = both, True
            second[row, len(one) : len(both)] = 1
        on_device = [torch.from_numpy(array).to(self.device) for array in (ids, second, mask)]
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
        sources[pair["source"]].append(pair["passage"][:PASSAGE])
    lines = CLUSTERS.read_text(encoding="utf-8").splitlines()
    clusters = [one for one in map(json.loads, lines) if one["part"] in ("learn", "next")]
    items: list[Mapping[str, Any]] = [*pairs, *clusters, *clusters]
    while True:
        chance.shuffle(items)
        for item in items:
            if "question" in item:
                question, right = item["question"][:QUESTION], item["passage"][:PASSAGE]
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


def train(model: Reader, encoded: Encoded, groups: Iterator[Group], steps: int, rate: float, kind: torch.dtype) -> None:
    """``kind``: of the products; the weights stay in 32 bits."""
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
        with torch.autocast(encoded.device.type, kind, enabled=kind is not torch.float32):
            loss = _loss(model, encoded, some)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(free, 1.0)
        optimiser.step()
        losses.append(loss.item())
        if step % 20 == 19:
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
    places, parts = list[int](), list[Tensor]()
    for some, tensors in encoded.batches(pairs):
        places += some
        parts.append(model(*tensors))
    return torch.cat(parts)[torch.tensor(places).argsort()]


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
    options.add_argument("--again", action="store_true", help="go on from the model that ships")
    options.add_argument("--bfloat16", action="store_true", help="on processors with AVX512-BF16, twice as fast")
    options.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options.add_argument("--general", type=int, default=500, help="steps of the first part")
    options.add_argument("--prompts", type=int, default=900, help="steps of the second part")
    given = options.parse_args()
    torch.manual_seed(SEED)
    chance, device = random.Random(SEED), torch.device(given.device)
    data = json.loads(gzip.decompress(given.data.read_bytes()))
    pairs = [json.loads(line) for line in given.pairs.read_text(encoding="utf-8").splitlines()]
    weights, tokenizer = published()
    model, encoded = Reader(weights), Encoded(tokenizer, device)
    if given.again:
        trained = {name: torch.from_numpy(np.array(value, np.float32)) for name, value in shipped().items()}
        model.load_state_dict(model.state_dict() | trained)
    model.to(device)
    aside = {name: store for name, store in data["stores"].items() if store["aside"]}
    general = general_groups(pairs, chance)
    kind = torch.bfloat16 if given.bfloat16 else torch.float32
    train(model, encoded, general, given.general, RATE, kind)
    prompts = mixed(prompt_groups(data, chance), general, GENERAL, chance)
    train(model, encoded, prompts, given.prompts, FINE_RATE, kind)
    report(model, encoded, aside)
    given.target.parent.mkdir(parents=True, exist_ok=True)
    save_file({name: value.half().contiguous().cpu() for name, value in model.trained().items()}, given.target)


if __name__ == "__main__":
    main()
