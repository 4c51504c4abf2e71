"""Data for the speed benchmarks: real texts and queries, and data directories filled with them.

Many memories are composed from runs of lines of few notes, with a fixed seed, so that words keep about their natural
distribution; their vectors are composed too (``bench.filling``).
"""

import json
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from bench.filling import Filled, Lines, fill
from hivelore.core.text import Clean
from hivelore.memories.drafts import Draft
from hivelore.memories.model import Scope
from hivelore.models.onnx.provider import OnnxEmbedder

ROOT = Path(__file__).parents[1]
SEED = 20_26
LINES = 10_000
"""Lines that are embedded for real; whole memories are composed of them."""
RUN, SHORT_RUN = 5, 2
"""Lines that stay together, in a note and in a short memory: what it is about comes up in several of them. Few memories
share so much that they say the same."""
SHORTEST_LINE, LONGEST_LINE = 25, 120
LENGTHS = (200, 380)
"""Characters that a memory has at least; its last line comes on top of them."""
PRIVATE = 10
"""One of this number of memories is private."""


@dataclass
class Bench:
    """One run of the benchmarks: its scale, its data and its temporary files."""

    scale: float
    data: Path | None
    folder: Path
    say: Callable[[str], None]
    _filled: dict[int, Filled] = field(default_factory=dict[int, Filled])

    def count(self, full: int, least: int = 1) -> int:
        """Returns a number of items, reduced by the scale."""
        return max(least, round(full * self.scale))

    def place(self) -> Path:
        """Returns a new empty folder."""
        return Path(tempfile.mkdtemp(dir=self.folder))

    @cached_property
    def embedder(self) -> OnnxEmbedder:
        return OnnxEmbedder(threads=2)

    @cached_property
    def notes(self) -> Sequence[str]:
        if self.data is not None:
            return [one["text"] for one in read_lines(self.data / "quality" / "commits" / "corpus.jsonl")]
        pages = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]
        return [part for page in pages for part in page.read_text("utf-8").split("\n\n") if len(part) > SHORTEST_LINE]

    @cached_property
    def questions(self) -> Sequence[str]:
        """Returns the distinct queries, shuffled."""
        if self.data is None:
            questions = [line for note in self.notes for line in lines_of(note)]
        else:
            files = [self.data / "quality" / name / "queries.jsonl" for name in ("commits", "cosqa", "devbench")]
            questions = [one["query"] for file in files for one in read_lines(file)]
        unique = list(dict.fromkeys(questions))
        random.Random(SEED).shuffle(unique)
        return unique

    @property
    def source(self) -> str:
        """The origin of the texts, for the report."""
        if self.data is None:
            return "the documents of this checkout"
        return f"{len(self.notes):,} public commit messages"

    @cached_property
    def _lines(self) -> Sequence[str]:
        """Returns the lines of whole notes, in order."""
        notes = list(self.notes)
        random.Random(SEED).shuffle(notes)
        lines = list(dict.fromkeys(line for note in notes for line in lines_of(note) if len(line) <= LONGEST_LINE))
        return lines[: min(LINES, self.count(10 * LINES, 50))]

    @cached_property
    def lines(self) -> Lines:
        """The lines that memories are composed of, with their vectors and tokens."""
        self.say(f"embedding {len(self._lines):,} lines")
        embedded = self.embedder.embed_in_detail([Clean(line) for line in self._lines])
        return Lines(dict(zip(self._lines, embedded, strict=True)))

    def texts(self, count: int, seed: int = SEED) -> Iterator[str]:
        """Yields composed notes, all different, about as long as the real ones."""
        chance = random.Random(seed)
        for number in range(count):
            wanted = len(chance.choice(self.notes))
            parts = [f"Note {seed}-{number}."]
            size = 0
            while size < wanted:
                at = chance.randrange(len(self._lines))
                parts += self._lines[at : at + RUN]
                size = sum(map(len, parts))
            yield "\n".join(parts)[: wanted + len(parts[0])]

    def memories(self, count: int) -> Iterator[str]:
        """Yields composed memories, all different, of 200 to 500 characters in whole lines: one passage each."""
        chance = random.Random(SEED)
        for number in range(count):
            parts = [f"Memory {number}."]
            size, wanted = len(parts[0]), chance.randint(*LENGTHS)
            while size < wanted:
                at = chance.randrange(len(self._lines))
                for line in self._lines[at : at + SHORT_RUN]:
                    if size < wanted:
                        parts.append(line)
                        size += 1 + len(line)
            yield "\n".join(parts)

    def filled(self, memories: int) -> Filled:
        """Returns a data directory with this many memories with vectors and tokens: every tenth one is private to this
        machine's agent, the others are shared. Made once, and shared: who writes into it copies it before."""
        if memories not in self._filled:
            drafts = (
                Draft(content=text, scope=Scope.SWARM if number % PRIVATE else Scope.AGENT)
                for number, text in enumerate(self.memories(memories))
            )
            filled = fill(self.place(), drafts, self.lines, self.say)
            self._filled[memories] = filled
            self.say(f"{memories:,} memories were stored in {filled.words + filled.vectors:.0f} s")
        return self._filled[memories]


def lines_of(note: str) -> Iterator[str]:
    """Returns its nonempty lines, stripped."""
    return (line for line in map(str.strip, note.split("\n")) if len(line) >= SHORTEST_LINE)


def read_lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
