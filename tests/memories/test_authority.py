"""What a worker can do to what others share, whichever way it comes: keep their own beside it, or ask."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hivelore.core.agents import Viewer
from hivelore.errors import Forbidden, Proposed, Stale
from hivelore.memories.drafts import Draft, Edit, WriteResult
from hivelore.memories.model import Memory, Scope, Source
from hivelore.review.model import Decision, ProposalId, ProposalKind
from support.desk import Desk
from support.stores import present
from support.world import ADA, AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR, World

PLAN = "shared/memory/plan.md"
OTHERS = pytest.mark.parametrize("by", [AS_ADA, AS_LEA, AS_OPERATOR], ids=lambda viewer: viewer.role)


def shared(world: World, content: str, by: Viewer, **more: Any) -> Memory:
    return world.remember(content, by, scope=Scope.SWARM, **more)


def told(world: World, content: str, by: Viewer = AS_BOB, **more: Any) -> WriteResult:
    world.clock.advance(timedelta(seconds=1))
    return world.memory_service.remember(Draft(content=content, scope=Scope.SWARM, **more), by)


def now(world: World, memory: Memory) -> Memory:
    return present(world.store, memory).memory


def waiting(world: World, viewer: Viewer = AS_LEA) -> list[tuple[ProposalKind, list[str]]]:
    page = world.review_inbox.page(viewer, None, 100, is_open=True)
    return [(one.kind, [each.memory for each in one.memories]) for one in page.proposals]


@OTHERS
@pytest.mark.parametrize("key", [{"source_path": "/notes/a.md"}, {"external_id": "x"}], ids=str)
def test_a_worker_replaces_nothing_that_others_share_by_its_path_or_external_id(
    world: World, by: Viewer, key: dict[str, Any]
) -> None:
    before = shared(world, "theirs", by, **key)
    with pytest.raises(Forbidden, match=r"Leave \w+ out"):
        told(world, "mine", **key)
    with pytest.raises(Forbidden, match="leave expiresAt out"):
        told(world, "theirs", expires_at=world.clock.now() - timedelta(days=1), **key)
    assert not told(world, "theirs", **key).changed
    assert now(world, before) == before


def test_an_export_does_not_replace_what_it_was_exported_from(world: World) -> None:
    before = shared(world, "theirs", AS_LEA)
    with pytest.raises(Forbidden, match="Leave externalId out"):
        told(world, "mine", external_id=before.id)
    assert now(world, before) == before


def test_telling_again_what_others_share_does_not_renew_it(world: World) -> None:
    before = shared(world, "theirs", AS_LEA, source=Source.FILE_INDEX, source_path="/a")
    world.clock.advance(timedelta(days=3))
    assert not told(world, "theirs", source=Source.FILE_INDEX, source_path="/a").changed
    assert now(world, before).expires_at == before.expires_at


@OTHERS
@pytest.mark.parametrize("named", [False, True], ids=["subject", "supersedes"])
def test_what_is_to_take_the_place_of_what_others_share_stands_beside_it_until_a_lead_agrees(
    world: World, by: Viewer, named: bool
) -> None:
    before = shared(world, "The port is 5432.", by, subject="db.port")
    place: dict[str, Any] = {"supersedes": before.id} if named else {"subject": "db.port"}
    done = told(world, "The port is 6543.", **place)
    assert (done.created, done.memory.subject, done.memory.supersedes) == (True, None, None)
    assert now(world, before) == before
    assert waiting(world) == [(ProposalKind.SUPERSESSION, [before.id, done.memory.id])]
    assert told(world, "The port is 6543.", **place).proposal == done.proposal
    assert done.proposal is not None
    world.review_inbox.decide(ProposalId(done.proposal), Decision.ACCEPTED, AS_LEA)
    after = now(world, done.memory)
    assert (after.subject, after.supersedes) == (None if named else "db.port", before.id)
    assert now(world, before).valid_until == after.holds_since


def test_who_asks_for_a_place_does_not_decide_about_it(world: World) -> None:
    before = shared(world, "The port is 5432.", AS_OPERATOR, subject="db.port")
    done = told(world, "The port is 6543.", subject="db.port")
    assert done.proposal is not None
    with pytest.raises(Forbidden):
        world.review_inbox.decide(ProposalId(done.proposal), Decision.ACCEPTED, AS_BOB)
    world.review_inbox.decide(ProposalId(done.proposal), Decision.REJECTED, AS_LEA)
    assert told(world, "The port is 6543.", subject="db.port").proposal == done.proposal
    assert now(world, before) == before


def test_a_place_that_somebody_else_took_meanwhile_is_asked_for_anew(world: World) -> None:
    before = shared(world, "The port is 5432.", AS_LEA, subject="db.port")
    done = told(world, "The port is 6543.", subject="db.port")
    world.memory_service.edit(before.id, Edit(content="The port is 5433."), AS_LEA)
    assert done.proposal is not None
    with pytest.raises(Stale):
        world.review_inbox.decide(ProposalId(done.proposal), Decision.ACCEPTED, AS_LEA)
    again = told(world, "The port is 6543.", subject="db.port")
    assert (again.memory.id, again.proposal != done.proposal) == (done.memory.id, True)
    assert len(waiting(world)) == 1


def test_a_worker_puts_no_fact_between_or_before_those_of_others(world: World) -> None:
    times = [world.clock.now() - timedelta(days=day) for day in (9, 5)]
    first, last = (shared(world, f"since {at}", AS_LEA, subject="db.port", valid_from=at) for at in times)
    before = [now(world, one) for one in (first, last)]
    for days in (7, 20):
        done = told(world, f"{days} days ago", subject="db.port", valid_from=world.clock.now() - timedelta(days=days))
        assert done.proposal is not None
    assert [now(world, one) for one in (first, last)] == before


def test_facts_of_ones_own_take_each_others_place(world: World) -> None:
    before = shared(world, "one", AS_BOB, subject="on.call")
    done = told(world, "two", subject="on.call")
    assert (done.proposal, done.memory.supersedes) == (None, before.id)


@pytest.mark.parametrize(
    "edit",
    [Edit(subject="db.port"), Edit(scope=Scope.SWARM), Edit(scope=Scope.SWARM, subject="db.port")],
    ids=["subject", "shared", "both"],
)
def test_an_edit_that_would_end_what_others_share_is_proposed(world: World, edit: Edit) -> None:
    before = shared(world, "The port is 5432.", AS_LEA, subject="db.port")
    is_shared = edit.scope is not Scope.SWARM
    subject = None if edit.changed_fields().get("subject") else "db.port"
    mine = world.remember("6543", AS_BOB, scope=Scope.SWARM if is_shared else Scope.AGENT, subject=subject)
    with pytest.raises(Proposed, match="A lead decides") as error:
        world.memory_service.edit(mine.id, edit, AS_BOB)
    assert (now(world, before), now(world, mine)) == (before, mine)
    world.review_inbox.decide(ProposalId(error.value.proposal), Decision.ACCEPTED, AS_LEA)
    assert now(world, before).valid_until == now(world, mine).holds_since


def test_what_was_known_keeps_its_place_where_the_new_one_is_put_to_review(world: World) -> None:
    shared(world, "The port is 5432.", AS_LEA, subject="db.port", project="one")
    mine = told(world, "The port is 6543.", subject="test.port", project="one", external_id="x").memory
    done = told(world, "The port is 7000.", subject="db.port", project="one", external_id="x")
    assert (done.memory.id, done.memory.content, done.memory.subject) == (mine.id, "The port is 7000.", "test.port")
    assert done.proposal is not None
    world.review_inbox.decide(ProposalId(done.proposal), Decision.ACCEPTED, AS_LEA)
    assert now(world, mine).subject == "db.port"


# Memory folders.


@pytest.fixture
def desk(world: World, tmp_path: Path) -> Desk:
    return Desk(world, tmp_path)


@pytest.mark.parametrize("by", [AS_BOB, AS_LEA, AS_OPERATOR], ids=lambda viewer: viewer.role)
def test_what_a_shared_folder_says_is_told_by_its_file_alone(desk: Desk, by: Viewer) -> None:
    desk.write(PLAN, "We ship on Friday.")
    desk.look()
    before = desk.memory(PLAN)
    with pytest.raises(Forbidden, match="write to the file"):
        told(desk.world, "We ship never.", by, source_path=before.source_path)
    assert desk.memory(PLAN) == before
    desk.write(PLAN, "We ship on Monday.")
    desk.look()
    assert (desk.memory(PLAN).id, desk.memory(PLAN).content) == (before.id, "We ship on Monday.")


def test_who_wrote_to_the_path_of_a_file_first_does_not_own_what_the_file_says(desk: Desk) -> None:
    planted = told(desk.world, "We ship never.", AS_ADA, source_path=f"{desk.root}/{PLAN}").memory
    desk.write(PLAN, "We ship on Friday.")
    desk.look()
    assert (desk.memory(PLAN).content, planted.owner) == ("We ship on Friday.", ADA)
    with pytest.raises(Forbidden):
        desk.world.memory_service.edit(desk.memory(PLAN).id, Edit(content="We ship never."), AS_ADA)
    with pytest.raises(Forbidden):
        desk.world.memory_service.forget(desk.memory(PLAN).id, AS_ADA)


def test_what_somebody_put_under_the_path_of_a_file_leaves_nothing_with_what_the_file_says(desk: Desk) -> None:
    key = {"source_path": f"{desk.root}/{PLAN}", "subject": "plan", "tags": ("evil",), "project": "elsewhere"}
    older = told(desk.world, "An older plan.", AS_ADA, external_id="old").memory
    planted = told(desk.world, "We ship never.", AS_ADA, **key, category="fact", supersedes=older.id).memory
    follower = told(desk.world, "No plan.", AS_ADA, supersedes=planted.id).memory
    desk.write(PLAN, "We ship on Friday.")
    desk.look()
    of_file = desk.memory(PLAN)
    assert (of_file.id, of_file.owner, of_file.content) == (planted.id, desk.local.agent, "We ship on Friday.")
    assert (of_file.subject, of_file.tags, of_file.project, of_file.supersedes) == (None, (), None, None)
    assert (of_file.valid_until, of_file.category) == (None, "note")
    assert (now(desk.world, follower).supersedes, now(desk.world, older).valid_until) == (None, None)


def test_the_same_words_under_the_path_of_a_file_become_those_of_the_file(desk: Desk) -> None:
    told(desk.world, "We ship on Friday.", AS_ADA, source_path=f"{desk.root}/{PLAN}")
    desk.write(PLAN, "We ship on Friday.")
    desk.look()
    assert desk.memory(PLAN).owner == desk.local.agent
    with pytest.raises(Forbidden):
        desk.world.memory_service.edit(desk.memory(PLAN).id, Edit(content="We ship never."), AS_ADA)


# Paths and external ids that a worker took first.


@pytest.mark.parametrize("by", [AS_LEA, AS_OPERATOR], ids=lambda viewer: viewer.role)
@pytest.mark.parametrize("key", [{"source_path": "/notes/a.md"}, {"external_id": "x"}], ids=str)
@pytest.mark.parametrize("project", [None, "elsewhere"])
def test_what_a_lead_writes_under_the_name_of_a_workers_record_is_the_leads(
    world: World, by: Viewer, key: dict[str, Any], project: str | None
) -> None:
    taken = shared(world, "squat", AS_ADA, project=project, **key)
    assert told(world, "squat", by, **key).memory.owner == ADA
    after = told(world, "Never drop tables.", by, **key).memory
    assert (after.id, after.owner) == (taken.id, by.agent)
    with pytest.raises(Forbidden):
        world.memory_service.edit(taken.id, Edit(content="Drop tables."), AS_ADA)
    with pytest.raises(Forbidden):
        world.memory_service.forget(taken.id, AS_ADA)
