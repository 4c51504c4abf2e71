"""The candidates of a recall: as many for every limit, and those that the query names by an identifier or a date."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hivelore.core.values import replace
from hivelore.search.model import LIMIT_RANGE
from hivelore.search.ranking import Pool, SearchConstants
from hivelore.search.service import TOP
from hivelore.search.tokenizer import document_terms, whole_terms
from support.clocks import SteppingClock
from support.reference.keywords import ReferenceKeywords
from support.reference.store import ReferenceStore
from support.world import AS_BOB, World, hashing

NOW = datetime(2026, 3, 1, tzinfo=UTC)
WORDS = ("lamp", "hall", "bulb", "sofa", "attic", "kettle", "repaired", "broken", "watts", "electrician")
LIMITS = (10, 11, 17, 25, 40, LIMIT_RANGE[1])
SMALL = Pool(each=12, named=3)
"""A pool that a small store exceeds."""


def empty_world(*, has_vectors: bool, pool: Pool | None = None) -> World:
    clock = SteppingClock(NOW)
    constants = SearchConstants() if pool is None else SearchConstants(pool=pool)
    embedder = hashing() if has_vectors else None
    return World(ReferenceStore(clock), ReferenceKeywords(), clock, embedder=embedder, constants=constants)


def top_of(world: World, question: str, limit: int, **more: Any) -> list[tuple[str, float]]:
    hits = world.recall(question, limit=limit, **more).hits
    return [(hit.memory.id, hit.score.total) for hit in hits[:TOP]]


@given(
    notes=st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6), min_size=1, max_size=60),
    copied=st.integers(0, 40),
    question=st.lists(st.sampled_from(WORDS), min_size=1, max_size=5),
    diversity=st.sampled_from([0.0, 0.5]),
    has_vectors=st.booleans(),
)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_first_ten_hits_are_the_same_for_every_limit(
    notes: list[list[str]], copied: int, question: list[str], diversity: float, has_vectors: bool
) -> None:
    world = empty_world(has_vectors=has_vectors, pool=SMALL)
    for words in notes:
        world.remember(" ".join(words))
    for number in range(copied):
        world.remember(" ".join(notes[0]), name=f"copy {number}")
    first, *others = (top_of(world, " ".join(question), limit, diversity=diversity) for limit in LIMITS)
    assert all(other == first for other in others)
    few = top_of(world, " ".join(question), 3, diversity=diversity)
    assert few == first[:3]


@pytest.mark.parametrize("copied", [0, 40, 200])
def test_a_large_store_answers_alike_for_every_limit(world: World, copied: int) -> None:
    for number in range(160):
        world.remember(f"The lamp of room {number} needs a bulb of {number % 7} watts, says {WORDS[number % 10]}.")
    for number in range(copied):
        world.remember("The lamp of the hall needs a bulb.", name=f"copy {number}")
    first, *others = (top_of(world, "which bulb does the lamp of room 77 need", limit) for limit in (10, 50))
    assert all(other == first for other in others)


@pytest.mark.parametrize("has_vectors", [True, False])
def test_a_memory_with_an_identifier_of_the_query_is_a_candidate_among_many_better_matches(has_vectors: bool) -> None:
    question = (
        "the lamp and the bulb in the hall and the sofa in the attic were repaired by the electrician after E4711"
    )
    found: list[bool] = []
    for pool in (SMALL, replace(SMALL, named=0)):
        world = empty_world(has_vectors=has_vectors, pool=pool)
        named = world.remember("Filed as E4711 by somebody who called about quite another matter last year.")
        for number in range(30):
            world.remember(f"Lamp, bulb, hall, sofa, attic: repaired by the electrician, visit {number}.")
            world.remember(f"Tomatoes and beans were planted, row {number}.")
            world.remember(f"The train to Bergen was late, day {number}.")
        hits = world.recall(question, limit=50).hits
        found.append(named.id in {hit.memory.id for hit in hits})
    assert found == [True, False]


@pytest.mark.parametrize("has_vectors", [True, False])
def test_a_memory_of_a_time_that_the_query_names_is_a_candidate_among_many_better_matches(has_vectors: bool) -> None:
    then = datetime(2026, 2, 12, tzinfo=UTC)
    question = "what the electrician repaired at the lamp in the hall last month"
    found: list[bool] = []
    for pool in (SMALL, replace(SMALL, named=0)):
        world = empty_world(has_vectors=has_vectors, pool=pool)
        dated = world.remember("A lamp came with tomatoes, beans and a train ticket to Bergen.", created_at=then)
        for number in range(30):
            world.remember(f"The electrician repaired the lamp in the hall, visit {number}.")
        hits = world.recall(question, limit=50).hits
        found.append(dated.id in {hit.memory.id for hit in hits})
    assert found == [True, False]


def test_candidates_of_a_named_time_stay_within_the_times_of_the_query() -> None:
    world = empty_world(has_vectors=True, pool=SMALL)
    early, late = (world.remember("The lamp.", created_at=datetime(2025, 5, day, tzinfo=UTC)) for day in (5, 25))
    for number in range(30):
        world.remember(f"The lamp in the hall, visit {number}.", created_at=datetime(2025, 5, 10, tzinfo=UTC))
    after, before = (datetime(2025, 5, day, tzinfo=UTC) for day in (10, 20))
    answer = world.recall("the lamp in May 2025", limit=50, created_after=after, created_before=before)
    found = {hit.memory.id for hit in answer.hits}
    assert found.isdisjoint({early.id, late.id})


def test_a_memory_of_another_viewer_is_no_candidate_by_its_identifier() -> None:
    world = empty_world(has_vectors=False, pool=SMALL)
    world.remember("TICKET-4711", AS_BOB)
    for number in range(30):
        world.remember(f"The lamp in the hall, visit {number}.")
    assert not any("TICKET" in content for content in world.found("lamp in the hall TICKET-4711", limit=50))


def test_the_whole_of_a_name_is_its_rarest_term() -> None:
    text = "retryCount in src/app/main.py"
    rarities = dict.fromkeys(document_terms(text), 1.0) | {"retrycount": 5.0, "src/app/main.py": 6.0}
    assert whole_terms(["retrycount", "src/app/main.py", "unknown_name"], rarities) == ["retrycount", "src/app/main.py"]


@pytest.mark.parametrize("limit", [1, 10, 50])
def test_memories_of_other_projects_than_the_preferred_one_come_last_in_a_search_of_everything(limit: int) -> None:
    world = empty_world(has_vectors=False)
    for watts, project in ((40, "hall"), (60, None), (75, "attic")):
        world.remember(f"The lamp needs a bulb of {watts} watts.", project=project)
    plain, preferring = (
        world.recall("bulb of the lamp", limit=limit, prefers=prefers).hits for prefers in (None, "hall")
    )
    assert [hit.memory.project for hit in plain] == [None, "attic", "hall"][:limit]
    assert [hit.memory.project for hit in preferring] == [None, "hall", "attic"][:limit]
    assert [hit.score.prior for hit in plain] == [0.0, 0.0, 0.0][:limit]
    assert [hit.score.prior for hit in preferring] == [0.0, 0.0, -0.3][:limit]
