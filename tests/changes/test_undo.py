"""Undo: the previous state is restored completely, or an error says why not."""

from datetime import timedelta
from typing import Any

import pytest

from hivelore.changes.journal import ChangeJournal
from hivelore.changes.model import Batch, BatchId, BatchKind
from hivelore.changes.operations import DROP_BATCH, NamedBatch
from hivelore.core.agents import LeadSees, Viewer
from hivelore.core.operation import Call
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Conflict, Forbidden, NotFound, Proposed
from hivelore.feedback.model import UsageCounts
from hivelore.feedback.recalls import Sign
from hivelore.maintenance.model import MaintenancePlan
from hivelore.memories.drafts import Draft, Edit
from hivelore.memories.model import Action, Memory, MemoryId, Scope, Source, Trust
from hivelore.observations.outcomes import Change
from hivelore.review.model import Decision, ProposalKind
from hivelore.storage.ports import Transaction
from support.batches import batches_of, preimages_of
from support.clocks import START
from support.memories import evidence, operational
from support.stores import present
from support.undo_service import known, whole
from support.world import AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR, World

PORT = "The port is 5432."


def newest(world: World) -> Batch:
    return batches_of(world.store)[0]


def undo(world: World, which: str, viewer: Viewer = AS_OPERATOR) -> None:
    world.clock.advance(timedelta(minutes=1))
    world.undo_service.undo(which, viewer, reason="a mistake")


def edited(world: World, memory: Memory, viewer: Viewer = AS_ADA, **edit: Any) -> BatchId:
    world.clock.advance(timedelta(minutes=1))
    world.memory_service.edit(memory.id, Edit(**edit), viewer)
    return newest(world).id


EDITS: dict[str, dict[str, Any]] = {
    "words": {"content": "The port is 6543 now, and the host is heron.", "reason": "moved"},
    "tags": {"tags": ["db", "net"]},
    "metadata": {"metadata": {"a": 1}},
    "place": {"subject": "db.port", "project": "hive"},
    "scope": {"scope": Scope.SWARM},
    "expiry": {"expires_at": START + timedelta(days=400)},
}


@pytest.mark.parametrize("what", EDITS)
def test_an_edit_is_undone_by_its_id(world: World, what: str) -> None:
    memory = world.remember(PORT, tags=("old",), session="s1")
    world.remember("Before that, the heron slept.", session="s1")
    before = known(world)
    batch = edited(world, memory, **EDITS[what])
    assert known(world) != before
    undo(world, batch)
    assert known(world) == before


def test_the_last_change_of_a_memory_is_undone_by_the_id_of_the_memory(world: World) -> None:
    memory = world.remember(PORT)
    edited(world, memory, content="The port is 1.")
    before = known(world)
    edited(world, memory, content="The port is 2.")
    undo(world, memory.id.upper())
    assert known(world) == before
    undo(world, memory.id)
    assert present(world.store, memory).memory.content == PORT
    with pytest.raises(NotFound, match="may have been forgotten"):
        undo(world, memory.id)


def test_search_finds_restored_text_and_not_the_undone_one(world: World) -> None:
    memory = world.remember("The heron sleeps at noon.")
    batch = edited(world, memory, content="The owl sleeps at noon.")
    world.embed()
    undo(world, batch)
    world.embed()
    assert world.found("heron")[:1] == ["The heron sleeps at noon."]
    assert not any("owl" in content for content in world.found("owl"))


def test_unchanged_passages_keep_their_vectors_and_others_wait_for_new_ones(world: World) -> None:
    memory = world.remember(PORT)
    world.embed()
    tagged = edited(world, memory, tags=["a"])
    undo(world, tagged)
    assert world.embedding.pending() == 0
    reworded = edited(world, memory, content="Something else altogether.")
    world.embed()
    undo(world, reworded)
    assert world.embedding.pending() == 1


