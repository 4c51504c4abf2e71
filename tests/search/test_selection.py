"""Selection of hits: relevance floor, duplicates, diversity and budget."""

from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.text import Clean
from hivelore.core.token_count import estimate
from hivelore.indexes.vectors.brute_force import ExactVectors
from hivelore.indexing.model import Neighbours, Vector
from hivelore.memories.model import Memory, MemoryId, RankFeatures
from hivelore.memories.stored import DocumentKey
from hivelore.search.model import Filter, Query, RetrievalMode, Score
from hivelore.search.ranking import Pool, Ranked, select_hits
from hivelore.search.service import KEYWORD_DEPTH
from hivelore.storage.ports import View
from support.clocks import SteppingClock
from support.memories import a_memory
from support.reference.keywords import ReferenceKeywords
from support.reference.store import ReferenceStore
from support.stores import KEYWORDS, STORES
from support.world import AS_BOB, World, hashing

LAMP = "The lamp in the hall needs a bulb of 40 watts."
BORN = datetime(2026, 1, 1, tzinfo=UTC)
WORDS = ("lamp ", "sofa ", "bulb ", "hall ")
POOL = Pool().each
LONG = "The lamp of the {room} was repaired by the electrician, who came late and left his ladder behind. "


@pytest.fixture
def plain_world(clock: SteppingClock, tmp_path: Path) -> World:
    """A world without an embedder."""
    return World(STORES["reference"].open(tmp_path, clock), KEYWORDS["exact"].index(), clock)


def notes(world: World) -> None:
    world.remember(LAMP)
    for thing in ("kettle", "ladder", "sofa", "carpet"):
        world.remember(f"The {thing} was bought last summer and stands where it always stood.")


def copies(world: World, count: int) -> Memory:
    """Returns the newest copy."""
    return [world.remember(LAMP, name=f"copy {number}") for number in range(count)][-1]


def test_a_hit_that_answers_the_query_fits_and_an_unrelated_one_does_not(world: World) -> None:
    notes(world)
    best, *others = world.recall("which bulb does the lamp in the hall need, how many watts").hits
    assert best.memory.content == LAMP
    assert best.fits
    assert all(hit.relevance < best.relevance for hit in others)
    assert not any(hit.fits for hit in world.recall("quarterly revenue forecast, where it is").hits)


def test_only_fitting_hits_are_returned_on_request(world: World) -> None:
    notes(world)
    answer = world.recall("which bulb does the lamp in the hall need", only_fitting=True)
    assert [hit.memory.content for hit in answer.hits][:1] == [LAMP]
    assert all(hit.fits for hit in answer.hits)
    assert answer.fits


def test_without_a_fitting_hit_the_answer_is_empty_and_says_so(world: World) -> None:
    notes(world)
    answer = world.recall("summer camp for the rowing club", only_fitting=True)
    assert (answer.hits, answer.fits) == ((), False)
    assert answer.message == "Nothing fits well enough."
    assert world.recall("summer camp for the rowing club").hits


def test_the_limit_does_not_change_which_hits_fit(world: World) -> None:
    notes(world)
    question = "the lamp that was bought"
    many = {hit.memory.id: (hit.relevance, hit.fits) for hit in world.recall(question).hits}
    for limit in (1, 2, 3):
        for hit in world.recall(question, limit=limit).hits:
            assert (hit.relevance, hit.fits) == many[hit.memory.id]


def test_each_hit_may_have_to_reach_a_relevance(world: World) -> None:
    notes(world)
    question = "which bulb does the lamp in the hall need, how many watts"
    all_hits = world.recall(question).hits
    assert all_hits[0].relevance > all_hits[1].relevance > 0.0
    least = all_hits[1].relevance
    kept = world.recall(question, least_relevance=least).hits
    assert [hit.memory.id for hit in kept] == [hit.memory.id for hit in all_hits if hit.relevance >= least]
    assert world.recall(question, least_relevance=0.9999).hits == ()


def test_with_a_least_relevance_recent_memories_are_no_substitute(plain_world: World) -> None:
    notes(plain_world)
    assert plain_world.recall("zzz").hits
    assert plain_world.recall("zzz", least_relevance=0.5).hits == ()


