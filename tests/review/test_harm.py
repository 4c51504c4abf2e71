"""The harm that an open proposal does while it waits."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from hivelore.review.harm import LATELY, Harm, Urgency, harm
from hivelore.review.model import REQUESTS, ProposalKind
from support.memories import a_memory, instant, operational
from support.proposals import a_proposal

NOW = instant(0) + timedelta(days=30)
ages = st.lists(st.floats(0, LATELY / timedelta(days=1)).map(lambda days: timedelta(days=days)), max_size=5)


def of_kind(kind: ProposalKind, *given_ago: timedelta, base: float = 0.7, waits: timedelta = timedelta(0)) -> Harm:
    """Returns the harm of a proposal about a memory that agents were given at these times before now."""
    memory = a_memory(operational=operational(base=base))
    usage = {memory.id: [NOW - ago for ago in given_ago]}
    return harm(a_proposal(memory, kind=kind, at=NOW - waits), [memory], usage, NOW)


def test_memories_that_agents_are_given_come_first_then_requests_contradictions_and_duplicates() -> None:
    day = timedelta(days=1)
    most_first = [
        of_kind(ProposalKind.CONTRADICTION, day, day),
        of_kind(ProposalKind.OPERATIONAL, day),
        of_kind(ProposalKind.SHARING),
        of_kind(ProposalKind.CONTRADICTION, base=1.0),
        of_kind(ProposalKind.DUPLICATE, day, day, day),
    ]
    assert most_first == sorted(most_first, reverse=True)
    urgencies = [Urgency.GIVEN, Urgency.GIVEN, Urgency.REQUESTED, Urgency.UNCERTAIN, Urgency.DUPLICATE]
    assert [one.urgency for one in most_first] == urgencies
    assert {of_kind(kind).urgency for kind in REQUESTS} == {Urgency.REQUESTED}
    for kind in (ProposalKind.UPDATE, ProposalKind.SUBJECT):
        assert [of_kind(kind, day).urgency, of_kind(kind).urgency] == [Urgency.GIVEN, Urgency.UNCERTAIN]


def test_what_was_given_long_ago_does_not_count() -> None:
    second = timedelta(seconds=1)
    assert of_kind(ProposalKind.CONTRADICTION, LATELY).urgency is Urgency.GIVEN
    assert of_kind(ProposalKind.CONTRADICTION, LATELY + second).urgency is Urgency.UNCERTAIN
    often = [timedelta(hours=1)] * 2
    assert of_kind(ProposalKind.SHARING, *often, LATELY + second) == of_kind(ProposalKind.SHARING, *often)


def test_both_memories_of_a_contradiction_count() -> None:
    older, newer = a_memory(operational=operational()), a_memory(operational=operational())
    proposal = a_proposal(older, newer, at=NOW)
    one = harm(proposal, [older, newer], {newer.id: [NOW]}, NOW)
    both = harm(proposal, [older, newer], {newer.id: [NOW], older.id: [NOW]}, NOW)
    assert (one.urgency, both.weight) == (Urgency.GIVEN, 2 * one.weight)


def test_the_request_that_waits_longest_and_the_more_certain_memory_come_first() -> None:
    hour = timedelta(hours=1)
    assert of_kind(ProposalKind.SHARING, waits=2 * hour) > of_kind(ProposalKind.SUPERSESSION, waits=hour)
    assert of_kind(ProposalKind.CONTRADICTION, base=0.9) > of_kind(ProposalKind.CONTRADICTION, base=0.4)
    plain = a_memory()
    assert harm(a_proposal(plain), [plain], {}, NOW) == Harm(Urgency.UNCERTAIN, 0.0)


@given(before=ages, more=ages.filter(bool))
def test_harm_rises_with_each_use(before: list[timedelta], more: list[timedelta]) -> None:
    assert of_kind(ProposalKind.CONTRADICTION, *before, *more) > of_kind(ProposalKind.CONTRADICTION, *before)


@given(when=ages.filter(bool), data=st.data())
def test_recent_use_weighs_more_than_early_use(when: list[timedelta], data: st.DataObject) -> None:
    later = [data.draw(st.floats(0, 1)) * ago for ago in when]
    assert of_kind(ProposalKind.CONTRADICTION, *later) >= of_kind(ProposalKind.CONTRADICTION, *when)
    assert of_kind(ProposalKind.CONTRADICTION, *when) == of_kind(ProposalKind.CONTRADICTION, *reversed(when))
