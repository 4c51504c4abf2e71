"""Chains of facts in any order: the current fact ranks first, and the fact of any time is known exactly."""

from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest
from bench.truth.keyed_chains import Asked, count_answers, update_chains

from hivelore.indexes.vectors.scan import ScanVectors
from hivelore.models.onnx.provider import OnnxEmbedder
from hivelore.storage.ports import MemoryStore
from support.clocks import START, SteppingClock
from support.shown import Show
from support.stores import KEYWORDS, STORES
from support.world import AS_ADA, World

MODERATE = {"sqlite": 60, "postgresql": 20}
"""Number of chains. Statements take longer on a server."""


def world_of(engine: str, store: MemoryStore, clock: SteppingClock) -> World:
    """Returns a world with the indexes of a service."""
    embedder = OnnxEmbedder()
    vectors = ScanVectors(embedder.fingerprint, embedder.dimension)
    world = World(store, KEYWORDS[engine].index(), clock, embedder=embedder, vectors=vectors)
    world.active_model.update_indexes(store)
    return world


@pytest.fixture(params=["postings", "postings on postgres"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[World]:
    clock = SteppingClock()
    with closing(STORES[KEYWORDS[request.param].store].open(tmp_path, clock)) as store:
        yield world_of(request.param, store, clock)


def test_the_current_fact_ranks_first_and_earlier_ones_are_known_exactly(kept: World) -> None:
    chains = update_chains(MODERATE[kept.store.name.partition(" ")[0]], START)
    asked = Asked(kept, AS_ADA)
    asked.tell(chains, keyed=True)
    assert asked.on_top(chains) == chains
    assert asked.wrong_then(chains[::3], chains[::12]) == []
    assert asked.behind(chains[::12]) == []


@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("engine", ["postings", "postings on postgres"])
def test_a_thousand_chains_of_facts(engine: str, tmp_path: Path, show: Show) -> None:
    chains = update_chains(1_000, START)
    clock = SteppingClock()
    recalled = chains if engine == "postings" else chains[::10]  # A server takes its time.
    figures: dict[bool, int] = {}
    wrong: list[str] = []
    late: list[str] = []
    for keyed in (True, False):
        folder = tmp_path / str(keyed)
        folder.mkdir()
        with closing(STORES[KEYWORDS[engine].store].open(folder, clock)) as store:
            asked = Asked(world_of(engine, store, clock), AS_ADA)
            asked.tell(chains, keyed=keyed)
            figures[keyed] = len(asked.on_top(chains))
            if keyed:
                wrong, late = asked.wrong_then(chains, recalled), asked.behind(recalled)
    answers = count_answers(chains, recalled)
    show(
        f"Facts that change, {len(chains)} chains of 2 to 8",
        [
            f"{engine}: the present fact first, with a subject {figures[True]}, without {figures[False]}",
            f"{engine}: as_of wrong in {len(wrong)} of {answers} answers",
            f"{engine}: recalled as of an instant, another subject's fact came first {len(late)} times",
        ],
    )
    assert figures[True] == len(chains)
    assert wrong == []