def test_a_known_memory_and_its_copies_are_left_out_unless_they_changed(world: World) -> None:
    lamp = world.remember(LAMP)
    copy = world.remember(LAMP, name="copy")
    other = world.remember("The attic has a lamp and no bulb.")
    for known in (lamp, copy):
        hits = world.recall("bulb of the lamp in the hall", known=frozenset({(known.id, 1)})).hits
        assert [hit.memory.id for hit in hits] == [other.id]
        hits = world.recall("bulb of the lamp in the hall", known=frozenset({(known.id, 2)})).hits
        assert len(hits) == 2


def test_hits_that_fit_may_be_limited_and_known_ones_count(world: World) -> None:
    notes(world)
    question = "which bulb does the lamp in the hall need, how many watts"
    for number in range(3):
        world.remember(f"The lamp in the hall needs a bulb of 40 watts, says guest {number}.")
    every = world.recall(question).hits
    fitting, weaker = ([hit.memory.id for hit in every if hit.fits is fits] for fits in (True, False))
    assert len(fitting) > 2
    assert weaker
    hits = world.recall(question, most_fitting=2).hits
    assert [hit.memory.id for hit in hits if hit.fits] == fitting[:2]
    assert [hit.memory.id for hit in hits if not hit.fits] == weaker
    hits = world.recall(question, most_fitting=2, known=frozenset({(fitting[0], 1)})).hits
    assert [hit.memory.id for hit in hits if hit.fits] == fitting[1:2]


def test_keywords_alone_need_to_match_better(plain_world: World) -> None:
    notes(plain_world)
    assert plain_world.recall("bulb of the lamp in the hall", only_fitting=True).fits
    assert not plain_world.recall("rowing club of the hall in Bergen", only_fitting=True).fits


NODS = ["the of and", "a", "???", "go on", "Please continue.", "ok", "yes, do it", "Thanks!", "OK, go ahead then"]


@pytest.mark.parametrize("question", NODS)
def test_no_hit_fits_an_uninformative_query_that_is_still_answered(
    world: World, plain_world: World, question: str
) -> None:
    for one in (world, plain_world):
        notes(one)
        one.remember("A lamp: go on, please continue, thanks, ok, yes, do it, the of and, go ahead then.")
        assert one.recall(question, only_fitting=True).hits == ()
        found = one.recall(question)
        assert found.hits
        assert not found.fits
        assert not any(hit.fits for hit in found.hits)


def test_a_filler_before_a_question_changes_nothing(world: World, plain_world: World) -> None:
    for one in (world, plain_world):
        notes(one)
        assert one.recall("ok, and which bulb does the lamp in the hall need", only_fitting=True).fits


def test_the_most_recent_ones_never_fit(plain_world: World) -> None:
    notes(plain_world)
    assert plain_world.recall("zzz").path is RetrievalMode.RECENT
    assert not plain_world.recall("zzz").fits
    silent = plain_world.recall("zzz", only_fitting=True)
    assert (silent.hits, silent.path) == ((), RetrievalMode.KEYWORDS)


def test_duplicates_are_returned_once_as_the_newest_with_a_count(world: World) -> None:
    world.remember(LAMP)
    world.remember(LAMP.upper())
    newest = world.remember(LAMP.lower())
    other = world.remember("The lamp in the attic is broken.")
    hits = world.recall("lamp in the hall bulb").hits
    assert [hit.memory.id for hit in hits] == [newest.id, other.id]
    assert [hit.alike for hit in hits] == [2, 0]


def test_omitted_duplicates_make_room_for_others(world: World) -> None:
    for name in "abc":
        world.remember(LAMP, name=name)
    world.remember("The lamp in the attic is broken.")
    assert len(world.recall("lamp in the hall bulb", limit=2).hits) == 2


def test_all_omitted_duplicates_are_counted_for_every_limit(world: World) -> None:
    for thing in ("kettle", "ladder", "sofa"):
        world.remember(f"The {thing} was bought last summer and stands in the hall.")
    newest = copies(world, 11)
    for limit, diversity in ((1, 0.0), (2, 0.0), (4, 0.0), (1, 0.7), (4, 0.7), (4, 1.0)):
        hits = world.recall("bulb of the lamp in the hall", limit=limit, diversity=diversity).hits
        assert (hits[0].memory.id, [hit.alike for hit in hits]) == (newest.id, [10] + [0] * (limit - 1))


