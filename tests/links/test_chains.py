"""Order of memories in chains of updates."""

from collections.abc import Collection, Mapping
from datetime import timedelta
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hivelore.links.chains import MAX_FOLLOWED, Later, follow_updates, successors_first
from hivelore.links.model import Successor
from hivelore.links.ports import KEPT
from hivelore.memories.model import MemoryId
from hivelore.memories.stored import DocumentKey
from support.clocks import START
from support.laws import examples


def test_the_latest_statement_of_a_chain_comes_first() -> None:
    updated_by = {"npm": ["pnpm", "yarn"], "yarn": ["pnpm"]}
    assert successors_first(["npm", "tabs", "yarn"], updated_by) == ["pnpm", "yarn", "npm", "tabs"]
    assert successors_first(["tabs", "pnpm", "npm"], updated_by) == ["tabs", "pnpm", "yarn", "npm"]
    assert successors_first(["tabs"], updated_by) == ["tabs"]


def test_a_cycle_of_updates_ends() -> None:
    assert sorted(successors_first(["a"], {"a": ["b"], "b": ["c"], "c": ["a"]})) == ["a", "b", "c"]
    assert successors_first(["a"], {"a": ["a"]}) == ["a"]


_LINKS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=30)


@settings(max_examples=examples(200))
@given(st.lists(st.integers(0, 12), unique=True), _LINKS)
def test_an_updated_item_comes_after_its_successors(items: list[int], links: list[tuple[int, int]]) -> None:
    updated_by: dict[int, list[int]] = {}
    for older, newer in links:
        if newer > older and newer not in updated_by.setdefault(older, []):
            updated_by[older].append(newer)
    order = successors_first(items, updated_by)
    assert len(order) == len(set(order))
    assert set(items) <= set(order)
    for older in order:
        assert all(order.index(newer) < order.index(older) for newer in updated_by.get(older, ()))


@settings(max_examples=examples(100))
@given(st.lists(st.integers(0, 12), unique=True), _LINKS)
def test_without_updates_nothing_moves(items: list[int], links: list[tuple[int, int]]) -> None:
    updated_by = {older + 100: [newer] for older, newer in links}
    assert successors_first(items, updated_by) == items


def keys(*numbers: int) -> list[DocumentKey]:
    return [DocumentKey(number) for number in numbers]


class Links:
    """Links from newer to older memories, and what was read of them. ``dates``: when they were stated; by default in
    the order of their keys."""

    def __init__(
        self, *links: tuple[int, int], dates: Mapping[int, int] | None = None, gone: Collection[int] = ()
    ) -> None:
        self.newer: dict[DocumentKey, set[DocumentKey]] = {}
        for newer, older in links:
            self.newer.setdefault(DocumentKey(older), set()).add(DocumentKey(newer))
        self.read: list[list[DocumentKey]] = []
        self._dates, self._gone = dates or {}, gone

    def successor(self, key: int) -> Successor:
        since = START + timedelta(minutes=self._dates.get(key, key))
        return Successor(key not in self._gone, since, MemoryId(f"m{key:04}"), DocumentKey(key))

    def updates_of(self, documents: Collection[DocumentKey]) -> Later:
        self.read.append(list(documents))
        newer = {one: map(self.successor, self.newer[one]) for one in documents if one in self.newer}
        return {key: sorted(some, reverse=True)[:KEPT] for key, some in newer.items()}

    def follow(self, *documents: int) -> dict[int, list[int]]:
        found = follow_updates(keys(*documents), self.updates_of)
        return {int(key): [int(one.key) for one in some] for key, some in found.items()}


def chain(length: int) -> list[tuple[int, int]]:
    return [(older + 1, older) for older in range(1, length)]


def test_a_memory_is_updated_directly_and_through_others() -> None:
    links = Links(*chain(4), (4, 2))
    assert links.follow(1) == {1: [4, 3, 2], 2: [4, 3], 3: [4]}
    assert links.read == [[1], [2], [4, 3]]
    assert links.follow(3, 4, 3) == {3: [4]}
    assert links.follow() == Links().follow(1, 2) == {}


