"""Memory folders: memories follow the files of agents."""

import logging
import os
from datetime import timedelta
from pathlib import Path

import pytest

from hivelore.core.agents import Interface
from hivelore.errors import Unavailable
from hivelore.folders.sync import FolderSync
from hivelore.memories.drafts import Edit
from hivelore.memories.model import Scope, Source
from support.desk import Desk
from support.fake_secrets import shapes
from support.world import AS_ADA, AS_LEA, World


@pytest.fixture
def desk(world: World, tmp_path: Path) -> Desk:
    return Desk(world, tmp_path / "workspace")


AWS_KEY = shapes("folders")["aws-key"][0]
NOTE = "personal/memory/auth-header-fix.md"
PLAN = "shared/memory/plan.md"
TEXT = "The API wants a Bearer prefix on every header."


def test_a_file_becomes_a_memory_with_the_scope_of_its_folder(desk: Desk) -> None:
    desk.write(NOTE, TEXT)
    desk.write(PLAN, "We ship on Friday.")
    desk.write("shared/thoughts/idea.txt", "Bees might dance.")
    desk.look()
    mine = desk.memory(NOTE, "mine")
    assert (mine.name, mine.content, mine.source) == ("auth-header-fix", TEXT, Source.FILE_INDEX)
    assert (mine.scope, mine.owner, mine.provenance.interface) == (Scope.AGENT, desk.local.agent, Interface.SERVICE)
    assert desk.memory(PLAN).scope is Scope.SWARM
    assert desk.memory("shared/thoughts/idea.txt").scope is Scope.SWARM
    assert desk.world.found("when do we ship", AS_ADA) == ["We ship on Friday."]
    assert TEXT not in desk.world.found("which prefix do headers want", AS_ADA)
    assert desk.service.state.known == 3


def test_a_file_is_stored_once_it_is_unchanged(desk: Desk) -> None:
    desk.write(NOTE, "Half of")
    desk.service.scan()
    desk.write(NOTE, "Half of it is written")
    desk.service.scan()
    assert not desk.all()
    desk.service.scan()
    assert desk.live() == ["Half of it is written"]


def test_an_edit_is_a_new_version_of_the_same_memory(desk: Desk) -> None:
    desk.write(NOTE, TEXT)
    desk.look()
    before = desk.memory(NOTE, "mine")
    desk.write(NOTE, "The API wants a token in every header.")
    desk.look()
    after = desk.memory(NOTE, "mine")
    assert (after.id, after.version) == (before.id, 2)
    assert desk.live() == ["The API wants a token in every header."]


def test_scans_without_changes_write_nothing(desk: Desk) -> None:
    desk.write(NOTE, TEXT)
    desk.look()
    before = desk.all()
    desk.look()
    desk.restart()
    desk.look()
    assert desk.all() == before


def test_writing_the_same_content_renews_the_memory(desk: Desk) -> None:
    file = desk.write(NOTE, TEXT)
    desk.look()
    before = desk.memory(NOTE, "mine")
    desk.world.clock.advance(timedelta(days=20))
    os.utime(file, ns=(1, 1))
    desk.look()
    after = desk.memory(NOTE, "mine")
    assert after.version == before.version
    assert after.expires_at is not None
    assert before.expires_at is not None
    assert after.expires_at - before.expires_at >= timedelta(days=20)


def test_a_deleted_file_expires_its_memory_which_can_be_restored(desk: Desk) -> None:
    file = desk.write(PLAN, "We ship on Friday.")
    desk.look()
    memory = desk.memory(PLAN)
    file.unlink()
    desk.look()
    assert desk.world.found("when do we ship", AS_ADA) == []
    with desk.world.store.read() as view:
        stored = view.get(memory.id)
        assert stored is not None
        assert view.history(stored.key)[-1].reason == "Its file was deleted."
    desk.world.memory_service.edit(memory.id, Edit(expires_at=None), AS_LEA)
    desk.look()
    assert desk.world.found("when do we ship", AS_ADA) == ["We ship on Friday."]


def test_a_restored_file_restores_its_memory(desk: Desk) -> None:
    desk.write(PLAN, "We ship on Friday.").unlink()
    desk.write(PLAN, "We ship on Friday.")
    desk.look()
    memory = desk.memory(PLAN)
    (desk.root / PLAN).unlink()
    desk.look()
    assert desk.live() == []
    desk.write(PLAN, "We ship on Monday.")
    desk.look()
    assert desk.memory(PLAN).id == memory.id
    assert desk.live() == ["We ship on Monday."]


