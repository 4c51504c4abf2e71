"""Supersession of facts in the order of their valid times, for any order of storing, editing and forgetting."""

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


def store_fact(world: World, content: str, minute: float | None = None, by: Viewer = AS_ADA, **parts: Any) -> Memory:
    """Stores a fact that is valid from this minute after the beginning; None: without a valid time."""
    since = None if minute is None else BEGINNING + timedelta(minutes=minute)
    return world.remember(content, by, **{"subject": SUBJECT, "valid_from": since} | parts)


def now(world: World, *memories: Memory) -> list[Memory]:
    return [world.reading.get(one.id, AS_OPERATOR) for one in memories]


def intervals(world: World, *memories: Memory) -> list[tuple[float, float | None]]:
    """Returns the valid times in minutes after the beginning."""

    def minutes(at: datetime) -> float:
        return (at - BEGINNING) / timedelta(minutes=1)

    return [
        (minutes(one.holds_since), None if one.valid_until is None else minutes(one.valid_until))
        for one in now(world, *memories)
    ]


def whose(world: World, *memories: Memory) -> list[MemoryId | None]:
    return [one.supersedes for one in now(world, *memories)]


def test_a_newer_fact_supersedes_the_previous_one(world: World) -> None:
    old, new = store_fact(world, "The port is 5432.", 1), store_fact(world, "The port is 6543.", 2)
    assert intervals(world, old, new) == [(1, 2), (2, None)]
    assert whose(world, old, new) == [None, old.id]
    assert [one.version for one in now(world, old, new)] == [1, 1]


def test_a_fact_that_arrives_late_is_inserted_by_its_time(world: World) -> None:
    first, third = store_fact(world, "one", 1), store_fact(world, "three", 3)
    second = store_fact(world, "two", 2)
    assert intervals(world, first, second, third) == [(1, 2), (2, 3), (3, None)]
    assert whose(world, first, second, third) == [None, first.id, second.id]


def test_a_fact_without_a_time_is_the_newest_regardless_of_the_clock(world: World) -> None:
    ahead = store_fact(world, "one", None, created_at=world.clock.now() + timedelta(hours=3))
    new = store_fact(world, "two")
    assert intervals(world, ahead)[0][1] is not None
    assert now(world, new)[0].valid_until is None
    assert new.holds_since == ahead.holds_since + timedelta(microseconds=1)


def test_of_two_facts_of_one_instant_the_one_stored_later_holds(world: World) -> None:
    wrong, right = store_fact(world, "one", 1), store_fact(world, "two", 1)
    assert intervals(world, wrong, right) == [(1, 1), (1, None)]


def test_a_value_that_returns_is_a_separate_fact(world: World) -> None:
    first, second, third = (store_fact(world, f"The port is {port}.") for port in (5432, 6543, 5432))
    assert len({first.id, second.id, third.id}) == 3
    assert [one.valid_until is None for one in now(world, first, second, third)] == [False, False, True]


def test_storing_the_current_fact_again_changes_nothing(world: World) -> None:
    known = store_fact(world, "The port is 5432.")
    again = world.memory_service.remember(
        Draft(content="The port is 5432.", subject=" DB.port ", valid_from=world.clock.now()), AS_ADA
    )
    assert (again.memory.id, again.created, again.memory.valid_from) == (known.id, False, None)


def test_subjects_are_compared_in_canonical_form(world: World) -> None:
    old = store_fact(world, "one", subject="Caf\u00e9  Port")
    new = store_fact(world, "two", subject=" cafe\u0301\u00a0port")
    assert whose(world, new) == [old.id]


def test_a_note_stored_again_with_a_subject_becomes_a_fact(world: World) -> None:
    note = world.remember("The port is 5432.")
    fact = store_fact(world, "The port is 5432.")
    assert (fact.id, fact.subject, fact.version) == (note.id, SUBJECT, 2)
    assert whose(world, store_fact(world, "The port is 6543.")) == [note.id]


