"""Facts take each other's place in time, in whatever order they come, change and go."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hivelore.core.agents import Viewer
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Forbidden, Invalid, NotFound
from hivelore.memories.drafts import Draft, Edit
from hivelore.memories.model import Memory, MemoryId, Scope, Trust
from hivelore.search.model import Query
from support.clocks import START, SteppingClock
from support.laws import examples
from support.reference.keywords import ReferenceKeywords
from support.reference.store import ReferenceStore
from support.world import AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR, World

SUBJECT = "db.port"
BEGINNING = START - timedelta(days=30)


def tell(world: World, content: str, minute: float | None = None, by: Viewer = AS_ADA, **parts: Any) -> Memory:
    """A fact that is valid since so many minutes after a beginning; None: it does not say."""
    since = None if minute is None else BEGINNING + timedelta(minutes=minute)
    return world.remember(content, by, **{"subject": SUBJECT, "valid_from": since} | parts)


def now(world: World, *memories: Memory) -> list[Memory]:
    return [world.reading.get(one.id, AS_OPERATOR) for one in memories]


def intervals(world: World, *memories: Memory) -> list[tuple[float, float | None]]:
    """In minutes after the beginning."""

    def minutes(at: datetime) -> float:
        return (at - BEGINNING) / timedelta(minutes=1)

    return [
        (minutes(one.holds_since), None if one.valid_until is None else minutes(one.valid_until))
        for one in now(world, *memories)
    ]


def whose(world: World, *memories: Memory) -> list[MemoryId | None]:
    return [one.supersedes for one in now(world, *memories)]


def test_a_newer_fact_takes_the_place_of_the_one_before(world: World) -> None:
    old, new = tell(world, "The port is 5432.", 1), tell(world, "The port is 6543.", 2)
    assert intervals(world, old, new) == [(1, 2), (2, None)]
    assert whose(world, old, new) == [None, old.id]
    assert [one.version for one in now(world, old, new)] == [1, 1]


def test_a_fact_that_comes_late_takes_its_place_between_the_others(world: World) -> None:
    first, third = tell(world, "one", 1), tell(world, "three", 3)
    second = tell(world, "two", 2)
    assert intervals(world, first, second, third) == [(1, 2), (2, 3), (3, None)]
    assert whose(world, first, second, third) == [None, first.id, second.id]


def test_without_a_time_a_fact_is_the_newest_whatever_the_clock_says(world: World) -> None:
    ahead = tell(world, "one", None, created_at=world.clock.now() + timedelta(hours=3))
    new = tell(world, "two")
    assert intervals(world, ahead)[0][1] is not None
    assert now(world, new)[0].valid_until is None
    assert new.holds_since == ahead.holds_since + timedelta(microseconds=1)


def test_of_two_facts_of_the_same_instant_the_later_told_one_holds(world: World) -> None:
    wrong, right = tell(world, "one", 1), tell(world, "two", 1)
    assert intervals(world, wrong, right) == [(1, 1), (1, None)]


def test_a_value_that_comes_back_is_a_fact_of_its_own(world: World) -> None:
    first, second, third = (tell(world, f"The port is {port}.") for port in (5432, 6543, 5432))
    assert len({first.id, second.id, third.id}) == 3
    assert [one.valid_until is None for one in now(world, first, second, third)] == [False, False, True]


def test_telling_what_holds_once_more_changes_nothing(world: World) -> None:
    known = tell(world, "The port is 5432.")
    again = world.memory_service.remember(
        Draft(content="The port is 5432.", subject=" DB.port ", valid_from=world.clock.now()), AS_ADA
    )
    assert (again.memory.id, again.created, again.memory.valid_from) == (known.id, False, None)


def test_a_subject_is_the_same_however_it_is_written(world: World) -> None:
    old = tell(world, "one", subject="Caf\u00e9  Port")
    new = tell(world, "two", subject=" cafe\u0301\u00a0port")
    assert whose(world, new) == [old.id]


def test_a_note_becomes_a_fact_when_it_is_told_with_its_subject(world: World) -> None:
    note = world.remember("The port is 5432.")
    fact = tell(world, "The port is 5432.")
    assert (fact.id, fact.subject, fact.version) == (note.id, SUBJECT, 2)
    assert whose(world, tell(world, "The port is 6543.")) == [note.id]


@pytest.mark.parametrize(
    "elsewhere",
    [{"project": "hive"}, {"scope": Scope.SWARM}, {"subject": "cache.port"}, {"by": AS_BOB}],
    ids=str,
)
def test_facts_of_another_project_shelf_or_subject_are_left_alone(world: World, elsewhere: dict[str, Any]) -> None:
    fact = tell(world, "one", 1)
    other = tell(world, "two", 2, **elsewhere)
    assert intervals(world, fact, other) == [(1, None), (2, None)]


def test_leads_and_operators_tell_a_newer_shared_fact(world: World) -> None:
    old = tell(world, "one", 1, scope=Scope.SWARM)
    new = tell(world, "two", 2, AS_LEA, scope=Scope.SWARM)
    newest = tell(world, "three", 3, AS_OPERATOR, scope=Scope.SWARM)
    assert intervals(world, old, new, newest) == [(1, 2), (2, 3), (3, None)]


def test_what_a_tool_said_takes_the_place_of_nothing_shared(world: World) -> None:
    old = tell(world, "one", 1, scope=Scope.SWARM)
    with pytest.raises(Forbidden, match="tool or the web"):
        tell(world, "two", 2, AS_BOB, scope=Scope.SWARM, trust=Trust.WEB)
    assert intervals(world, old) == [(1, None)]


def test_forgetting_a_fact_joins_what_was_before_and_after_it(world: World) -> None:
    first, second, third = (tell(world, str(minute), minute) for minute in (1, 2, 3))
    world.memory_service.forget(second.id, AS_ADA)
    assert intervals(world, first, third) == [(1, 3), (3, None)]
    assert whose(world, third) == [first.id]
    world.memory_service.forget(third.id, AS_ADA)
    assert intervals(world, first) == [(1, None)]


def test_a_fact_that_is_edited_takes_its_new_place(world: World) -> None:
    first, second, third = (tell(world, str(minute), minute) for minute in (1, 2, 3))
    edit = world.memory_service.edit
    edit(second.id, Edit(valid_from=BEGINNING + timedelta(minutes=4)), AS_ADA)
    assert intervals(world, first, third, second) == [(1, 3), (3, 4), (4, None)]
    assert whose(world, first, third, second) == [None, first.id, third.id]
    edit(third.id, Edit(subject="cache.port"), AS_ADA)
    assert intervals(world, first, second, third) == [(1, 4), (4, None), (3, None)]
    assert whose(world, second, third) == [first.id, None]
    edit(second.id, Edit(subject=None), AS_ADA)
    assert intervals(world, first, second) == [(1, None), (4, None)]


def test_a_fact_that_is_shared_takes_its_place_there_and_what_it_replaced_stays_replaced(world: World) -> None:
    shared = tell(world, "shared", 1, AS_ADA, scope=Scope.SWARM)
    old, new = tell(world, "old", 2), tell(world, "new", 3)
    world.memory_service.edit(new.id, Edit(scope=Scope.SWARM), AS_ADA)
    assert intervals(world, shared, old, new) == [(1, 3), (2, 3), (3, None)]
    world.memory_service.edit(new.id, Edit(scope=Scope.AGENT), AS_ADA)
    assert intervals(world, shared, old, new) == [(1, None), (2, 3), (3, None)]


def test_what_is_replaced_by_a_private_fact_holds_again_for_all_once_it_is_shared(world: World) -> None:
    old, _ = tell(world, "old", 2), tell(world, "new", 3)
    world.memory_service.edit(old.id, Edit(scope=Scope.SWARM), AS_ADA)
    assert intervals(world, old) == [(2, None)]


# Without a subject.


def test_a_note_takes_the_place_of_the_one_it_names(world: World) -> None:
    old = world.remember("We use npm.")
    new = world.remember("We use pnpm now.", supersedes=str(old.id).upper())
    (old,) = now(world, old)
    assert (old.valid_until, new.supersedes) == (new.created_at, old.id)


def test_a_note_that_is_forgotten_gives_the_place_back_or_on(world: World) -> None:
    first = world.remember("npm")
    second = world.remember("yarn", supersedes=first.id)
    third = world.remember("pnpm", supersedes=second.id)
    world.memory_service.forget(second.id, AS_ADA)
    assert now(world, first)[0].valid_until == third.holds_since
    assert whose(world, third) == [first.id]
    world.memory_service.forget(third.id, AS_ADA)
    assert now(world, first)[0].valid_until is None


def test_a_statement_that_was_replaced_can_be_made_anew(world: World) -> None:
    old = world.remember("We use npm.")
    world.remember("We use pnpm.", supersedes=old.id)
    again = world.remember("We use npm.")
    assert again.id != old.id
    assert again.valid_until is None


def test_an_edit_says_later_what_a_note_replaced_and_takes_it_back(world: World) -> None:
    old, new = world.remember("npm"), world.remember("pnpm")
    world.memory_service.edit(new.id, Edit(supersedes=old.id, reason="found in review"), AS_ADA)
    assert now(world, old)[0].valid_until == new.holds_since
    world.memory_service.edit(new.id, Edit(supersedes=None), AS_ADA)
    assert now(world, old)[0].valid_until is None


def test_only_what_one_may_edit_can_be_named_and_only_what_one_sees(world: World) -> None:
    shared, private = world.remember("npm", scope=Scope.SWARM), world.remember("secret plan")
    assert world.remember("pnpm, says Bob", AS_BOB, scope=Scope.SWARM, supersedes=shared.id).supersedes is None
    assert now(world, shared)[0].valid_until is None
    with pytest.raises(NotFound):
        world.remember("pnpm", AS_BOB, supersedes=private.id)
    with pytest.raises(Invalid, match="Share it"):
        world.remember("pnpm", supersedes=shared.id)
    assert world.remember("pnpm", AS_LEA, scope=Scope.SWARM, supersedes=shared.id).supersedes == shared.id


def test_what_is_unknown_or_newer_or_itself_is_not_replaced(world: World) -> None:
    with pytest.raises(NotFound):
        world.remember("pnpm", supersedes="m9999")
    old = world.remember("npm")
    with pytest.raises(Invalid, match="is valid since"):
        world.remember("yarn", supersedes=old.id, valid_from=BEGINNING)
    with pytest.raises(Invalid, match="supersede itself"):
        world.memory_service.edit(old.id, Edit(supersedes=old.id), AS_ADA)


def test_what_comes_from_elsewhere_is_linked_in_any_order(world: World) -> None:
    told = [
        Draft(content="npm", external_id="a", created_at=BEGINNING),
        Draft(content="pnpm", external_id="b", supersedes="a", created_at=BEGINNING + timedelta(minutes=1)),
    ]
    (new,), (old,) = (world.memory_service.remember_many([one], AS_ADA) for one in reversed(told))
    assert now(world, old.memory)[0].valid_until == new.memory.created_at
    assert whose(world, new.memory) == [old.memory.id]
    assert not any(one.changed for one in world.memory_service.remember_many(told, AS_ADA))


def test_a_memory_of_another_cannot_be_replaced_before_it_comes(world: World) -> None:
    world.remember("npm", AS_BOB, scope=Scope.SWARM, external_id="b", supersedes="a", valid_from=BEGINNING)
    old = world.remember("yarn", scope=Scope.SWARM, external_id="a", created_at=BEGINNING - timedelta(days=1))
    assert now(world, old)[0].valid_until is None


@pytest.mark.parametrize(
    ("parts", "field"),
    [
        ({"subject": "x" * 201}, "subject"),
        ({"valid_from": datetime.fromisoformat("2026-01-01")}, "validFrom"),
        ({"valid_from": datetime.fromisoformat("9999-01-01T00:00:00+00:00")}, "validFrom"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_field(world: World, parts: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        world.remember("one", **parts)
    assert refused.value.field == field


def test_what_is_replaced_is_found_no_more_unless_it_is_asked_for(world: World) -> None:
    old, new = tell(world, "The port is 5432.", 1), tell(world, "The port is 6543.", 2)
    question = Query(text=Clean("Which port is it?"))
    assert [hit.memory.id for hit in world.search_service.recall(question, AS_ADA).hits] == [new.id]
    both = world.search_service.recall(replace(question, superseded=True), AS_ADA)
    assert {hit.memory.id for hit in both.hits} == {old.id, new.id}


def test_what_was_replaced_does_not_take_the_place_of_what_took_its_own(world: World) -> None:
    first = tell(world, "npm", 1, subject=None)
    second = tell(world, "yarn", 2, subject=None, supersedes=first.id)
    third = tell(world, "pnpm", 3, subject=None, supersedes=second.id)
    again = Edit(supersedes=third.id, valid_from=BEGINNING + timedelta(minutes=4))
    with pytest.raises(Invalid, match="supersede itself"):
        world.memory_service.edit(first.id, again, AS_ADA)
    assert intervals(world, first, second, third) == [(1, 2), (2, 3), (3, None)]


def test_neither_does_a_fact_by_its_time(world: World) -> None:
    fact = tell(world, "one", 1)
    note = tell(world, "two", 2, subject=None, supersedes=fact.id)
    newer = tell(world, "three", 3, supersedes=note.id)
    with pytest.raises(Invalid, match="supersede itself"):
        world.memory_service.edit(fact.id, Edit(valid_from=BEGINNING + timedelta(minutes=4)), AS_ADA)
    assert intervals(world, fact, note, newer) == [(1, 2), (2, 3), (3, None)]


@pytest.mark.parametrize("replaced", ["x", "y"])
def test_neither_does_what_comes_from_elsewhere(world: World, replaced: str) -> None:
    if replaced == "y":
        world.remember("two", external_id="y", supersedes="x")
    with pytest.raises(Invalid, match="supersede itself"):
        world.remember("one", external_id="x", supersedes=replaced)
    again = world.remember("one", external_id="x")
    assert again.supersedes is None


def test_what_comes_before_a_fact_of_its_topic_does_not_take_its_place(world: World) -> None:
    fact = tell(world, "one", 1)
    note = tell(world, "two", 2, subject=None, supersedes=fact.id)
    world.memory_service.edit(note.id, Edit(subject=SUBJECT, valid_from=BEGINNING), AS_ADA)
    assert intervals(world, note, fact) == [(0, 1), (1, None)]
    assert whose(world, note, fact) == [None, note.id]


@pytest.mark.parametrize("created", [None, BEGINNING], ids=["told apart", "of one instant"])
@pytest.mark.parametrize("newest_first", [True, False])
def test_a_mistake_stays_one_where_it_comes_with_what_put_it_right(
    world: World, created: datetime | None, newest_first: bool
) -> None:
    at = BEGINNING - timedelta(minutes=1)
    told = [
        Draft(
            content=content,
            subject=SUBJECT,
            external_id=content,
            supersedes=replaced,
            valid_from=BEGINNING,
            created_at=created or at + timedelta(seconds=second),
        )
        for second, (content, replaced) in enumerate([("wrong", None), ("better", "wrong"), ("right", "better")])
    ]
    for draft in reversed(told) if newest_first else told:
        world.memory_service.remember(draft, AS_ADA)
    later = tell(world, "since then", 5)
    wrong, better, right = (world.memory_service.remember(draft, AS_ADA).memory for draft in told)
    assert intervals(world, wrong, better, right, later) == [(0, 0), (0, 0), (0, 5), (5, None)]
    assert whose(world, wrong, better, right, later) == [None, wrong.id, better.id, right.id]
    assert world.reading.history(wrong.id, AS_ADA).superseded_by == (better.id,)
    assert not any(one.changed for one in world.memory_service.remember_many(told, AS_ADA))


def test_what_is_shared_takes_the_place_of_a_private_note_from_elsewhere_in_any_order(world: World) -> None:
    old = Draft(content="npm", external_id="a", created_at=BEGINNING)
    new = Draft(content="pnpm", external_id="b", supersedes="a", created_at=START, scope=Scope.SWARM)
    for _ in range(2):
        for draft in (new, old):
            world.memory_service.remember(draft, AS_ADA)
        assert world.memory_service.remember(old, AS_ADA).memory.valid_until == START


# Laws.


def chain(order: Sequence[int], forgotten: set[int]) -> list[tuple[str, datetime, datetime | None, str | None]]:
    """The facts of one topic, told in this order, of which some are forgotten."""
    world = World(ReferenceStore(SteppingClock()), ReferenceKeywords(), SteppingClock())
    facts = {number: tell(world, f"It is {number}.", number) for number in order}
    for number in sorted(forgotten):
        world.memory_service.forget(facts[number].id, AS_ADA)
    left = now(world, *(fact for number, fact in facts.items() if number not in forgotten))
    words = {one.id: one.content for one in left}
    told = [(one.content, one.holds_since, one.valid_until, words.get(one.supersedes or MemoryId(""))) for one in left]
    return sorted(told, key=lambda one: one[1])


@settings(max_examples=examples(60))
@given(order=st.permutations(range(6)), forgotten=st.sets(st.integers(0, 5), max_size=4))
def test_the_order_in_which_facts_come_and_go_makes_no_difference(order: list[int], forgotten: set[int]) -> None:
    told = chain(order, forgotten)
    assert told == chain([number for number in range(6) if number not in forgotten], set())
    for one, following in zip(told, [*told[1:], None], strict=True):
        assert one[2] == (None if following is None else following[1])
