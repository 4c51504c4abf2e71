"""Maintenance: a preview writes nothing, a large purge needs confirmation, and everything can be undone."""

from datetime import timedelta
from typing import Any

import pytest

from hivelore.changes.journal import ChangeJournal
from hivelore.changes.model import BatchKind
from hivelore.core.agents import Viewer
from hivelore.core.progress import Progress
from hivelore.errors import Conflict, Forbidden, Invalid, Stale
from hivelore.feedback.recalls import Sign
from hivelore.maintenance import service
from hivelore.maintenance.housekeeper import Housekeeper
from hivelore.maintenance.model import MaintenancePlan, MaintenanceResult
from hivelore.memories.drafts import Edit
from hivelore.memories.model import Action, Memory, MemoryId, Scope, Trust
from hivelore.observations.model import ObservationKind
from hivelore.review.model import Decision, ProposalId, ProposalKind
from hivelore.search.model import EVERYTHING
from support.batches import batches_of, preimages_of
from support.clocks import START
from support.events import an_event, log_events
from support.memories import an_observation, evidence, operational
from support.proposals import a_proposal, put
from support.stores import present
from support.undo_service import known, whole
from support.world import AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR, World

PURGE, MERGE = MaintenancePlan(purge_expired=True), MaintenancePlan(merge=True)
HOUR = timedelta(hours=1)


def expiring(world: World, content: str, **more: Any) -> Memory:
    return world.remember(content, expires_at=START + HOUR, **more)


def filled(world: World, kept: int = 20) -> list[Memory]:
    """One memory that has expired, among others."""
    gone = expiring(world, "The heron leaves at noon.", session="s1")
    for number in range(kept):
        world.remember(f"Note {number} is about {'abcdefghijklmnopqrstuvwxyz'[number]}.", session="s1")
    world.clock.advance(2 * HOUR)
    return [gone]


def purge(world: World, yes: int | None = None) -> MaintenanceResult:
    return world.maintenance.apply(PURGE, AS_OPERATOR, yes)


def ids(world: World) -> set[MemoryId]:
    with world.store.read() as view:
        return {memory.id for memory in view.page(EVERYTHING, None, 1_000)}


def undo(world: World, which: str | None) -> None:
    assert which is not None
    world.clock.advance(timedelta(minutes=1))
    world.undo_service.undo(which, AS_OPERATOR)


# purging


@pytest.mark.parametrize("wish", [PURGE, MERGE, MaintenancePlan(reindex=True), MaintenancePlan(vacuum=True)], ids=str)
def test_a_preview_writes_nothing(world: World, wish: MaintenancePlan) -> None:
    filled(world)
    world.remember("Note 1 is about b!")
    before = whole(world)
    plan = world.maintenance.preview(wish, AS_OPERATOR)
    assert whole(world) == before
    assert (plan.applied, plan.purged, plan.proposed, plan.batch) == (False, 0, 0, None)
    assert (plan.expired, len(plan.alike)) == (int(wish.purge_expired), int(wish.merge))


def test_expired_memories_are_purged_and_restored(world: World) -> None:
    (gone,) = filled(world)
    log_events(world.store, an_event(memory=gone.id))
    put(world.store, a_proposal(present(world.store, gone).memory))
    world.store.write(lambda tx: tx.add_evidence({present(world.store, gone).key: [evidence()]}))
    before = whole(world)
    plan = world.maintenance.preview(PURGE, AS_OPERATOR)
    assert [(one.id, one.expired_at) for one in plan.examples] == [(gone.id, gone.expires_at)]
    done = purge(world)
    assert (done.applied, done.memories, done.expired, done.purged) == (True, 21, 1, 1)
    assert gone.id not in ids(world)
    assert world.audit()[0].action is Action.FORGOTTEN
    undo(world, done.batch)
    assert whole(world) != before
    for part in ("memories", "documents", "events", "proposals"):
        assert whole(world)[part] == before[part]  # pyright: ignore[reportIndexIssue]


def test_an_expired_successor_of_a_memory_that_stays_is_not_purged(world: World) -> None:
    old = world.remember("The port is 8096.", subject="jf.port")
    world.clock.advance(timedelta(minutes=1))
    new = expiring(world, "The port is 8920.", subject="jf.port")
    world.clock.advance(2 * HOUR)
    assert world.found("port") == []
    assert purge(world, 0).purged == 0
    assert world.found("port") == []
    assert ids(world) == {old.id, new.id}


