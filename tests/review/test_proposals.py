"""Weights of proposals: which one is dropped if too many are open."""

from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.values import replace
from hivelore.review.model import Proposal, ProposalKind
from hivelore.review.proposals import Weight, choose_dropped, proposal_weight
from support.memories import a_memory, instant, operational
from support.proposals import a_proposal

WEIGHTS = st.tuples(st.integers(0, 2), st.integers(-2, 0), st.floats(0, 1))


def waiting(weights: list[Weight]) -> list[tuple[Weight, Proposal]]:
    return [(one, a_proposal(a_memory(), at=instant(minute))) for minute, one in enumerate(weights)]


def test_requests_outweigh_contradictions_and_contradictions_outweigh_duplicates() -> None:
    about = a_memory(operational=operational())
    heaviest_first = [
        proposal_weight(ProposalKind.OPERATIONAL, about),
        proposal_weight(ProposalKind.CONTRADICTION, about),
        proposal_weight(ProposalKind.DUPLICATE, about),
    ]
    assert heaviest_first == sorted(heaviest_first, reverse=True)
    asked = {proposal_weight(kind, about) for kind in ProposalKind} - set(heaviest_first[1:])
    assert asked == {heaviest_first[0]}


def test_the_weight_of_a_contradiction_grows_with_the_confidence_it_may_correct() -> None:
    sure, unsure = (
        proposal_weight(ProposalKind.CONTRADICTION, a_memory(operational=operational(base=base))) for base in (0.9, 0.4)
    )
    by_operator = replace(operational(base=0.1), tier=0)
    stated = proposal_weight(ProposalKind.CONTRADICTION, a_memory(operational=by_operator))
    assert stated > sure > unsure


@given(st.lists(WEIGHTS, max_size=6), WEIGHTS)
def test_the_lightest_proposal_is_dropped_only_for_a_heavier_one(weights: list[Weight], new: Weight) -> None:
    those = waiting(weights)
    gone = choose_dropped(those, new)
    if gone is None:
        assert all(one >= new for one in weights)
    else:
        lightest = min(weights)
        assert lightest < new
        assert gone == [one for its, one in those if its == lightest][-1]
