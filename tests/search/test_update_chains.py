"""Chains of facts in any order: the current fact ranks first, and the fact of any time is known exactly."""

from collections.abc import Generator, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest

from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.indexes.vectors.scan import ScanVectors
from hivelore.memories.drafts import Draft
from hivelore.memories.model import Memory
from hivelore.models.onnx.provider import OnnxEmbedder
from hivelore.search.model import Hit
from hivelore.storage.ports import MemoryStore
from support.clocks import START, SteppingClock
from support.shown import Show
from support.stores import KEYWORDS, STORES
from support.update_chains import Chain, shuffled_facts, update_chains
from support.world import AS_ADA, World

MODERATE = {"sqlite": 60, "postgresql": 20}
"""Number of chains. Statements take longer on a server."""
AT_ONCE = 50


def world_of(engine: str, store: MemoryStore, clock: SteppingClock) -> World:
    """Returns a world with the indexes of a service."""
    embedder = OnnxEmbedder()
    vectors = ScanVectors(embedder.fingerprint, embedder.dimension)
    world = World(store, KEYWORDS[engine].index(), clock, embedder=embedder, vectors=vectors)
    world.active_model.update_indexes(store)
    return world


def tell(world: World, chains: Sequence[Chain], *, keyed: bool) -> None:
    drafts = [
        Draft(content=fact.text, subject=chain.subject, valid_from=fact.since)
        if keyed
        else Draft(content=fact.text, created_at=fact.since)
        for chain, fact in shuffled_facts(chains)
    ]
    for start in range(0, len(drafts), AT_ONCE):
        world.memory_service.remember_many(drafts[start : start + AT_ONCE], AS_ADA)
    world.embed()


def on_top(world: World, chains: Sequence[Chain]) -> list[Chain]:
    """Returns the chains whose current fact is the first hit."""
    return [chain for chain in chains if world.found(chain.question)[:1] == [chain.facts[-1].text]]


def known_at(world: World, chain: Chain) -> list[list[Memory]]:
    """Returns the list of a fact key at each relevant time."""
    where = replace(world.reading.widest_filter(AS_ADA), subject=Clean(chain.subject))
    return [list(world.reading.page(replace(where, held_at=at), None, 9, AS_ADA).memories) for at in chain.instants()]


def wrong_then(world: World, chains: Sequence[Chain], asked: Sequence[Chain]) -> list[str]:
    """Returns differences between the facts of a time and lists, memories and recalls. Recall takes longer, so only
    some chains are checked."""
    wrong: list[str] = []
    for chain in chains:
        for at, listed in zip(chain.instants(), known_at(world, chain), strict=True):
            fact = chain.at(at)
            expected = [] if fact is None else [fact.text]
            if [one.content for one in listed] != expected:
                wrong.append(f"list {chain.subject} {at}")
            if [world.reading.get(one.id, AS_ADA, at).content for one in listed] != expected:
                wrong.append(f"get {chain.subject} {at}")
            if chain in asked and recalled(world, chain, at) != expected:
                wrong.append(f"recall {chain.subject} {at}")
    return wrong


def recalled(world: World, chain: Chain, at: datetime) -> list[str]:
    """Returns the contents of the chain that a recall finds."""
    return [hit.memory.content for hit in world.recall(chain.question, as_of=at).hits if is_of(hit, chain)]


def behind(world: World, chains: Sequence[Chain]) -> list[str]:
    """Returns recalls that find the fact of a time only after one about another thing with a similar name."""
    return [
        f"{chain.subject} {at}"
        for chain in chains
        for at in chain.instants()
        if not all(is_of(hit, chain) for hit in world.recall(chain.question, as_of=at).hits[:1] if chain.at(at))
    ]


def is_of(hit: Hit, chain: Chain) -> bool:
    return hit.memory.subject == chain.subject


@pytest.fixture(params=["postings", "postings on postgres"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[World]:
    clock = SteppingClock()
    with closing(STORES[KEYWORDS[request.param].store].open(tmp_path, clock)) as store:
        yield world_of(request.param, store, clock)


def test_the_current_fact_ranks_first_and_earlier_ones_are_known_exactly(kept: World) -> None:
    chains = update_chains(MODERATE[kept.store.name.partition(" ")[0]], START)
    tell(kept, chains, keyed=True)
    assert on_top(kept, chains) == chains
    assert wrong_then(kept, chains[::3], chains[::12]) == []
    assert behind(kept, chains[::12]) == []


@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("engine", ["postings", "postings on postgres"])
def test_a_thousand_chains_of_facts(engine: str, tmp_path: Path, show: Show) -> None:
    chains = update_chains(1_000, START)
    clock = SteppingClock()
    asked = chains if engine == "postings" else chains[::10]  # A server takes its time.
    figures: dict[bool, int] = {}
    wrong: list[str] = []
    late: list[str] = []
    for keyed in (True, False):
        folder = tmp_path / str(keyed)
        folder.mkdir()
        with closing(STORES[KEYWORDS[engine].store].open(folder, clock)) as store:
            world = world_of(engine, store, clock)
            tell(world, chains, keyed=keyed)
            figures[keyed] = len(on_top(world, chains))
            if keyed:
                wrong, late = wrong_then(world, chains, asked), behind(world, asked)
    answers = sum(len(chain.instants()) * (3 if chain in asked else 2) for chain in chains)
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
