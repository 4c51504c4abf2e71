"""Verdicts from the probabilities of the model, and those that need no model."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hivelore.links.judge import DEFAULTS, PairScores, Verdict, are_equal, judge, judge_quantities
from support.laws import examples

OLDER, NEWER = "We use npm", "We moved from npm to pnpm"


def scores(**shares: float) -> PairScores:
    return PairScores(**{"same": 0.0, "conflict": 0.0, "update": 0.0, "different": 0.0, **shares})


@pytest.mark.parametrize(
    ("given_scores", "verdict"),
    [
        (scores(update=DEFAULTS.update, different=1 - DEFAULTS.update), Verdict.UPDATE),
        (scores(conflict=DEFAULTS.conflict, different=1 - DEFAULTS.conflict), Verdict.CONFLICT),
        (scores(update=DEFAULTS.change / 2 + 0.001, conflict=DEFAULTS.change / 2), Verdict.UPDATE),
        (scores(update=DEFAULTS.change / 2, conflict=DEFAULTS.change / 2 + 0.001), Verdict.CONFLICT),
        (scores(update=DEFAULTS.doubt / 2 + 0.001, conflict=DEFAULTS.doubt / 2), Verdict.UNCERTAIN),
        (scores(update=DEFAULTS.doubt / 2, conflict=DEFAULTS.doubt / 2 - 0.001), Verdict.DIFFERENT),
        (scores(same=DEFAULTS.same, different=1 - DEFAULTS.same), Verdict.SAME),
        (scores(different=1.0), Verdict.DIFFERENT),
        (scores(same=0.4, conflict=0.3, update=0.3), Verdict.DIFFERENT),
    ],
)
def test_a_verdict_needs_its_least_probability(given_scores: PairScores, verdict: Verdict) -> None:
    assert judge(OLDER, NEWER, given_scores).verdict is verdict


def test_a_judgement_has_the_probability_of_a_change() -> None:
    shares = scores(conflict=0.3, update=0.3, different=0.4)
    assert judge(OLDER, NEWER, shares).change == pytest.approx(0.6)
    assert judge(OLDER, OLDER, shares).change == 0.0


def test_a_text_that_the_model_does_not_read_to_its_end_is_the_same_as_none() -> None:
    long = "The importer reads the folders of the night. " * 20
    assert judge(f"{long}It is enabled.", f"{long}It is disabled.", scores(same=1.0)).verdict is Verdict.DIFFERENT
    assert judge(f"{long}It is enabled.", "The importer is off", scores(conflict=1.0)).verdict is Verdict.CONFLICT


def test_letters_that_only_look_like_a_unit_break_nothing() -> None:
    judged = judge("The job runs every 5 s", "Its interval moved to 5 \u017f or \u017fix seconds", scores(update=1.0))
    assert judged.verdict is Verdict.UPDATE


def test_a_verdict_names_what_differs() -> None:
    assert judge(OLDER, NEWER, scores(update=1.0)).why == "npm -> pnpm"
    assert judge("Times out after 10 min", "The timeout is 60 s", scores(conflict=1.0)).why == "10 min vs 60 s"


@settings(max_examples=examples(50))
@given(st.text(max_size=200), st.lists(st.floats(0, 1), min_size=4, max_size=4))
def test_texts_that_differ_only_in_case_and_white_space_are_the_same(text: str, shares: list[float]) -> None:
    total = sum(shares) or 1.0
    given_scores = PairScores(
        **dict(zip(("same", "conflict", "update", "different"), (x / total for x in shares), strict=True))
    )
    assert judge(text, f" {text}\n", given_scores).verdict is Verdict.SAME


@pytest.mark.parametrize(
    ("older", "newer", "verdict"),
    [
        ("Takes 60s to start", "takes 1 min to start", Verdict.SAME),
        ("Takes 60 s to start.", "Takes a minute to start", Verdict.SAME),
        ("Takes 60s to start", "takes about a minute to start", Verdict.SAME),
        ("Takes 60s to start", "Takes ca. 64 s to start", None),
        ("Takes 60s to start", "Takes 10 minutes to start", Verdict.CONFLICT),
        ("The cache has 1 GB", "The cache has 1024 MB", Verdict.SAME),
        ("The cache has 1 GB", "The cache has 512 MB", Verdict.CONFLICT),
        ("Startet in 2 Minuten", "startet in 120 Sekunden", Verdict.SAME),
        ("Alarm at 50 % load", "Alarm at 90% load", Verdict.CONFLICT),
        ("Alarm at 0 % load", "Alarm at 0% load", Verdict.SAME),
        ("Retries 3 times", "Retries 5 times", None),
        ("Waits 1.500 ms", "Waits 1500 ms", None),
        ("Waits 5 \u017f", "Waits 7 \u017f", Verdict.CONFLICT),
        ("Waits \u017fix seconds", "Waits five seconds", None),
        ("每次需要5分钟", "每次需要300秒", Verdict.SAME),
        ("Version 1.2 is pinned", "Version 1.3 is pinned", None),
        ("Takes 60s to start", "Takes 60s to stop", None),
        ("Takes 5 min", "Takes 5 MB", None),
        ("Waits 5 min, then 10 min", "Waits 5 min", None),
        ("", "", None),
    ],
)
def test_statements_that_differ_in_quantities_alone_need_no_model(
    older: str, newer: str, verdict: Verdict | None
) -> None:
    judged = judge_quantities(older, newer)
    assert (None if judged is None else judged.verdict) is verdict
    other = judge_quantities(newer, older)
    assert (None if other is None else other.verdict) is verdict


@settings(max_examples=examples(100))
@given(st.text(max_size=3_000), st.text(max_size=3_000))
def test_no_text_breaks_the_comparison(one: str, other: str) -> None:
    judge(one, other, scores(conflict=1.0))
    judge_quantities(one, other)
    assert are_equal(one, one)
