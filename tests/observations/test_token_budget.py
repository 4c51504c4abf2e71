"""Token budgets by tier and model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.errors import Invalid
from hivelore.observations.token_budget import MAX_TOKENS, parse_budget


def test_one_number_is_the_budget_of_all_tiers_and_models() -> None:
    assert parse_budget("2000").tokens_for() == parse_budget(" 2000 ").tokens_for("claude-opus", 1) == 2000
    assert parse_budget("0").tokens_for() == 0


def test_a_table_has_budgets_by_tier_and_part_of_a_model_name() -> None:
    table = parse_budget("2000, tier1=800, tier3=4000, opus=6000, opus-4=5000, haiku=500")
    assert (table.tokens_for(), table.tokens_for("sonnet"), table.tokens_for(tier=2)) == (2000, 2000, 2000)
    assert (table.tokens_for(tier=1), table.tokens_for("sonnet", 3)) == (800, 4000)
    assert (
        table.tokens_for("Claude-OPUS-5"),
        table.tokens_for("claude-opus-4-1", 1),
        table.tokens_for("haiku", 3),
    ) == (6000, 5000, 500)


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "x",
        "-1",
        "1.5",
        "opus=2",
        "2000,",
        "2000, =3",
        "2000, opus=x",
        "2000, tier4=1",
        "2000, tier 1=5",
        "2000, tier-1=5",
        "2000, TIER=5",
        "9999999",
        "2,000",
        "2000,opus=1,Opus=2",
        "2000,tier1=1,tier1=1",
    ],
)
def test_an_invalid_budget_is_refused_with_an_example(wrong: str) -> None:
    with pytest.raises(Invalid, match="2000"):
        parse_budget(wrong)


@given(st.integers(0, MAX_TOKENS), st.dictionaries(st.integers(0, 3), st.integers(0, MAX_TOKENS)), st.integers(0, 3))
def test_each_tier_has_the_budget_of_the_table(of_all: int, tiers: dict[int, int], tier: int) -> None:
    table = ",".join((str(of_all), *(f"tier{name}={tokens}" for name, tokens in tiers.items())))
    assert parse_budget(table).tokens_for(tier=tier) == tiers.get(tier, of_all)