@pytest.mark.parametrize("diversity", [0.0, 0.9])
def test_many_duplicates_crowd_out_nothing_and_the_newest_is_returned(world: World, diversity: float) -> None:
    others = {world.remember(f"The {room} has a lamp without a bulb.").id for room in ("attic", "cellar", "garage")}
    newest = copies(world, POOL + 10)
    question = "which bulb does the lamp in the hall need"
    best, *rest = world.recall(question, diversity=diversity).hits
    assert (best.memory.id, best.alike) == (newest.id, POOL + 9)
    assert {hit.memory.id for hit in rest} == others
    (only,) = world.recall(question, limit=1, diversity=diversity).hits
    assert (only.memory.id, only.alike) == (best.memory.id, best.alike)


@pytest.mark.parametrize(("text", "times"), [(LAMP, 2), ("The lamp in room {number} needs a bulb.", 1)])
def test_indexes_are_searched_again_only_if_duplicates_crowd_the_answer(
    clock: SteppingClock, text: str, times: int
) -> None:
    asked: list[int] = []

    class Counted(ExactVectors):
        def nearest(
            self, view: View, query: Vector, where: Filter, limit: int, also: Collection[DocumentKey] = ()
        ) -> Neighbours:
            asked.append(limit)
            return super().nearest(view, query, where, limit, also)

    embedder = hashing()
    vectors = Counted(embedder.fingerprint, embedder.dimension)
    world = World(ReferenceStore(clock), ReferenceKeywords(), clock, embedder=embedder, vectors=vectors)
    for number in range(POOL + 10):
        world.remember(text.format(number=number), name=f"note {number}")
    world.recall("the bulb of the lamp")
    assert asked == [POOL, KEYWORD_DEPTH][:times]


def test_without_vectors_duplicates_crowd_out_nothing(plain_world: World) -> None:
    other = plain_world.remember("The attic has a lamp.")
    newest = copies(plain_world, POOL + 10)
    first, second = plain_world.recall("lamp in the hall").hits
    assert (first.memory.id, first.alike, second.memory.id) == (newest.id, POOL + 9, other.id)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=20), st.integers(1, 6), st.booleans())
def test_the_count_of_duplicates_does_not_depend_on_the_limit(texts: list[int], limit: int, has_vectors: bool) -> None:
    ranked = [
        Ranked(
            DocumentKey(number),
            RankFeatures(MemoryId(f"m{number}"), BORN, None, 0, None, None, None, 30, is_question=False),
            Score(total=1.0 - number / 100, similarity=1.0),
            cosine=0.5,
        )
        for number in range(len(texts))
    ]
    memories = {DocumentKey(number): a_memory(WORDS[text] * 10) for number, text in enumerate(texts)}
    vectors = {DocumentKey(number): np.eye(4, dtype=np.float32)[text] for number, text in enumerate(texts)}

    def of(limit: int) -> list[tuple[DocumentKey, int]]:
        known = vectors if has_vectors else {}
        query = Query(text=Clean("x"), limit=limit)
        hits = select_hits(ranked, query, query.limit, lambda _: known, lambda _: memories, {})
        return [(hit.key, hit.alike) for hit in hits]

    everything = of(len(texts))
    assert of(limit) == everything[:limit]
    assert sum(alike + 1 for _, alike in everything) == len(texts)


def test_a_newer_statement_with_another_number_is_no_duplicate(world: World) -> None:
    world.remember(LAMP)
    newer = world.remember(LAMP.replace("40", "60"))
    hits = world.recall("bulb of the lamp in the hall").hits
    assert [hit.memory.id for hit in hits][:1] == [newer.id]
    assert [hit.alike for hit in hits] == [0, 0]


def test_an_invisible_duplicate_is_not_counted(world: World) -> None:
    world.remember(LAMP)
    world.remember(LAMP, AS_BOB)
    (hit,) = world.recall("lamp in the hall").hits
    assert hit.alike == 0


