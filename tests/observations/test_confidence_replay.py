"""Confidence as a replay of observations: independent of their order, with one vote for each observer."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.agents import AgentId, Interface
from hivelore.core.text import Clean
from hivelore.observations.confidence import Lifecycle, confidence_at, is_active, replay
from hivelore.observations.model import Confidence, Held, Observation, ObservationKind, Operational

NOW = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)
DOCUMENTED = Lifecycle()
KNOWN = Operational.of(Held(base=Confidence(0.7), since=NOW))
STEP = 1e-6


def seen(kind: ObservationKind, actor: str | None, day: int = 0, session: str | None = None) -> Observation:
    to = Confidence(0.7) if kind is ObservationKind.CREATED else None
    who, name = None if actor is None else AgentId(actor), None if session is None else Clean(session)
    return Observation(
        at=NOW + day * DAY, kind=kind, actor=who, interface=Interface.REST, session=name, text=Clean("It."), to=to
    )


def stands(story: Sequence[Observation]) -> Operational:
    *_, last = replay(KNOWN, story, DOCUMENTED)
    return last.after


def sure(story: Sequence[Observation]) -> float:
    return stands(story).held.base


CREATED = seen(ObservationKind.CREATED, "ada")
days = st.integers(0, 28)
sessions = st.sampled_from([None, "a", "b", "c", "d"])
kinds = st.sampled_from([ObservationKind.REINFORCED, ObservationKind.CONTRADICTED])
of_bob = st.lists(st.builds(seen, kinds, st.just("bob"), days, sessions), max_size=8)
support = st.lists(
    st.builds(seen, st.just(ObservationKind.REINFORCED), st.sampled_from(["ada", "cid"]), days, sessions), max_size=4
)
of_all = st.lists(
    st.builds(seen, kinds | st.just(ObservationKind.DISPROVED), st.sampled_from(["ada", "bob", None]), days, sessions),
    max_size=8,
)


@given(of_all, st.randoms(use_true_random=False))
def test_the_state_does_not_depend_on_the_order_of_recording(story: list[Observation], random: Random) -> None:
    noted = [CREATED, *story]
    random.shuffle(noted)
    # Decisions of one instant stay in their order.
    noted.sort(key=lambda one: story.index(one) if one.kind is ObservationKind.DISPROVED else -1)
    assert stands(noted) == stands([CREATED, *story])


@given(support, of_bob)
def test_one_agent_alone_has_a_bounded_effect_on_memories_of_another(
    others: list[Observation], bob: list[Observation]
) -> None:
    now = NOW + 29 * DAY
    without, with_bob = stands([CREATED, *others]), stands([CREATED, *others, *bob])
    before, after = (confidence_at(one, now, DOCUMENTED) for one in (without, with_bob))
    assert before - DOCUMENTED.contradiction - STEP <= after <= before + DOCUMENTED.reinforcement + STEP
    assert is_active(with_bob, now, DOCUMENTED)


@given(st.lists(st.builds(seen, st.just(ObservationKind.REINFORCED), st.just("ada"), days, st.none()), max_size=8))
def test_observations_without_a_session_are_one_observer(story: list[Observation]) -> None:
    assert sure([CREATED, *story]) == 0.7


def test_each_session_of_the_first_agent_counts_and_other_agents_count_once() -> None:
    again = [seen(ObservationKind.REINFORCED, "ada", 1, session) for session in "ab"]
    assert sure([CREATED, *again, *again]) == 0.9
    bob = [seen(ObservationKind.REINFORCED, "bob", 1, session) for session in "ab"]
    assert sure([CREATED, *bob]) == 0.8
    assert sure([CREATED, *bob, seen(ObservationKind.REINFORCED, "cid", 2)]) == 0.9


def test_every_observation_of_an_operator_counts() -> None:
    assert sure([CREATED, *[seen(ObservationKind.REINFORCED, None, day) for day in (1, 2)]]) == 0.9
    assert sure([CREATED, *[seen(ObservationKind.CONTRADICTED, None, day) for day in (1, 2, 3)]]) == 0.1


def test_only_the_last_observation_of_an_observer_counts() -> None:
    story = [CREATED]
    for day, (kind, expected) in enumerate(
        [
            (ObservationKind.CONTRADICTED, 0.5),
            (ObservationKind.REINFORCED, 0.8),
            (ObservationKind.CONTRADICTED, 0.5),
            (ObservationKind.CONTRADICTED, 0.5),
        ],
        1,
    ):
        story.append(seen(kind, "bob", day))
        assert sure(story) == expected


def test_several_agents_together_deactivate_a_memory_of_another() -> None:
    story = [CREATED, seen(ObservationKind.CONTRADICTED, "bob", 1), seen(ObservationKind.CONTRADICTED, "cid", 2)]
    assert sure(story) == 0.3
    assert sure([*story, seen(ObservationKind.CONTRADICTED, "dan", 3)]) == 0.1


def test_one_agent_deactivates_a_memory_only_it_observed() -> None:
    assert sure([CREATED, *[seen(ObservationKind.CONTRADICTED, "ada", 1, session) for session in "abc"]]) == 0.1


def test_a_reactivated_memory_is_contradicted_again() -> None:
    story = [CREATED, *[seen(ObservationKind.CONTRADICTED, "ada", 1, session) for session in "abc"]]
    back = [*story, seen(ObservationKind.REINFORCED, "ada", 2, "d")]
    assert sure(back) == 0.3
    assert sure([*back, seen(ObservationKind.CONTRADICTED, "ada", 3, "a")]) == 0.1


def test_every_review_decision_counts() -> None:
    assert sure([CREATED, *[seen(ObservationKind.DISPROVED, "lea", day) for day in (1, 2, 3)]]) == 0.1


@given(
    st.lists(
        st.builds(seen, st.just(ObservationKind.REINFORCED), st.just("ada"), st.integers(0, 300), sessions), max_size=6
    ),
    st.integers(-300, 300),
)
def test_an_additional_reinforcement_never_lowers_the_confidence(story: list[Observation], day: int) -> None:
    """The earliest observation is the creation of the memory."""

    def begun(seen: list[Observation]) -> list[Observation]:
        first, *rest = sorted(seen, key=lambda one: (one.at, one.session or ""))
        return [
            Observation(
                at=first.at,
                kind=ObservationKind.CREATED,
                actor=first.actor,
                interface=first.interface,
                session=first.session,
                text=first.text,
                to=Confidence(0.7),
            ),
            *rest,
        ]

    base = [seen(ObservationKind.REINFORCED, "ada"), *story]
    more = [*base, seen(ObservationKind.REINFORCED, "ada", day, "e")]
    now = NOW + 300 * DAY
    without, with_it = (confidence_at(stands(begun(one)), now, DOCUMENTED) for one in (base, more))
    assert with_it >= without - STEP
