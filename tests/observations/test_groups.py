"""Groups of observations: the same in any order of arrival."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hivelore.links.comparer import Comparer
from hivelore.links.judge import EQUAL, Judgement, Verdict
from hivelore.observations.confidence import Lifecycle, order_key
from hivelore.observations.groups import Judge
from hivelore.observations.model import Observation
from support.groups import as_they_arrive, held, in_order_of_time, seen, stand
from support.laws import examples
from support.world import READER

NOW = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)
DOCUMENTED = Lifecycle()
TEXTS = (
    "Listens on port 8096",
    "listens on port 8096 now",
    "Listens on port 8920",
    "Moved from port 8096 to port 8920",
    "Takes 60s to start",
    "takes 1 min to start",
    "Takes 69s to start",
    "Takes 10 minutes to start",
    "The library lies on the second disk",
)


judged = cache(Comparer(READER).compare)
"""The shipped judge, which compares each pair once."""


def observation_lists(texts: st.SearchStrategy[str]) -> st.SearchStrategy[list[Observation]]:
    times = st.integers(0, 6).map(lambda weeks: NOW - weeks * 9 * DAY)
    sessions = st.sampled_from([None, "a", "b", "c"])
    one = st.builds(seen, texts, times, st.sampled_from(["ada", "bob", "cid"]), sessions)
    return st.lists(one, max_size=9)


@given(observation_lists(st.sampled_from(TEXTS)), st.randoms(use_true_random=False))
def test_groups_are_the_same_in_any_order_of_arrival(reported: list[Observation], random: Random) -> None:
    expected = stand(in_order_of_time(reported, judged), DOCUMENTED)
    assert stand(as_they_arrive(shuffled(reported, random), judged), DOCUMENTED) == expected


def shuffled(reported: Sequence[Observation], random: Random) -> list[Observation]:
    return random.sample(reported, len(reported))


@st.composite
def verdicts(draw: st.DrawFn) -> Judge:
    """Returns a judge with arbitrary verdicts about pairs of five texts, including contradictory ones, and others for
    the reverse order of a pair."""
    kinds = st.sampled_from(list(Verdict))
    sure = st.sampled_from([0.6, 0.8])
    pairs = [pair for pair in product("abcde", repeat=2) if pair[0] != pair[1]]
    table = {pair: Judgement(draw(kinds), draw(sure), "") for pair in pairs}
    return lambda older, newer: EQUAL if older == newer else table[older, newer]


@given(observation_lists(st.sampled_from("abcde")), verdicts(), st.randoms(use_true_random=False))
def test_groups_are_the_same_in_any_order_for_arbitrary_verdicts(
    reported: list[Observation], judge: Judge, random: Random
) -> None:
    expected = stand(in_order_of_time(reported, judge), DOCUMENTED)
    assert stand(as_they_arrive(shuffled(reported, random), judge), DOCUMENTED) == expected


@given(observation_lists(st.sampled_from("abcde")), verdicts(), st.randoms(use_true_random=False))
def test_replays_and_merged_spools_of_two_hosts_change_nothing(
    reported: list[Observation], judge: Judge, random: Random
) -> None:
    """Each host delivers its spool in order, and delivers parts of it again."""
    spools: tuple[list[Observation], list[Observation]] = ([], [])
    for one in sorted(reported, key=order_key):
        random.choice(spools).append(one)
    delivered = [spool + spool[random.randint(0, len(spool)) :] for spool in spools]
    arrived: list[Observation] = []
    while any(delivered):
        arrived.append(random.choice([spool for spool in delivered if spool]).pop(0))
    expected = stand(in_order_of_time(reported, judge), DOCUMENTED)
    assert stand(as_they_arrive(arrived, judge), DOCUMENTED) == expected


EIGHT = [
    seen("Listens on port 8096", NOW - 60 * DAY, session="a"),
    seen("Takes 60s to start", NOW - 55 * DAY, "bob"),
    seen("Listens on port 8920", NOW - 50 * DAY),
    seen("takes 1 min to start", NOW - 40 * DAY, "cid"),
    seen("Moved from port 8096 to port 8920", NOW - 30 * DAY, "bob"),
    seen("Takes 10 minutes to start", NOW - 20 * DAY),
    seen("Listens on port 8096", NOW - 10 * DAY, "cid", "b"),
    seen("Listens on port 8920", NOW - DAY, "cid"),
]


@settings(max_examples=examples(200))
@given(st.permutations(EIGHT))
def test_every_order_of_eight_observations_has_one_outcome(arrived: list[Observation]) -> None:
    assert stand(as_they_arrive(arrived, judged), DOCUMENTED) == stand(as_they_arrive(EIGHT, judged), DOCUMENTED)


@pytest.mark.parametrize("verdict", [Verdict.CONFLICT, Verdict.UPDATE, Verdict.UNCERTAIN, Verdict.DIFFERENT])
def test_conflicts_and_updates_lower_the_confidence_of_the_earlier_observation(verdict: Verdict) -> None:
    older, newer = seen("npm", NOW - DAY), seen("pnpm", NOW)
    is_lower = verdict in (Verdict.CONFLICT, Verdict.UPDATE)
    for order in ([older, newer], [newer, older]):
        groups = as_they_arrive(order, lambda older, newer: Judgement(verdict, 0.9, ""))
        found = {group.text: held(group, DOCUMENTED).base for group in groups}
        assert found == {"npm": 0.5 if is_lower else 0.7, "pnpm": 0.7}


def test_late_observations_do_not_deactivate_a_newer_memory() -> None:
    month = NOW - 31 * DAY
    present = seen("Listens on port 8920", NOW - DAY)
    old = [seen("Listens on port 8096", month + number * DAY, session=f"s{number}") for number in range(3)]
    now, before = sorted(as_they_arrive([present, *old], judged), key=lambda one: one.text, reverse=True)
    assert (now.text, held(now, DOCUMENTED).base) == (present.text, 0.7)
    assert (before.text, held(before, DOCUMENTED).base) == (old[0].text, 0.7)