def test_with_diversity_hits_similar_to_the_best_come_later(world: World) -> None:
    first = world.remember("The lamp in the hall needs a bulb.")
    like = world.remember("The lamp in the hall needs a new bulb soon.")
    unlike = world.remember("Candles, matches and one lamp lie ready for power cuts.")
    question = "lamp in the hall bulb"
    assert [hit.memory.id for hit in world.recall(question).hits] == [first.id, like.id, unlike.id]
    assert [hit.memory.id for hit in world.recall(question, diversity=0.9).hits] == [first.id, unlike.id, like.id]


def test_without_vectors_diversity_changes_nothing(plain_world: World) -> None:
    notes(plain_world)
    assert plain_world.found("lamp ladder", diversity=1.0) == plain_world.found("lamp ladder")


def test_an_answer_stays_within_its_budget(world: World) -> None:
    for room in ("kitchen", "cellar", "attic", "garage"):
        world.remember(LONG.format(room=room), name=room)
    for budget in (50, 70, 90):
        hits = world.recall("lamp repaired by the electrician", budget=budget).hits
        assert 1 <= len(hits) < 4
        assert sum(estimate(hit.memory.name) + estimate(hit.passage.content) for hit in hits) <= budget


def test_hits_too_long_for_the_remaining_budget_are_skipped(world: World) -> None:
    world.remember("The lamp lamp lamp of the hall.", name="short")
    world.remember(LONG.format(room="hall") * 4, name="long")
    world.remember("A lamp.", name="tiny")
    assert len(world.recall("the lamp of the hall").hits) == 3
    names = {hit.memory.name for hit in world.recall("the lamp of the hall", budget=50).hits}
    assert names == {"short", "tiny"}


def test_the_first_hit_is_shortened_to_the_budget(world: World) -> None:
    world.remember(LONG.format(room="hall") * 4, name="long")
    (hit,) = world.recall("lamp of the hall", budget=50).hits
    assert hit.passage.content.endswith("…")
    assert LONG.startswith("The lamp of")
    assert hit.passage.content.startswith("The lamp of the hall was repaired")
    assert 25 <= estimate(hit.passage.content) <= 50


def test_a_shortened_first_hit_shows_the_sentence_that_answers(world: World) -> None:
    around = "Everybody stayed at home in the warm kitchen of the old aunt. "
    answer = "The wolverine relay needs a second power supply."
    world.remember(around * 5 + answer + " " + around * 5, name="winter")
    for budget in (50, 60, 80, 100, 140):
        (hit,) = world.recall("wolverine relay power supply", budget=budget).hits
        shown = hit.passage.content
        assert answer in shown
        assert set(shown.removeprefix("… ").removesuffix(" …").split(". ")) <= {around[:-2], around[:-1], answer[:-1]}
        assert estimate(hit.memory.name) + estimate(shown) <= budget


def test_a_date_in_the_query_ranks_memories_of_that_time_first(plain_world: World) -> None:
    for month in range(1, 7):
        plain_world.remember(f"The lamp was repaired, visit {month}.", created_at=datetime(2025, month, 12, tzinfo=UTC))
    now = datetime(2025, 6, 20, tzinfo=UTC)
    assert plain_world.recall("the repaired lamp", now=now).hits[0].memory.created_at.month == 6
    assert plain_world.recall("the lamp that was repaired last month", now=now).hits[0].memory.created_at.month == 5
    assert plain_world.recall("the lamp that was repaired 3 months ago", now=now).hits[0].memory.created_at.month == 3


def test_a_date_hides_no_exact_match(plain_world: World) -> None:
    then = datetime(2024, 1, 1, tzinfo=UTC)
    exact = plain_world.remember("Error E4711 of the boiler means that the pump is stuck.", created_at=then)
    for number in range(20):
        at = datetime(2025, 5, 2 + number, tzinfo=UTC)
        plain_world.remember(f"The boiler was serviced, part {number}.", created_at=at)
    now = datetime(2025, 6, 20, tzinfo=UTC)
    assert plain_world.recall("boiler error E4711 last month", now=now).hits[0].memory.id == exact.id
