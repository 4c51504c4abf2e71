"""Boosts: examples by hand, and laws."""

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.values import replace
from hivelore.memories.model import MemoryId, RankFeatures, is_question
from hivelore.search.dates import Span
from hivelore.search.ranking import Boosts, candidate_boosts

PLAIN = RankFeatures(
    id=MemoryId("m"),
    created_at=datetime(2026, 3, 1, tzinfo=UTC),
    accessed_at=None,
    access_count=0,
    session=None,
    project=None,
    author=None,
    length=400,
    is_question=False,
)
CONSTANTS = Boosts(company=0.25, brevity=0.1, enough=100, question=0.05, author=0.2, project=0.3)

standings = st.dictionaries(
    st.sampled_from("abcdef"),
    st.builds(
        RankFeatures,
        id=st.just(MemoryId("m")),
        created_at=st.just(PLAIN.created_at),
        accessed_at=st.none(),
        access_count=st.just(0),
        session=st.sampled_from([None, "one", "two"]),
        project=st.sampled_from([None, "hall", "attic"]),
        author=st.sampled_from([None, "Ada", "Grace Hopper", "…"]),
        length=st.integers(1, 5_000),
        is_question=st.booleans(),
        operational=st.none(),
    ),
)
relevances = st.fixed_dictionaries({key: st.floats(0.0, 1.0) for key in "abcdef"})
questions = st.sampled_from(["", "what did Ada say?", "Grace and Hopper", "grace"])


def added(one: RankFeatures, question: str = "", prefers: str | None = None) -> float:
    return candidate_boosts({"it": one}, {"it": 0.5}, question, CONSTANTS, prefers=prefers)["it"]


def test_a_plain_note_has_no_boost() -> None:
    assert added(PLAIN) == 0.0
    assert added(PLAIN._replace(session="s", author="Ada")) == 0.0


def test_a_very_short_text_of_a_session_has_a_negative_boost() -> None:
    said = PLAIN._replace(session="s")
    assert added(said._replace(length=100)) == 0.0
    assert added(said._replace(length=50)) == pytest.approx(-0.1 * math.log(2))
    assert added(said._replace(length=1)) == pytest.approx(-0.1 * math.log(100))


@pytest.mark.parametrize("length", [1, 50, 100, 5_000])
def test_a_note_without_a_session_loses_nothing_for_being_terse(length: int) -> None:
    assert added(PLAIN._replace(length=length)) == 0.0


@pytest.mark.parametrize(
    ("project", "prefers", "loss"),
    [
        ("hall", "hall", 0.0),
        ("attic", "hall", 0.3),
        (None, "hall", 0.0),
        ("attic", None, 0.0),
        (None, None, 0.0),
    ],
)
def test_memories_of_other_projects_than_the_preferred_one_have_a_negative_boost(
    project: str | None, prefers: str | None, loss: float
) -> None:
    assert added(PLAIN._replace(project=project), prefers=prefers) == pytest.approx(-loss)


def test_a_question_has_a_negative_boost() -> None:
    assert added(PLAIN._replace(is_question=True)) == pytest.approx(-0.05)


@pytest.mark.parametrize(
    ("author", "question", "named"),
    [
        ("Ada", "what did Ada decide", True),
        ("Ada", "ADA's plan", True),
        ("Ada", "the canada office", False),
        ("Grace Hopper", "what grace hopper found", True),
        ("Grace Hopper", "what grace found", False),
        ("李雷", "李雷 说 什么", True),
        ("--", "--", False),
        (None, "what did Ada decide", False),
    ],
)
def test_an_author_named_in_the_query_has_a_positive_boost(author: str | None, question: str, named: bool) -> None:
    assert added(PLAIN._replace(author=author), question) == pytest.approx(0.2 if named else 0.0)


