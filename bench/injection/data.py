"""Notes with prompts: our own stores, and those of the folder of the benchmark data."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

OWN = Path(__file__).parents[1] / "data" / "injection"
KEPT_ASIDE = frozenset(
    {
        *("brettspiel", "clinic", "firmware", "lake", "observatory", "podcast", "pressbot"),
        *("bakery", "newsroom", "rover", "school"),
    }
)
"""Stores that train no model."""


@dataclass(frozen=True, slots=True)
class Note:
    id: str
    text: str
    at: datetime
    author: str | None


@dataclass(frozen=True, slots=True)
class Prompt:
    id: str
    text: str
    kind: str
    gold: tuple[str, ...]
    """Notes that should be in front of the agent."""
    near: tuple[str, ...]
    """Notes about the same topic that do not help."""


@dataclass(frozen=True, slots=True)
class Store:
    name: str
    notes: Sequence[Note]
    prompts: Sequence[Prompt]


def own_stores() -> Iterator[Store]:
    return (_store(folder) for folder in sorted((OWN / "stores").iterdir()))


def other_stores(data: Path | None) -> Iterator[Store]:
    """Yields the stores below the benchmark data, if it is there."""
    folder = None if data is None else data / "injection" / "stores"
    if folder is not None and folder.is_dir():
        yield from (_store(one) for one in sorted(folder.iterdir()))


def card_stores() -> Iterator[Store]:
    """Yields a store for each file of cards: each ask has its card as gold, each miss has it near."""
    for file in sorted((OWN / "cards").glob("*.jsonl")):
        notes, prompts = list[Note](), list[Prompt]()
        for number, card in enumerate(read_lines(file)):
            note = Note(f"n{number:02}", card["note"], datetime(2026, 1, 5, tzinfo=UTC), None)
            notes.append(note)
            prompts += [
                Prompt(f"{note.id}a{place}", one["prompt"], one["kind"], (note.id,), ())
                for place, one in enumerate(card["asks"])
            ]
            prompts += [
                Prompt(f"{note.id}m{place}", one, "same-project", (), (note.id,))
                for place, one in enumerate(card["misses"])
            ]
        yield Store(file.stem, notes, prompts)


def read_lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _store(folder: Path) -> Store:
    notes = [
        Note(one["id"], one["text"], datetime.fromisoformat(one["date"]).replace(tzinfo=UTC), one.get("author"))
        for one in read_lines(folder / "notes.jsonl")
    ]
    prompts = [
        Prompt(one["id"], one["prompt"], one["kind"], tuple(one["gold"]), tuple(one.get("near", ())))
        for one in read_lines(folder / "prompts.jsonl")
    ]
    return Store(folder.name, notes, prompts)
