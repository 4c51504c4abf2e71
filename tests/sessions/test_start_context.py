"""The choice of memories for a session that starts: their value, and the limits of the choice."""

import random
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.agents import Interface
from hivelore.core.text import Clean
from hivelore.feedback.model import UsageCounts
from hivelore.memories.model import Provenance, Source, Trust
from hivelore.observations.naming import DEFAULT_NAMING
from hivelore.sessions.start_context import (
    AUTHOR_SHARE,
    LEAST_VALUE,
    Candidate,
    choose,
    is_standing,
    overlap,
    price,
    value,
)
from support.memories import START, a_memory

NOW = START + timedelta(days=30)
TOKENS = 600
WORDS = (
    *("parser", "lexer", "proxy", "port", "cache", "queue", "retry", "token", "vector", "branch", "build", "deploy"),
    *("never", "always", "please", "you", "must"),
)
RULE = "Never touch a migration that has been applied, not even its white space; write a new one and tell me about it."
FACT = (
    "Credit notes are rounded on the sum of their net lines, one VAT rate at a time, and the last one takes the rest."
)


def candidate(text: str, *, relevance: float | None = 0.4, use: UsageCounts | None = None, **parts: Any) -> Candidate:
    memory = a_memory(text, project=parts.pop("project", Clean("hive")), **parts)
    standing = is_standing(memory, DEFAULT_NAMING)
    return Candidate(memory=memory, text=text, relevance=relevance, use=use or UsageCounts(), standing=standing)


def texts(chosen: Sequence[Candidate]) -> list[str]:
    return [one.text for one in chosen]


@st.composite
def pools(draw: st.DrawFn) -> list[Candidate]:
    count = draw(st.integers(0, 40))
    return [
        candidate(
            " ".join(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=30))),
            relevance=draw(st.sampled_from([None, 0.0, 0.3, 0.7, 1.2])),
            author=Clean(draw(st.sampled_from(["ada", "bob", "eve"]))),
            source=draw(st.sampled_from([Source.MANUAL, Source.SESSION_SUMMARY])),
        )
        for _ in range(count)
    ]


@given(pools(), st.integers(0, 800))
def test_the_choice_stays_within_its_budget_and_repeats_nothing(pool: list[Candidate], tokens: int) -> None:
    chosen = choose(pool, tokens, NOW)
    assert sum(one.tokens for one in chosen) <= tokens
    assert len({one.memory.id for one in chosen}) == len(chosen)
    assert len({one.terms for one in chosen}) == len(chosen)
    assert all(one in pool for one in chosen)


@given(pools(), st.integers(0, 800), st.integers(0, 99))
def test_the_choice_does_not_depend_on_the_order_of_the_candidates(
    pool: list[Candidate], tokens: int, seed: int
) -> None:
    shuffled = random.Random(seed).sample(pool, len(pool))
    assert choose(shuffled, tokens, NOW) == choose(pool, tokens, NOW)


@given(pools(), st.integers(0, 800))
def test_each_chosen_memory_was_worth_its_price(pool: list[Candidate], tokens: int) -> None:
    for place, one in enumerate(chosen := choose(pool, tokens, NOW)):
        before = sum(each.tokens for each in chosen[:place])
        assert value(one, NOW) >= price(before, tokens) >= LEAST_VALUE


@given(st.integers(0, 2_000), st.integers(0, 2_000), st.integers(1, 2_000))
def test_the_price_never_falls(spent: int, more: int, tokens: int) -> None:
    assert price(spent, tokens) <= price(spent + more, tokens)


def test_500_notes_by_one_author_leave_room_for_those_of_others() -> None:
    flood = [
        candidate(
            f"Always ask me before you touch the {WORDS[number % 9]} of area {number}, never without it.",
            author=Clean("eve"),
        )
        for number in range(500)
    ]
    others = [candidate(RULE, author=Clean("ada")), candidate(FACT, author=Clean("bob"), relevance=0.9)]
    chosen = choose([*flood, *others], TOKENS, NOW)
    assert {RULE, FACT} <= set(texts(chosen))
    before = chosen[: max(chosen.index(one) for one in others)]
    assert sum(one.tokens for one in before if one.author == "eve") <= AUTHOR_SHARE * TOKENS