@pytest.mark.parametrize(
    "elsewhere",
    [{"project": "hive"}, {"scope": Scope.SWARM}, {"subject": "cache.port"}, {"by": AS_BOB}],
    ids=str,
)
def test_facts_of_another_project_scope_owner_or_subject_are_unchanged(world: World, elsewhere: dict[str, Any]) -> None:
    fact = store_fact(world, "one", 1)
    other = store_fact(world, "two", 2, **elsewhere)
    assert intervals(world, fact, other) == [(1, None), (2, None)]


def test_leads_and_operators_supersede_shared_facts(world: World) -> None:
    old = store_fact(world, "one", 1, scope=Scope.SWARM)
    new = store_fact(world, "two", 2, AS_LEA, scope=Scope.SWARM)
    newest = store_fact(world, "three", 3, AS_OPERATOR, scope=Scope.SWARM)
    assert intervals(world, old, new, newest) == [(1, 2), (2, 3), (3, None)]


def test_text_from_a_tool_or_the_web_supersedes_no_shared_fact(world: World) -> None:
    old = store_fact(world, "one", 1, scope=Scope.SWARM)
    with pytest.raises(Forbidden, match="tool or the web"):
        store_fact(world, "two", 2, AS_BOB, scope=Scope.SWARM, trust=Trust.WEB)
    assert intervals(world, old) == [(1, None)]


def test_forgetting_a_fact_links_its_predecessor_and_successor(world: World) -> None:
    first, second, third = (store_fact(world, str(minute), minute) for minute in (1, 2, 3))
    world.memory_service.forget(second.id, AS_ADA)
    assert intervals(world, first, third) == [(1, 3), (3, None)]
    assert whose(world, third) == [first.id]
    world.memory_service.forget(third.id, AS_ADA)
    assert intervals(world, first) == [(1, None)]


def test_an_edited_fact_moves_to_its_new_position(world: World) -> None:
    first, second, third = (store_fact(world, str(minute), minute) for minute in (1, 2, 3))
    edit = world.memory_service.edit
    edit(second.id, Edit(valid_from=BEGINNING + timedelta(minutes=4)), AS_ADA)
    assert intervals(world, first, third, second) == [(1, 3), (3, 4), (4, None)]
    assert whose(world, first, third, second) == [None, first.id, third.id]
    edit(third.id, Edit(subject="cache.port"), AS_ADA)
    assert intervals(world, first, second, third) == [(1, 4), (4, None), (3, None)]
    assert whose(world, second, third) == [first.id, None]
    edit(second.id, Edit(subject=None), AS_ADA)
    assert intervals(world, first, second) == [(1, None), (4, None)]


def test_a_fact_that_becomes_shared_supersedes_shared_facts_and_still_its_private_predecessor(world: World) -> None:
    shared = store_fact(world, "shared", 1, AS_ADA, scope=Scope.SWARM)
    old, new = store_fact(world, "old", 2), store_fact(world, "new", 3)
    world.memory_service.edit(new.id, Edit(scope=Scope.SWARM), AS_ADA)
    assert intervals(world, shared, old, new) == [(1, 3), (2, 3), (3, None)]
    world.memory_service.edit(new.id, Edit(scope=Scope.AGENT), AS_ADA)
    assert intervals(world, shared, old, new) == [(1, None), (2, 3), (3, None)]


def test_sharing_a_fact_ends_its_supersession_by_a_private_fact(world: World) -> None:
    old, _ = store_fact(world, "old", 2), store_fact(world, "new", 3)
    world.memory_service.edit(old.id, Edit(scope=Scope.SWARM), AS_ADA)
    assert intervals(world, old) == [(2, None)]


# Memories without a subject.


def test_a_note_supersedes_the_memory_it_names(world: World) -> None:
    old = world.remember("We use npm.")
    new = world.remember("We use pnpm now.", supersedes=str(old.id).upper())
    (old,) = now(world, old)
    assert (old.valid_until, new.supersedes) == (new.created_at, old.id)


def test_forgetting_a_superseding_note_restores_or_relinks_its_predecessor(world: World) -> None:
    first = world.remember("npm")
    second = world.remember("yarn", supersedes=first.id)
    third = world.remember("pnpm", supersedes=second.id)
    world.memory_service.forget(second.id, AS_ADA)
    assert now(world, first)[0].valid_until == third.holds_since
    assert whose(world, third) == [first.id]
    world.memory_service.forget(third.id, AS_ADA)
    assert now(world, first)[0].valid_until is None