def test_only_the_last_successor_must_stay(world: World) -> None:
    old = world.remember("The port is 8096.")
    first = expiring(world, "The port is 1.", supersedes=old.id)
    last = expiring(world, "The port is 2.", supersedes=first.id)
    world.clock.advance(2 * HOUR)
    assert purge(world, 1).purged == 1
    assert ids(world) == {old.id, last.id}
    assert world.found("port") == []


@pytest.mark.parametrize("last_stays", [True, False])
def test_the_same_holds_for_a_successor_by_subject_and_by_id(world: World, last_stays: bool) -> None:
    note, other = world.remember("The port is 1."), world.remember("The port is 2.")
    fact = expiring(world, "The port is 3.", subject="jf.port")
    last = expiring(world, "The port is 4.", subject="jf.port", supersedes=note.id)
    newest = [world.remember("It is moved.", subject="jf.port", supersedes=other.id)] if last_stays else []
    world.clock.advance(2 * HOUR)
    assert purge(world, 1).purged == 1
    assert ids(world) == {one.id for one in (note, other, last, *newest)}
    assert fact.id not in ids(world)
    assert world.found("port") == (["It is moved."] if last_stays else ["The port is 2."])


def test_if_all_facts_of_a_subject_expired_all_are_purged(world: World) -> None:
    for port in (1, 2, 3):
        expiring(world, f"The port is {port}.", subject="jf.port")
        world.clock.advance(timedelta(minutes=1))
    world.clock.advance(2 * HOUR)
    assert purge(world, 3).purged == 3
    assert ids(world) == set()


def test_a_merged_memory_has_no_more_tags_than_allowed(world: World) -> None:
    for place, content in enumerate(("The narwhal sings.", "the narwhal  sings.")):
        world.remember(content, tags=tuple(f"t{place}-{number}" for number in range(80)))
    (proposal,) = proposed(world)
    decide(world, proposal, Decision.ACCEPTED)
    (kept,) = world.recall("narwhal").hits
    assert len(kept.memory.tags) == 100
    assert set(kept.memory.tags) >= {f"t1-{number}" for number in range(80)}


def test_one_memory_of_a_purge_is_restored_by_its_id(world: World) -> None:
    one, other = expiring(world, "One expires."), expiring(world, "The other does, too.")
    world.clock.advance(2 * HOUR)
    before = known(world)
    done = purge(world, 2)
    undo(world, one.id)
    assert ids(world) == {one.id}
    undo(world, done.batch)
    assert ids(world) == {one.id, other.id}
    assert known(world) == before


def test_search_finds_restored_memories(world: World) -> None:
    filled(world)
    done = purge(world)
    assert "The heron leaves at noon." not in world.found("heron", now=START)
    undo(world, done.batch)
    world.embed()
    assert "The heron leaves at noon." in world.found("heron", now=START)


def test_a_purge_above_the_share_needs_confirmation(world: World) -> None:
    gone = [expiring(world, f"Number {number} expires.") for number in range(2)]
    for number in range(18):
        world.remember(f"Note {number} stays.")
    world.clock.advance(2 * HOUR)
    before = whole(world)
    assert world.maintenance.preview(PURGE, AS_OPERATOR).most == 1
    for wrong in (None, 0, 1, 3, 20, -2, 2**70):
        with pytest.raises(Conflict, match="yes-delete 2"):
            purge(world, wrong)
        assert whole(world) == before
    assert purge(world, 2).purged == 2
    assert not ids(world) & {one.id for one in gone}


def test_a_confirmed_number_must_be_exact_even_below_the_share(world: World) -> None:
    filled(world)
    with pytest.raises(Conflict, match="but 1 would be deleted"):
        purge(world, 2)
    assert purge(world, 1).purged == 1