@pytest.mark.parametrize(
    "target", ["shared/memory/schedule.md", "shared/memory/deep/plan.md", "shared/thoughts/plan.md"]
)
def test_a_moved_file_keeps_its_memory(desk: Desk, target: str) -> None:
    file = desk.write(PLAN, "We ship on Friday.")
    desk.look()
    before = desk.memory(PLAN)
    (desk.root / target).parent.mkdir(exist_ok=True)
    file.rename(desk.root / target)
    desk.look()
    after = desk.memory(target)
    assert (after.id, after.name) == (before.id, Path(target).stem)
    assert len(desk.all()) == 1
    desk.write(target, "We ship on Monday.")
    desk.look()
    assert [(one.id, one.content) for one in desk.all()] == [(before.id, "We ship on Monday.")]


def test_a_file_that_was_copied_and_removed_keeps_its_memory(desk: Desk) -> None:
    file = desk.write(PLAN, "We ship on Friday.")
    desk.look()
    before = desk.memory(PLAN)
    desk.write("shared/memory/schedule.md", "We ship on Friday.")
    file.unlink()
    desk.look()
    assert [(one.id, one.name) for one in desk.all()] == [(before.id, "schedule")]


def test_changes_without_a_running_service_are_found_at_the_next_start(desk: Desk) -> None:
    for name in ("kept", "edited", "deleted", "renamed"):
        desk.write(f"shared/memory/{name}.md", f"This is {name}.")
    desk.look()
    ids = {str(one.name): one.id for one in desk.all()}
    desk.write("shared/memory/edited.md", "This is new in it.")
    desk.write("shared/memory/new.md", "This is new.")
    (desk.root / "shared/memory/deleted.md").unlink()
    (desk.root / "shared/memory/renamed.md").rename(desk.root / "shared/memory/other.md")
    desk.restart()
    desk.look()
    assert desk.live() == ["This is kept.", "This is new in it.", "This is new.", "This is renamed."]
    assert desk.memory("shared/memory/other.md").id == ids["renamed"]
    assert desk.memory("shared/memory/edited.md").id == ids["edited"]


