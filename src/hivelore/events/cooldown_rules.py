"""Decisions about cooldowns: limits, permissions, repetition, and their text for agents (C42)."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import accumulate

from hivelore.core.agents import Role, Viewer
from hivelore.core.values import replace
from hivelore.events.model import MAX_COOLDOWN, REPEAT_WINDOW, Cooldown

MAX_WORKER_COOLDOWN = timedelta(days=1)
"""Cooldowns are shown to every agent, so longer ones require a lead or an operator."""
MAX_ACTIVE_PER_WORKER = 100
"""Active cooldowns that one worker may have."""
MAX_SHOWN = 20
"""Cooldowns shown to an agent; of the others, only the number."""
MAX_CHARACTERS = 2_000
_HEADING = "Cooldowns (do not take these actions again before their time):"
_MINUTE = timedelta(minutes=1)
_HOURS = timedelta(hours=2)
_DAYS = timedelta(days=2)


def max_duration(viewer: Viewer) -> timedelta:
    """Returns the longest cooldown that ``viewer`` may set."""
    return MAX_WORKER_COOLDOWN if viewer.role is Role.WORKER else MAX_COOLDOWN


def may_set_another(viewer: Viewer, holding: Sequence[Cooldown]) -> bool:
    """Returns True if ``viewer`` may set a cooldown in addition to the active ones."""
    if viewer.role is not Role.WORKER:
        return True
    return sum(one.actor == viewer.agent for one in holding) < MAX_ACTIVE_PER_WORKER


def may_clear(viewer: Viewer, cooldown: Cooldown) -> bool:
    """Returns True if ``viewer`` may end the cooldown early. Workers may end only their own."""
    return viewer.role is not Role.WORKER or cooldown.actor == viewer.agent


def combine(before: Cooldown | None, new: Cooldown) -> Cooldown:
    """Returns the cooldown after ``new`` is set while ``before`` exists. The count increases and the end never moves
    forward, because an agent may not know earlier reasons to wait. Repetitions (``REPEAT_WINDOW``), and late reports of
    a cooldown that ended before ``before`` began, change nothing. A cooldown set by two agents belongs to neither."""
    if before is None or before.until <= new.set_at:
        return new
    if new.until <= before.set_at or _is_repetition(before, new):
        return before
    # The reason comes from the agent with the longer cooldown.
    first, second = (before, new) if _is_covered_by_other_agent(before, new) else (new, before)
    return replace(
        new,
        until=max(before.until, new.until),
        count=before.count + 1,
        reason=first.reason or second.reason,
        actor=new.actor if new.actor == before.actor else None,
    )


def _is_covered_by_other_agent(before: Cooldown, new: Cooldown) -> bool:
    """Returns True if another agent already set a cooldown of at least this length."""
    return new.actor != before.actor and new.until <= before.until


def _is_repetition(before: Cooldown, new: Cooldown) -> bool:
    is_why_known = not new.reason or new.reason == before.reason or _is_covered_by_other_agent(before, new)
    return (
        new.session is not None
        and new.session == before.session
        and abs(new.set_at - before.set_at) < REPEAT_WINDOW
        and new.until - new.set_at <= before.until - before.set_at
        and is_why_known
    )


def format_cooldowns(
    cooldowns: Sequence[Cooldown], now: datetime, most: int = MAX_SHOWN, characters: int = MAX_CHARACTERS
) -> str:
    """Formats the active cooldowns for an agent, longest first, one per line. Empty if none is active."""
    holding = sorted(
        (one for one in cooldowns if one.until > now), key=lambda one: (now - one.until, one.service, one.action)
    )
    if not holding:
        return ""
    lines = [_format_line(one, now) for one in holding[:most]]
    ends = accumulate(len(line) + 1 for line in lines)
    shown = [line for line, end in zip(lines, ends, strict=True) if end <= characters]
    more = [f"- and {len(holding) - len(shown):,} more"] if len(shown) < len(holding) else []
    return "\n".join((_HEADING, *shown, *more))


def _format_line(one: Cooldown, now: datetime) -> str:
    until = f"{one.until:%Y-%m-%d %H:%M} UTC, for {_format_duration(one.until - now)}"
    times = f", set {one.count:,} times" if one.count > 1 else ""
    reason = f" ({_one_line(one.reason)})" if one.reason else ""
    return f"- {_one_line(one.service)}: {_one_line(one.action)} until {until}{times}{reason}"


def _format_duration(left: timedelta) -> str:
    """Formats a duration in the largest suitable unit, rounded up."""
    for least, unit, name in ((_DAYS, timedelta(days=1), "days"), (_HOURS, timedelta(hours=1), "hours")):
        if left >= least:
            return f"{-(-left // unit):,} {name}"
    minutes = -(-left // _MINUTE)
    return f"{minutes} minute{'s' if minutes > 1 else ''}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