def test_a_chain_is_followed_to_its_end() -> None:
    links = Links(*chain(MAX_FOLLOWED + 2))
    assert links.follow(1)[1] == [*range(MAX_FOLLOWED + 2, 1, -1)]
    assert links.follow(1, 30, 40)[30] == [*range(MAX_FOLLOWED + 2, 30, -1)]


def test_a_chain_is_followed_up_to_a_limit() -> None:
    assert Links(*chain(1_000)).follow(1)[1] == [*range(MAX_FOLLOWED + 2, 1, -1)]


def test_the_order_is_that_of_what_holds_and_of_time() -> None:
    links = Links((2, 1), (3, 1), (4, 1), (5, 4), (6, 1), dates={2: 9, 3: 7, 6: 7}, gone=[4])
    assert links.follow(1) == {1: [2, 6, 3, 5, 4], 4: [5]}


def test_memories_in_the_order_of_time_do_not_depend_on_their_keys() -> None:
    """Nine memories of which each updates all earlier ones, stored newest first."""
    links = Links(
        *((newer, older) for older in range(1, 10) for newer in range(1, older)),
        dates={key: 10 - key for key in range(1, 10)},
    )
    assert links.follow(9)[9] == [*range(1, KEPT + 1)]


def test_memories_that_update_each_other_are_not_among_their_own() -> None:
    assert Links((2, 1), (3, 2), (1, 3)).follow(1) == {1: [3, 2], 2: [3, 1], 3: [2, 1]}
    assert Links((1, 1)).follow(1) == {}


def test_only_the_latest_of_many_are_kept() -> None:
    links = Links(*((newer, older) for newer in range(2, 100) for older in range(1, newer)))
    found = links.follow(*range(1, 51))
    assert all(found[one] == [99, 98, 97, 96, 95, 94] for one in range(1, 51))
    assert links.read == [keys(*range(1, 51)), keys(99, 98, 97, 96, 95, 94)]


def test_the_memories_that_are_followed_are_limited_and_the_latest_of_each_come_first() -> None:
    some = range(1, MAX_FOLLOWED)
    links = Links(*((100 * one + step, one) for one in some for step in range(1, 4)))
    links.newer |= {DocumentKey(103): {DocumentKey(9_000)}, DocumentKey(102): {DocumentKey(9_001)}}
    links.newer |= {DocumentKey(4_903): {DocumentKey(9_002)}, DocumentKey(4_902): {DocumentKey(9_003)}}
    found = links.follow(*some)
    assert [len(level) for level in links.read] == [len(some), MAX_FOLLOWED]
    assert found[1] == [9_001, 9_000, 103, 102, 101]
    assert found[49] == [9_002, 4_903, 4_902, 4_901]


_FEW = st.integers(0, 8)


@settings(max_examples=examples(200))
@given(st.lists(_FEW), st.lists(st.tuples(_FEW, _FEW), max_size=20), st.permutations(range(9)), st.sets(_FEW))
def test_what_is_followed_is_what_is_reached(
    documents: list[int], links: list[tuple[int, int]], order: list[int], gone: set[int]
) -> None:
    known = Links(*links, dates=dict(enumerate(order)), gone=gone)
    wanted: dict[int, list[int]] = {}
    for document in documents:
        reached = last = {document}
        while last:
            last = {newer for newer, older in links if older in last} - reached
            reached = reached | last
        if later := sorted(map(known.successor, reached - {document}), reverse=True):
            wanted[document] = [int(one.key) for one in later]
    with pytest.MonkeyPatch.context() as changes:
        changes.setitem(globals(), "KEPT", 9)
        found = known.follow(*documents)
    assert {document: found[document] for document in documents if document in found} == wanted


@settings(max_examples=examples(100))
@given(st.lists(st.integers(0, 200), unique=True), st.integers())
def test_no_flood_of_links_is_read(documents: list[int], seed: int) -> None:
    random = Random(seed)
    links = Links(*((random.randrange(200), random.randrange(200)) for _ in range(3_000)))
    found = links.follow(*documents)
    assert sum(map(len, links.read)) <= len(documents) + MAX_FOLLOWED
    assert all(len(some) <= KEPT * (len(documents) + MAX_FOLLOWED) for some in found.values())