def test_a_purge_in_many_transactions_is_one_batch(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Facts of one subject are linked to each other, and go in different units."""
    monkeypatch.setattr(service, "_PURGE_BATCH", 2)
    ends = [START + (9 * HOUR if number % 4 == 0 else HOUR) for number in range(9)]
    facts = [
        world.remember(f"The port is {number}.", subject="db.port", expires_at=end) for number, end in enumerate(ends)
    ]
    edited = world.memory_service.edit(facts[1].id, Edit(tags=("a",)), AS_ADA)
    world.clock.advance(2 * HOUR)
    before = known(world)
    done = purge(world, 6)
    assert done.purged == 6
    assert len(ids(world)) == 3
    assert edited.version == 2
    undo(world, done.batch)
    assert known(world) == before


def test_a_memory_renewed_meanwhile_stays(world: World) -> None:
    (gone,) = filled(world)
    key = present(world.store, gone).key
    looked = world.maintenance._survey

    def late(wish: MaintenancePlan, viewer: Viewer, progress: Progress) -> Any:
        found = looked(wish, viewer, progress)
        world.store.write(lambda tx: tx.set_expiry(key, None))
        return found

    world.maintenance._survey = late
    assert purge(world).purged == 0
    assert gone.id in ids(world)


def test_a_fact_stored_meanwhile_keeps_its_place(world: World) -> None:
    old = expiring(world, "The port is 1.", subject="db.port")
    world.clock.advance(2 * HOUR)
    done = purge(world, 1)
    new = world.remember("The port is 2.", subject="db.port")
    undo(world, done.batch)
    assert present(world.store, old).memory.valid_until == new.holds_since
    assert present(world.store, new).memory.supersedes == old.id


def test_previous_states_of_a_purge_expire(world: World) -> None:
    filled(world)
    done = purge(world)
    housekeeping = Housekeeper(world.store, world.keywords, world.clock, undo=timedelta(days=7))
    housekeeping.run_step()
    assert len(batches_of(world.store)) == 1
    world.clock.advance(timedelta(days=7, minutes=1))
    housekeeping.run_step()
    assert batches_of(world.store) == []
    assert done.batch is not None
    with pytest.raises(Exception, match="No change"):
        undo(world, done.batch)


def test_without_previous_states_a_purge_is_final(world: World) -> None:
    filled(world)
    world.maintenance._journal = ChangeJournal(world.store, world.clock, world.journal._batch_id, timedelta())
    done = purge(world)
    assert (done.purged, done.batch) == (1, None)
    assert batches_of(world.store) == []


def test_an_edit_before_a_purge_can_be_undone_after_the_purge_was(world: World) -> None:
    memory = expiring(world, "The heron leaves at noon.")
    before = known(world)
    world.clock.advance(timedelta(minutes=1))
    world.memory_service.edit(memory.id, Edit(tags=("a",)), AS_ADA)
    (edit,) = batches_of(world.store)
    world.clock.advance(2 * HOUR)
    done = purge(world, 1)
    with pytest.raises(Conflict, match="later changes first"):
        undo(world, edit.id)
    undo(world, done.batch)
    undo(world, edit.id)
    assert known(world) == before


# indexes and files


def test_a_reindex_finds_the_same_memories(world: World) -> None:
    world.remember("The heron sleeps.")
    done = world.maintenance.apply(MaintenancePlan(reindex=True, vacuum=True), AS_OPERATOR)
    assert done.done == {"reindex": True, "vacuum": True}
    while not world.index_rebuild.is_complete():
        world.index_rebuild.run_step()
    assert world.found("heron") == ["The heron sleeps."]


# who may


@pytest.mark.parametrize("viewer", [AS_ADA, AS_LEA])
def test_only_operators_run_maintenance(world: World, viewer: Any) -> None:
    with pytest.raises(Forbidden):
        world.maintenance.preview(PURGE, viewer)
    with pytest.raises(Forbidden):
        world.maintenance.apply(PURGE, viewer)


def test_an_empty_plan_is_an_error(world: World) -> None:
    with pytest.raises(Invalid, match="purgeExpired"):
        world.maintenance.preview(MaintenancePlan(), AS_OPERATOR)
    with pytest.raises(Invalid, match="purge"):
        world.maintenance.apply(MERGE, AS_OPERATOR, 3)


# making one of two


def proposed(world: World) -> list[ProposalId]:
    world.maintenance.apply(MERGE, AS_OPERATOR)
    page = world.review_inbox.page(AS_OPERATOR, None, 100, is_open=True, kind=ProposalKind.DUPLICATE)
    return [one.id for one in page.proposals]


def decide(world: World, proposal: ProposalId, how: Decision, viewer: Any = AS_OPERATOR) -> None:
    world.clock.advance(timedelta(minutes=1))
    world.review_inbox.decide(proposal, how, viewer)


def twins(world: World, **more: Any) -> tuple[Memory, Memory]:
    """Two private memories that say the same."""
    return world.remember("The heron sleeps.", session="s1", **more), world.remember("the  heron sleeps", session="s2")


def test_duplicates_are_proposed_for_review_and_nothing_else_happens(world: World) -> None:
    older, newer = twins(world)
    before = known(world)
    done = world.maintenance.apply(MERGE, AS_OPERATOR)
    assert [(one.older, one.newer) for one in done.alike] == [(older.id, newer.id)]
    assert (done.proposed, done.purged, done.batch) == (1, 0, None)
    assert known(world) == before
    (proposal,) = proposed(world)
    assert [one.memory for one in world.review_inbox.detail(proposal, AS_OPERATOR).proposal.memories] == [
        older.id,
        newer.id,
    ]


def test_accepting_merges_two_memories_and_undo_separates_them(world: World) -> None:
    older, newer = twins(world, tags=("a",), metadata={"x": 1})
    key = present(world.store, older).key
    world.store.write(lambda tx: tx.add_evidence({key: [evidence(Sign.USEFUL)]}))
    (proposal,) = proposed(world)
    before = known(world)
    decide(world, proposal, Decision.ACCEPTED)
    one = present(world.store, newer)
    assert (one.memory.tags, one.memory.metadata, one.memory.supersedes) == (("a",), {"x": 1}, older.id)
    assert one.memory.content == older.content
    assert present(world.store, older).memory.valid_until == newer.holds_since
    with world.store.read() as view:
        assert [each.sign for each in view.evidence(one.key)] == [Sign.USEFUL]
    assert world.reading.history(newer.id, AS_ADA).supersedes == older.id
    assert [hit.memory.id for hit in world.recall("heron").hits] == [newer.id]
    (batch,) = batches_of(world.store)
    assert (batch.kind, batch.changes) == (BatchKind.DECIDED, 2)
    undo(world, batch.id)
    assert known(world) == before
    assert proposed(world) == [proposal]


def test_a_merge_of_operational_memories_keeps_the_observations_of_both(world: World) -> None:
    older = world.remember("Takes 60 s.", scope=Scope.SWARM, category="timing", operational=operational("jellyfin"))
    newer = world.remember("takes 60 s", scope=Scope.SWARM, category="timing", operational=operational("jellyfin"))
    seen = an_observation(at=world.clock.now(), kind=ObservationKind.CONTRADICTED)
    for one in (older, newer):
        stored = present(world.store, one)
        assert stored.memory.operational is not None
        held = stored.memory.operational.held
        world.store.write(lambda tx, key=stored.key, held=held: tx.add_observation(key, held, seen))
    (proposal,) = proposed(world)
    before = known(world)
    decide(world, proposal, Decision.ACCEPTED)
    one = present(world.store, newer)
    with world.store.read() as view:
        first, *observed = [(each.kind, each.text) for each in view.observations(one.key)]
    assert first == (ObservationKind.CREATED, newer.content)
    assert observed == [(ObservationKind.REINFORCED, older.content), (seen.kind, seen.text), (seen.kind, seen.text)]
    assert present(world.store, older).memory.valid_until is not None
    undo(world, newer.id)
    assert known(world) == before


def test_duplicates_may_spell_their_category_and_service_differently(world: World) -> None:
    older, newer = (
        world.remember("Takes 60 s.", name=category, scope=Scope.SWARM, category=category, operational=operational(one))
        for category, one in (("timing", "Postgres"), ("Timings", "postgre-sql"))
    )
    (proposal,) = proposed(world)
    decide(world, proposal, Decision.ACCEPTED)
    assert present(world.store, older).memory.valid_until is not None
    assert present(world.store, newer).memory.valid_until is None


def test_a_rejected_duplicate_stays_and_is_not_proposed_again(world: World) -> None:
    twins(world)
    (proposal,) = proposed(world)
    before = known(world)
    decide(world, proposal, Decision.REJECTED)
    assert known(world) == before
    assert world.maintenance.preview(MERGE, AS_OPERATOR).alike == ()
    assert proposed(world) == []


def test_an_open_proposal_is_not_made_twice(world: World) -> None:
    twins(world)
    first = proposed(world)
    assert proposed(world) == first
    assert len(first) == 1


def test_a_proposal_whose_memories_changed_cannot_be_accepted(world: World) -> None:
    older, _ = twins(world)
    (proposal,) = proposed(world)
    world.memory_service.edit(older.id, Edit(content="The owl sleeps."), AS_ADA)
    with pytest.raises(Stale):
        decide(world, proposal, Decision.ACCEPTED)


def test_accepting_a_proposal_merges(world: World) -> None:
    twins(world)
    (proposal,) = proposed(world)
    with pytest.raises(Invalid, match="Accept or reject"):
        decide(world, proposal, Decision.MERGED)


def test_leads_merge_memories_that_they_may_change(world: World) -> None:
    for text in ("The heron sleeps.", "the heron  sleeps"):
        world.remember(text, AS_BOB, scope=Scope.SWARM, session=text)
    twins(world)
    shared, private = proposed(world)
    decided = {one: world.review_inbox.detail(one, AS_LEA).memories[0].scope for one in (shared, private)}
    for one, scope in decided.items():
        if scope is Scope.SWARM:
            decide(world, one, Decision.ACCEPTED, AS_LEA)
        else:
            with pytest.raises(Forbidden, match="operator"):
                decide(world, one, Decision.ACCEPTED, AS_LEA)


@pytest.mark.parametrize(
    "other",
    [
        ("The heron sleeps.", {"viewer": AS_BOB}),
        ("The heron sleeps.", {"scope": Scope.SWARM}),
        ("The heron sleeps.", {"project": "hive"}),
        ("The heron sleeps.", {"category": "preference"}),
        ("The heron sleeps.", {"subject": "heron"}),
        ("The heron sleeps.", {"source_path": "/heron.md"}),
        ("The heron does not sleep.", {}),
        ("The heron sleeps for 60 minutes.", {}),
        ("Nothing of the kind.", {}),
    ],
    ids=str,
)
def test_memories_with_other_readers_or_other_statements_are_never_merged(
    world: World, other: tuple[str, dict[str, Any]]
) -> None:
    content, more = other
    world.remember("The heron sleeps.", session="s1")
    world.remember(content, session="s2", **more)
    assert world.maintenance.preview(MERGE, AS_OPERATOR).alike == ()


def test_many_duplicates_are_merged_two_at_a_time(world: World) -> None:
    for number in range(4):
        world.remember("The heron sleeps.", session=f"s{number}")
    rounds: list[int] = []
    while found := proposed(world):
        rounds.append(len(found))
        for proposal in found:
            decide(world, proposal, Decision.ACCEPTED)
    assert rounds == [1, 1, 1]
    assert len(world.recall("heron").hits) == 1


def test_the_more_reliable_text_stays(world: World) -> None:
    reliable = world.remember("The heron sleeps.", session="s1")
    stored = world.remember("The Heron sleeps!!", session="s2", trust=Trust.WEB)
    (proposal,) = proposed(world)
    decide(world, proposal, Decision.ACCEPTED)
    one = present(world.store, stored).memory
    assert (one.content, one.provenance.trust) == (reliable.content, Trust.AGENT)


def test_forgetting_a_merged_memory_leaves_none_of_its_words(world: World) -> None:
    _, newer = twins(world)
    (proposal,) = proposed(world)
    decide(world, proposal, Decision.ACCEPTED)
    (batch,) = batches_of(world.store)
    world.memory_service.forget(newer.id, AS_ADA)
    assert preimages_of(world.store, batch) == []


def test_proposals_are_limited_to_the_capacity_of_the_inbox(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hivelore.review.proposals.MAX_OPEN", 2)
    for number in range(6):
        world.remember(f"The heron {'abcdef'[number // 2]}.", session=f"s{number}")
    for shown in (2, 0):
        assert len(world.maintenance.preview(MERGE, AS_OPERATOR).alike) == shown
        done = world.maintenance.apply(MERGE, AS_OPERATOR)
        assert (len(done.alike), done.proposed) == (shown, shown)
