"""Questions that find their notes among a thousand others with the shipped model: first, except for a few with a known
rank."""

from collections.abc import Generator
from contextlib import closing
from datetime import timedelta
from itertools import product
from pathlib import Path

import pytest

from hivelore.memories.drafts import Draft
from hivelore.models.onnx.provider import OnnxEmbedder
from support.clocks import SteppingClock
from support.pairs import PAIRS, PLACES, plain_notes
from support.stores import KEYWORDS, STORES
from support.world import AS_ADA, World


@pytest.fixture(scope="module")
def full_world(tmp_path_factory: pytest.TempPathFactory) -> Generator[World]:
    clock = SteppingClock()
    with closing(STORES["sqlite"].open(tmp_path_factory.mktemp("pairs"), clock)) as store:
        world = World(store, KEYWORDS["postings"].index(), clock, embedder=OnnxEmbedder())
        world.memory_service.remember_many([Draft(content=note) for _, note, _ in PAIRS], AS_ADA)
        clock.advance(timedelta(days=1))
        world.memory_service.remember_many([Draft(content=text) for text in plain_notes(1_000)], AS_ADA)
        world.embed()
        yield world


def test_there_are_enough_distinct_pairs() -> None:
    assert len(PAIRS) >= 120
    assert len({query for query, _, _ in PAIRS}) == len({note for _, note, _ in PAIRS}) == len(PAIRS)
    assert {query for query, _, _ in PAIRS} >= PLACES.keys()
    assert len(set(plain_notes(1_000))) == 1_000


@pytest.mark.parametrize(("query", "note", "why"), PAIRS, ids=[f"{why}: {query[-60:]}" for query, _, why in PAIRS])
def test_each_question_finds_its_note_at_the_expected_rank(full_world: World, query: str, note: str, why: str) -> None:
    place = PLACES.get(query, 1)
    if place:
        assert note in full_world.found(query)[:place], why


def test_a_unique_name_finds_its_memory_first(tmp_path: Path) -> None:
    subjects = ("mail relay", "search index", "image resizer", "backup job", "billing worker")
    places = ("in the cellar", "on the second floor", "behind the balancer", "at the Oslo site", "in the staging zone")
    doings = (
        "stops answering",
        "loses its lease",
        "writes to a full disk",
        "forgets its certificate",
        "doubles messages",
    )
    causes = (
        "after a kernel update",
        "while the clock jumps",
        "under a heavy import",
        "when DNS is slow",
        "at midnight",
    )
    notes = [f"the {' '.join(parts)} (zq{at}x)" for at, parts in enumerate(product(subjects, places, doings, causes))]
    clock = SteppingClock()
    with closing(STORES["sqlite"].open(tmp_path, clock)) as store:
        world = World(store, KEYWORDS["postings"].index(), clock, embedder=OnnxEmbedder())
        world.memory_service.remember_many([Draft(content=note) for note in notes], AS_ADA)
        world.embed()
        names = {note: note[note.index("(") + 1 : -1] for note in notes}
        assert {note: world.found(name)[0] for note, name in names.items()} == {note: note for note in notes}
