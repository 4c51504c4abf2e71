"""Decisions about cooldowns, and their text for agents."""

from datetime import timedelta

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.events.cooldown_rules import combine, format_cooldowns
from hivelore.events.model import Cooldown
from support.events import a_cooldown, cooldowns
from support.memories import instant, instants

HEADING = "Cooldowns (do not take these actions again before their time):"


def test_the_first_counts_once() -> None:
    assert combine(None, a_cooldown()) == a_cooldown()


def test_an_ended_cooldown_begins_again() -> None:
    before = a_cooldown(until=instant(5), count=4, reason=Clean("no use"))
    new = a_cooldown(set_at=instant(5), until=instant(9))
    assert combine(before, new) == new


def test_a_cooldown_set_again_counts_and_keeps_its_reason_without_a_new_one() -> None:
    before = a_cooldown(count=2, reason=Clean("no use"))
    silent, telling = (a_cooldown(set_at=instant(5), until=instant(40), reason=why) for why in (None, Clean("worse")))
    assert combine(before, silent) == replace(silent, count=3, reason=Clean("no use"))
    assert combine(before, telling) == replace(telling, count=3)


def test_a_repetition_by_the_session_within_an_hour_changes_nothing() -> None:
    before = a_cooldown(session=Clean("s1"), until=instant(90), count=2, reason=Clean("no use"))
    for minute, reason in ((0, None), (5, Clean("no use")), (59, None)):
        said = a_cooldown(session=Clean("s1"), set_at=instant(minute), until=instant(minute + 90), reason=reason)
        assert combine(before, said) == before
        assert combine(before, replace(said, until=instant(minute + 30))) == before


@pytest.mark.parametrize(
    "new",
    [
        a_cooldown(session=Clean("s2"), set_at=instant(5), until=instant(95)),
        a_cooldown(session=None, set_at=instant(5), until=instant(95)),
        a_cooldown(session=Clean("s1"), set_at=instant(60), until=instant(150)),
        a_cooldown(session=Clean("s1"), set_at=instant(5), until=instant(96)),
        a_cooldown(session=Clean("s1"), set_at=instant(5), until=instant(95), reason=Clean("no use")),
    ],
    ids=["another session", "no session", "an hour later", "for longer", "with a reason"],
)
def test_a_report_with_new_facts_counts(new: Cooldown) -> None:
    before = a_cooldown(session=Clean("s1"), until=instant(90))
    assert combine(before, new) == replace(new, count=2)


sessions = st.sampled_from([None, Clean("s1"), Clean("s2")])


@given(before=st.none() | cooldowns, new=cooldowns, said_by=sessions, times=st.integers(1, 3))
def test_the_number_of_repetitions_by_a_session_makes_no_difference(
    before: Cooldown | None, new: Cooldown, said_by: Clean | None, times: int
) -> None:
    assume(new.until > new.set_at)
    before = before and replace(before, session=said_by)
    once = again = combine(before, replace(new, session=Clean("s1")))
    for _ in range(times):
        again = combine(again, replace(new, session=Clean("s1")))
    assert again == once


@given(before=st.none() | cooldowns, new=cooldowns)
def test_setting_never_shortens_and_counts_by_one(before: Cooldown | None, new: Cooldown) -> None:
    assume(all(one is None or one.until > one.set_at for one in (before, new)))
    new = replace(new, session=None)
    known = combine(before, new)
    held = before is not None and before.until > new.set_at
    assert known.until == (max(before.until, new.until) if before is not None and held else new.until)
    if before is not None and held and new.until <= before.set_at:
        assert known == before
        return
    assert known.count == (before.count + 1 if before is not None and held else new.count)
    assert (known.set_at, known.session) == (new.set_at, new.session)
    is_of_one = before is None or not held or before.actor == new.actor
    assert known.actor == (new.actor if is_of_one else None)


def test_a_cooldown_that_ended_before_it_was_set_is_not_counted() -> None:
    before = a_cooldown(set_at=instant(20), until=instant(40))
    assert combine(before, a_cooldown(until=instant(20))) == before


def test_agents_see_the_longest_cooldowns_first() -> None:
    shown = format_cooldowns(
        [
            a_cooldown("caddy", "reload", until=instant(1)),
            a_cooldown(until=instant(30), count=3, reason=Clean("The lock\nis still there")),
            a_cooldown("postgres", "vacuum", until=instant(60 * 24 * 3)),
            a_cooldown("bind", "restart", until=instant(0)),
        ],
        instant(0.5),
    )
    at = [f"{instant(minute):%Y-%m-%d %H:%M} UTC" for minute in (60 * 24 * 3, 30, 1)]
    assert shown == "\n".join(
        (
            HEADING,
            f"- postgres: vacuum until {at[0]}, for 3 days",
            f"- jellyfin: restart until {at[1]}, for 30 minutes, set 3 times (The lock is still there)",
            f"- caddy: reload until {at[2]}, for 1 minute",
        )
    )


@pytest.mark.parametrize(
    ("left", "words"),
    [
        (timedelta(microseconds=1), "1 minute"),
        (timedelta(minutes=1, microseconds=1), "2 minutes"),
        (timedelta(minutes=119), "119 minutes"),
        (timedelta(hours=2), "2 hours"),
        (timedelta(hours=47, minutes=1), "48 hours"),
        (timedelta(days=2), "2 days"),
        (timedelta(days=2, minutes=1), "3 days"),
    ],
)
def test_the_remaining_time_is_rounded_up(left: timedelta, words: str) -> None:
    assert format_cooldowns([a_cooldown(until=instant(0) + left)], instant(0)).endswith(f", for {words}")


def test_without_an_active_cooldown_there_is_no_text() -> None:
    assert format_cooldowns([], instant(0)) == format_cooldowns([a_cooldown(until=instant(0))], instant(0)) == ""


def test_the_rest_of_very_many_is_counted() -> None:
    shown = format_cooldowns(
        [a_cooldown(f"s{number}", until=instant(number + 1)) for number in range(5)], instant(0), most=2
    )
    assert [line[:6] for line in shown.splitlines()[1:]] == ["- s4: ", "- s3: ", "- and "]
    assert shown.endswith("- and 3 more")


@given(some=st.lists(cooldowns, max_size=4), now=instants)
def test_each_takes_one_line_whatever_it_contains(some: list[Cooldown], now: object) -> None:
    holding = [one for one in some if one.until > instant(0)]
    assert len(format_cooldowns(some, instant(0)).splitlines()) == (len(holding) + 1 if holding else 0)


def test_the_text_fits_its_limit() -> None:
    many = [a_cooldown(f"s{number}", until=instant(number + 1), reason=Clean("x" * 300)) for number in range(10)]
    shown = format_cooldowns(many, instant(0), characters=1_000).splitlines()
    assert len("\n".join(shown[1:-1])) <= 1_000
    assert [line.split(":")[0] for line in shown[1:]] == ["- s9", "- s8", "- and 8 more"]
