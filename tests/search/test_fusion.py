"""Fusion of keyword scores and cosines: an example by hand, and laws."""

import math
from collections.abc import Mapping
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hivelore.core.values import replace
from hivelore.indexing.model import Spread
from hivelore.search.ranking import FusionWeights, fuse, prominence

Scores = Mapping[str, float]

WEIGHTING = FusionWeights(
    slope=0.6, start=0.0, low=0.3, high=0.85, noise=0.2, words=0.5, trust=0.0, tokens=0.25, contrast=1.0
)
WIDE = Spread(count=100, mean=0.1, deviation=0.1)

documents = st.sampled_from("abcde")
keyword_lists = st.dictionaries(documents, st.floats(0.001, 1_000.0), max_size=5)
cosine_lists = st.dictionaries(documents, st.floats(-1.0, 1.0), max_size=5)
spreads = st.builds(
    Spread, count=st.integers(0, 10**6), mean=st.floats(-1.0, 1.0), deviation=st.just(0.0) | st.floats(1e-6, 1.0)
)
weightings = st.sampled_from(
    [
        WEIGHTING,
        FusionWeights.fixed(0.3),
        FusionWeights(slope=5.0, low=0.1, high=1.0),
        FusionWeights(low=0.7),
        FusionWeights(tokens=1.0),
    ]
)
answers = st.floats(0.0, 3.0)
token_lists = st.dictionaries(documents, st.floats(-1.0, 1.0), max_size=5)
lists = (keyword_lists, cosine_lists, token_lists, spreads, answers, weightings)


def test_the_example_by_hand() -> None:
    # 0.4 above the mean are 4 deviations, and the best of 100 reaches sqrt(2 ln 100) = 3.0349 by chance: 4 / 3.0349 is
    # 1.318, so the share of the vectors is 0.6 x 1.318 = 0.7908 where the keywords answer just enough (0.5).
    fused = fuse({"a": 4.0, "b": 2.0}, {"a": 0.1, "b": 0.5, "c": 0.3}, {}, WIDE, 0.5, WEIGHTING)
    parts = {key: (one.keyword, one.vector, one.fused) for key, one in fused.items()}
    assert parts == {
        "a": pytest.approx((1.0, 0.0, 0.2092), abs=1e-4),
        "b": pytest.approx((0.5, 1.0, 0.8954), abs=1e-4),
        "c": pytest.approx((0.0, 0.5, 0.3954), abs=1e-4),
    }


def test_two_empty_lists_fuse_to_an_empty_one() -> None:
    assert fuse({}, {}, {}, WIDE, 0.5, WEIGHTING) == {}


@given(*lists)
def test_exactly_the_candidates_of_both_lists_are_fused(
    keywords: Scores, cosines: Scores, tokens: Scores, spread: Spread, answered: float, fusion_weights: FusionWeights
) -> None:
    assert (
        fuse(keywords, cosines, with_cosine(tokens, cosines), spread, answered, fusion_weights).keys()
        == keywords.keys() | cosines.keys()
    )


@given(*lists, st.randoms(use_true_random=False))
def test_the_order_of_the_candidates_does_not_matter(
    keywords: Scores,
    cosines: Scores,
    tokens: Scores,
    spread: Spread,
    answered: float,
    fusion_weights: FusionWeights,
    chance: Random,
) -> None:
    shuffled = fuse(
        reordered(keywords, chance),
        reordered(cosines, chance),
        reordered(with_cosine(tokens, cosines), chance),
        spread,
        answered,
        fusion_weights,
    )
    assert shuffled == fuse(keywords, cosines, with_cosine(tokens, cosines), spread, answered, fusion_weights)


@given(*lists)
def test_relevance_and_both_its_parts_are_between_zero_and_one(
    keywords: Scores, cosines: Scores, tokens: Scores, spread: Spread, answered: float, fusion_weights: FusionWeights
) -> None:
    for one in fuse(keywords, cosines, with_cosine(tokens, cosines), spread, answered, fusion_weights).values():
        assert 0.0 <= one.keyword <= 1.0
        assert 0.0 <= one.vector <= 1.0
        assert 0.0 <= one.fused <= 1.0


@given(*lists)
def test_a_candidate_better_in_both_lists_is_never_less_relevant(
    keywords: Scores, cosines: Scores, tokens: Scores, spread: Spread, answered: float, fusion_weights: FusionWeights
) -> None:
    fused = fuse(keywords, cosines, with_cosine(tokens, cosines), spread, answered, fusion_weights)
    for better, worse in ((one, other) for one in fused for other in fused):
        by_keyword = keywords.get(better, 0.0) >= keywords.get(worse, 0.0)
        embedded = better in cosines and worse in cosines
        if embedded and by_keyword and cosines[better] >= cosines[worse] and _scores_no_worse(tokens, better, worse):
            assert fused[better].fused >= fused[worse].fused


