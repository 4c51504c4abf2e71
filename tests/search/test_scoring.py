"""Scores: the documented profile by hand, and laws of age and use (X6, B12-B15)."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.values import replace
from hivelore.feedback.model import NO_USAGE, UsageCounts, UsefulnessBounds, usefulness_factor
from hivelore.memories.model import rank_features
from hivelore.search.model import Score
from hivelore.search.ranking import Boosts, Profile, RankingConstants, Similarity, access_boost, recency, score
from support.memories import a_memory

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
HALF_LIFE = 14 * DAY

MEASURED = RankingConstants()
DOCUMENTED = RankingConstants(profile=Profile.DOCUMENTED)
FADING = RankingConstants(half_life=30 * DAY)
"""Measured, with MEMORY_RECENCY_HALF_LIFE_DAYS set."""

ages = st.integers(0, 3_000 * 86_400).map(lambda seconds: timedelta(seconds=seconds))
half_lives = st.integers(1, 365).map(lambda days: days * DAY)
counts = st.integers(0, 10_000)
unit = st.floats(0.0, 1.0)
profiles = st.sampled_from(
    [MEASURED, DOCUMENTED, FADING, RankingConstants(access_boost_max=1.0), RankingConstants(access_boost_max=3.0)]
)


def ranked(
    fused: float,
    ranking: RankingConstants,
    *,
    prior: float = 0.0,
    age: timedelta = timedelta(),
    count: int = 0,
    idle: timedelta | None = None,
    use: UsageCounts = NO_USAGE,
) -> Score:
    """Returns the score of a memory with this age, access count and time since the last access."""
    memory = a_memory(created_at=NOW - age, updated_at=NOW)
    memory = replace(memory, access_count=count, accessed_at=None if idle is None else NOW - idle)
    found = rank_features(memory)._replace(use=use)
    return score(found, Similarity(keyword=0.25, vector=0.75, fused=fused), prior, NOW, ranking)


# The documented profile.

# similarity x 2^(-days / 14) x (1 + min(count / 10, 0.5) x (1 within 48 hours of the last access, else 0.5))
BY_HAND = [
    # similarity, age in days, accesses, hours since the last, final score
    (0.80, 0, 0, None, 0.8),
    (0.80, 14, 0, None, 0.4),
    (0.80, 28, 0, None, 0.2),
    (0.50, 7, 0, None, 0.5 * 0.70710678),
    (1.00, 140, 0, None, 0.0009765625),
    (0.60, 0, 3, 1, 0.78),  # 1 + 0.3
    (0.60, 0, 3, 49, 0.69),  # 1 + 0.3 x 0.5
    (0.60, 0, 5, 48, 0.9),  # 1 + 0.5: the 48th hour still counts
    (0.60, 0, 100, 1, 0.9),  # never more than 1 + 0.5
    (0.60, 0, 100, 72, 0.75),  # 1 + 0.5 x 0.5
    (0.90, 14, 10, 1, 0.675),  # all three
    (1.00, 0, 10, 1, 1.5),
    (0.00, 0, 10, 1, 0.0),
]


@pytest.mark.parametrize(("similarity", "days", "count", "hours", "final"), BY_HAND)
def test_the_documented_profile_equals_values_computed_by_hand(
    similarity: float, days: int, count: int, hours: int | None, final: float
) -> None:
    idle = None if hours is None else hours * HOUR
    found = ranked(similarity, DOCUMENTED, age=days * DAY, count=count, idle=idle)
    assert found.total == pytest.approx(final, abs=1e-8)


@given(unit, ages, counts, ages)
def test_the_documented_score_is_the_product_of_its_three_parts(
    fused: float, age: timedelta, count: int, idle: timedelta
) -> None:
    found = ranked(fused, DOCUMENTED, age=age, count=count, idle=idle)
    assert found.total == found.similarity * found.recency * found.access
    assert (found.confidence, found.usefulness) == (1.0, 1.0)


def test_the_half_life_and_both_constants_of_the_boost_are_settings() -> None:
    slow = replace(DOCUMENTED, half_life=28 * DAY)
    assert ranked(0.8, slow, age=28 * DAY).total == pytest.approx(0.4)
    generous = replace(DOCUMENTED, access_boost_max=3.0)
    assert ranked(0.5, generous, count=15, idle=HOUR).total == pytest.approx(1.25)
    forgetful = replace(DOCUMENTED, access_recency=2 * HOUR)
    assert ranked(0.5, forgetful, count=5, idle=3 * HOUR).total == pytest.approx(0.625)


@given(unit, st.floats(-1.0, 1.0), ages)
def test_boosts_add_to_relevance_up_to_a_bound(fused: float, prior: float, age: timedelta) -> None:
    found, plain = ranked(fused, MEASURED, prior=prior, age=age), ranked(fused, MEASURED, age=age)
    expected = min(max(fused + prior, 0.0), 1.0 + MEASURED.prior_room) - fused
    weights = 1.0 + MEASURED.prior_room + MEASURED.tie_weight + MEASURED.tie_access_weight
    assert found.total == pytest.approx(plain.total + expected / weights)
    assert 0.0 <= found.total <= 1.0 + 1e-12
    assert (found.similarity, found.prior) == (fused, prior)


def test_a_boost_separates_two_candidates_of_full_relevance() -> None:
    author = Boosts().author
    assert ranked(1.0, MEASURED, prior=author).total > ranked(1.0, MEASURED, prior=author / 2).total
    assert author < MEASURED.prior_room


@given(unit, st.floats(-1.0, 1.0))
def test_the_documented_profile_ignores_boosts(fused: float, prior: float) -> None:
    found = ranked(fused, DOCUMENTED, prior=prior, age=DAY)
    assert (found.total, found.prior) == (ranked(fused, DOCUMENTED, age=DAY).total, 0.0)


uses = st.builds(UsageCounts, *[st.integers(0, 50)] * len(UsageCounts.__struct_fields__))


@given(unit, st.floats(-1.0, 1.0), ages, counts, uses, st.sampled_from([MEASURED, FADING]))
def test_usefulness_multiplies_and_is_shown(
    fused: float, prior: float, age: timedelta, count: int, use: UsageCounts, ranking: RankingConstants
) -> None:
    plain = ranked(fused, ranking, prior=prior, age=age, count=count, idle=HOUR)
    found = ranked(fused, ranking, prior=prior, age=age, count=count, idle=HOUR, use=use)
    assert found.usefulness == usefulness_factor(use, ranking.worth)
    assert found == replace(plain, total=plain.total * found.usefulness, usefulness=found.usefulness)


@given(unit, st.floats(-1.0, 1.0), ages, counts, profiles)
def test_a_score_without_usage_is_unchanged_to_the_last_bit(
    fused: float, prior: float, age: timedelta, count: int, ranking: RankingConstants
) -> None:
    off = replace(ranking, worth=UsefulnessBounds(least=1.0, most=1.0))
    found, plain = (ranked(fused, one, prior=prior, age=age, count=count, idle=HOUR) for one in (ranking, off))
    assert found == plain
    assert found.usefulness == 1.0


@given(unit, ages, uses)
def test_the_documented_profile_ignores_usefulness(fused: float, age: timedelta, use: UsageCounts) -> None:
    assert ranked(fused, DOCUMENTED, age=age, use=use) == ranked(fused, DOCUMENTED, age=age)


def test_the_constants_are_the_documented_ones() -> None:
    assert (MEASURED.access_boost_max, MEASURED.access_recency, MEASURED.candidate_multiplier) == (1.5, 48 * HOUR, 3)
    assert MEASURED.half_life is None


# Recency.


def test_recency_is_one_when_new_and_half_after_a_half_life() -> None:
    assert recency(timedelta(), HALF_LIFE) == 1.0
    assert recency(HALF_LIFE, HALF_LIFE) == 0.5


@given(ages, ages, half_lives)
def test_recency_of_two_spans_together_is_the_product_of_both(
    one: timedelta, other: timedelta, half_life: timedelta
) -> None:
    both = recency(one, half_life) * recency(other, half_life)
    assert recency(one + other, half_life) == pytest.approx(both, rel=1e-9, abs=1e-300)


@given(ages, ages, half_lives)
def test_recency_never_grows_with_age_and_stays_between_zero_and_one(
    one: timedelta, other: timedelta, half_life: timedelta
) -> None:
    younger, older = sorted((one, other))
    assert 0.0 <= recency(older, half_life) <= recency(younger, half_life) <= 1.0


@given(ages, half_lives)
def test_the_future_counts_as_new(ahead: timedelta, half_life: timedelta) -> None:
    assert recency(-ahead, half_life) == 1.0


# Access.


@given(counts, counts, ages)
def test_more_accesses_never_boost_less(one: int, other: int, idle: timedelta) -> None:
    fewer, more = sorted((one, other))
    assert access_boost(fewer, NOW - idle, NOW, MEASURED) <= access_boost(more, NOW - idle, NOW, MEASURED)


@given(counts, ages, ages)
def test_a_later_access_never_boosts_less(count: int, one: timedelta, other: timedelta) -> None:
    later, earlier = sorted((one, other))
    assert access_boost(count, NOW - earlier, NOW, MEASURED) <= access_boost(count, NOW - later, NOW, MEASURED)


@given(counts, ages, st.floats(1.0, 10.0))
def test_the_boost_lies_between_one_and_its_largest(count: int, idle: timedelta, largest: float) -> None:
    ranking = replace(MEASURED, access_boost_max=largest)
    assert 1.0 <= access_boost(count, NOW - idle, NOW, ranking) <= largest * (1 + 1e-12)
    assert access_boost(0, NOW - idle, NOW, ranking) == access_boost(count, None, NOW, ranking) == 1.0


# The whole score, in every profile.


@given(unit, unit, profiles, ages, counts, ages)
def test_less_relevant_never_outranks_more_relevant_all_else_equal(
    one: float, other: float, ranking: RankingConstants, age: timedelta, count: int, idle: timedelta
) -> None:
    less, more = (ranked(fused, ranking, age=age, count=count, idle=idle) for fused in sorted((one, other)))
    assert less.total <= more.total


@given(unit, profiles, ages, ages, counts, ages)
def test_older_never_outranks_newer_all_else_equal(
    fused: float, ranking: RankingConstants, one: timedelta, other: timedelta, count: int, idle: timedelta
) -> None:
    newer, older = (ranked(fused, ranking, age=age, count=count, idle=idle) for age in sorted((one, other)))
    assert older.total <= newer.total


@given(unit, profiles, ages, counts, counts, ages)
def test_rarely_read_never_outranks_often_read_all_else_equal(
    fused: float, ranking: RankingConstants, age: timedelta, one: int, other: int, idle: timedelta
) -> None:
    rarely, often = (ranked(fused, ranking, age=age, count=count, idle=idle) for count in sorted((one, other)))
    assert rarely.total <= often.total


@given(unit, profiles, ages, counts, ages, ages)
def test_long_unread_never_outranks_just_read_all_else_equal(
    fused: float, ranking: RankingConstants, age: timedelta, count: int, one: timedelta, other: timedelta
) -> None:
    just, long = (ranked(fused, ranking, age=age, count=count, idle=idle) for idle in sorted((one, other)))
    assert long.total <= just.total


@given(unit, profiles, ages, counts, ages)
def test_a_score_keeps_its_parts(
    fused: float, ranking: RankingConstants, age: timedelta, count: int, idle: timedelta
) -> None:
    found = ranked(fused, ranking, age=age, count=count, idle=idle)
    assert (found.keyword, found.vector, found.similarity) == (0.25, 0.75, fused)
    assert found.access == access_boost(count, NOW - idle, NOW, ranking)
    assert 0.0 <= found.recency <= 1.0
    assert found.parts["total"] == found.total
    largest = ranking.access_boost_max if ranking.profile is Profile.DOCUMENTED else 1.0
    assert 0.0 <= found.total <= largest * (1 + 1e-12)


# The measured profile.


@given(unit, unit, ages, ages, counts, counts, ages)
def test_age_and_use_only_settle_ties(
    one: float, other: float, age: timedelta, other_age: timedelta, count: int, other_count: int, idle: timedelta
) -> None:
    less, more = sorted((one, other))
    if more - less > MEASURED.tie_weight + MEASURED.tie_access_weight:
        worst = ranked(more, MEASURED, age=age, count=count, idle=idle)
        best = ranked(less, MEASURED, age=other_age, count=other_count, idle=idle)
        assert worst.total > best.total


def test_age_and_use_do_settle_ties() -> None:
    assert ranked(0.5, MEASURED).total > ranked(0.5, MEASURED, age=30 * DAY).total
    assert ranked(0.5, MEASURED, count=1, idle=HOUR).total > ranked(0.5, MEASURED).total


@given(unit, counts, ages, half_lives)
def test_a_half_life_that_is_set_halves_every_score(
    fused: float, count: int, age: timedelta, half_life: timedelta
) -> None:
    fading = replace(MEASURED, half_life=half_life)
    new, old = (ranked(fused, fading, age=one, count=count, idle=HOUR) for one in (age, age + half_life))
    assert old.total == pytest.approx(new.total / 2, rel=1e-9, abs=1e-300)
