"""Laws of supersession: after any storing, editing, forgetting and purging a current memory remains, and an imported
export has the same valid times."""

from contextlib import suppress
from datetime import timedelta
from itertools import count
from random import Random
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET, to_builtins

from hivelore.errors import HiveloreError
from hivelore.maintenance.model import MaintenancePlan
from hivelore.memories.drafts import Edit
from hivelore.memories.model import Memory, Scope
from hivelore.memories.stored import Stored
from hivelore.memories.temporal import adjacent_facts
from hivelore.search.model import EVERYTHING
from hivelore.transfer.jsonl import ImportReport, _canonical_json, parse_line
from support.clocks import START, SteppingClock
from support.laws import examples
from support.reference.keywords import ReferenceKeywords
from support.reference.store import ReferenceStore
from support.world import AS_ADA, AS_OPERATOR, World

BEGINNING = START - timedelta(days=30)
IMPORTED = 5_000
"""First number of the ids of the importing world."""


class Deed(NamedTuple):
    what: str
    which: int
    named: int | None
    subject: str | None
    minute: int | None


deeds = st.builds(
    Deed,
    st.sampled_from(["store", "store", "store", "store", "edit", "share", "forget"]),
    st.integers(0, 9),
    st.none() | st.integers(0, 9),
    st.sampled_from([None, "db.port", "on.call"]),
    st.none() | st.integers(0, 3),
)


def a_world(first_id: int = 1) -> World:
    clock = SteppingClock()
    return World(ReferenceStore(clock), ReferenceKeywords(), clock, share=1.0, first_id=first_id)


def everything(world: World) -> list[Memory]:
    with world.store.read() as view:
        return list(view.page(EVERYTHING, None, 1_000))


def lived(happened: list[Deed]) -> World:
    """Returns a world after these deeds; refused ones are skipped."""
    world, number = a_world(), count()
    for deed in happened:
        there = sorted(everything(world), key=lambda one: one.id)
        with suppress(HiveloreError):
            _do(world, deed, there, f"It is {next(number)}.")
    return world


def _do(world: World, deed: Deed, there: list[Memory], content: str) -> None:
    named = there[deed.named % len(there)].id if there and deed.named is not None else None
    since = None if deed.minute is None else BEGINNING + timedelta(minutes=deed.minute)
    one = there[deed.which % len(there)] if there else None
    if deed.what == "store":
        expires = START + timedelta(hours=1) if deed.which < 5 else None
        place: dict[str, Any] = {"subject": deed.subject, "supersedes": named, "valid_from": since}
        world.remember(content, AS_ADA, expires_at=expires, **place)
    elif one is None:
        pass
    elif deed.what == "edit":
        changes: dict[str, Any] = {"subject": deed.subject, "supersedes": named or UNSET, "valid_from": since or UNSET}
        world.memory_service.edit(one.id, Edit(**changes), AS_ADA)
    elif deed.what == "share":
        world.memory_service.edit(one.id, Edit(scope=Scope.SWARM), AS_ADA)
    else:
        world.memory_service.forget(one.id, AS_ADA)


def held(world: World) -> list[tuple[str, str, str]]:
    """Returns each content with its valid time."""
    return sorted((one.content, one.holds_since.isoformat(), str(one.valid_until)) for one in everything(world))


@settings(max_examples=examples(200))
@given(happened=st.lists(deeds, max_size=9))
def test_every_superseded_memory_leads_to_a_current_one(happened: list[Deed]) -> None:
    world = lived(happened)
    with world.store.read() as view:

        def following(one: Stored) -> list[Stored]:
            _, newer = adjacent_facts(view, one)
            return [*view.successors_of(one.memory.id), *([] if newer is None else [newer])]

        for memory in everything(world):
            start = view.get(memory.id)
            assert start is not None
            reached, left = {start.key: start}, following(start)
            while left:
                one = left.pop()
                if one.key not in reached:
                    reached[one.key] = one
                    left += following(one)
            assert any(one.memory.valid_until is None for one in reached.values())
            assert (start.memory.valid_until is None) is (len(reached) == 1)


@settings(max_examples=examples(200))
@given(happened=st.lists(deeds, max_size=9), order=st.randoms(use_true_random=False))
def test_an_imported_export_has_the_same_valid_times_in_any_order(happened: list[Deed], order: Random) -> None:
    world, other = lived(happened), a_world(IMPORTED)
    lines = [_canonical_json(to_builtins(memory)).encode() for memory in everything(world)]
    for _ in range(2):
        order.shuffle(lines)
        for line in lines:
            draft = parse_line(line, ImportReport())
            assert draft is not None
            other.memory_service.remember(draft, AS_ADA)
        assert held(other) == held(world)


@settings(max_examples=examples(200))
@given(happened=st.lists(deeds, max_size=9))
def test_a_purge_makes_no_superseded_memory_current_again(happened: list[Deed]) -> None:
    world = lived(happened)
    world.clock.advance(timedelta(hours=2))
    ended = {one.id for one in everything(world) if one.valid_until is not None}
    shown = {one.id for one in world.maintenance.preview(MaintenancePlan(purge_expired=True), AS_OPERATOR).examples}
    before = {one.id for one in everything(world)}
    world.maintenance.apply(MaintenancePlan(purge_expired=True), AS_OPERATOR)
    left = {one.id: one for one in everything(world)}
    assert before - left.keys() == shown
    assert all(left[one].valid_until is not None for one in ended & left.keys())