@given(keyword_lists, spreads, answers, weightings)
def test_keywords_alone_decide_without_vectors(
    keywords: Scores, spread: Spread, answered: float, fusion_weights: FusionWeights
) -> None:
    for one in fuse(keywords, {}, {}, spread, answered, fusion_weights).values():
        assert (one.vector, one.fused) == (0.0, one.keyword)


@given(*lists)
def test_keywords_alone_decide_for_candidates_without_a_vector(
    keywords: Scores, cosines: Scores, tokens: Scores, spread: Spread, answered: float, fusion_weights: FusionWeights
) -> None:
    fused = fuse(keywords, cosines, with_cosine(tokens, cosines), spread, answered, fusion_weights)
    for one in keywords.keys() - cosines.keys():
        assert fused[one].fused == fused[one].keyword


@given(cosine_lists, spreads, weightings)
def test_the_plain_cosine_decides_without_keyword_matches(
    cosines: Scores, spread: Spread, fusion_weights: FusionWeights
) -> None:
    for key, one in fuse({}, cosines, {}, spread, 0.0, fusion_weights).items():
        assert (one.keyword, one.vector, one.fused) == (0.0, max(cosines[key], 0.0), max(cosines[key], 0.0))


@given(*lists, st.integers(-8, 8))
def test_the_scale_of_a_keyword_engine_does_not_matter(
    keywords: Scores,
    cosines: Scores,
    tokens: Scores,
    spread: Spread,
    answered: float,
    fusion_weights: FusionWeights,
    exponent: int,
) -> None:
    scaled = {key: math.ldexp(score, exponent) for key, score in keywords.items()}
    assert fuse(scaled, cosines, with_cosine(tokens, cosines), spread, answered, fusion_weights) == fuse(
        keywords, cosines, with_cosine(tokens, cosines), spread, answered, fusion_weights
    )


@given(st.floats(0.0, 1.0), st.floats(-1.0, 1.0), st.floats(0.01, 0.5), st.integers(20, 10**6))
def test_the_weight_of_vectors_grows_with_the_prominence_of_the_best(
    best: float, mean: float, deviation: float, count: int
) -> None:
    # Two candidates, each the best of one list and the last of the other: their relevance is the share of its side.
    spread, lower = (Spread(count=count, mean=one, deviation=deviation) for one in (mean, mean - 0.1))
    near, far = (fuse({"k": 1.0}, {"v": best, "k": best - 1.0}, {}, one, 0.5, WEIGHTING) for one in (spread, lower))
    assert far["v"].fused >= near["v"].fused
    assert WEIGHTING.low <= near["v"].fused <= WEIGHTING.high
    assert near["v"].fused + near["k"].fused == pytest.approx(1.0)


def test_weight_of_unanswered_terms_goes_to_the_vectors() -> None:
    sure = replace(WEIGHTING, faint=0.0, clear=0.5)
    shares = [
        fuse({"k": 1.0}, {"v": 0.3, "k": 0.0}, {}, WIDE, answered, sure)["v"].fused
        for answered in (9.0, 0.5, 0.35, 0.2, 0.0)
    ]
    # Two deviations are 0.659 of what chance gives, so 0.3954; of the rest half where half of the way is missed.
    assert shares == pytest.approx([0.3954, 0.3954, 0.6977, 1.0, 1.0], abs=1e-4)


def test_that_weight_is_scaled_by_the_prominence_of_the_best_vector() -> None:
    gated = replace(WEIGHTING, faint=0.5, clear=0.9)
    # Deviations over chance: 0.33, 0.66 (two fifths of the way from faint to clear), and 0.99.
    shares = [fuse({"k": 1.0}, {"v": best, "k": 0.0}, {}, WIDE, 0.0, gated)["v"].fused for best in (0.2, 0.3, 0.4)]
    assert shares == pytest.approx([0.3, 0.6357, 1.0], abs=1e-4)


def test_short_queries_give_the_vectors_less_weight() -> None:
    shares = [
        fuse({"k": 1.0}, {"v": 0.3, "k": 0.0}, {}, WIDE, 0.9, replace(WEIGHTING, few=3), terms)["v"].fused
        for terms in (1, 2, 3, 30, None)
    ]
    assert shares == pytest.approx([0.3954 / 2, 0.3954 * 3 / 4, 0.3954, 0.3954, 0.3954], abs=1e-4)


