"""Relevance floor: examples by hand, and laws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.search.ranking import COMPANION_FLOOR, FLOOR, asks_something, fit_score, is_relevant
from hivelore.search.tokenizer import STOP_WORDS, query_terms

cosines = st.floats(-1.0, 1.0)
shares = st.floats(0.0, 3.0)


@pytest.mark.parametrize(
    ("cosine", "answered", "worth"),
    [
        (0.45, 0.3, True),  # meaning and some of the words
        (0.75, 0.0, True),  # meaning alone, very near
        (0.45, 0.0, False),  # somewhat near, none of the words
        (0.1, 1.0, False),  # all of the words, another meaning
        (-0.2, 1.0, False),
        (None, 0.7, True),  # no vectors: most of the words
        (None, 0.5, False),
        (None, 0.0, False),
    ],
)
def test_words_and_meaning_have_to_agree(cosine: float | None, answered: float, worth: bool) -> None:
    own = fit_score(cosine, answered)
    assert is_relevant(own, own) is worth


@given(cosines | st.none(), shares)
def test_a_fit_lies_between_0_and_3(cosine: float | None, answered: float) -> None:
    assert 0.0 <= fit_score(cosine, answered) <= 3.0


@given(cosines, cosines, shares, shares)
def test_more_of_either_never_fits_less(cosine: float, other: float, answered: float, more: float) -> None:
    low, high = sorted((cosine, other))
    few, many = sorted((answered, more))
    assert fit_score(low, few) <= fit_score(high, many)
    assert fit_score(None, few) <= fit_score(None, many)


def test_a_hit_below_the_floor_fits_only_next_to_one_above_it() -> None:
    middling = (FLOOR + COMPANION_FLOOR) / 2
    assert not is_relevant(middling, middling)
    assert is_relevant(middling, FLOOR)
    assert not is_relevant(COMPANION_FLOOR - 0.01, FLOOR)


@given(st.lists(st.sampled_from([*sorted(STOP_WORDS), "OK", "please", "continue,", "thanks!"]), max_size=60))
def test_function_words_and_fillers_ask_nothing(words: list[str]) -> None:
    assert not asks_something(query_terms(" ".join(words)))
    assert asks_something(query_terms(" ".join([*words, "lighthouse"])))


@pytest.mark.parametrize("question", ["continue the migration", "is it done in go 1.22", "WILL_RETRY", "weiter", "猫"])
def test_one_informative_word_asks_something(question: str) -> None:
    assert asks_something(query_terms(question))
