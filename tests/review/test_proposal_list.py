"""The list of open proposals: groups by memory, and pages that neither skip nor repeat."""

from collections.abc import Sequence
from itertools import groupby, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.errors import Invalid
from hivelore.memories.model import Memory, MemoryId
from hivelore.review import proposal_list
from hivelore.review.harm import Harm, Urgency
from hivelore.review.model import Proposal, ProposalGroup, ProposalId
from hivelore.review.operations import Review, review_reply
from hivelore.review.proposal_list import FIRST_PAGE, ListPosition, cut_list, group_by_memory, parse_position
from support.memories import a_memory, instant
from support.proposals import a_proposal

MEMORIES = [a_memory() for _ in range(5)]
concerned = st.lists(st.sampled_from(MEMORIES), min_size=1, max_size=2, unique_by=lambda one: one.id)
harms = st.builds(Harm, st.sampled_from(Urgency), st.integers(0, 3).map(float))
inboxes = st.lists(st.tuples(concerned, harms, st.integers(0, 3)), max_size=12)


def inbox_of(parts: Sequence[tuple[list[Memory], Harm, int]]) -> dict[Proposal, Harm]:
    return {a_proposal(*about, at=instant(at)): harm for about, harm, at in parts}


def group(*proposals: Proposal) -> tuple[list[Proposal], dict[ProposalId, ProposalGroup]]:
    """Groups proposals of falling harm."""
    ordered, groups = group_by_memory(
        [(one, Harm(Urgency.REQUESTED, float(-place))) for place, one in enumerate(proposals)]
    )
    return list(ordered), dict(groups)


def pages(proposals: Sequence[Proposal], limit: int) -> list[Proposal]:
    found: list[Proposal] = []
    position: ListPosition | None = FIRST_PAGE
    while position is not None:
        page, position = cut_list(proposals, position, limit)
        assert len(page) <= limit
        found += page
    return found


# groups


def test_proposals_about_the_same_memory_stand_together_behind_the_most_harmful_one() -> None:
    first, second = MEMORIES[:2]
    worst, other, least = a_proposal(first), a_proposal(second), a_proposal(first)
    ordered, groups = group(worst, other, least)
    assert ordered == [worst, least, other]
    about_first, about_second = ProposalGroup(first.id, 1), ProposalGroup(second.id, 0)
    assert groups == {worst.id: about_first, least.id: about_first, other.id: about_second}


def test_a_proposal_about_two_memories_belongs_to_the_one_with_more_proposals() -> None:
    older, newer, hub = MEMORIES[:3]
    proposals = [a_proposal(older, hub), a_proposal(newer), a_proposal(newer, hub), a_proposal(hub)]
    ordered, groups = group(*proposals)
    assert ordered == [proposals[0], proposals[2], proposals[3], proposals[1]]
    assert [groups[one.id].memory for one in ordered] == [hub.id, hub.id, hub.id, newer.id]
    assert [groups[one.id].others for one in ordered] == [2, 2, 2, 1]


def test_a_contradiction_alone_belongs_to_its_older_memory() -> None:
    older, newer = MEMORIES[:2]
    proposal = a_proposal(older, newer)
    assert group(proposal)[1] == {proposal.id: ProposalGroup(older.id, 0)}


def test_equally_harmful_proposals_are_listed_oldest_first() -> None:
    late, early, same = (a_proposal(one, at=instant(at)) for one, at in zip(MEMORIES, (2, 1, 1), strict=False))
    harmless = Harm(Urgency.DUPLICATE, 0.0)
    assert group_by_memory([(one, harmless) for one in (late, early, same)])[0] == [early, same, late]


@given(inboxes)
def test_each_proposal_is_in_one_group_about_one_of_its_memories(parts: list[tuple[list[Memory], Harm, int]]) -> None:
    harms = inbox_of(parts)
    ordered, groups = group_by_memory(list(harms.items()))
    assert set(ordered) == set(harms)
    assert len(ordered) == len(harms)

    def memory_of(one: Proposal) -> MemoryId:
        return groups[one.id].memory

    for one in ordered:
        assert memory_of(one) in {each.memory for each in one.memories}
        about = [other for other in ordered if memory_of(one) in {each.memory for each in other.memories}]
        assert groups[one.id].others == len(about) - 1
    together = [(memory, list(some)) for memory, some in groupby(ordered, memory_of)]
    assert len({memory for memory, _ in together}) == len(together)
    for _, some in together:
        assert [harms[one] for one in some] == sorted((harms[one] for one in some), reverse=True)
    worst = [harms[some[0]] for _, some in together]
    assert worst == sorted(worst, reverse=True)