@pytest.mark.parametrize("meanwhile", ["nothing", "deleted", "renamed"])
def test_a_file_stored_right_before_a_crash_is_known(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    file = desk.write(PLAN, "We ship on Friday.")
    with monkeypatch.context() as patch:
        patch.setattr(FolderSync, "_flush", _nothing)
        desk.look()
    before = desk.memory(PLAN)
    match meanwhile:
        case "deleted":
            file.unlink()
        case "renamed":
            file.rename(desk.root / "shared/memory/next.md")
        case _:
            pass
    desk.restart()
    desk.look()
    assert desk.live() == ([] if meanwhile == "deleted" else ["We ship on Friday."])
    assert [one.id for one in desk.all()] == [before.id]
    assert meanwhile != "nothing" or desk.memory(PLAN).version == before.version


def test_a_memory_changed_by_hand_stays_so_until_its_file_is_written(desk: Desk) -> None:
    desk.write(NOTE, TEXT)
    file = desk.write(PLAN, "We ship on Friday.")
    desk.look()
    desk.world.memory_service.forget(desk.memory(PLAN).id, AS_LEA)
    mine = desk.memory(NOTE, "mine")
    desk.world.memory_service.edit(mine.id, Edit(content="Corrected by hand."), desk.local)
    os.utime(file, ns=(1, 1))
    os.utime(desk.root / NOTE, ns=(1, 1))
    desk.look()
    desk.restart()
    desk.look()
    assert desk.live() == ["Corrected by hand."]
    desk.write(PLAN, "We ship on Monday.")
    desk.look()
    assert "We ship on Monday." in desk.live()


def test_a_freed_name_can_be_used_by_another_file(desk: Desk) -> None:
    desk.write(PLAN, "Old plan.").unlink()
    desk.write(PLAN, "Old plan.")
    other = desk.write("shared/memory/next.md", "New plan.")
    desk.look()
    kept = desk.memory("shared/memory/next.md").id
    (desk.root / PLAN).unlink()
    desk.look()
    other.rename(desk.root / PLAN)
    desk.look()
    assert desk.memory(PLAN).id == kept
    assert desk.live() == ["New plan."]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "not UTF-8 text"),
        (b"caf\xe9 in latin", "not UTF-8 text"),
        ("x" * 2_000_001, "2,000,001 characters"),
        (b"x" * 8_000_001, "8,000,001 bytes"),
    ],
)
def test_an_invalid_file_is_skipped_with_one_warning(
    desk: Desk, content: str | bytes, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    desk.write("shared/memory/a-odd.md", content)
    desk.write(PLAN, "We ship on Friday.")
    with caplog.at_level(logging.WARNING):
        desk.look()
        desk.look()
    assert desk.live() == ["We ship on Friday."]
    (said,) = [record.getMessage() for record in caplog.records]
    assert why in said
    assert desk.service.state.skipped == 1
    desk.write("shared/memory/a-odd.md", "Now it says something.")
    desk.look()
    assert "Now it says something." in desk.live()
    assert desk.service.state.skipped == 0


def test_an_emptied_file_expires_its_memory_and_a_binary_one_does_not(desk: Desk) -> None:
    desk.write(PLAN, "We ship on Friday.")
    desk.write(NOTE, TEXT)
    desk.look()
    desk.write(PLAN, " \n")
    desk.write(NOTE, b"\0\0")
    desk.look()
    assert desk.live() == [TEXT]
    desk.write(PLAN, "We ship on Monday.")
    desk.look()
    assert desk.live() == [TEXT, "We ship on Monday."]
    assert len(desk.all()) == 2


def test_secrets_are_masked_in_content_and_refused_in_names(desk: Desk) -> None:
    desk.write(NOTE, f"The key is {AWS_KEY}.")
    file = desk.write(PLAN, "Nothing secret.")
    desk.look()
    assert AWS_KEY not in desk.memory(NOTE, "mine").content
    file.rename(file.with_name(f"{AWS_KEY}.md"))
    desk.look()
    desk.look()
    assert AWS_KEY not in repr(desk.all())
    assert len(desk.live()) == 1
    assert desk.service.state.skipped == 1


@pytest.mark.parametrize("name", ["two\nlines.md", "quote'\".md", "日本 – ü.md", "a;b$(c).md", "-rf.md"])
def test_any_file_name_is_accepted(desk: Desk, name: str) -> None:
    file = desk.write(f"shared/memory/{name}", "Words.")
    desk.look()
    assert desk.live() == ["Words."]
    file.unlink()
    desk.restart()
    desk.look()
    assert desk.live() == []


def test_a_missing_workspace_expires_no_memories(desk: Desk) -> None:
    desk.write(PLAN, "We ship on Friday.")
    desk.look()
    away = desk.root.rename(desk.root.with_name("away"))
    desk.look()
    assert desk.live() == ["We ship on Friday."]
    assert "cannot be read" in str(desk.service.state.problem)
    away.rename(desk.root)
    desk.look()
    assert desk.service.state.problem is None
    assert [one.version for one in desk.all()] == [1]


def test_a_failing_store_is_retried_at_the_next_scan(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.write(PLAN, "We ship on Friday.")
    desk.service.scan()

    def full(*_: object) -> None:
        raise Unavailable("The disk is full.")

    with monkeypatch.context() as patch:
        patch.setattr(type(desk.world.store), "write", full)
        with pytest.raises(Unavailable):
            desk.service.scan()
    desk.service.scan()
    assert desk.live() == ["We ship on Friday."]


@pytest.mark.parametrize("world", ["postings on postgres"], indirect=True)
def test_only_one_of_several_services_scans(desk: Desk) -> None:
    first, leader_lease = desk.service, desk.leader_lease
    second = desk.restart("two")
    desk.write(PLAN, "We ship on Friday.")
    for _ in range(3):
        first.scan()
        second.scan()
    assert (first.state.known, second.state.known) == (1, 0)
    leader_lease.release_lease()
    (desk.root / PLAN).unlink()
    desk.world.clock.advance(timedelta(seconds=20))
    second.scan()
    second.scan()
    assert desk.live() == []


def test_a_stopped_scan_continues_later(desk: Desk) -> None:
    for number in range(5):
        desk.write(f"shared/memory/{number}.md", f"Number {number}.")
    desk.service.scan()
    desk.service.scan(lambda: len(desk.all()) >= 2)
    assert len(desk.live()) == 2
    desk.service.scan()
    assert len(desk.live()) == 5


def _nothing(*_: object) -> None:
    """Replaces a step that a killed process does not reach."""
