"""Baselines: plain searches over the same texts."""

# apsw's types name a Buffer that Python 3.11 does not have.
# pyright: reportUnknownMemberType=false

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

import apsw

from bench.quality.data import Item
from bench.quality.metrics import DEEP

RRF_CONSTANT = 60
_WORD = re.compile(r"\w+")
_STOP = frozenset(
    _WORD.findall(
        "a an and are as at be by did do does for from has have how i in is it of on or that the to was what "
        "when where which who why with"
    )
)


class Ask(Protocol):
    def __call__(self, text: str, limit: int, now: datetime | None = None, /) -> Sequence[str]:
        """Returns the ids of at most ``limit`` texts, best first. ``now``: the time of the query."""
        ...


def words(text: str) -> list[str]:
    """Returns the distinct words in lower case, without the most common."""
    return list(dict.fromkeys(word for word in _WORD.findall(text.lower()) if word not in _STOP))


def any_word(text: str) -> str:
    """Returns an FTS5 query for any of the less common words; empty if there is none."""
    return " OR ".join(f'"{word}"' for word in words(text))


def phrase(text: str) -> str:
    """Returns an FTS5 query for the phrase of all words."""
    return '"' + text.replace('"', '""').replace("\0", " ") + '"'


def grep(items: Sequence[Item]) -> Ask:
    """Finds texts that contain any of the words, ignoring case: most words first, then newest first."""
    newest_first = sorted(enumerate(items), key=lambda one: (one[1]["timestamp"] or "", one[0]), reverse=True)
    lowered = [(item["id"], item["text"].lower()) for _, item in newest_first]

    def ask(text: str, limit: int, _now: datetime | None = None) -> Sequence[str]:
        asked = words(text)
        counts = [(sum(word in held for word in asked), name) for name, held in lowered]
        best = sorted((one for one in counts if one[0]), key=lambda one: -one[0])
        return [name for _, name in best[:limit]]

    return ask


def fts5(items: Sequence[Item], query: Callable[[str], str]) -> Ask:
    """Searches with SQLite's full-text index and its porter tokenizer, by bm25."""
    connection = apsw.Connection(":memory:")
    list(connection.execute("CREATE VIRTUAL TABLE note USING fts5(id UNINDEXED, text, tokenize='porter unicode61')"))
    connection.executemany("INSERT INTO note VALUES (?, ?)", ((item["id"], item["text"]) for item in items))

    def ask(text: str, limit: int, _now: datetime | None = None) -> Sequence[str]:
        match = query(text)
        sql = "SELECT id FROM note WHERE note MATCH ? ORDER BY bm25(note) LIMIT ?"
        return [str(row[0]) for row in connection.execute(sql, (match, limit))] if match else []

    return ask


def fused_by_rank(asks: Sequence[Ask]) -> Ask:
    """Reciprocal rank fusion of the first ``DEEP`` of each: the sum of 1 / (60 + rank)."""

    def ask(text: str, limit: int, _now: datetime | None = None) -> Sequence[str]:
        scores: dict[str, float] = {}
        for one in asks:
            for rank, name in enumerate(one(text, DEEP), start=1):
                scores[name] = scores.get(name, 0.0) + 1 / (RRF_CONSTANT + rank)
        return sorted(scores, key=lambda name: -scores[name])[:limit]

    return ask
