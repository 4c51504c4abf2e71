"""Which of two alike statements replaces the other: examples by hand, and the laws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.search.ranking import RecencyConflicts, is_update, largest_lag

CONSTANTS = RecencyConflicts(overlap=0.4, gap=0.15)
terms = st.frozensets(st.sampled_from("abcdefgh"))


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


@pytest.mark.parametrize(
    ("older", "newer", "asked", "updates"),
    [
        ("jellyfin takes 60 seconds", "jellyfin takes 90 seconds", "jellyfin start", True),
        ("jellyfin takes 60 seconds", "jellyfin takes 90 seconds", "jellyfin 60", False),
        ("jellyfin takes 60 seconds", "jellyfin needs wireguard first", "jellyfin", False),
        ("a b c d", "a b x y", "", False),
        ("a b c d", "a b c y", "", True),
        ("", "", "", False),
    ],
)
def test_an_update_has_the_words_of_the_question_and_most_of_the_others(
    older: str, newer: str, asked: str, updates: bool
) -> None:
    assert is_update(words(older), words(newer), words(asked), CONSTANTS) is updates


@given(terms, terms)
def test_the_very_same_words_are_an_update_and_none_in_common_are_not(
    one: frozenset[str], asked: frozenset[str]
) -> None:
    assert is_update(one, one, asked, CONSTANTS) is bool(one)
    assert not is_update(one, frozenset("xyz"), frozenset(), CONSTANTS)


@given(terms, terms, terms, st.sampled_from("abcdefgh"))
def test_a_longer_question_never_makes_an_update_of_what_was_none(
    older: frozenset[str], newer: frozenset[str], asked: frozenset[str], more: str
) -> None:
    if is_update(older, newer, asked | {more}, CONSTANTS):
        assert is_update(older, newer, asked, CONSTANTS)


def test_the_reach_is_a_part_of_what_lies_between_the_best_and_the_middle() -> None:
    assert largest_lag([1.0, 0.4, 0.2], CONSTANTS) == pytest.approx(0.15 * 0.6)
    assert largest_lag([0.5], CONSTANTS) == 0.0
    assert largest_lag([], CONSTANTS) == 0.0
