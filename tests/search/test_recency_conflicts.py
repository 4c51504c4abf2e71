"""Recency conflicts: examples by hand, and laws."""

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
def test_an_update_has_the_query_terms_and_most_other_terms(older: str, newer: str, asked: str, updates: bool) -> None:
    assert is_update(words(older), words(newer), words(asked), CONSTANTS) is updates


@given(terms, terms)
def test_equal_terms_are_an_update_and_disjoint_ones_are_not(one: frozenset[str], asked: frozenset[str]) -> None:
    assert is_update(one, one, asked, CONSTANTS) is bool(one)
    assert not is_update(one, frozenset("xyz"), frozenset(), CONSTANTS)


@given(terms, terms, terms, st.sampled_from("abcdefgh"))
def test_more_query_terms_never_make_an_update(
    older: frozenset[str], newer: frozenset[str], asked: frozenset[str], more: str
) -> None:
    if is_update(older, newer, asked | {more}, CONSTANTS):
        assert is_update(older, newer, asked, CONSTANTS)


def test_the_largest_lag_is_a_share_of_the_distance_from_best_to_median() -> None:
    assert largest_lag([1.0, 0.4, 0.2], CONSTANTS) == pytest.approx(0.15 * 0.6)
    assert largest_lag([0.5], CONSTANTS) == 0.0
    assert largest_lag([], CONSTANTS) == 0.0
