"""Decisions about costs: reports of growing totals, days, and daily limits."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

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
    """What all tasks together may use on one day (UTC); None: no limit."""

    tokens: int | None = None
    cost_micros: int | None = None

    @property
    def is_set(self) -> bool:
        return self.tokens is not None or self.cost_micros is not None

    def refusal(self, used: UsageTotal) -> str | None:
        """Returns why no more tasks are claimed today; None if they may be."""
        if self.tokens is not None and used.tokens >= self.tokens:
            return (
                f"The daily limit of {self.tokens:,} tokens is used up ({used.tokens:,}). It starts again at 00:00 "
                "UTC; HIVELORE_TASK_DAILY_TOKENS sets it."
            )
        if self.cost_micros is not None and used.cost_micros >= self.cost_micros:
            return (
                f"The daily limit of ${self.cost_micros / MICROS:,.2f} is used up (${used.cost_micros / MICROS:,.2f}). "
                "It starts again at 00:00 UTC; HIVELORE_TASK_DAILY_COST sets it."
            )
        return None
