"""Decisions about costs: reports of growing totals, days, and daily limits."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date

from hivelore.core.agents import AgentId
from hivelore.core.text import Clean
from hivelore.tasks.model import COUNTERS, MICROS, TaskCost, Usage, UsageTotal

NOTHING = UsageTotal()


def reported(usage: Usage) -> UsageTotal:
    """Returns what a report says."""
    return UsageTotal(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        cost_micros=round(usage.cost_usd * MICROS),
    )


def total(costs: Iterable[UsageTotal]) -> UsageTotal:
    sums = dict.fromkeys(COUNTERS, 0)
    for one in costs:
        for name in COUNTERS:
            sums[name] += getattr(one, name)
    return UsageTotal(**sums)


def rest(everything: UsageTotal, parts: Iterable[UsageTotal]) -> UsageTotal:
    """Returns what is left of a total without some of its parts."""
    known = total(parts)
    return UsageTotal(**{name: max(getattr(everything, name) - getattr(known, name), 0) for name in COUNTERS})


def share_of_day(report: UsageTotal, stored: Iterable[TaskCost], day: date) -> UsageTotal:
    """Returns what a session used on a day, from its total so far and from what is stored of it. A repeated report, and
    one that arrives after a larger one, changes nothing."""
    known = list(stored)
    before = total(one.usage for one in known if one.day != day)
    today = total(one.usage for one in known if one.day == day)
    return UsageTotal(
        **{name: max(getattr(today, name), getattr(report, name) - getattr(before, name), 0) for name in COUNTERS}
    )


def session_of_costs(named: Clean | None, stored: Iterable[TaskCost]) -> Clean:
    """Returns the session to which a report of an attempt belongs. A report that names none belongs to the only
    session that has costs; without one, to the unknown session, which is empty."""
    if named is not None:
        return named
    known = {one.session for one in stored}
    return known.pop() if len(known) == 1 else Clean("")


@dataclass(frozen=True, slots=True)
class DailyLimit:
    """What tasks may use on one day (UTC); None: no limit."""

    tokens: int | None = None
    cost_micros: int | None = None
    percent: int = 100
    """The part of the limits that one agent may use. What an agent reports above it does not count against others."""

    @property
    def is_set(self) -> bool:
        return self.tokens is not None or self.cost_micros is not None

    def refusal(self, used: Mapping[AgentId, UsageTotal], agent: AgentId) -> str | None:
        """Returns why an agent claims no more tasks today; None if it may. ``used``: by agent."""
        tokens = {one: usage.tokens for one, usage in used.items()}
        micros = {one: usage.cost_micros for one, usage in used.items()}
        return _refusal(tokens, self.tokens, self.percent, agent, "{:,} tokens", 1, "TOKENS") or _refusal(
            micros, self.cost_micros, self.percent, agent, "${:,.2f}", MICROS, "COST"
        )


def _refusal(
    used: Mapping[AgentId, int], limit: int | None, percent: int, agent: AgentId, form: str, unit: int, setting: str
) -> str | None:
    if limit is None:
        return None
    part, own = limit * percent / 100, used.get(agent, 0)
    counted = sum(min(one, part) for one in used.values())

    def say(amount: float) -> str:
        return form.format(int(amount) if unit == 1 else amount / unit)

    again = f"It starts again at 00:00 UTC; HIVELORE_TASK_DAILY_{setting} sets it"
    if counted >= limit:
        return f"The daily limit of {say(limit)} is used up ({say(counted)}). {again}."
    if own >= part:
        return (
            f"You have used up your part of the daily limit of {say(limit)} ({say(own)} of {say(part)}). {again}, "
            "HIVELORE_TASK_AGENT_PERCENT the part. An operator can drop wrong costs."
        )
    return None
