"""Token vectors and MaxSim: examples by hand, and laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.indexing.model import Vector
from hivelore.search.ranking import (
    LARGEST_COORDINATE,
    TOKEN_BYTES,
    TOKEN_DIMENSIONS,
    decode_tokens,
    encode_tokens,
    maxsim,
    token_weights,
)

texts = st.integers(0, 2**32 - 1).flatmap(lambda seed: st.integers(0, 40).map(lambda count: random_tokens(seed, count)))


def random_tokens(seed: int, count: int) -> Vector:
    return np.random.default_rng(seed).normal(size=(count, TOKEN_DIMENSIONS)).astype(np.float32)


def pointing(*places: int) -> Vector:
    """Returns tokens between two directions, so that little is clipped."""
    tokens = np.zeros((len(places), TOKEN_DIMENSIONS), np.float32)
    for row, place in enumerate(places):
        tokens[row, place : place + 8] = 1.0
    return tokens


def test_a_token_takes_half_a_byte_for_each_dimension() -> None:
    assert len(encode_tokens(random_tokens(1, 7))) == 7 * TOKEN_BYTES == 7 * TOKEN_DIMENSIONS // 2
    assert encode_tokens(random_tokens(1, 0)) == b""


@given(texts)
def test_decoding_errors_are_at_most_half_a_step_except_for_clipped_coordinates(tokens: Vector) -> None:
    units = tokens / np.linalg.norm(tokens, axis=1, keepdims=True)
    step = 2 * LARGEST_COORDINATE / 16
    kept = np.clip(units, -LARGEST_COORDINATE + step / 2, LARGEST_COORDINATE - step / 2)
    assert np.abs(decode_tokens(encode_tokens(tokens)) - kept).max(initial=0.0) <= step / 2 + 1e-6


@given(texts)
def test_encoding_decoded_tokens_again_keeps_their_direction(tokens: Vector) -> None:
    once = decode_tokens(encode_tokens(tokens))
    again = decode_tokens(encode_tokens(once))
    assert all(cosine > 0.99 for cosine in (once * again).sum(axis=1) / _lengths(once) / _lengths(again))


@given(texts, st.floats(0.01, 1_000.0))
def test_the_length_of_a_token_does_not_matter(tokens: Vector, factor: float) -> None:
    # Rounding may put a coordinate that lies on the border of two steps into the other one.
    apart = np.abs(decode_tokens(encode_tokens(tokens * np.float32(factor))) - decode_tokens(encode_tokens(tokens)))
    assert np.count_nonzero(apart > 1e-6) <= tokens.size / 100


def test_each_query_token_counts_by_its_best_match() -> None:
    question = encode_tokens(pointing(0, 16))
    both, first, neither = (encode_tokens(pointing(*places)) for places in ((0, 16, 40), (0, 40), (40,)))
    scores = maxsim(question, [1.0, 1.0], [both, first, neither])
    assert scores[0] > scores[1] > scores[2]
    assert scores[1] == pytest.approx((scores[0] + scores[2]) / 2, abs=0.02)


@given(texts, st.lists(texts, max_size=6))
def test_maxsim_is_the_weighted_mean_of_the_best_products(question: Vector, passages: list[Vector]) -> None:
    asked, kept = encode_tokens(question), [encode_tokens(one) for one in passages]
    weights = [1.0 + number % 3 for number in range(len(question))]
    expected = [
        np.average((decode_tokens(asked) @ decode_tokens(one).T).max(axis=1), weights=weights) if asked and one else 0.0
        for one in kept
    ]
    assert maxsim(asked, weights, kept) == pytest.approx(np.array(expected, np.float32), abs=1e-4)


@given(texts, texts, texts)
def test_more_tokens_in_a_passage_never_lower_its_score(question: Vector, passage: Vector, more: Vector) -> None:
    asked, short = encode_tokens(question), encode_tokens(passage)
    shorter, longer = maxsim(asked, [1.0] * len(question), [short, short + encode_tokens(more)])
    assert not short or longer >= shorter - 1e-5


def test_a_token_weighs_as_much_as_the_rarest_term_of_its_word() -> None:
    rarities = {"retri": 3.0, "limit": 1.0, "retrylimit": 5.0}
    weights = token_weights(["retry", "retry", "limits", "retrylimit", "unheard"], rarities)
    assert weights == [3.0, 3.0, 1.0, 5.0, 3.0]
    assert token_weights(["anything"], {}) == [1.0]


def test_matching_a_rare_word_scores_more_than_a_common_one() -> None:
    question = encode_tokens(pointing(0, 16))
    rare, common = maxsim(question, [3.0, 1.0], [encode_tokens(pointing(0)), encode_tokens(pointing(16))])
    assert rare > common


def test_many_passages_score_as_each_alone() -> None:
    # More products than are made at a time.
    question, weights = encode_tokens(random_tokens(3, 30)), [1.0] * 30
    passages = [encode_tokens(random_tokens(seed, 1 + seed % 90)) for seed in range(300)]
    alone = [float(maxsim(question, weights, [one])[0]) for one in passages]
    assert maxsim(question, weights, passages).tolist() == pytest.approx(alone, abs=1e-5)


def _lengths(tokens: Vector) -> Vector:
    return np.linalg.norm(tokens, axis=1)
