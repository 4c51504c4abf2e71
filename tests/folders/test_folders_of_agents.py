"""Memory folders: whose memory a file is, and what becomes of it when it changes hands."""

from datetime import timedelta
from pathlib import Path

import pytest

from hivelore.folders.sync import RETRY_AFTER
from hivelore.memories.drafts import Draft
from hivelore.memories.model import Scope, Source
from support.desk import Desk
from support.world import AS_ADA, AS_BOB, World

NOTE = "personal/memory/auth-header-fix.md"
PLAN = "shared/memory/plan.md"
TEXT = "The API wants a Bearer prefix on every header."


@pytest.fixture
def desk(world: World, tmp_path: Path) -> Desk:
    return Desk(world, tmp_path / "workspace")


def test_moving_a_file_to_the_shared_folder_shares_its_memory_and_back(desk: Desk) -> None:
    file = desk.write(NOTE, TEXT)
    desk.look()
    before = desk.memory(NOTE, "mine")
    shared = file.rename(desk.root / "shared/memory/auth.md")
    desk.look()
    now = desk.memory("shared/memory/auth.md")
    assert (now.id, now.scope, now.owner, now.name) == (before.id, Scope.SWARM, before.owner, "auth")
    shared.rename(file)
    desk.look()
    assert desk.memory(NOTE, "mine").scope is Scope.AGENT
    assert len(desk.all()) == 1


def test_a_shared_file_that_only_says_the_same_as_a_private_one_that_went_does_not_share_its_history(
    desk: Desk,
) -> None:
    file = desk.write(NOTE, "First thoughts, for nobody else.")
    desk.look()
    desk.write(NOTE, TEXT)
    desk.look()
    desk.write("shared/memory/auth.md", TEXT)
    file.unlink()
    desk.look()
    assert desk.live() == [TEXT]
    assert desk.memory("shared/memory/auth.md").version == 1
    assert desk.memory(NOTE, "mine").scope is Scope.AGENT


def test_a_file_of_an_agent_is_for_that_agent_only(desk: Desk) -> None:
    desk.write("agents/bob/memory/mine.md", "Bob likes tabs.")
    desk.look()
    assert desk.world.found("who likes tabs", AS_BOB) == ["Bob likes tabs."]
    assert desk.world.found("who likes tabs", AS_ADA) == []


def test_what_moves_to_another_agent_becomes_a_memory_of_that_one(desk: Desk) -> None:
    file = desk.write("agents/bob/memory/mine.md", "Bob likes tabs.")
    (desk.root / "agents/ada/memory").mkdir(parents=True)
    desk.look()
    file.rename(desk.root / "agents/ada/memory/mine.md")
    desk.look()
    assert desk.world.found("who likes tabs", AS_BOB) == []
    assert desk.world.found("who likes tabs", AS_ADA) == ["Bob likes tabs."]
    assert len({memory.id for memory in desk.all()}) == 2


def test_a_folder_of_nobody_is_taken_once_there_is_such_an_agent(desk: Desk) -> None:
    desk.write("agents/carl/memory/a.md", "Carl likes spaces.")
    desk.look()
    assert not desk.all()
    assert desk.service.state.skipped == 1
    desk.world.agents.add("carl", AS_BOB.role)
    desk.world.clock.advance(timedelta(seconds=RETRY_AFTER))
    desk.look()
    assert desk.live() == ["Carl likes spaces."]
    assert desk.service.state.skipped == 0


def test_a_file_in_the_shared_folder_touches_no_private_memory(desk: Desk) -> None:
    draft = Draft(content="A secret of Ada.", source_path=f"{desk.root}/{PLAN}", source=Source.FILE_INDEX)
    desk.world.memory_service.remember(draft, AS_ADA)
    desk.write(PLAN, "Not a secret.")
    desk.look()
    assert desk.world.found("secret of Ada", AS_ADA)[0] == "A secret of Ada."
    (desk.root / PLAN).unlink()
    desk.look()
    assert desk.live() == ["A secret of Ada."]


def test_a_shared_file_is_the_one_document_of_its_path_whoever_wrote_it_before(desk: Desk) -> None:
    draft = Draft(content="Old plan.", source_path=f"{desk.root}/{PLAN}", scope=Scope.SWARM)
    before = desk.world.memory_service.remember(draft, AS_ADA).memory
    desk.write(PLAN, "New plan.")
    desk.look()
    assert [(one.id, one.content, one.owner) for one in desk.all()] == [(before.id, "New plan.", desk.local.agent)]
