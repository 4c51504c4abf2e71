"""Laws of evidence and of the factor that results from it."""

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict, astuple, replace

from hivelore.feedback.model import AGAINST, FOR, NO_USAGE, UsageCounts, UsefulnessBounds, usefulness_factor
from hivelore.feedback.recalls import EVIDENCE_KEPT, Aspect, Evidence, Sign, count_usage, merge_evidence
from support.memories import ADA, BOB, evidence, instant

worths = st.builds(UsefulnessBounds, least=st.floats(0.1, 1.0), most=st.floats(1.0, 3.0))
uses = st.builds(UsageCounts, *[st.integers(0, 200)] * len(UsageCounts.__struct_fields__))
good = st.sampled_from([name for name, weight in asdict(FOR).items() if weight])
bad = st.sampled_from([name for name, weight in asdict(AGAINST).items() if weight])
seen = st.builds(
    evidence,
    st.sampled_from(Sign),
    st.sampled_from(["s1", "s2"]),
    st.integers(0, 3).map(instant),
    st.sampled_from([ADA, BOB, None]),
)
"""Few occasions, so that many meet."""


@given(uses, worths)
def test_the_factor_is_within_its_bounds(use: UsageCounts, worth: UsefulnessBounds) -> None:
    assert worth.least <= usefulness_factor(use, worth) <= worth.most


@given(worths)
def test_without_evidence_the_factor_is_exactly_one(worth: UsefulnessBounds) -> None:
    assert usefulness_factor(NO_USAGE, worth) == 1.0


@given(uses, good, st.integers(1, 50), worths)
def test_more_evidence_for_a_memory_never_lowers_the_factor(
    use: UsageCounts, name: str, more: int, worth: UsefulnessBounds
) -> None:
    assert usefulness_factor(replace(use, **{name: getattr(use, name) + more}), worth) >= usefulness_factor(use, worth)


@given(uses, bad, st.integers(1, 50), worths)
def test_more_evidence_against_a_memory_never_raises_the_factor(
    use: UsageCounts, name: str, more: int, worth: UsefulnessBounds
) -> None:
    assert usefulness_factor(replace(use, **{name: getattr(use, name) + more}), worth) <= usefulness_factor(use, worth)


@given(uses)
def test_bounds_of_one_turn_it_off(use: UsageCounts) -> None:
    assert usefulness_factor(use, UsefulnessBounds(least=1.0, most=1.0)) == 1.0


def test_every_sign_counts_for_or_against_and_none_for_both() -> None:
    assert list(UsageCounts.__struct_fields__) == [sign.value for sign in Sign]
    assert all((weight > 0) != (other > 0) for weight, other in zip(astuple(FOR), astuple(AGAINST), strict=True))


# Two of each beforehand; then by hand: the mean m of the Beta distribution, and 1 + 0.3 x (2m - 1).
BY_HAND = [
    (UsageCounts(applied=1), 3 / 5),
    (UsageCounts(useful=1), 4 / 6),
    (UsageCounts(useless=1), 2 / 6),
    (UsageCounts(unused=10), 2 / 5),
    (UsageCounts(applied=1, unused=10), 1 / 2),
    (UsageCounts(applied=1, unused=5), 3 / 5.5),
    (UsageCounts(repeated=1, opened=1, cited=1, succeeded=2), 5 / 7),
    (UsageCounts(failed=2, applied=1), 1 / 2),
    (UsageCounts(applied=100), 102 / 104),
]


@pytest.mark.parametrize(("use", "mean"), BY_HAND)
def test_the_factor_equals_a_manual_calculation(use: UsageCounts, mean: float) -> None:
    assert usefulness_factor(use, UsefulnessBounds()) == pytest.approx(1 + 0.3 * (2 * mean - 1))


@given(st.lists(seen, max_size=12), st.randoms())
def test_neither_order_nor_repetition_of_evidence_matters(pieces: list[Evidence], chance: Random) -> None:
    once = merge_evidence(pieces, ())
    shuffled = [*pieces, *pieces]
    chance.shuffle(shuffled)
    assert merge_evidence(shuffled, ()) == once
    assert merge_evidence(once, pieces) == once


@given(st.lists(seen, max_size=12), st.integers(0, 12))
def test_evidence_in_two_parts_counts_as_if_it_came_at_once(pieces: list[Evidence], cut: int) -> None:
    assert merge_evidence(merge_evidence(pieces[:cut], ()), pieces[cut:]) == merge_evidence(pieces, ())


@given(st.lists(seen, max_size=12))
def test_an_agent_a_session_and_an_aspect_have_one_piece(pieces: list[Evidence]) -> None:
    kept = merge_evidence(pieces, ())
    assert len({one.occasion for one in kept}) == len(kept) == len({one.occasion for one in pieces})
    assert set(kept) <= set(pieces)


def signs(kept: Sequence[Evidence]) -> list[Sign]:
    return [one.sign for one in kept]


@given(st.permutations([sign for sign in Sign if sign.aspect is Aspect.USE]))
def test_the_strongest_sign_of_use_in_a_session_stays(order: list[Sign]) -> None:
    pieces = [evidence(sign, at=instant(minute)) for minute, sign in enumerate(order)]
    assert signs(merge_evidence(pieces, ())) == [Sign.APPLIED]


def test_repeated_evidence_keeps_its_first_time() -> None:
    first, again = (evidence(at=instant(minute)) for minute in (1, 2))
    assert merge_evidence([again, first], [again]) == (first,)


@given(st.permutations([Sign.USEFUL, Sign.USELESS]))
def test_a_later_rating_replaces_an_earlier_one(order: list[Sign]) -> None:
    first, later = (evidence(sign, at=instant(minute)) for minute, sign in enumerate(order))
    for pieces in ([first, later], [later, first]):
        assert signs(merge_evidence(pieces, ())) == [later.sign]


@given(st.integers(1, EVIDENCE_KEPT + 20))
def test_the_newest_evidence_counts(count: int) -> None:
    pieces = [evidence(session=f"s{minute}", at=instant(minute)) for minute in range(count)]
    assert list(merge_evidence(reversed(pieces), ())) == pieces[-EVIDENCE_KEPT:]
    assert count_usage(merge_evidence(pieces, ())) == UsageCounts(applied=min(count, EVIDENCE_KEPT))
