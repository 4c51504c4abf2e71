"""Memory folders: ownership of a file's memory, and files that move between agents."""

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


def test_moving_a_file_to_the_shared_folder_and_back_changes_the_scope(desk: Desk) -> None:
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


def test_a_new_shared_file_with_the_content_of_a_deleted_private_one_does_not_share_its_history(
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


def test_a_file_in_an_agents_folder_is_private(desk: Desk) -> None:
    desk.write("agents/bob/memory/mine.md", "Bob likes tabs.")
    desk.look()
    assert desk.world.found("who likes tabs", AS_BOB) == ["Bob likes tabs."]
    assert desk.world.found("who likes tabs", AS_ADA) == []


def test_a_file_moved_to_another_agent_becomes_its_memory(desk: Desk) -> None:
    file = desk.write("agents/bob/memory/mine.md", "Bob likes tabs.")
    (desk.root / "agents/ada/memory").mkdir(parents=True)
    desk.look()
    file.rename(desk.root / "agents/ada/memory/mine.md")
    desk.look()
    assert desk.world.found("who likes tabs", AS_BOB) == []
    assert desk.world.found("who likes tabs", AS_ADA) == ["Bob likes tabs."]
    assert len({memory.id for memory in desk.all()}) == 2


def test_a_folder_of_an_unknown_agent_is_read_once_the_agent_exists(desk: Desk) -> None:
    desk.write("agents/carl/memory/a.md", "Carl likes spaces.")
    desk.look()
    assert not desk.all()
    assert desk.service.state.skipped == 1
    desk.world.agents.add("carl", AS_BOB.role)
    desk.world.clock.advance(timedelta(seconds=RETRY_AFTER))
    desk.look()
    assert desk.live() == ["Carl likes spaces."]
    assert desk.service.state.skipped == 0


def test_a_file_in_the_shared_folder_changes_no_private_memory(desk: Desk) -> None:
    draft = Draft(content="A secret of Ada.", source_path=f"{desk.root}/{PLAN}", source=Source.FILE_INDEX)
    desk.world.memory_service.remember(draft, AS_ADA)
    desk.write(PLAN, "Not a secret.")
    desk.look()
    assert desk.world.found("secret of Ada", AS_ADA)[0] == "A secret of Ada."
    (desk.root / PLAN).unlink()
    desk.look()
    assert desk.live() == ["A secret of Ada."]


def test_a_shared_file_replaces_the_memory_of_its_path_of_any_author(desk: Desk) -> None:
    draft = Draft(content="Old plan.", source_path=f"{desk.root}/{PLAN}", scope=Scope.SWARM)
    before = desk.world.memory_service.remember(draft, AS_ADA).memory
    desk.write(PLAN, "New plan.")
    desk.look()
    assert [(one.id, one.content, one.owner) for one in desk.all()] == [(before.id, "New plan.", desk.local.agent)]