# pages

NUMBERED = [a_proposal(MEMORIES[0], at=instant(number % 7)) for number in range(15)]


@pytest.mark.parametrize("limit", [1, 2, 4, 15, 100])
def test_pages_of_an_unchanged_list_are_the_list(limit: int) -> None:
    assert pages(NUMBERED, limit) == NUMBERED
    assert pages([], limit) == []


@pytest.mark.parametrize("limit", [1, 2, 4, 15])
def test_beyond_the_ranked_proposals_the_rest_follows_newest_first(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proposal_list, "MAX_RANKED", 4)
    found = pages(NUMBERED, limit)
    rest = found[max(4, limit) :]
    assert found[: max(4, limit)] == NUMBERED[: max(4, limit)]
    assert rest == sorted(NUMBERED[max(4, limit) :], key=lambda one: (one.at, one.id), reverse=True)


@pytest.mark.parametrize("most", [3, 500])
@given(data=st.data(), limit=st.integers(1, 5))
def test_no_proposal_is_skipped_or_repeated_whatever_happens_between_two_pages(
    most: int, data: st.DataObject, limit: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proposal_list, "MAX_RANKED", most)
        waiting, decided, shown = NUMBERED[:9], list[Proposal](), list[Proposal]()
        fresh = (a_proposal(MEMORIES[0], at=instant(10)) for _ in range(3))
        position: ListPosition | None = FIRST_PAGE
        while position is not None:
            page, position = cut_list(data.draw(st.permutations(waiting)), position, limit)
            shown += page
            position = None if position is None else parse_position(position.cursor())
            gone = data.draw(st.lists(st.sampled_from(waiting), max_size=1)) if waiting else []
            waiting = [one for one in waiting if one not in gone]
            decided += gone
            waiting += islice(fresh, data.draw(st.integers(0, 1)))
    assert len({one.id for one in shown}) == len(shown)
    assert {one.id for one in NUMBERED[:9]} - {one.id for one in decided} <= {one.id for one in shown}


def test_the_tool_shows_only_the_groups_of_several_proposals() -> None:
    one, other = a_proposal(MEMORIES[0]), a_proposal(MEMORIES[1])
    groups = {one.id: ProposalGroup(MEMORIES[0].id, 2), other.id: ProposalGroup(MEMORIES[1].id, 0)}
    reply = review_reply(Review(message="2 open proposals.", proposals=(one, other), groups=groups))
    assert reply.data["groups"] == {one.id: ProposalGroup(MEMORIES[0].id, 2)}


# cursors


@given(
    shown=st.frozensets(st.binary(min_size=6, max_size=6), min_size=1, max_size=5),
    rest=st.none() | st.tuples(st.integers(0, 9).map(instant), st.text(st.characters(codec="utf-8"), min_size=1)),
)
def test_a_cursor_names_its_position(shown: frozenset[bytes], rest: tuple[object, str] | None) -> None:
    position = ListPosition(shown, rest)  # pyright: ignore[reportArgumentType]
    assert parse_position(position.cursor()) == position
    assert all(char.isascii() and (char.isalnum() or char in "-_~:.%") for char in position.cursor())


def test_the_cursor_of_a_long_list_fits_into_a_url() -> None:
    many = [a_proposal(MEMORIES[0]) for _ in range(1_300)]
    position: ListPosition | None = FIRST_PAGE
    longest = 0
    while position is not None:
        _, position = cut_list(many, position, 100)
        longest = max(longest, 0 if position is None else len(position.cursor()))
    assert 0 < longest < 5_000


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "yesterday",
        "AAAA",
        "AAAAAAA=",
        "AAAAAAA!",
        "ÄAAAAAAA",
        "~",
        "~2026-03-01T12:00:00Z~p1",
        "AAAAAAAA~",
    ],
)
def test_what_is_no_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(Invalid, match="next"):
        parse_position(cursor)


def test_no_cursor_is_the_first_page() -> None:
    assert parse_position(None) == FIRST_PAGE
