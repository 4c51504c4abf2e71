"""Injection into prompts: what the relevance model decides is injected, pointed to or left out."""

from collections.abc import Generator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.text import Clean
from hivelore.core.token_count import estimate
from hivelore.search.model import RERANKED
from hivelore.sessions.injection import MAX_POINTERS, MAX_RELEVANT, POINTER_TOKENS, Note, Section, compose
from hivelore.sessions.model import AgentEvent, EventId, EventKind
from support.clocks import SteppingClock
from support.fences import NONCE, inside
from support.memories import a_memory
from support.relevance import DecidedReader
from support.stores import KEYWORDS, STORES
from support.world import AS_ADA, World, hashing

HERE = Clean("example.com/bees/hive")
QUESTION = "the big job of the night does not end"
SURE, UNSURE, NO = 12.0, 0.8, -12.0
"""Log odds of the model: enough for an injection, for a pointer, and for nothing."""
NOTE = "Nightly imports hang: the lock of the big table has to be released first."
HINT = "The night job writes its log to /var/log/night."
OTHER = "The big screen shows the night schedule."


@pytest.fixture
def reader() -> DecidedReader:
    return DecidedReader({"imports": SURE, "log": UNSURE}, NO)


@pytest.fixture
def world(reader: DecidedReader, clock: SteppingClock, tmp_path: Path) -> Generator[World]:
    kind = KEYWORDS["postings"]
    with closing(STORES[kind.store].open(tmp_path, clock)) as store:
        yield World(store, kind.index(), clock, embedder=hashing(), relevance_reader=reader)


class Prompts:
    """Prompts of one session."""

    def __init__(self, world: World) -> None:
        self._world, self._ids = world, count(1)
        self.send("hello")  # With the session-start context.

    def send(self, text: str) -> list[str]:
        """Returns the injected lines."""
        event = AgentEvent(
            id=EventId(f"e{next(self._ids)}"),
            kind=EventKind.PROMPTED,
            program="claude-code",
            session=Clean("s1"),
            at=self._world.clock.now(),
            project=HERE,
            text=Clean(text),
        )
        context = self._world.capture.handle(event, AS_ADA).context
        return inside(context)[1].splitlines() if context else []


def test_the_model_decides_what_is_injected_what_is_pointed_to_and_what_is_left_out(world: World) -> None:
    prompts = Prompts(world)
    note, hint, _ = (world.remember(text, project=HERE) for text in (NOTE, HINT, OTHER))
    assert prompts.send(QUESTION) == [
        "## Relevant Past Knowledge",
        f"- [{note.id} 2026-03-01] {NOTE}",
        "",
        "## May be relevant (memory-get)",
        f"- [{hint.id}] {HINT}",
    ]


def test_nothing_is_repeated_but_a_memory_that_was_pointed_to_may_follow_in_full(
    world: World, reader: DecidedReader
) -> None:
    prompts = Prompts(world)
    hint = world.remember(HINT, project=HERE)
    assert prompts.send(QUESTION) == ["## May be relevant (memory-get)", f"- [{hint.id}] {HINT}"]
    assert prompts.send(QUESTION) == []
    reader.odds["log"] = SURE
    assert prompts.send(QUESTION) == ["## Relevant Past Knowledge", f"- [{hint.id} 2026-03-01] {HINT}"]
    assert prompts.send(QUESTION) == []


def test_no_fillers_follow_when_the_good_memories_are_used_up(world: World) -> None:
    prompts = Prompts(world)
    for number in range(5):
        world.remember(f"The big night of team {number} does not end before {number % 12}.", project=HERE)
    world.remember(NOTE, project=HERE)
    assert len(prompts.send(QUESTION)) == 2
    assert prompts.send(QUESTION) == []


def test_known_memories_are_not_replaced_by_the_next_best(world: World) -> None:
    prompts = Prompts(world)
    for number in range(9):
        world.remember(f"Nightly imports hang on the big table {number}: the job does not end.", project=HERE)
    heading, *lines = prompts.send(QUESTION)
    assert (heading, len(lines)) == ("## Relevant Past Knowledge", MAX_RELEVANT)
    assert prompts.send(QUESTION) == []
    better = world.remember("The big imports job of the night does not end.", project=HERE)
    assert prompts.send(QUESTION)[1:] == [f"- [{better.id} 2026-03-01] {better.content}"]


def test_at_most_three_short_lines_point_to_memories(world: World, reader: DecidedReader) -> None:
    prompts = Prompts(world)
    reader.odds["night"] = UNSURE
    for number in range(9):
        world.remember(f"The big night job {number} does not end, " + "and much more is to be said " * 20, project=HERE)
    _, *lines = prompts.send(QUESTION)
    assert len(lines) == MAX_POINTERS
    assert all(line.endswith("…") and estimate(line) <= POINTER_TOKENS for line in lines)


def test_the_model_reads_only_the_best_hits(world: World, reader: DecidedReader) -> None:
    prompts = Prompts(world)
    for number in range(30):
        world.remember(f"The big night job {number} does not end.", project=HERE)
    reader.read_texts.clear()
    prompts.send(QUESTION)
    assert 0 < len(reader.read_texts) <= RERANKED


def test_without_the_model_the_other_evidence_decides(world: World, reader: DecidedReader) -> None:
    prompts = Prompts(world)
    note = world.remember(NOTE, project=HERE)
    reader.fails = True
    assert prompts.send("What do we do when nightly imports hang, is a lock of the big table to be released?") == [
        "## Relevant Past Knowledge",
        f"- [{note.id} 2026-03-01] {NOTE}",
    ]
    assert prompts.send("Draw a picture of the sea.") == []


@given(st.text(min_size=1, max_size=300).filter(lambda text: text.strip() != ""))
def test_a_pointer_is_one_short_line(name: str) -> None:
    note = Note(a_memory("x", name=Clean(name)), "x", "019a2b3c", is_pointer=True)
    injection = compose([Section("Pointers", [note])], 1_000, NONCE)
    (line,) = [line for line in inside(str(injection.text))[1].splitlines() if line.startswith("- ")]
    assert line.startswith("- [019a2b3c] ")
    assert estimate(line) <= POINTER_TOKENS