def test_a_superseded_statement_can_be_stored_again(world: World) -> None:
    old = world.remember("We use npm.")
    world.remember("We use pnpm.", supersedes=old.id)
    again = world.remember("We use npm.")
    assert again.id != old.id
    assert again.valid_until is None


def test_an_edit_sets_and_removes_a_supersession(world: World) -> None:
    old, new = world.remember("npm"), world.remember("pnpm")
    world.memory_service.edit(new.id, Edit(supersedes=old.id, reason="found in review"), AS_ADA)
    assert now(world, old)[0].valid_until == new.holds_since
    world.memory_service.edit(new.id, Edit(supersedes=None), AS_ADA)
    assert now(world, old)[0].valid_until is None


def test_only_visible_and_editable_memories_can_be_superseded(world: World) -> None:
    shared, private = world.remember("npm", scope=Scope.SWARM), world.remember("secret plan")
    assert world.remember("pnpm, says Bob", AS_BOB, scope=Scope.SWARM, supersedes=shared.id).supersedes is None
    assert now(world, shared)[0].valid_until is None
    with pytest.raises(NotFound):
        world.remember("pnpm", AS_BOB, supersedes=private.id)
    with pytest.raises(Invalid, match="Share it"):
        world.remember("pnpm", supersedes=shared.id)
    assert world.remember("pnpm", AS_LEA, scope=Scope.SWARM, supersedes=shared.id).supersedes == shared.id


def test_unknown_newer_and_own_ids_cannot_be_superseded(world: World) -> None:
    with pytest.raises(NotFound):
        world.remember("pnpm", supersedes="m9999")
    old = world.remember("npm")
    with pytest.raises(Invalid, match="is valid since"):
        world.remember("yarn", supersedes=old.id, valid_from=BEGINNING)
    with pytest.raises(Invalid, match="supersede itself"):
        world.memory_service.edit(old.id, Edit(supersedes=old.id), AS_ADA)


def test_imported_memories_are_linked_in_any_order(world: World) -> None:
    drafts = [
        Draft(content="npm", external_id="a", created_at=BEGINNING),
        Draft(content="pnpm", external_id="b", supersedes="a", created_at=BEGINNING + timedelta(minutes=1)),
    ]
    (new,), (old,) = (world.memory_service.remember_many([one], AS_ADA) for one in reversed(drafts))
    assert now(world, old.memory)[0].valid_until == new.memory.created_at
    assert whose(world, new.memory) == [old.memory.id]
    assert not any(one.changed for one in world.memory_service.remember_many(drafts, AS_ADA))


