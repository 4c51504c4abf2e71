"""Which texts say the same, and which of many to give: examples by hand, and the laws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.search.selection import are_duplicates, diversify

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
def test_texts_that_differ_in_nothing_that_matters_say_the_same(one: str, other: str) -> None:
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
def test_another_number_a_negation_or_another_order_says_something_else(other: str) -> None:
    assert not are_duplicates(NOTE, other)
    assert not are_duplicates(other, NOTE)


def test_long_texts_that_differ_at_all_are_two() -> None:
    assert not are_duplicates("word " * 10_000, "word " * 10_000 + "more")


@given(st.text(max_size=80), st.text(max_size=80))
def test_saying_the_same_goes_both_ways_and_includes_the_same(one: str, other: str) -> None:
    assert are_duplicates(one, one)
    assert are_duplicates(one, other) == are_duplicates(other, one)


@given(scores, st.integers(1, 12))
def test_without_diversity_the_order_is_that_of_the_scores(values: list[float], limit: int) -> None:
    ordered = sorted(values, reverse=True)
    assert diversify(ordered, lambda one, other: 1.0, 0.0, limit) == list(range(min(limit, len(values))))


@given(scores, st.floats(0.0, 1.0), st.integers(1, 12))
def test_every_place_is_chosen_once_and_the_best_comes_first(values: list[float], diversity: float, limit: int) -> None:
    ordered = sorted(values, reverse=True)
    places = diversify(ordered, lambda one, other: (one * 7 + other * 7) % 5 / 5, diversity, limit)
    assert len(places) == len(set(places)) == min(limit, len(values))
    assert places[0] == 0


def test_with_diversity_what_is_like_the_best_waits_for_what_is_not() -> None:
    likeness: dict[frozenset[int], float] = {frozenset((0, 1)): 0.9, frozenset((0, 2)): 0.1, frozenset((1, 2)): 0.1}
    assert diversify([1.0, 0.9, 0.6], lambda one, other: likeness[frozenset((one, other))], 0.5, 3) == [0, 2, 1]
