"""Cooldowns: who may set and clear which, what becomes of one that is set again, and how agents are told (C42)."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import accumulate

from hivelore.core.agents import Role, Viewer
from hivelore.events.model import MAX_COOLDOWN, Cooldown
from hivelore.events.repetition import is_repeated

MAX_WORKER_COOLDOWN = timedelta(days=1)
"""Everybody is told of it, so who sets a longer one has to be trusted with that."""
MAX_ACTIVE_PER_WORKER = 100
"""So many of one worker hold at a time."""
MAX_SHOWN = 20
"""Of more, the agent is told how many others there are."""
MAX_CHARACTERS = 2_000
_HEADING = "Cooldowns (do not take these actions again before their time):"
_MINUTE = timedelta(minutes=1)
_HOURS = timedelta(hours=2)
_DAYS = timedelta(days=2)


def max_duration(viewer: Viewer) -> timedelta:
    """How long what ``viewer`` sets may hold."""
    return MAX_WORKER_COOLDOWN if viewer.role is Role.WORKER else MAX_COOLDOWN


def may_set_another(viewer: Viewer, holding: Sequence[Cooldown]) -> bool:
    """Whether ``viewer`` may set one that does not hold yet, besides those that do."""
    if viewer.role is not Role.WORKER:
        return True
    return sum(one.actor == viewer.agent for one in holding) < MAX_ACTIVE_PER_WORKER


def may_clear(viewer: Viewer, cooldown: Cooldown) -> bool:
    """Whether ``viewer`` may let the action be taken again before its time: a worker where nobody else has set it."""
    return viewer.role is not Role.WORKER or cooldown.actor == viewer.agent


def combine(before: Cooldown | None, new: Cooldown) -> Cooldown:
    """What holds after ``new`` was told of where ``before`` stood. It counts once more than before, and never ends
    sooner: who does not know of an earlier reason to wait must not undo it. What says nothing new (``repetition``), or
    is told of when it was over before ``before`` was set, changes nothing. Where two agents have set it, it is of none
    of them alone."""
    if before is None or before.until <= new.set_at:
        return new
    if new.until <= before.set_at or _is_repetition(before, new):
        return before
    # Of two agents, who lets it rest longer says why.
    first, second = (before, new) if _is_covered_by_other_agent(before, new) else (new, before)
    return replace(
        new,
        until=max(before.until, new.until),
        count=before.count + 1,
        reason=first.reason or second.reason,
        actor=new.actor if new.actor == before.actor else None,
    )


def _is_covered_by_other_agent(before: Cooldown, new: Cooldown) -> bool:
    """Whether somebody else has let it rest for as long before."""
    return new.actor != before.actor and new.until <= before.until


def _is_repetition(before: Cooldown, new: Cooldown) -> bool:
    is_why_known = not new.reason or new.reason == before.reason or _is_covered_by_other_agent(before, new)
    return (
        is_repeated(new.session, new.set_at, before.session, before.set_at)
        and new.until - new.set_at <= before.until - before.set_at
        and is_why_known
    )


def format_cooldowns(
    cooldowns: Sequence[Cooldown], now: datetime, most: int = MAX_SHOWN, characters: int = MAX_CHARACTERS
) -> str:
    """Those that hold ``now``, for what an agent is told of its environment: the longest first, each in one line, as
    far as they have room. Empty where there is none."""
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
    """In one line, whatever it holds."""
    until = f"{one.until:%Y-%m-%d %H:%M} UTC, for {_format_duration(one.until - now)}"
    times = f", set {one.count:,} times" if one.count > 1 else ""
    reason = f" ({_one_line(one.reason)})" if one.reason else ""
    return f"- {_one_line(one.service)}: {_one_line(one.action)} until {until}{times}{reason}"


def _format_duration(left: timedelta) -> str:
    """In the largest unit that still tells it well, rounded up: nothing is over sooner than it says."""
    for least, unit, name in ((_DAYS, timedelta(days=1), "days"), (_HOURS, timedelta(hours=1), "hours")):
        if left >= least:
            return f"{-(-left // unit):,} {name}"
    minutes = -(-left // _MINUTE)
    return f"{minutes} minute{'s' if minutes > 1 else ''}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