def test_undo_is_in_the_audit_trail_and_in_the_journal(world: World) -> None:
    memory = world.remember(PORT)
    batch = edited(world, memory, content="The port is 1.")
    done = world.undo_service.undo(batch, AS_LEA if memory.owner is None else AS_OPERATOR, reason="wrong port")
    assert world.audit()[0].action is Action.UNDONE
    assert (world.audit()[0].memory, world.audit()[0].detail) == (memory.id, f"edited: batch {batch}")
    by, taken_back = batches_of(world.store)
    assert (by.id, by.kind, by.undoes, by.reason) == (done.by, BatchKind.UNDONE, batch, "wrong port")
    assert (taken_back.id, taken_back.undone_at) == (batch, world.clock.now())
    assert done.memories == (memory.id,)
    (entry,) = world.reading.history(memory.id, AS_ADA).taken_back
    assert (entry.at, entry.change) == (world.clock.now(), f"edited: batch {batch}")


def test_an_undo_can_be_undone(world: World) -> None:
    memory = world.remember(PORT)
    batch = edited(world, memory, content="The port is 1.")
    after = known(world)
    undo(world, batch)
    with pytest.raises(Conflict, match="already"):
        undo(world, batch)
    undo(world, newest(world).id)
    assert known(world) == after
    assert world.undo_service.detail(batch, AS_OPERATOR).batch.undone_at is None
    undo(world, batch)
    assert present(world.store, memory).memory.content == PORT


def test_a_memory_that_was_changed_since_is_left_alone(world: World) -> None:
    memory = world.remember(PORT)
    first = edited(world, memory, content="The port is 1.")
    second = edited(world, memory, content="The port is 2.")
    before = whole(world)
    with pytest.raises(Conflict, match=f"{memory.id}.*later changes first"):
        undo(world, first)
    assert whole(world) == before
    undo(world, second)
    undo(world, first)
    assert present(world.store, memory).memory.content == PORT


def test_reads_and_feedback_are_no_changes_and_stay(world: World) -> None:
    memory = world.remember(PORT)
    key = present(world.store, memory).key
    batch = edited(world, memory, content="The port is 1.")
    world.store.write(lambda tx: tx.count_reads({key: (3, world.clock.now())}))
    world.store.write(lambda tx: tx.add_evidence({key: [evidence(Sign.CITED)]}))
    undo(world, batch)
    assert present(world.store, memory).memory.access_count == 3
    with world.store.read() as view:
        assert [one.sign for one in view.evidence(key)] == [Sign.CITED]


def test_an_unchanged_upsert_is_no_change_and_blocks_nothing(world: World) -> None:
    draft = Draft(content=PORT, source=Source.FILE_INDEX, source_path="/port.md")
    memory = world.memory_service.remember(draft, AS_ADA).memory
    batch = edited(world, memory, tags=["db"])
    world.clock.advance(timedelta(days=3))
    world.memory_service.remember(draft, AS_ADA)
    assert newest(world).id == batch
    world.clock.advance(timedelta(days=3))
    world.memory_service.renew(memory.id, AS_ADA)
    undo(world, batch)
    assert present(world.store, memory).memory == memory
    undo(world, newest(world).id)
    assert present(world.store, memory).memory.tags == ("db",)


def test_a_reset_of_usefulness_since_stays(world: World) -> None:
    memory = world.remember(PORT)
    world.rating.rate(memory.id, AS_ADA, useful=False, session="s1")
    batch = edited(world, memory, content="The port is 1.")
    world.rating.reset(memory.id, AS_OPERATOR)
    world.rating.rate(memory.id, AS_ADA, useful=True, session="s2")
    undo(world, batch)
    assert world.rating.of(memory.id, AS_ADA).use == UsageCounts(useful=1)


def test_proposals_about_a_text_are_removed_with_it(world: World) -> None:
    memory = world.remember(PORT, trust=Trust.WEB)
    edited(world, memory, AS_ADA, content="The port is 1.")
    with pytest.raises(Proposed):
        world.memory_service.edit(memory.id, Edit(scope=Scope.SWARM), AS_ADA)
    undo(world, memory.id)
    edited(world, memory, AS_ADA, content="The port is what I say.")
    assert world.review_inbox.page(AS_OPERATOR, None, 10).proposals == ()


def test_undoing_a_successor_makes_the_predecessor_valid_again(world: World) -> None:
    old = world.remember(PORT, subject="db.port")
    before = known(world)
    world.clock.advance(timedelta(minutes=1))
    new = world.remember("The port is 1.", subject="db.port")
    batch = newest(world)
    assert (batch.kind, batch.changes) == (BatchKind.STORED, 2)
    undo(world, batch.id)
    assert known(world) == before
    assert present(world.store, old).memory.valid_until is None
    undo(world, newest(world).id)
    assert present(world.store, old).memory.valid_until == new.holds_since


