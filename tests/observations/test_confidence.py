"""Confidence: the documented steps (C11, C12, C14, C37) and its laws."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.agents import Interface
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.observations.confidence import (
    Lifecycle,
    Step,
    apply_observation,
    clamp,
    confidence_at,
    decay_points,
    is_active,
    point_at,
    replay,
    step_points,
)
from hivelore.observations.model import (
    GENERAL,
    Confidence,
    Held,
    Observation,
    ObservationKind,
    Operational,
)
from hivelore.observations.outcomes import TimelinePoint

NOW = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)
DOCUMENTED = Lifecycle()

instants = st.timedeltas(timedelta(), timedelta(days=2_000)).map(lambda age: NOW + age)
bases = st.floats(0.0, 1.0).map(clamp)


def known(base: float = 0.7, since: datetime = NOW, *, persistent: bool = False, is_off: bool = False) -> Operational:
    return Operational.of(Held(base=Confidence(base), since=since, is_off=is_off), persistent=persistent)


def seen(kind: ObservationKind, at: datetime = NOW, to: float | None = None) -> Observation:
    return Observation(
        at=at, kind=kind, actor=None, interface=Interface.REST, to=None if to is None else Confidence(to)
    )


def then(what: Operational, *observations: Observation) -> Operational:
    for one in observations:
        what = apply_observation(what, one, DOCUMENTED)
    return what


def last(*story: Observation) -> Step:
    *_, step = replay(known(), story, DOCUMENTED)
    return step


any_known = st.builds(known, bases, instants, persistent=st.booleans(), is_off=st.booleans())
observed = st.sampled_from([ObservationKind.REINFORCED, ObservationKind.CONTRADICTED])
judged = st.sampled_from([ObservationKind.SWITCHED_OFF, ObservationKind.MADE_PERSISTENT, ObservationKind.MADE_PASSING])
observations = st.builds(seen, observed | judged, instants) | st.builds(
    seen, st.just(ObservationKind.SET), instants, bases
)


@pytest.mark.parametrize(
    ("days", "confidence"),
    [(0, 0.7), (29, 0.7), (30, 0.7), (37, 0.6), (40.5, 0.55), (58, 0.3), (59, 0.285714286), (79, 0.0), (5_000, 0.0)],
)
def test_confidence_decays_by_a_tenth_each_week_after_thirty_days(days: float, confidence: float) -> None:
    assert confidence_at(known(), NOW + days * DAY, DOCUMENTED) == pytest.approx(confidence)


@pytest.mark.parametrize("base", [-0.1, 1.1, float("nan")])
def test_an_invalid_confidence_is_refused(base: float) -> None:
    with pytest.raises(ValueError, match="0 to 1"):
        known(base)


def test_an_observation_time_without_utc_is_refused() -> None:
    with pytest.raises(ValueError, match="UTC"):
        known(since=NOW.replace(tzinfo=None))


@pytest.mark.parametrize("service", ["", GENERAL])
def test_no_name_and_general_stand_for_all_services(service: str) -> None:
    assert replace(known(), service=Clean(service)).service is None


def test_confidence_does_not_decay_before_the_observation() -> None:
    assert confidence_at(known(), NOW - 5_000 * DAY, DOCUMENTED) == 0.7


def test_the_threshold_is_inclusive() -> None:
    assert is_active(known(), NOW + 58 * DAY, DOCUMENTED)
    assert not is_active(known(), NOW + 58 * DAY + timedelta(seconds=1), DOCUMENTED)
    assert is_active(then(known(0.5), seen(ObservationKind.CONTRADICTED)), NOW, DOCUMENTED)
    assert not is_active(then(known(0.49), seen(ObservationKind.CONTRADICTED)), NOW, DOCUMENTED)


def test_only_persistent_memories_are_exempt_from_decay() -> None:
    assert confidence_at(known(persistent=True), NOW + 5_000 * DAY, DOCUMENTED) == 0.7
    # A high confidence is not exempt (C37).
    assert confidence_at(known(1.0), NOW + 44 * DAY, DOCUMENTED) == pytest.approx(0.8)


def test_reinforcement_raises_the_confidence_and_restarts_decay() -> None:
    again = then(known(), seen(ObservationKind.REINFORCED, NOW + 37 * DAY))
    assert again.held == Held(base=Confidence(0.7), since=NOW + 37 * DAY)
    assert then(known(0.95), seen(ObservationKind.REINFORCED)).held.base == 1.0


def test_contradiction_lowers_the_confidence_without_restarting_decay() -> None:
    assert then(known(), seen(ObservationKind.CONTRADICTED, NOW + 37 * DAY)).held == Held(
        base=Confidence(0.5), since=NOW
    )


@pytest.mark.parametrize("gone", [known(0.0), known(0.15), known(1.0, NOW - 5_000 * DAY), known(0.9, is_off=True)])
def test_reinforcement_reactivates_an_inactive_memory(gone: Operational) -> None:
    assert not is_active(gone, NOW, DOCUMENTED)
    assert is_active(then(gone, seen(ObservationKind.REINFORCED)), NOW, DOCUMENTED)


def test_an_operator_deactivates_and_reactivates_a_memory() -> None:
    off = then(known(), seen(ObservationKind.SWITCHED_OFF))
    assert not is_active(off, NOW, DOCUMENTED)
    assert not is_active(then(off, seen(ObservationKind.CONTRADICTED)), NOW, DOCUMENTED)
    assert is_active(then(off, seen(ObservationKind.SET, to=0.3)), NOW, DOCUMENTED)


def test_the_figures_are_settings() -> None:
    other = Lifecycle(grace=DAY, decay=0.7, threshold=0.5, reinforcement=0.2, contradiction=0.4)
    assert confidence_at(known(), NOW + 2 * DAY, other) == pytest.approx(0.6)
    assert not is_active(known(0.45), NOW, other)
    assert apply_observation(known(), seen(ObservationKind.CONTRADICTED), other).held.base == pytest.approx(0.3)


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), -0.1])
def test_an_invalid_confidence_is_clamped_to_zero(value: float) -> None:
    assert clamp(value) == 0.0


@given(any_known, st.lists(observations, max_size=20), instants)
def test_confidence_is_always_between_0_and_1(what: Operational, seen: list[Observation], now: datetime) -> None:
    assert 0.0 <= confidence_at(then(what, *seen), now, DOCUMENTED) <= 1.0


@given(any_known, instants, instants)
def test_confidence_never_rises_with_time(what: Operational, one: datetime, other: datetime) -> None:
    sooner, later = sorted([one, other])
    assert confidence_at(what, later, DOCUMENTED) <= confidence_at(what, sooner, DOCUMENTED)


@given(any_known, instants)
def test_reinforcement_never_lowers_the_confidence(what: Operational, at: datetime) -> None:
    again = then(what, seen(ObservationKind.REINFORCED, at))
    assert confidence_at(again, at, DOCUMENTED) >= confidence_at(what, at, DOCUMENTED)
    assert is_active(again, at, DOCUMENTED)


@given(any_known, instants, instants)
def test_contradiction_never_raises_the_confidence(what: Operational, at: datetime, now: datetime) -> None:
    contradicted = then(what, seen(ObservationKind.CONTRADICTED, at))
    assert confidence_at(contradicted, now, DOCUMENTED) <= confidence_at(what, now, DOCUMENTED)


@given(st.lists(observations, max_size=12))
def test_replay_does_not_depend_on_the_order_of_arrival(arrived: list[Observation]) -> None:
    created = seen(ObservationKind.CREATED, NOW, 0.7)
    later = [replace(one, at=one.at + timedelta(microseconds=place)) for place, one in enumerate(arrived)]
    straight = list(replay(known(), [created, *later], DOCUMENTED))
    assert list(replay(known(), [*reversed(later), created], DOCUMENTED)) == straight


@given(any_known, st.lists(st.just(ObservationKind.CONTRADICTED), max_size=3), instants)
def test_the_effect_of_contradictions_does_not_depend_on_their_times(
    what: Operational, kinds: list[ObservationKind], at: datetime
) -> None:
    at_once = then(what, *(seen(kind) for kind in kinds))
    assert then(what, *(seen(kind, at) for kind in kinds)).held == at_once.held


@given(st.lists(st.builds(seen, observed, instants), max_size=4), instants, bases, st.lists(observations, max_size=4))
def test_observations_before_an_operator_set_the_confidence_do_not_change_it(
    early: list[Observation], at: datetime, to: float, late: list[Observation]
) -> None:
    story = [
        seen(ObservationKind.CREATED, NOW, 0.7),
        seen(ObservationKind.SET, at, to),
        *(one for one in late if one.at > at),
    ]
    delayed = [one for one in early if one.at < at]
    assert last(*story, *delayed).after == last(*story).after


@given(st.lists(st.builds(seen, observed, instants), max_size=4), instants)
def test_observations_before_a_deactivation_do_not_reactivate(early: list[Observation], at: datetime) -> None:
    off, delayed = seen(ObservationKind.SWITCHED_OFF, at), [one for one in early if one.at < at]
    assert last(seen(ObservationKind.CREATED, NOW, 0.7), off, *delayed).after.held.is_off


@given(st.lists(observations, max_size=6), instants, st.timedeltas(timedelta(), 100 * DAY))
def test_late_reinforcement_never_lowers_the_confidence(
    arrived: list[Observation], at: datetime, later: timedelta
) -> None:
    # Persistence ends decay and restores the greater base, which may be the older one.
    story = [
        seen(ObservationKind.CREATED, NOW, 0.7),
        *(one for one in arrived if one.kind is not ObservationKind.MADE_PERSISTENT),
    ]
    now = max(at, *(one.at for one in story)) + later
    without, with_it = last(*story).after, last(*story, seen(ObservationKind.REINFORCED, at)).after
    assert confidence_at(with_it, now, DOCUMENTED) >= confidence_at(without, now, DOCUMENTED)


def test_a_replay_equals_the_original_steps() -> None:
    story = [
        seen(ObservationKind.CREATED, NOW, 0.7),
        seen(ObservationKind.REINFORCED, NOW + DAY),
        seen(ObservationKind.CONTRADICTED, NOW + 2 * DAY),
        seen(ObservationKind.SET, NOW + 3 * DAY, 0.4),
        seen(ObservationKind.REINFORCED, NOW + 40 * DAY),
    ]
    assert [(one.observation, one.after) for one in replay(known(), story, DOCUMENTED)] == [
        (one, then(known(), *story[1 : number + 1])) for number, one in enumerate(story)
    ]


@pytest.mark.parametrize("is_persistent", [True, False])
def test_replay_derives_earlier_persistence_from_its_changes(*, is_persistent: bool) -> None:
    story = [seen(ObservationKind.CREATED, NOW, 0.7), seen(ObservationKind.REINFORCED, NOW + 100 * DAY)]
    changed = seen(ObservationKind.MADE_PASSING if is_persistent else ObservationKind.MADE_PERSISTENT, NOW + 101 * DAY)
    states = [one.after for one in replay(known(persistent=not is_persistent), [*story, changed], DOCUMENTED)]
    assert [one.persistent for one in states] == [is_persistent, is_persistent, not is_persistent]
    assert states[1].held.base == (0.8 if is_persistent else 0.7)


def test_observations_before_the_creation_count_from_the_creation() -> None:
    story = list(
        replay(
            known(), [seen(ObservationKind.REINFORCED, NOW - DAY), seen(ObservationKind.CREATED, NOW, 0.7)], DOCUMENTED
        )
    )
    assert [(one.observation.kind, one.at, one.after.held.base) for one in story] == [
        (ObservationKind.CREATED, NOW, 0.7),
        (ObservationKind.REINFORCED, NOW, 0.8),
    ]
    assert story[-1].after.held.since == NOW


# points of the timeline (C38)


def life(*story: Observation, until: datetime) -> list[TimelinePoint]:
    steps = list(replay(known(), story, DOCUMENTED))
    points = [one for step in steps for one in step_points(step, DOCUMENTED)]
    return [*points, *decay_points(steps[-1].after, steps[-1].at, until, DOCUMENTED)]


def shown(points: list[TimelinePoint]) -> list[tuple[float, float, bool]]:
    return [((one.at - NOW) / DAY, round(one.confidence, 4), one.active) for one in points]


def test_the_timeline_shows_decay_before_the_next_observation() -> None:
    denied = life(
        seen(ObservationKind.CREATED, NOW, 0.7),
        seen(ObservationKind.CONTRADICTED, NOW + 54 * DAY),
        until=NOW + 54 * DAY,
    )
    assert shown(denied) == [
        (0, 0.7, True),
        (30, 0.7, True),
        (54, 0.3571, True),
        (54, 0.1571, False),
        (54, 0.1571, False),
    ]
    again = life(
        seen(ObservationKind.CREATED, NOW, 0.7), seen(ObservationKind.REINFORCED, NOW + 65 * DAY), until=NOW + 200 * DAY
    )
    assert shown(again) == [
        (0, 0.7, True),
        (30, 0.7, True),
        (58, 0.3, True),
        (65, 0.2, False),
        (65, 0.7, True),
        (95, 0.7, True),
        (123, 0.3, True),
        (144, 0.0, False),
        (200, 0.0, False),
    ]


def test_the_timeline_shows_changes_by_operators() -> None:
    story = [
        seen(ObservationKind.CREATED, NOW, 0.7),
        seen(ObservationKind.SWITCHED_OFF, NOW + DAY),
        seen(ObservationKind.SET, NOW + 2 * DAY, 0.4),
        seen(ObservationKind.MADE_PERSISTENT, NOW + 3 * DAY),
    ]
    assert shown(life(*story, until=NOW + 900 * DAY)) == [
        (0, 0.7, True),
        (1, 0.7, True),
        (1, 0.7, False),
        (2, 0.7, False),
        (2, 0.4, True),
        (3, 0.4, True),
        (3, 0.4, True),
        (900, 0.4, True),
    ]


@given(st.lists(observations, max_size=8), instants, st.floats(0.001, 0.999))
def test_the_timeline_is_linear_between_its_points(story: list[Observation], until: datetime, share: float) -> None:
    created = seen(ObservationKind.CREATED, NOW, 0.7)
    steps = list(replay(known(), [created, *story], DOCUMENTED))
    until = max(until, steps[-1].at)
    points = life(created, *story, until=until)
    assert points == sorted(points, key=lambda one: one.at)
    assert len(points) <= 5 * len(steps) + 1
    for one, other in pairwise(points):
        at = one.at + (other.at - one.at) * share
        if one.at < at < other.at:
            stood = next(step.after for step in reversed(steps) if step.at <= at)
            between = point_at(stood, at, DOCUMENTED)
            assert between.confidence == pytest.approx(
                one.confidence + (other.confidence - one.confidence) * share, abs=1e-6
            )
            assert between.active is other.active or at - one.at < timedelta(seconds=1)
