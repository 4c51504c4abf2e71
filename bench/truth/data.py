"""Labelled pairs of notes, and facts that change: ours, and those of the folder of the benchmark data."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any

from bench.injection.data import Note
from bench.material import SEED, read_lines

OWN = Path(__file__).parents[1] / "data" / "truth"
PUBLIC, ASIDE, TUNING = "public", "aside", "tuning"
SAME, CONFLICT, UPDATE, DIFFERENT, RELATED = "same", "conflict", "update", "different", "related"
LABELS = (SAME, CONFLICT, UPDATE, DIFFERENT, RELATED)
OF_EACH = 2
"""Pairs of each label that are drawn from a cluster."""
PAIRS_ASIDE = ("pia", "rok")
PAIRS_FOR_TUNING = ("gil", "jo")
CLUSTERS_FOR_TUNING = ("flo", "una")
CHAINS_ASIDE = ("sam",)
CHAINS_FOR_TUNING = ("kai", "lou", "nia")
LANGUAGES = ("de", "zh")
FIRST_NEGATIVE = datetime(2026, 1, 5, tzinfo=UTC)
BETWEEN_NEGATIVES = timedelta(days=60)


@dataclass(frozen=True, slots=True)
class Pair:
    older: str
    newer: str
    label: str
    """One of ``LABELS``."""
    domain: str
    styles: tuple[str, ...]
    lang: str


@dataclass(frozen=True, slots=True)
class Chain:
    """A fact that changed."""

    tellings: tuple[Note, ...]
    """Oldest first."""
    values: tuple[str, ...]
    """What each telling states; another value than the telling before."""
    questions: tuple[str, str]
    """For the current value: a direct question, and one in other words."""
    as_of: datetime
    """An instant between two tellings or after the last one."""

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(one.id for one in self.tellings)

    @property
    def current(self) -> str:
        return self.ids[-1]

    @property
    def older(self) -> frozenset[str]:
        return frozenset(self.ids[:-1])

    @property
    def held(self) -> str:
        """The telling that held at ``as_of``."""
        return next(one.id for one in reversed(self.tellings) if one.at <= self.as_of)


@dataclass(frozen=True, slots=True)
class ChainSet:
    """The notes of one store: the tellings of its chains, and others."""

    name: str
    chains: Sequence[Chain]
    others: Sequence[Note]

    @property
    def notes(self) -> Sequence[Note]:
        return [*(one for chain in self.chains for one in chain.tellings), *self.others]


def pair_sets(data: Path | None) -> Mapping[str, Sequence[Pair]]:
    """Returns the pairs of each set. ``public`` is missing without its file in the benchmark data."""
    sets = {
        ASIDE: _pairs(PAIRS_ASIDE),
        TUNING: [
            *_pairs(PAIRS_FOR_TUNING),
            *(one for name in CLUSTERS_FOR_TUNING for one in _drawn(read_lines(OWN / "clusters" / f"{name}.jsonl"))),
        ],
    }
    folder = _public(data, "pairs.jsonl")
    return sets if folder is None else {PUBLIC: [_pair(one) for one in read_lines(folder / "pairs.jsonl")], **sets}


def chain_sets(data: Path | None) -> Iterator[ChainSet]:
    """Yields the sets of chains, ``public`` only with its files in the benchmark data."""
    folder = _public(data, "chains.jsonl")
    if folder is not None:
        chains = [_chain(one) for one in read_lines(folder / "chains.jsonl")]
        others = [_other(PUBLIC, number, one) for number, one in enumerate(read_lines(folder / "distractors.jsonl"))]
        yield ChainSet(PUBLIC, chains, [*others, *_negatives(read_lines(folder / "negatives.jsonl"))])
    for name, files in ((ASIDE, CHAINS_ASIDE), (TUNING, CHAINS_FOR_TUNING)):
        chains = [_chain(one) for file in files for one in read_lines(OWN / "chains" / f"{file}.jsonl")]
        others = [
            _other(file, number, one)
            for file in files
            for number, one in enumerate(read_lines(OWN / "chains" / f"{file}-others.jsonl"))
        ]
        yield ChainSet(name, chains, others)


def _public(data: Path | None, file: str) -> Path | None:
    """Returns the folder of the public sets if it has this file."""
    folder = None if data is None else data / "truth"
    return folder if folder is not None and (folder / file).exists() else None


def _pairs(names: Sequence[str]) -> list[Pair]:
    return [_pair(one) for name in names for one in read_lines(OWN / "pairs" / f"{name}.jsonl")]


def _pair(line: Mapping[str, Any]) -> Pair:
    """Reads a line. Without ``lang``, the language is at the end of the style; without ``domain``, the beginning of the
    id names it."""
    style, _, suffix = line["style"].rpartition("-")
    named, lang = (style, suffix) if suffix in LANGUAGES else (line["style"], "en")
    return Pair(
        older=line["a"],
        newer=line["b"],
        label=line["label"],
        domain=line.get("domain") or line["id"].partition("-")[0],
        styles=tuple(dict.fromkeys(named.split("/"))),
        lang=line.get("lang") or lang,
    )


def _drawn(clusters: Sequence[Mapping[str, Any]]) -> Iterator[Pair]:
    """Yields pairs drawn from clusters, of each label as many."""
    chance = random.Random(SEED)
    for cluster in clusters:
        says = cluster["says"]
        later = {
            CONFLICT: [text for texts in cluster["against"] for text in texts],
            UPDATE: [text for texts in cluster["updates"] for text in texts],
            DIFFERENT: cluster["apart"],
        }
        wordings = chance.sample(says, 2 * OF_EACH)
        drawn = [(SAME, older, newer) for older, newer in zip(wordings[::2], wordings[1::2], strict=True)]
        for label, texts in later.items():
            drawn += [(label, chance.choice(says), newer) for newer in chance.sample(texts, OF_EACH)]
        for label, older, newer in drawn:
            yield Pair(older, newer, label, cluster["domain"], (cluster["style"],), cluster["lang"])


def _chain(line: Mapping[str, Any]) -> Chain:
    tellings = tuple(
        Note(f"{line['key']}/{number}", one["text"], _day(one["date"]), one["author"])
        for number, one in enumerate(line["tellings"])
    )
    values = tuple(one["value"] for one in line["tellings"])
    evening = datetime.combine(_day(line["asof"]["date"]), time.max, UTC)
    return Chain(tellings, values, (line["question"], line["question_other"]), evening)


def _other(file: str, number: int, line: Mapping[str, Any]) -> Note:
    return Note(f"{file}-other/{number}", line["text"], _day(line["date"]), line["author"])


def _negatives(lines: Sequence[Mapping[str, Any]]) -> Iterator[Note]:
    """Yields both notes of pairs that look like an update and are none. Pairs have no dates of their own."""
    for number, line in enumerate(lines):
        at = FIRST_NEGATIVE + timedelta(days=number)
        yield Note(f"negative/{number}a", line["a"], at, None)
        yield Note(f"negative/{number}b", line["b"], at + BETWEEN_NEGATIVES, None)


def _day(date: str) -> datetime:
    return datetime.fromisoformat(date).replace(tzinfo=UTC)