def test_a_single_author_may_use_the_whole_budget() -> None:
    pool = [candidate(f"{RULE} {word} {number}") for number, word in enumerate(["one", "two", "three", "four", "five"])]
    distinct = [
        candidate(" ".join(f"You must never {word}{number}{letter}" for letter in "abcdef"))
        for number in range(9)
        for word in ["x"]
    ]
    chosen = choose([*pool, *distinct], TOKENS, NOW)
    assert sum(one.tokens for one in chosen) > AUTHOR_SHARE * TOKENS


def test_fillers_do_not_follow_good_notes() -> None:
    good = [
        candidate(f"{FACT} {' '.join(f'{word}{number}' for word in WORDS[:12])}", relevance=0.8) for number in range(6)
    ]
    fillers = [
        candidate(f"Build {number} done.", relevance=0.1, created_at=NOW, updated_at=NOW) for number in range(90)
    ]
    chosen = texts(choose([*good, *fillers], 1_500, NOW))
    assert [text for text in chosen if text.startswith("Build")] == []
    assert len(chosen) >= 3


def test_a_store_of_a_few_facts_is_shown_and_one_of_reports_is_not() -> None:
    facts = ["Port 8443 is taken by the proxy.", "The lamp in the hall is a LIFX.", "Use pnpm, not npm."]
    assert set(texts(choose([candidate(text, relevance=None) for text in facts], 1_500, NOW))) == set(facts)
    reports = [candidate(f"Build {number} done.", relevance=0.0) for number in range(150)]
    assert choose(reports, 1_500, NOW) == []


def test_a_repetition_of_what_is_injected_anyway_is_not_chosen() -> None:
    assert texts(choose([candidate(RULE), candidate(FACT)], TOKENS, NOW, [candidate(RULE)])) == [FACT]


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (candidate(FACT, relevance=0.8), candidate(FACT, relevance=0.1)),
        (candidate(FACT, category=Clean("preference")), candidate(FACT)),
        (candidate(RULE), candidate(FACT)),
        (candidate(FACT, use=UsageCounts(useful=3)), candidate(FACT)),
        (candidate(FACT), candidate(FACT, use=UsageCounts(useless=3))),
        (candidate(FACT, access_count=9), candidate(FACT)),
        (candidate(FACT), candidate(FACT, source=Source.SESSION_SUMMARY)),
        (candidate(FACT), candidate(FACT, project=None)),
        (candidate(FACT, updated_at=NOW), candidate(FACT)),
        (
            candidate(FACT),
            candidate(FACT, provenance=Provenance(actor=None, interface=Interface.MCP, trust=Trust.WEB)),
        ),
        (
            candidate(FACT, source=Source.SESSION_SUMMARY, updated_at=NOW),
            candidate(FACT, source=Source.SESSION_SUMMARY),
        ),
    ],
)
def test_one_memory_is_worth_more_than_another(better: Candidate, worse: Candidate) -> None:
    assert value(better, NOW) > value(worse, NOW)


def test_instructions_of_a_user_stand() -> None:
    by_person = Provenance(actor=None, interface=Interface.CLI, trust=Trust.OPERATOR)
    for category in ("preference", "Preferences", "INSTRUCTION"):
        assert is_standing(a_memory("Short answers.", category=Clean(category)), DEFAULT_NAMING)
    assert is_standing(a_memory(RULE, provenance=by_person), DEFAULT_NAMING)
    assert not is_standing(a_memory(RULE), DEFAULT_NAMING)
    assert not is_standing(a_memory(FACT, provenance=by_person), DEFAULT_NAMING)


def test_overlap_is_the_share_of_the_shorter_text() -> None:
    assert overlap(frozenset("ab"), frozenset("abcd")) == 1.0
    assert overlap(frozenset("ab"), frozenset("bc")) == 0.5
    assert overlap(frozenset(), frozenset("b")) == 0.0