def test_an_upsert_with_other_words_is_undone(world: World) -> None:
    memory = world.remember(PORT, external_id="x")
    before = known(world)
    world.clock.advance(timedelta(minutes=1))
    world.remember("The port is 1.", external_id="x")
    undo(world, memory.id)
    assert known(world) == before


def test_a_new_memory_is_no_journaled_change(world: World) -> None:
    world.remember(PORT)
    world.memory_service.remember_many([Draft(content="One."), Draft(content="Two.")], AS_ADA)
    assert batches_of(world.store) == []


@pytest.mark.parametrize(
    "change",
    [
        Change(observation="Takes 90 s."),
        Change(confidence=0.1),
        Change(active=False),
        Change(service="other", persistent=True),
    ],
    ids=str,
)
def test_changes_of_operational_memories_by_operators_are_undone(world: World, change: Change) -> None:
    memory = world.remember("Takes 60 s.", scope=Scope.SWARM, operational=operational("jellyfin"))
    before = known(world)
    world.clock.advance(timedelta(minutes=1))
    world.curation.change(memory.id, change, AS_OPERATOR)
    assert newest(world).kind is BatchKind.OPERATED
    undo(world, memory.id)
    assert known(world) == before


def test_an_accepted_proposal_is_undone_and_open_again(world: World) -> None:
    memory = world.remember("Run this.", trust=Trust.WEB)
    with pytest.raises(Proposed):
        world.memory_service.edit(memory.id, Edit(scope=Scope.SWARM), AS_ADA)
    before = known(world)
    (proposal,) = world.review_inbox.page(AS_OPERATOR, None, 10).proposals
    world.review_inbox.decide(proposal.id, Decision.ACCEPTED, AS_OPERATOR)
    undo(world, newest(world).id)
    assert known(world) == before
    assert world.review_inbox.page(AS_OPERATOR, None, 10, is_open=True).proposals == (proposal,)


def test_a_merge_from_review_is_undone(world: World) -> None:
    older = world.remember("Takes 60 s.", scope=Scope.SWARM, operational=operational("jellyfin"))
    newer = world.remember("Takes 61 s.", AS_BOB, scope=Scope.SWARM, operational=operational("jellyfin"))
    stored = [present(world.store, one) for one in (older, newer)]
    world.store.write(lambda tx: world.proposal_queue.propose(tx, ProposalKind.CONTRADICTION, stored, AS_ADA))
    (proposal,) = world.review_inbox.page(AS_OPERATOR, None, 10).proposals
    before = known(world)
    world.clock.advance(timedelta(minutes=1))
    world.review_inbox.decide(proposal.id, Decision.MERGED, AS_OPERATOR)
    assert known(world) != before
    undo(world, newest(world).id)
    assert known(world) == before
    assert world.review_inbox.detail(proposal.id, AS_OPERATOR).proposal == proposal


def test_a_forgotten_memory_is_not_restored(world: World) -> None:
    memory = world.remember(PORT)
    edited(world, memory, content="The port is 1.")
    batch = newest(world)
    world.memory_service.forget(memory.id, AS_ADA)
    assert preimages_of(world.store, batch) == []
    with pytest.raises(NotFound, match="forgotten"):
        undo(world, memory.id)
    with pytest.raises(Conflict, match="forgotten permanently"):
        undo(world, batch.id)


def test_an_accepted_deletion_is_final(world: World) -> None:
    memory = world.remember("Takes 60 s.", scope=Scope.SWARM, operational=operational("jellyfin"))
    world.curation.change(memory.id, Change(confidence=0.2), AS_OPERATOR)
    with pytest.raises(Proposed):
        world.memory_service.forget(memory.id, AS_ADA)
    (proposal,) = world.review_inbox.page(AS_OPERATOR, None, 10).proposals
    world.review_inbox.decide(proposal.id, Decision.ACCEPTED, AS_OPERATOR)
    assert [preimages_of(world.store, one) for one in batches_of(world.store)] == [[]]


