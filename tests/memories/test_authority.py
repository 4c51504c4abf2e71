"""Authority over shared memories of others: a worker stores a separate memory or a proposal."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hivelore.core.agents import Viewer
from hivelore.core.values import replace
from hivelore.errors import Forbidden, Proposed, Stale
from hivelore.memories.drafts import Draft, Edit, WriteResult
from hivelore.memories.model import Memory, MemoryId, Scope, Source
from hivelore.review.model import Decision, ProposalId, ProposalKind, Wanted
from support.desk import Desk
from support.stores import present
from support.world import ADA, AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR, World

PLAN = "shared/memory/plan.md"
OTHERS = pytest.mark.parametrize("by", [AS_ADA, AS_LEA, AS_OPERATOR], ids=lambda viewer: viewer.role)


def shared(world: World, content: str, by: Viewer, **more: Any) -> Memory:
    return world.remember(content, by, scope=Scope.SWARM, **more)


def store_shared(world: World, content: str, by: Viewer = AS_BOB, **more: Any) -> WriteResult:
    world.clock.advance(timedelta(seconds=1))
    return world.memory_service.remember(Draft(content=content, scope=Scope.SWARM, **more), by)


def now(world: World, memory: Memory) -> Memory:
    return present(world.store, memory).memory


def waiting(world: World, viewer: Viewer = AS_LEA) -> list[tuple[ProposalKind, list[str]]]:
    page = world.review_inbox.page(viewer, None, 100, is_open=True)
    return [(one.kind, [each.memory for each in one.memories]) for one in page.proposals]


def take_ids(world: World, *ids: str) -> None:
    """Gives the next memories these ids."""
    left = iter(ids)

    def next_id(_: datetime) -> MemoryId:
        return MemoryId(next(left))

    world.ids = replace(world.ids, memory=next_id)


@OTHERS
@pytest.mark.parametrize("key", [{"source_path": "/notes/a.md"}, {"external_id": "x"}], ids=str)
def test_a_worker_cannot_replace_shared_memories_of_others_by_path_or_external_id(
    world: World, by: Viewer, key: dict[str, Any]
) -> None:
    before = shared(world, "theirs", by, **key)
    with pytest.raises(Forbidden, match=r"Leave \w+ out"):
        store_shared(world, "mine", **key)
    with pytest.raises(Forbidden, match="leave expiresAt out"):
        store_shared(world, "theirs", expires_at=world.clock.now() - timedelta(days=1), **key)
    assert not store_shared(world, "theirs", **key).changed
    assert now(world, before) == before


def test_an_imported_export_does_not_replace_its_original(world: World) -> None:
    before = shared(world, "theirs", AS_LEA)
    with pytest.raises(Forbidden, match="Leave externalId out"):
        store_shared(world, "mine", external_id=before.id)
    assert now(world, before) == before


def test_storing_a_shared_memory_of_others_again_does_not_renew_it(world: World) -> None:
    before = shared(world, "theirs", AS_LEA, source=Source.FILE_INDEX, source_path="/a")
    world.clock.advance(timedelta(days=3))
    assert not store_shared(world, "theirs", source=Source.FILE_INDEX, source_path="/a").changed
    assert now(world, before).expires_at == before.expires_at


@OTHERS
@pytest.mark.parametrize("named", [False, True], ids=["subject", "supersedes"])
def test_superseding_a_shared_memory_of_others_waits_for_a_lead(world: World, by: Viewer, named: bool) -> None:
    before = shared(world, "The port is 5432.", by, subject="db.port")
    place: dict[str, Any] = {"supersedes": before.id} if named else {"subject": "db.port"}
    done = store_shared(world, "The port is 6543.", **place)
    assert (done.created, done.memory.subject, done.memory.supersedes) == (True, None, None)
    assert now(world, before) == before
    assert waiting(world) == [(ProposalKind.SUPERSESSION, [before.id, done.memory.id])]
    assert store_shared(world, "The port is 6543.", **place).proposal == done.proposal
    assert done.proposal is not None
    world.review_inbox.decide(ProposalId(done.proposal), Decision.ACCEPTED, AS_LEA)
    after = now(world, done.memory)
    assert (after.subject, after.supersedes) == (None if named else "db.port", before.id)
    assert now(world, before).valid_until == after.holds_since


def test_a_worker_cannot_accept_their_own_supersession(world: World) -> None:
    before = shared(world, "The port is 5432.", AS_OPERATOR, subject="db.port")
    done = store_shared(world, "The port is 6543.", subject="db.port")
    assert done.proposal is not None
    with pytest.raises(Forbidden):
        world.review_inbox.decide(ProposalId(done.proposal), Decision.ACCEPTED, AS_BOB)
    world.review_inbox.decide(ProposalId(done.proposal), Decision.REJECTED, AS_LEA)
    assert store_shared(world, "The port is 6543.", subject="db.port").proposal == done.proposal
    assert now(world, before) == before


def test_a_stale_supersession_is_proposed_again(world: World) -> None:
    before = shared(world, "The port is 5432.", AS_LEA, subject="db.port")
    done = store_shared(world, "The port is 6543.", subject="db.port")
    world.memory_service.edit(before.id, Edit(content="The port is 5433."), AS_LEA)
    assert done.proposal is not None
    with pytest.raises(Stale):
        world.review_inbox.decide(ProposalId(done.proposal), Decision.ACCEPTED, AS_LEA)
    again = store_shared(world, "The port is 6543.", subject="db.port")
    assert (again.memory.id, again.proposal != done.proposal) == (done.memory.id, True)
    assert len(waiting(world)) == 1


def test_a_worker_cannot_insert_facts_between_or_before_shared_facts_of_others(world: World) -> None:
    times = [world.clock.now() - timedelta(days=day) for day in (9, 5)]
    first, last = (shared(world, f"since {at}", AS_LEA, subject="db.port", valid_from=at) for at in times)
    before = [now(world, one) for one in (first, last)]
    for days in (7, 20):
        done = store_shared(
            world, f"{days} days ago", subject="db.port", valid_from=world.clock.now() - timedelta(days=days)
        )
        assert done.proposal is not None
    assert [now(world, one) for one in (first, last)] == before


def test_facts_of_one_agent_supersede_each_other(world: World) -> None:
    before = shared(world, "one", AS_BOB, subject="on.call")
    done = store_shared(world, "two", subject="on.call")
    assert (done.proposal, done.memory.supersedes) == (None, before.id)


@pytest.mark.parametrize(
    "edit",
    [Edit(subject="db.port"), Edit(scope=Scope.SWARM), Edit(scope=Scope.SWARM, subject="db.port")],
    ids=["subject", "shared", "both"],
)
def test_an_edit_that_would_supersede_shared_memories_of_others_is_proposed(world: World, edit: Edit) -> None:
    before = shared(world, "The port is 5432.", AS_LEA, subject="db.port")
    is_shared = edit.scope is not Scope.SWARM
    subject = None if edit.changed_fields().get("subject") else "db.port"
    mine = world.remember("6543", AS_BOB, scope=Scope.SWARM if is_shared else Scope.AGENT, subject=subject)
    with pytest.raises(Proposed, match="A lead decides") as error:
        world.memory_service.edit(mine.id, edit, AS_BOB)
    assert (now(world, before), now(world, mine)) == (before, mine)
    world.review_inbox.decide(ProposalId(error.value.proposal), Decision.ACCEPTED, AS_LEA)
    assert now(world, before).valid_until == now(world, mine).holds_since


def test_a_proposed_edit_supersedes_the_memory_that_its_proposer_meant(world: World) -> None:
    take_ids(world, "0190aaaa-0001", "0190aaaa-2000", "0190aaaa-0002")
    meant = shared(world, "The port is 5432.", AS_LEA)
    mine = shared(world, "The port is 6543.", AS_BOB)
    with pytest.raises(Proposed) as error:
        world.memory_service.edit(mine.id, Edit(supersedes=meant.id.upper()[:-3]), AS_BOB)
    shared(world, "The port is closed.", AS_LEA)
    (known,) = world.review_inbox.page(AS_LEA, None, 1).proposals
    assert known.wanted == Wanted(edit=Edit(supersedes=meant.id))
    world.review_inbox.decide(ProposalId(error.value.proposal), Decision.ACCEPTED, AS_LEA)
    assert now(world, mine).supersedes == meant.id


def test_an_edit_that_names_the_superseded_memory_again_by_its_beginning_changes_nothing(world: World) -> None:
    take_ids(world, "0190aaaa-1", "0190bbbb-2")
    old = shared(world, "The port is 5432.", AS_LEA)
    new = shared(world, "The port is 6543.", AS_LEA, supersedes=old.id)
    assert world.memory_service.edit(new.id, Edit(supersedes=old.id[:8]), AS_LEA) == now(world, new)
    assert now(world, new) == new


def test_a_memory_keeps_its_subject_while_the_new_one_is_under_review(world: World) -> None:
    shared(world, "The port is 5432.", AS_LEA, subject="db.port", project="one")
    mine = store_shared(world, "The port is 6543.", subject="test.port", project="one", external_id="x").memory
    done = store_shared(world, "The port is 7000.", subject="db.port", project="one", external_id="x")
    assert (done.memory.id, done.memory.content, done.memory.subject) == (mine.id, "The port is 7000.", "test.port")
    assert done.proposal is not None
    world.review_inbox.decide(ProposalId(done.proposal), Decision.ACCEPTED, AS_LEA)
    assert now(world, mine).subject == "db.port"


# Memory folders.


@pytest.fixture
def desk(world: World, tmp_path: Path) -> Desk:
    return Desk(world, tmp_path)


@pytest.mark.parametrize("by", [AS_BOB, AS_LEA, AS_OPERATOR], ids=lambda viewer: viewer.role)
def test_a_memory_of_a_shared_folder_changes_only_through_its_file(desk: Desk, by: Viewer) -> None:
    desk.write(PLAN, "We ship on Friday.")
    desk.look()
    before = desk.memory(PLAN)
    with pytest.raises(Forbidden, match="write to the file"):
        store_shared(desk.world, "We ship never.", by, source_path=before.source_path)
    assert desk.memory(PLAN) == before
    desk.write(PLAN, "We ship on Monday.")
    desk.look()
    assert (desk.memory(PLAN).id, desk.memory(PLAN).content) == (before.id, "We ship on Monday.")


def test_an_earlier_memory_under_the_path_of_a_file_gives_no_ownership(desk: Desk) -> None:
    planted = store_shared(desk.world, "We ship never.", AS_ADA, source_path=f"{desk.root}/{PLAN}").memory
    desk.write(PLAN, "We ship on Friday.")
    desk.look()
    assert (desk.memory(PLAN).content, planted.owner) == ("We ship on Friday.", ADA)
    with pytest.raises(Forbidden):
        desk.world.memory_service.edit(desk.memory(PLAN).id, Edit(content="We ship never."), AS_ADA)
    with pytest.raises(Forbidden):
        desk.world.memory_service.forget(desk.memory(PLAN).id, AS_ADA)


def test_a_file_replaces_all_fields_of_an_earlier_memory_under_its_path(desk: Desk) -> None:
    key = {"source_path": f"{desk.root}/{PLAN}", "subject": "plan", "tags": ("evil",), "project": "elsewhere"}
    older = store_shared(desk.world, "An older plan.", AS_ADA, external_id="old").memory
    planted = store_shared(desk.world, "We ship never.", AS_ADA, **key, category="fact", supersedes=older.id).memory
    follower = store_shared(desk.world, "No plan.", AS_ADA, supersedes=planted.id).memory
    desk.write(PLAN, "We ship on Friday.")
    desk.look()
    of_file = desk.memory(PLAN)
    assert (of_file.id, of_file.owner, of_file.content) == (planted.id, desk.local.agent, "We ship on Friday.")
    assert (of_file.subject, of_file.tags, of_file.project, of_file.supersedes) == (None, (), None, None)
    assert (of_file.valid_until, of_file.category) == (None, "note")
    assert (now(desk.world, follower).supersedes, now(desk.world, older).valid_until) == (None, None)


def test_an_equal_text_under_the_path_of_a_file_becomes_owned_by_the_folder(desk: Desk) -> None:
    store_shared(desk.world, "We ship on Friday.", AS_ADA, source_path=f"{desk.root}/{PLAN}")
    desk.write(PLAN, "We ship on Friday.")
    desk.look()
    assert desk.memory(PLAN).owner == desk.local.agent
    with pytest.raises(Forbidden):
        desk.world.memory_service.edit(desk.memory(PLAN).id, Edit(content="We ship never."), AS_ADA)


# Paths and external ids that a worker took first.


@pytest.mark.parametrize("by", [AS_LEA, AS_OPERATOR], ids=lambda viewer: viewer.role)
@pytest.mark.parametrize("key", [{"source_path": "/notes/a.md"}, {"external_id": "x"}], ids=str)
@pytest.mark.parametrize("project", [None, "elsewhere"])
def test_a_lead_who_replaces_a_record_of_a_worker_owns_it(
    world: World, by: Viewer, key: dict[str, Any], project: str | None
) -> None:
    taken = shared(world, "squat", AS_ADA, project=project, **key)
    assert store_shared(world, "squat", by, **key).memory.owner == ADA
    after = store_shared(world, "Never drop tables.", by, **key).memory
    assert (after.id, after.owner) == (taken.id, by.agent)
    with pytest.raises(Forbidden):
        world.memory_service.edit(taken.id, Edit(content="Drop tables."), AS_ADA)
    with pytest.raises(Forbidden):
        world.memory_service.forget(taken.id, AS_ADA)