def test_a_memory_of_another_agent_cannot_be_superseded_before_it_arrives(world: World) -> None:
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
def test_an_invalid_value_is_refused_with_its_field(world: World, parts: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        world.remember("one", **parts)
    assert refused.value.field == field


def test_superseded_memories_are_found_only_on_request(world: World) -> None:
    old, new = store_fact(world, "The port is 5432.", 1), store_fact(world, "The port is 6543.", 2)
    question = Query(text=Clean("Which port is it?"))
    assert [hit.memory.id for hit in world.search_service.recall(question, AS_ADA).hits] == [new.id]
    both = world.search_service.recall(replace(question, superseded=True), AS_ADA)
    assert {hit.memory.id for hit in both.hits} == {old.id, new.id}


def test_a_superseded_note_cannot_supersede_its_successors(world: World) -> None:
    first = store_fact(world, "npm", 1, subject=None)
    second = store_fact(world, "yarn", 2, subject=None, supersedes=first.id)
    third = store_fact(world, "pnpm", 3, subject=None, supersedes=second.id)
    again = Edit(supersedes=third.id, valid_from=BEGINNING + timedelta(minutes=4))
    with pytest.raises(Invalid, match="supersede itself"):
        world.memory_service.edit(first.id, again, AS_ADA)
    assert intervals(world, first, second, third) == [(1, 2), (2, 3), (3, None)]


def test_a_superseded_fact_cannot_supersede_its_successors_by_its_time(world: World) -> None:
    fact = store_fact(world, "one", 1)
    note = store_fact(world, "two", 2, subject=None, supersedes=fact.id)
    newer = store_fact(world, "three", 3, supersedes=note.id)
    with pytest.raises(Invalid, match="supersede itself"):
        world.memory_service.edit(fact.id, Edit(valid_from=BEGINNING + timedelta(minutes=4)), AS_ADA)
    assert intervals(world, fact, note, newer) == [(1, 2), (2, 3), (3, None)]


@pytest.mark.parametrize("replaced", ["x", "y"])
def test_an_imported_memory_cannot_supersede_itself(world: World, replaced: str) -> None:
    if replaced == "y":
        world.remember("two", external_id="y", supersedes="x")
    with pytest.raises(Invalid, match="supersede itself"):
        world.remember("one", external_id="x", supersedes=replaced)
    again = world.remember("one", external_id="x")
    assert again.supersedes is None


def test_a_note_that_becomes_an_earlier_fact_no_longer_supersedes_the_later_one(world: World) -> None:
    fact = store_fact(world, "one", 1)
    note = store_fact(world, "two", 2, subject=None, supersedes=fact.id)
    world.memory_service.edit(note.id, Edit(subject=SUBJECT, valid_from=BEGINNING), AS_ADA)
    assert intervals(world, note, fact) == [(0, 1), (1, None)]
    assert whose(world, note, fact) == [None, note.id]


@pytest.mark.parametrize("created", [None, BEGINNING], ids=["separate instants", "of one instant"])
@pytest.mark.parametrize("newest_first", [True, False])
def test_a_corrected_fact_stays_superseded_when_imported_with_its_corrections(
    world: World, created: datetime | None, newest_first: bool
) -> None:
    at = BEGINNING - timedelta(minutes=1)
    drafts = [
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
    for draft in reversed(drafts) if newest_first else drafts:
        world.memory_service.remember(draft, AS_ADA)
    later = store_fact(world, "since then", 5)
    wrong, better, right = (world.memory_service.remember(draft, AS_ADA).memory for draft in drafts)
    assert intervals(world, wrong, better, right, later) == [(0, 0), (0, 0), (0, 5), (5, None)]
    assert whose(world, wrong, better, right, later) == [None, wrong.id, better.id, right.id]
    assert world.reading.history(wrong.id, AS_ADA).superseded_by == (better.id,)
    assert not any(one.changed for one in world.memory_service.remember_many(drafts, AS_ADA))


def test_an_imported_shared_note_supersedes_a_private_one_in_any_order(world: World) -> None:
    old = Draft(content="npm", external_id="a", created_at=BEGINNING)
    new = Draft(content="pnpm", external_id="b", supersedes="a", created_at=START, scope=Scope.SWARM)
    for _ in range(2):
        for draft in (new, old):
            world.memory_service.remember(draft, AS_ADA)
        assert world.memory_service.remember(old, AS_ADA).memory.valid_until == START


# Laws.


def chain(order: Sequence[int], forgotten: set[int]) -> list[tuple[str, datetime, datetime | None, str | None]]:
    """Returns the facts of one subject after storing them in this order and forgetting some."""
    world = World(ReferenceStore(SteppingClock()), ReferenceKeywords(), SteppingClock())
    facts = {number: store_fact(world, f"It is {number}.", number) for number in order}
    for number in sorted(forgotten):
        world.memory_service.forget(facts[number].id, AS_ADA)
    left = now(world, *(fact for number, fact in facts.items() if number not in forgotten))
    words = {one.id: one.content for one in left}
    states = [
        (one.content, one.holds_since, one.valid_until, words.get(one.supersedes or MemoryId(""))) for one in left
    ]
    return sorted(states, key=lambda one: one[1])


@settings(max_examples=examples(60))
@given(order=st.permutations(range(6)), forgotten=st.sets(st.integers(0, 5), max_size=4))
def test_the_order_of_storing_and_forgetting_facts_does_not_matter(order: list[int], forgotten: set[int]) -> None:
    states = chain(order, forgotten)
    assert states == chain([number for number in range(6) if number not in forgotten], set())
    for one, following in zip(states, [*states[1:], None], strict=True):
        assert one[2] == (None if following is None else following[1])