def test_a_taken_key_is_a_conflict_and_nothing_changes(world: World) -> None:
    memory = world.remember(PORT, source_path="/a")
    batch = edited(world, memory, source_path="/b")
    world.remember("Another.", source_path="/a")
    before = whole(world)
    with pytest.raises(Conflict):
        undo(world, batch)
    assert whole(world) == before


@pytest.mark.parametrize("which", ["", "nonsense", "0" * 36, "m9999", "\u0000", "ä" * 10_000, "b0001'--"])
def test_an_unknown_id_is_not_found(world: World, which: str) -> None:
    with pytest.raises(NotFound, match="No change"):
        world.undo_service.undo(which, AS_OPERATOR)


# who may


def test_workers_neither_see_nor_undo_changes(world: World) -> None:
    memory = world.remember(PORT)
    batch = edited(world, memory, content="The port is 1.")
    for look in (
        lambda: world.undo_service.page(AS_ADA, None, 10),
        lambda: world.undo_service.detail(batch, AS_ADA),
        lambda: world.undo_service.undo(batch, AS_ADA),
        lambda: world.undo_service.undo(memory.id, AS_ADA),
        lambda: world.undo_service.drop(batch, AS_ADA),
    ):
        with pytest.raises(Forbidden):
            look()


def test_leads_undo_changes_of_shared_memories(world: World) -> None:
    shared = world.remember(PORT, scope=Scope.SWARM)
    running = world.remember("Takes 60 s.", scope=Scope.SWARM, operational=operational("jellyfin"))
    private = world.remember("Mine.")
    allowed = edited(world, shared, content="The port is 1.")
    refused = edited(world, private, content="Not mine.")
    world.curation.change(running.id, Change(confidence=0.2), AS_OPERATOR)
    for one in (refused, newest(world).id):
        with pytest.raises(Forbidden, match="only an operator"):
            undo(world, one, AS_LEA)
    undo(world, allowed, AS_LEA)
    assert present(world.store, shared).memory.content == PORT
    with pytest.raises(Forbidden, match="Only an operator"):
        DROP_BATCH.run(world, NamedBatch(batch=allowed), Call(viewer=AS_LEA))


def test_leads_without_access_to_private_memories_do_not_see_changes_of_them(world: World) -> None:
    private, shared = world.remember("Mine."), world.remember(PORT, scope=Scope.SWARM)
    batch, other = edited(world, private, content="Still mine."), edited(world, shared, tags=["a"])
    world.undo_service._lead_sees = LeadSees.SHARED
    assert [one.id for one in world.undo_service.page(AS_LEA, None, 10).batches] == [other]
    for look in (
        lambda: world.undo_service.detail(batch, AS_LEA),
        lambda: world.undo_service.undo(batch, AS_LEA),
        lambda: world.undo_service.undo(private.id, AS_LEA),
    ):
        with pytest.raises(NotFound):
            look()


# looking


def test_changes_are_listed_newest_first_and_by_memory(world: World) -> None:
    one, other = world.remember("One."), world.remember("Other.")
    first, second, third = (edited(world, which, tags=[tag]) for which, tag in ((one, "a"), (other, "b"), (one, "c")))
    page = world.undo_service.page(AS_OPERATOR, None, 2)
    assert [each.id for each in page.batches] == [third, second]
    assert page.next is not None
    assert page.next.endswith(second)
    assert [each.id for each in world.undo_service.page(AS_OPERATOR, None, 9, memory=one.id).batches] == [third, first]
    (touched,) = world.undo_service.detail(first, AS_OPERATOR).memories
    assert (touched.id, touched.name) == (one.id, "One.")


def test_an_operator_drops_previous_states(world: World) -> None:
    memory = world.remember(PORT)
    batch = edited(world, memory, content="The port is 1.")
    world.undo_service.drop(batch, AS_OPERATOR)
    assert batches_of(world.store) == []
    with pytest.raises(NotFound):
        undo(world, memory.id)
    with pytest.raises(NotFound):
        world.undo_service.drop(batch, AS_OPERATOR)