def test_memories_share_in_the_best_relevance_of_their_session() -> None:
    inside, outside = PLAIN._replace(session="s"), PLAIN._replace(session="t")
    found = candidate_boosts(
        {"best": inside, "other": inside, "alone": outside, "free": PLAIN},
        {"best": 0.9, "other": 0.1, "alone": 0.5, "free": 0.3},
        "",
        CONSTANTS,
    )
    assert found == {"best": 0.0, "other": pytest.approx(0.2), "alone": 0.0, "free": 0.0}


@given(standings, relevances, questions)
def test_boosts_are_small_and_company_never_exceeds_the_best_of_the_session(
    found: dict[str, RankFeatures], relevance: dict[str, float], question: str
) -> None:
    nobody = {key: one._replace(author=None, is_question=False, length=400) for key, one in found.items()}
    for key, extra in candidate_boosts(nobody, relevance, question, CONSTANTS).items():
        company = [relevance[other] for other, one in found.items() if one.session == found[key].session]
        assert 0.0 <= extra <= 0.25
        assert relevance[key] + extra <= max(company) + 1e-9
    for extra in candidate_boosts(found, relevance, question, CONSTANTS).values():
        assert -0.6 <= extra <= 0.6


@given(standings, relevances, questions)
def test_more_relevance_never_lowers_the_sum(
    found: dict[str, RankFeatures], relevance: dict[str, float], question: str
) -> None:
    for key in found:
        more = {**relevance, key: min(relevance[key] + 0.1, 1.0)}
        before, after = (candidate_boosts(found, one, question, CONSTANTS)[key] for one in (relevance, more))
        assert more[key] + after >= relevance[key] + before - 1e-9


@pytest.mark.parametrize(
    ("end", "asks"),
    [("Why?", True), ("Why? \n\t ", True), ("为什么？", True), ("لماذا؟", True), ("Why? Because.", False), ("", False)],
)
def test_a_text_that_ends_with_a_question_mark_is_a_question(end: str, asks: bool) -> None:
    assert is_question(end) is asks


MAY = Span(datetime(2025, 5, 1, tzinfo=UTC), datetime(2025, 6, 1, tzinfo=UTC), 0.8)
ages = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 2_000), min_size=1)


def of_ages(days: dict[str, int]) -> dict[str, RankFeatures]:
    return {key: PLAIN._replace(created_at=PLAIN.created_at - timedelta(days=age)) for key, age in days.items()}


@given(ages, relevances)
def test_memories_of_another_time_lose_a_bounded_amount(days: dict[str, int], relevance: dict[str, float]) -> None:
    found = of_ages(days)
    constants = replace(CONSTANTS, date=0.25)
    without = candidate_boosts(found, relevance, "what", constants)
    with_dates = candidate_boosts(found, relevance, "what", constants, [MAY])
    for key, one in found.items():
        loss = without[key] - with_dates[key]
        assert -1e-9 <= loss <= 0.25 * MAY.sure + 1e-9
        if MAY.start <= one.created_at < MAY.stop:
            assert loss == pytest.approx(0.0, abs=1e-9)


def test_either_of_two_named_times_avoids_the_loss() -> None:
    found = {
        "may": PLAIN._replace(created_at=MAY.start),
        "now": PLAIN,
        "older": PLAIN._replace(created_at=datetime(2020, 1, 1, tzinfo=UTC)),
    }
    today = Span(PLAIN.created_at, PLAIN.created_at + timedelta(days=1), 0.8)
    lost = candidate_boosts(found, dict.fromkeys(found, 0.5), "what", replace(CONSTANTS, date=0.25), [MAY, today])
    assert lost["may"] == pytest.approx(lost["now"])
    assert lost["older"] < lost["may"] - 0.1


@given(standings, relevances)
def test_a_preferred_project_keeps_the_order_within_each_project(
    found: dict[str, RankFeatures], relevance: dict[str, float]
) -> None:
    plain = candidate_boosts(found, relevance, "what", CONSTANTS)
    preferring = candidate_boosts(found, relevance, "what", CONSTANTS, prefers="hall")
    for key, one in found.items():
        assert plain[key] - preferring[key] == pytest.approx(0.0 if one.project in ("hall", None) else 0.3)
