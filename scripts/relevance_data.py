"""Collects the training data of the model that says whether a note answers a prompt: notes, prompts and candidates.

The candidates of a prompt are the best hits of the product's own search, so that the model learns to tell apart what
the search cannot. Run in the environment of the product:
``python -m scripts.relevance_data build/relevance.json.gz``.
"""

import gzip
import json
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.injection.data import KEPT_ASIDE, OWN, Prompt, Store, card_stores, own_stores, read_lines
from bench.injection.stores import Filled, filled, foreign_prompt

from hivelore.core.text import Clean
from hivelore.search.model import Query

CANDIDATES = 20
OTHER_STORES = 40
"""Prompts of other stores that are asked of a store kept aside."""
SEED = 5


@dataclass(frozen=True, slots=True)
class Asked:
    """A prompt with the ids of its candidates, best first."""

    prompt: str
    kind: str
    gold: Sequence[str]
    near: Sequence[str]
    candidates: Sequence[str]


def collect(stores: Sequence[Store]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields the notes and prompts of each store, and prompts of others for those kept aside."""
    chance = random.Random(SEED)
    for store in stores:
        others = [one for other in stores if other is not store for one in other.prompts if one.kind != "smalltalk"]
        foreign = chance.sample(others, OTHER_STORES) if store.name in KEPT_ASIDE else []
        with TemporaryDirectory() as folder, filled(Path(folder), store) as opened:
            yield (
                store.name,
                {
                    "notes": {note.id: note.text for note in store.notes},
                    "prompts": [_asked(opened, store, one) for one in store.prompts],
                    "foreign": [_asked(opened, store, foreign_prompt(one)) for one in foreign],
                    "aside": store.name in KEPT_ASIDE,
                },
            )


def _asked(opened: Filled, store: Store, prompt: Prompt) -> dict[str, Any]:
    query = Query(text=Clean(prompt.text), limit=CANDIDATES, project=Clean(store.name))
    hits = opened.app.search_service.recall(query, opened.viewer).hits
    ids = [str(hit.memory.external_id) for hit in hits]
    return asdict(Asked(prompt.text, prompt.kind, prompt.gold, prompt.near, ids))


def main(target: Path) -> None:
    stores = dict(collect([*own_stores(), *card_stores()]))
    small_talk = [one["prompt"] for one in read_lines(OWN / "smalltalk.jsonl")]
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(gzip.compress(json.dumps({"stores": stores, "small_talk": small_talk}).encode()))
    print(f"{len(stores)} stores, {sum(len(one['prompts']) for one in stores.values()):,} prompts")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