def test_with_retention_off_no_previous_state_is_kept(world: World) -> None:
    memory = world.remember(PORT)
    world.memory_service._journal = ChangeJournal(world.store, world.clock, lambda _: BatchId("b"), timedelta())
    world.memory_service.edit(memory.id, Edit(content="The port is 1."), AS_ADA)
    assert batches_of(world.store) == []
    with pytest.raises(NotFound):
        undo(world, MemoryId(memory.id))


def texts_kept(world: World) -> str:
    """All words of what memories were, and of why they were changed."""
    return "".join(f"{batch}{preimages_of(world.store, batch)}" for batch in batches_of(world.store))


def test_a_forgotten_memory_is_in_no_batch_although_it_was_merged_and_separated(world: World) -> None:
    older = world.remember("The zanzibar port is 5432.", scope=Scope.SWARM)
    newer = world.remember("the Zanzibar  port is 5432.", scope=Scope.SWARM)
    world.maintenance.apply(MaintenancePlan(merge=True), AS_OPERATOR)
    (proposal,) = world.review_inbox.page(AS_OPERATOR, None, 9).proposals
    world.review_inbox.decide(proposal.id, Decision.ACCEPTED, AS_OPERATOR, reason="zanzibar twice")
    undo(world, edited(world, newer, AS_OPERATOR, content="Zanzibar moved."))
    (decided,) = [one for one in batches_of(world.store) if one.kind is BatchKind.DECIDED]
    undo(world, decided.id)
    assert "zanzibar" in texts_kept(world).lower()
    world.memory_service.forget(older.id, AS_OPERATOR)
    assert "zanzibar" not in texts_kept(world).lower()


def test_the_reason_of_a_change_is_forgotten_with_it(world: World) -> None:
    memory = world.remember(PORT)
    edited(world, memory, content="The port is 1.", reason="because of zanzibar")
    world.memory_service.forget(memory.id, AS_ADA)
    assert "zanzibar" not in texts_kept(world)
    assert len(batches_of(world.store)) == 1


def test_a_lead_does_not_read_text_that_became_private_in_a_visible_batch(world: World) -> None:
    shared = world.remember("The db port is 1.", scope=Scope.SWARM, subject="db.port")
    drafts = [
        Draft(content="The db port is 2.", scope=Scope.SWARM, subject="db.port"),
        Draft(content="The heron sleeps.", scope=Scope.SWARM),
    ]
    world.clock.advance(timedelta(minutes=1))
    _, note = world.memory_service.remember_many(drafts, AS_ADA)
    entry = newest(world)
    assert (entry.kind, entry.is_private) == (BatchKind.STORED, False)
    edited(world, note.memory, scope=Scope.AGENT, name="My own affairs")
    narrow = World(world.store, world.keywords, world.clock, lead_sees=LeadSees.SHARED, first_id=8_000)
    names = {one.id: one.name for one in narrow.undo_service.detail(entry.id, AS_LEA).memories}
    assert (names[note.memory.id], bool(names[shared.id])) == ("", True)


def test_undo_cannot_share_what_must_be_reviewed(world: World) -> None:
    memory = world.remember("From the web.", AS_LEA, trust=Trust.WEB)
    world.memory_service.edit(memory.id, Edit(scope=Scope.SWARM), AS_OPERATOR)
    private = edited(world, memory, AS_OPERATOR, scope=Scope.AGENT)
    with pytest.raises(Forbidden, match="only an operator"):
        undo(world, private, AS_LEA)
    undo(world, private)
    assert present(world.store, memory).memory.scope is Scope.SWARM


def test_a_batch_changed_by_somebody_between_two_transactions_is_not_undone(world: World) -> None:
    memory, batch = world.remember("one"), BatchId("many")
    key = present(world.store, memory).key

    def change(content: str) -> None:
        def work(tx: Transaction) -> None:
            stored = tx.get(memory.id)
            assert stored is not None
            after = replace(stored.memory, content=Clean(content), version=stored.memory.version + 1)
            world.journal.record(
                tx, BatchKind.PURGED, AS_OPERATOR, lambda: tx.change(key, after, None, Action.EDITED), batch=batch
            )

        world.store.write(work)

    change("two")
    edited(world, memory, content="by Ada")
    change("three")
    with pytest.raises(Conflict, match="Changed since"):
        undo(world, batch)
    assert present(world.store, memory).memory.content == "three"