def test_better_keyword_answers_lower_the_weight_of_the_vectors() -> None:
    trusting = replace(WEIGHTING, trust=0.1)
    shares = [
        fuse({"k": 1.0}, {"v": 0.3, "k": 0.0}, {}, WIDE, answered, trusting)["v"].fused
        for answered in (0.5, 1.0, 1.2, 9.0)
    ]
    assert shares == pytest.approx([0.3954, 0.3454, 0.3254, 0.3254], abs=1e-4)


def test_a_fixed_share_is_the_same_for_every_question() -> None:
    for answered in (0.0, 0.4, 1.2):
        for best in (0.1, 0.9):
            fused = fuse({"k": 1.0}, {"v": best, "k": 0.0}, {}, WIDE, answered, FusionWeights.fixed(0.3))
            assert fused["v"].fused == pytest.approx(0.3)


def test_tokens_decide_a_share_of_the_vector_score() -> None:
    # Cosines 0.3 and 0.1, tokens 0.4 and 0.8: in deviations +1 and -1, -1 and +1. With a part of a quarter that is
    # 0.75 - 0.25 = 0.5 and -0.5; with three quarters the other one is better.
    a_little, much = (
        fuse({"k": 1.0}, {"a": 0.3, "b": 0.1}, {"a": 0.4, "b": 0.8}, WIDE, 0.5, FusionWeights(tokens=part))
        for part in (0.25, 0.75)
    )
    assert (a_little["a"].vector, a_little["b"].vector) == (1.0, 0.0)
    assert (much["a"].vector, much["b"].vector) == (0.0, 1.0)


def test_contrast_lowers_all_but_the_nearest() -> None:
    plain, sharp = (
        fuse({"k": 1.0}, {"a": 0.5, "b": 0.3, "c": 0.1}, {}, WIDE, 0.5, FusionWeights(contrast=power))
        for power in (1.0, 2.0)
    )
    assert [plain[key].vector for key in "abc"] == pytest.approx([1.0, 0.5, 0.0])
    assert [sharp[key].vector for key in "abc"] == pytest.approx([1.0, 0.25, 0.0])


def test_candidates_without_tokens_count_by_their_vector_alone() -> None:
    cosines = {"a": 0.5, "b": 0.3, "c": 0.1}
    fused = fuse({"k": 1.0}, cosines, {"a": 0.2, "c": 0.2}, WIDE, 0.5, FusionWeights(tokens=0.5, contrast=1.0))
    # a and c have similar tokens, so they move half of their way to the middle, where b is.
    assert [fused[key].vector for key in "abc"] == pytest.approx([1.0, 0.5, 0.0])
    assert fuse({"k": 1.0}, cosines, {}, WIDE, 0.5, FusionWeights(tokens=0.5, contrast=1.0))[
        "b"
    ].vector == pytest.approx(0.5)


def test_a_vector_like_any_other_does_not_outvote_a_keyword_and_an_outstanding_one_does() -> None:
    lost, found = (
        fuse({"k": 1.0}, {"v": best, "k": 0.0}, {}, Spread(count=1_000, mean=0.1, deviation=0.1), 0.5, WEIGHTING)
        for best in (0.2, 0.9)
    )
    assert lost["k"].fused > lost["v"].fused
    assert found["v"].fused > found["k"].fused


def test_the_expected_maximum_of_random_draws_has_prominence_one() -> None:
    for count in (20, 1_000, 10**6):
        by_chance = 0.2 + 0.05 * math.sqrt(2.0 * math.log(count))
        assert prominence(by_chance, Spread(count=count, mean=0.2, deviation=0.05)) == pytest.approx(1.0)


@pytest.mark.parametrize("spread", [Spread(count=19, mean=0.2, deviation=0.05), Spread(count=50, mean=1, deviation=0)])
def test_without_a_spread_the_prominence_is_one(spread: Spread) -> None:
    assert prominence(0.9, spread) == 1.0


@given(st.floats(-1.0, 1.0), st.floats(-1.0, 1.0), spreads)
def test_a_nearer_vector_never_has_less_prominence(one: float, other: float, spread: Spread) -> None:
    assume(one <= other)
    assert prominence(one, spread) <= prominence(other, spread)


def with_cosine(tokens: Scores, cosines: Scores) -> Scores:
    """Returns the token scores of the candidates that have a cosine."""
    return {key: score for key, score in tokens.items() if key in cosines}


def _scores_no_worse(tokens: Scores, better: str, worse: str) -> bool:
    return (better not in tokens and worse not in tokens) or tokens.get(better, -2.0) >= tokens.get(worse, 2.0)


def reordered(scores: Scores, chance: Random) -> Scores:
    return {key: scores[key] for key in chance.sample(list(scores), len(scores))}
