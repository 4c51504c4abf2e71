"""Duplicates and diversity: examples by hand, and laws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.search.ranking import are_duplicates, diversify

NOTE = (
    "The replica listens on port 5433, needs ssl and takes no writes; ask the platform team before you restart it, "
    "and keep an eye on the lag while it catches up with the primary"
)
scores = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use pnpm here.", "use  PNPM\nhere."),
        (NOTE, NOTE + "."),
        (NOTE, NOTE.replace("an eye", "your eyes")),
        (NOTE, "Note: " + NOTE),
        ("x" * 30_000, "X" * 30_000),
    ],
)
def test_texts_without_a_relevant_difference_are_duplicates(one: str, other: str) -> None:
    assert are_duplicates(one, other)


@pytest.mark.parametrize(
    "other",
    [
        NOTE.replace("5433", "5434"),
        NOTE.replace("takes no", "takes"),
        NOTE.replace("needs ssl", "needs ssl v3"),
        NOTE.replace("replica", "primary").replace("with the primary", "with the replica"),
        NOTE.replace("before you restart it", "after lunch, on a quiet day, twice if it has to be"),
        "Something else altogether",
        "",
    ],
)
def test_another_number_negation_or_order_is_no_duplicate(other: str) -> None:
    assert not are_duplicates(NOTE, other)
    assert not are_duplicates(other, NOTE)


def test_long_texts_with_any_difference_are_no_duplicates() -> None:
    assert not are_duplicates("word " * 10_000, "word " * 10_000 + "more")


@given(st.text(max_size=80), st.text(max_size=80))
def test_being_duplicates_is_symmetric_and_reflexive(one: str, other: str) -> None:
    assert are_duplicates(one, one)
    assert are_duplicates(one, other) == are_duplicates(other, one)


@given(scores, st.integers(1, 12))
def test_without_diversity_scores_keep_their_order(values: list[float], limit: int) -> None:
    ordered = sorted(values, reverse=True)
    assert diversify(ordered, lambda one, other: 1.0, 0.0, limit) == list(range(min(limit, len(values))))


@given(scores, st.floats(0.0, 1.0), st.integers(1, 12))
def test_every_place_is_chosen_once_and_the_best_comes_first(values: list[float], diversity: float, limit: int) -> None:
    ordered = sorted(values, reverse=True)
    places = diversify(ordered, lambda one, other: (one * 7 + other * 7) % 5 / 5, diversity, limit)
    assert len(places) == len(set(places)) == min(limit, len(values))
    assert places[0] == 0


def test_with_diversity_texts_similar_to_the_best_come_later() -> None:
    likeness: dict[frozenset[int], float] = {frozenset((0, 1)): 0.9, frozenset((0, 2)): 0.1, frozenset((1, 2)): 0.1}
    assert diversify([1.0, 0.9, 0.6], lambda one, other: likeness[frozenset((one, other))], 0.5, 3) == [0, 2, 1]
