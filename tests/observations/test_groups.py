"""Groups of observations: the same in any order of arrival."""

from datetime import UTC, datetime, timedelta
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.text import Clean
from hivelore.observations.confidence import Lifecycle
from hivelore.observations.contradiction.judge import Judgement, Verdict, judge
from hivelore.observations.groups import Judge
from hivelore.observations.model import Observation
from support.groups import as_they_arrive, held, in_order_of_time, seen, stand

NOW = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)
DOCUMENTED = Lifecycle()
TEXTS = (
    "Listens on port 8096",
    "listens on port 8096 now",
    "Listens on port 8920",
    "Takes 60s to start",
    "Takes about 64 seconds to start",
    "Takes 69s to start",
    "Takes 10 minutes to start",
    "The library lies on the second disk",
)


def by_rules(one: Clean, other: Clean) -> Judgement:
    return judge(one, other, None)


def observation_lists(texts: st.SearchStrategy[str]) -> st.SearchStrategy[list[Observation]]:
    times = st.integers(0, 6).map(lambda weeks: NOW - weeks * 9 * DAY)
    sessions = st.sampled_from([None, "a", "b", "c"])
    one = st.builds(seen, texts, times, st.sampled_from(["ada", "bob", "cid"]), sessions)
    return st.lists(one, max_size=9)


@given(observation_lists(st.sampled_from(TEXTS)), st.randoms(use_true_random=False))
def test_groups_are_the_same_in_any_order_of_arrival(reported: list[Observation], random: object) -> None:
    arrived = list(reported)
    random.shuffle(arrived)  # type: ignore[attr-defined]
    expected = stand(in_order_of_time(reported, by_rules), DOCUMENTED)
    assert stand(as_they_arrive(arrived, by_rules), DOCUMENTED) == expected


@st.composite
def verdicts(draw: st.DrawFn) -> Judge:
    """Returns a judge with arbitrary verdicts about pairs of five texts, including contradictory ones."""
    pairs = [(one, other) for one in "abcde" for other in "abcde" if one < other]
    kinds = st.sampled_from(list(Verdict))
    sure = st.sampled_from([0.6, 0.8])
    table = {pair: Judgement(draw(kinds), draw(sure), ()) for pair in pairs}
    same = Judgement(Verdict.SAME, 1.0, ())
    return lambda one, other: same if one == other else table[min(one, other), max(one, other)]


@given(observation_lists(st.sampled_from("abcde")), verdicts(), st.randoms(use_true_random=False))
def test_groups_are_the_same_in_any_order_for_arbitrary_verdicts(
    reported: list[Observation], judge: Judge, random: object
) -> None:
    arrived = list(reported)
    random.shuffle(arrived)  # type: ignore[attr-defined]
    expected = stand(in_order_of_time(reported, judge), DOCUMENTED)
    assert stand(as_they_arrive(arrived, judge), DOCUMENTED) == expected


def test_late_observations_do_not_deactivate_a_newer_memory() -> None:
    month = NOW - 31 * DAY
    present = seen("Listens on port 8920", NOW - DAY)
    old = [seen("Listens on port 8096", month + number * DAY, session=f"s{number}") for number in range(3)]
    now, before = sorted(as_they_arrive([present, *old], by_rules), key=lambda one: one.text, reverse=True)
    assert (now.text, held(now, DOCUMENTED).base) == (present.text, 0.7)
    assert (before.text, held(before, DOCUMENTED).base) == (old[0].text, 0.7)


def test_every_order_of_five_observations_has_one_outcome() -> None:
    five = [
        seen("Listens on port 8096", NOW - 40 * DAY, session="a"),
        seen("Listens on port 8920", NOW - 31 * DAY),
        seen("listens on port 8096 now", NOW - 20 * DAY, "bob"),
        seen("Listens on port 8920", NOW - 20 * DAY, "bob"),
        seen("Listens on port 8096", NOW - DAY, session="b"),
    ]
    outcomes = {frozenset(stand(as_they_arrive(order, by_rules), DOCUMENTED)) for order in permutations(five)}
    assert len(outcomes) == 1
