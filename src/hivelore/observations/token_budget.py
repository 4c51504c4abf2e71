"""Token budgets of operational memory, by model and tier (C36)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from hivelore.errors import Invalid

MAX_TOKENS = 100_000
_ENTRY = re.compile(r"(?:(?P<name>[^=]+)=)?(?P<tokens>[0-9]{1,6})")
_TIER = re.compile(r"tier[0-3]")
_TIER_LIKE = re.compile(r"tier[^a-z]*")


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """Tokens; 0 disables the block."""

    tokens: int
    by_tier: Mapping[int, int] = field(default_factory=dict[int, int])
    by_model: Mapping[str, int] = field(default_factory=dict[str, int])
    """By a lower-case part of the model name."""

    def tokens_for(self, model: str | None = None, tier: int | None = None) -> int:
        """Returns the budget of the model (longest matching name), else of the tier, else the default."""
        name = (model or "").lower()
        fitting = [part for part in self.by_model if part in name]
        if fitting:
            return self.by_model[max(fitting, key=len)]
        return self.tokens if tier is None else self.by_tier.get(tier, self.tokens)


def parse_budget(text: str) -> TokenBudget:
    """Parses ``2000``, or a table like ``2000, tier1=800, opus=6000``; the number without a name is the default."""
    budgets: dict[str, int] = {}
    for part in text.split(","):
        entry = _ENTRY.fullmatch(part.strip())
        if entry is None or int(entry["tokens"]) > MAX_TOKENS:
            raise Invalid(
                f"Invalid token budget {part.strip()!r}. Use a number up to {MAX_TOKENS:,}, or a table: "
                "2000, tier1=800."
            )
        name = (entry["name"] or "").strip().lower()
        if name in budgets:
            raise Invalid(f"{text!r} has two budgets for {name or 'the default'}. Write 2000, without a comma.")
        if _TIER_LIKE.fullmatch(name) and not _TIER.fullmatch(name):
            raise Invalid(f"Unknown tier {name!r}. Use tier0 to tier3: 2000, tier1=800.")
        budgets[name] = int(entry["tokens"])
    if "" not in budgets:
        raise Invalid("A table of budgets needs a default: 2000, opus=6000.")
    tokens = budgets.pop("")
    tiers = {int(name[-1]): budgets.pop(name) for name in list(budgets) if _TIER.fullmatch(name)}
    return TokenBudget(tokens, tiers, budgets)
