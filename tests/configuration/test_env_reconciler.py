"""Lines of .env files follow the entries: whoever changes what, and whatever fails."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hivelore.configuration.decisions import decide_lines
from hivelore.configuration.env_files import MAX_BYTES, EnvFiles
from hivelore.configuration.env_reconciler import EnvReconciler
from hivelore.configuration.model import ConfigId, ConfigScope, CurrentEntry, EnvLine, Place
from hivelore.configuration.workspace_id import FILE, WorkspaceId
from hivelore.core.agents import LeadSees, Viewer
from hivelore.core.values import replace
from hivelore.errors import Busy, Conflict, Forbidden, Invalid
from hivelore.local.file_lock import acquire, locked
from support.batches import batches_of
from support.configuration import ConfigDesk, a_line, a_version, an_entry
from support.laws import examples
from support.memories import instant
from support.world import AS_ADA, AS_LEA, AS_OPERATOR

PLACES = [
    Place(ConfigScope.GLOBAL),
    Place(ConfigScope.AGENT, "ada"),
    Place(ConfigScope.AGENT, "bob"),
    Place(ConfigScope.REPO, "shop"),
    Place(ConfigScope.REPO, "bank"),
]


def change(desk: ConfigDesk, key: str, value: str, viewer: Viewer = AS_LEA, **more: Any) -> ConfigId:
    desk.world.clock.advance(timedelta(seconds=1))
    return desk.set(key, value, viewer, **{"scope": "global", **more}).id


def undo(desk: ConfigDesk, viewer: Viewer = AS_OPERATOR) -> Any:
    desk.world.clock.advance(timedelta(seconds=1))
    return desk.world.undo_service.undo(batches_of(desk.world.store)[0].id, viewer)


def lines(desk: ConfigDesk) -> list[EnvLine]:
    with desk.world.store.read() as view:
        return list(view.env_lines_after(("", "", ""), 100))


def look(desk: ConfigDesk, seconds: float = 61) -> None:
    desk.world.clock.advance(timedelta(seconds=seconds))
    desk.world.env_reconciler.run_step()


# Which entry a line contains.

entries = st.lists(
    st.tuples(st.sampled_from(PLACES), st.sampled_from("ABC"), st.integers(0, 3)),
    unique_by=lambda one: one[:2],
    max_size=8,
)


def made(some: Sequence[tuple[Place, str, int]]) -> list[CurrentEntry]:
    return [
        CurrentEntry(an_entry(number, place, key=key, updated_at=instant(at)), a_version(entry=number, env_path=".env"))
        for number, (place, key, at) in enumerate(some, start=1)
    ]


@settings(max_examples=examples(100))
@given(some=entries)
def test_a_line_depends_on_the_entries_and_not_on_their_order(some: list[tuple[Place, str, int]]) -> None:
    found = made(some)
    wanted = decide_lines("ABC", found)
    assert set(wanted) == set("ABC")
    for order in list(permutations(found))[:20]:
        assert decide_lines("ABC", order) == wanted
    for key, current in wanted.items():
        assert current is None or current.entry.key == key


@settings(max_examples=examples(100))
@given(some=entries, mine=st.sampled_from("ABC"))
def test_an_entry_of_an_agent_changes_no_line_of_a_file_with_entries_of_others(
    some: list[tuple[Place, str, int]], mine: str
) -> None:
    others = made([one for one in some if one[0].scope_id != "ada"])
    own = CurrentEntry(an_entry(99, PLACES[1], key=mine, updated_at=instant(9)), a_version(entry=99, env_path=".env"))
    if any(one.entry.place.scope is not ConfigScope.AGENT for one in others):
        assert decide_lines("ABC", [*others, own]) == decide_lines("ABC", others)
    if others:
        assert own not in decide_lines("ABC", [*others, own]).values()


def test_the_repository_comes_before_global_scope_and_later_changes_before_earlier() -> None:
    found = made([(PLACES[3], "A", 1), (PLACES[0], "A", 2), (PLACES[0], "B", 1)])
    assert decide_lines("AB", found) == {"A": found[0], "B": found[2]}
    found = made([(PLACES[3], "A", 1), (PLACES[4], "A", 2)])
    assert decide_lines("A", found) == {"A": found[1]}


# Files.


def test_deleting_one_entry_leaves_the_line_to_the_other(desk: ConfigDesk) -> None:
    file = desk.workspace / ".env"
    change(desk, "URL", "of all", env_path=".env")
    repo = change(desk, "URL", "of the shop", scope="repo", to="shop", env_path=".env")
    assert file.read_text() == "URL='of the shop'\n"
    change(desk, "URL", "new", env_path=".env")
    assert file.read_text() == "URL='of the shop'\n"
    desk.world.configuration.delete(repo, AS_LEA)
    assert file.read_text() == "URL=new\n"
    undo(desk)
    assert file.read_text() == "URL='of the shop'\n"
    assert [one.is_due for one in lines(desk)] == [False]


def test_a_worker_changes_no_line_through_an_entry_of_its_own(desk: ConfigDesk) -> None:
    file = desk.workspace / "own.env"
    entry = change(desk, "URL", "first", AS_OPERATOR, scope="agent", to="ada", env_path="own.env")
    assert file.read_text() == "URL=first\n"
    for attempt in (
        lambda: desk.set("URL", "mine", AS_ADA),
        lambda: desk.set("URL", "mine", AS_ADA, env_path=""),
        lambda: desk.set("OTHER", "mine", AS_ADA, env_path="own.env"),
        lambda: desk.world.configuration.delete(entry, AS_ADA),
        lambda: undo(desk, AS_ADA),
    ):
        with pytest.raises(Forbidden):
            attempt()
    assert file.read_text() == "URL=first\n"


def test_entries_of_an_agent_do_not_join_a_file_of_others(desk: ConfigDesk) -> None:
    change(desk, "URL", "of all", env_path=".env")
    with pytest.raises(Conflict, match="Entries of others are in this file"):
        change(desk, "KEY", "x", AS_OPERATOR, scope="agent", to="ada", env_path=".env")
    change(desk, "KEY", "of ada", AS_OPERATOR, scope="agent", to="ada", env_path="own.env")
    with pytest.raises(Conflict, match="Entries of an agent are in this file"):
        change(desk, "B", "of all", env_path="own.env")
    assert (desk.workspace / "own.env").read_text() == "KEY='of ada'\n"


def test_the_line_of_an_agent_in_a_file_of_others_is_left_and_reported(
    desk: ConfigDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As two services that set entries at the same time could make it."""
    change(desk, "KEY", "of ada", AS_OPERATOR, scope="agent", to="ada", env_path="own.env")

    def unchecked(*_: object) -> None:
        pass

    monkeypatch.setattr("hivelore.configuration.entry_changes.check_file", unchecked)
    change(desk, "B", "of all", env_path="own.env")
    assert (desk.workspace / "own.env").read_text() == "KEY='of ada'\nB='of all'\n"
    (problem,) = desk.world.configuration.list_entries(AS_OPERATOR, None, None).problems
    assert (problem.key, "is shared" in problem.problem) == ("KEY", True)


def test_a_failed_removal_is_tried_again_until_the_secret_is_gone(desk: ConfigDesk) -> None:
    file = desk.workspace / ".env"
    entry = change(desk, "TOKEN", "hunter2", is_secret=True, env_path=".env")
    (desk.workspace / "hard.env").hardlink_to(file)
    gone = desk.world.configuration.delete(entry, AS_LEA)
    assert gone.warning is not None
    assert "hard link" in gone.warning
    (problem,) = desk.world.configuration.list_entries(AS_LEA, None, None).problems
    assert (problem.path, problem.key) == (".env", "TOKEN")
    assert "hard link" in problem.problem
    assert desk.world.configuration.list_entries(AS_ADA, None, None).problems == ()
    look(desk)
    assert "hunter2" in file.read_text()
    (desk.workspace / "hard.env").unlink()
    look(desk)
    assert not file.exists()
    assert lines(desk) == []
    assert list(desk.world.configuration.list_entries(AS_LEA, None, None).problems) == []


def test_a_change_that_could_not_be_written_is_stored_warned_of_and_written_later(desk: ConfigDesk) -> None:
    file = desk.workspace / ".env"
    change(desk, "KEY", "x", env_path=".env")
    file.unlink()
    file.symlink_to("/etc/hostname")
    done = desk.set("KEY", "y", AS_LEA, "global")
    assert done.value == "y"
    assert "link" in done.warning
    assert any("link" in one for one in undo(desk).warnings)
    file.unlink()
    look(desk)
    assert file.read_text() == "KEY=x\n"


def test_a_line_that_a_killed_process_did_not_write_is_written_by_the_next(desk: ConfigDesk) -> None:
    """The change is stored, with the line due, and then the process ends."""
    desk.world.env_reconciler.reconcile = lambda *_: ()  # type: ignore[method-assign]
    change(desk, "TOKEN", "hunter2", is_secret=True, env_path=".env")
    assert not (desk.workspace / ".env").exists()
    del desk.world.env_reconciler.reconcile
    assert [one.is_due for one in lines(desk)] == [True]
    look(desk)
    assert (desk.workspace / ".env").read_text() == "TOKEN=hunter2\n"
    look(desk)
    assert [one.is_due for one in lines(desk)] == [False]


def test_the_temporary_file_of_a_killed_process_is_removed(desk: ConfigDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    def ignored(*_: object, **__: object) -> None:
        pass

    change(desk, "FIRST", "x", is_secret=True, env_path="first.env")
    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", killed)
        patched.setattr(os, "unlink", ignored)
        with pytest.raises(KeyboardInterrupt):
            change(desk, "TOKEN", "hunter2", is_secret=True, env_path=".env")
    assert len(list(desk.workspace.iterdir())) == 3
    look(desk)
    assert sorted(one.name for one in desk.workspace.iterdir()) == [".env", FILE, "first.env"]


def test_the_file_has_the_last_value_after_many_writers(desk: ConfigDesk) -> None:
    file = desk.workspace / ".env"
    change(desk, "KEY", "first", env_path=".env")
    change(desk, "OTHER", "x", scope="repo", to="shop", env_path=".env")

    def write(number: int) -> None:
        key, scope, to = ("KEY", "global", None) if number % 2 else ("OTHER", "repo", "shop")
        desk.set(key, str(number), AS_LEA, scope, to)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(write, range(60)))
    now = desk.env(replace(AS_LEA, acting=True), "shop")
    assert file.read_text() == f"KEY={now['KEY']}\nOTHER={now['OTHER']}\n"
    assert [one.is_due for one in lines(desk)] == [False, False]


def test_services_with_other_homes_do_not_overwrite_each_other(desk: ConfigDesk, tmp_path: Path) -> None:
    """Two services on one machine share the workspace and the database."""
    world = desk.world
    change(desk, "KEY", "0", env_path=".env")
    other = EnvReconciler(
        store=world.store,
        keyring=world.keyring,
        env_files=EnvFiles(desk.workspace, tmp_path / "other"),
        home=tmp_path / "other",
        workspace=WorkspaceId(desk.workspace, os.urandom),
        clock=world.clock,
    )

    def write(number: int) -> None:
        if number % 2:
            desk.set("KEY", str(number), AS_LEA, "global")
        else:
            other.reconcile(".env")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(60)))
    assert (desk.workspace / ".env").read_text() == f"KEY={desk.env(AS_LEA)['KEY']}\n"


def test_a_file_has_a_limited_number_of_entries(desk: ConfigDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hivelore.configuration.decisions.MAX_LINES", 2)
    for repo in ("shop", "bank"):
        change(desk, "KEY", repo, scope="repo", to=repo, env_path=".env")
    with pytest.raises(Conflict, match="2 entries with this envPath"):
        change(desk, "KEY", "x", env_path=".env")
    change(desk, "KEY", "new", scope="repo", to="shop")
    monkeypatch.setattr("hivelore.configuration.env_reconciler.MAX_LINES", 1)
    monkeypatch.setattr("hivelore.configuration.decisions.MAX_LINES", 9)
    with pytest.raises(Conflict, match="1 entries in"):
        change(desk, "OTHER", "x", env_path=".env")


def test_a_change_while_the_file_is_written_leaves_the_line_due(desk: ConfigDesk) -> None:
    change(desk, "KEY", "one", env_path=".env")
    files = desk.world.env_files
    update = files.update

    def update_late(path: str, values: Any, **more: Any) -> None:
        update(path, values, **more)
        desk.world.store.write(lambda tx: tx.touch_env_file(path, instant(0)))

    files.update = update_late  # type: ignore[method-assign]
    change(desk, "KEY", "two")
    assert [one.is_due for one in lines(desk)] == [True]
    del files.update
    look(desk)
    assert [one.is_due for one in lines(desk)] == [False]


def test_setting_the_same_again_repairs_the_line(desk: ConfigDesk) -> None:
    file = desk.workspace / ".env"
    change(desk, "KEY", "x", env_path=".env")
    file.write_text("# mine\nKEY=edited\n")
    assert desk.world.configuration_check.check().problem_count == 1
    batches = len(batches_of(desk.world.store))
    change(desk, "KEY", "x")
    assert len(batches_of(desk.world.store)) == batches
    assert file.read_text() == "# mine\nKEY=x\n"
    assert desk.world.configuration_check.check().problem_count == 0


def test_an_unreadable_secret_leaves_its_line_and_not_the_others(desk: ConfigDesk) -> None:
    change(desk, "TOKEN", "hunter2", is_secret=True, env_path=".env")
    change(desk, "URL", "one", env_path=".env")
    saved = desk.key_file.read_bytes()
    desk.key_file.unlink()
    assert "missing" in desk.set("URL", "two", AS_LEA, "global").warning
    assert (desk.workspace / ".env").read_text() == "TOKEN=hunter2\nURL=two\n"
    desk.key_file.write_bytes(saved)
    look(desk)
    assert [one.problem for one in lines(desk)] == [None, None]


def test_a_value_that_no_env_file_carries_is_refused_for_env_path_only(desk: ConfigDesk) -> None:
    change(desk, "A", "it's $5")
    with pytest.raises(Invalid, match="cannot be in a"):
        change(desk, "A", "it's $5", env_path=".env")
    change(desk, "A", "x", env_path=".env")
    with pytest.raises(Invalid, match="cannot be in a"):
        change(desk, "A", "it's $5")
    assert (desk.workspace / ".env").read_text() == "A=x\n"


def test_a_missing_folder_is_waited_for_and_then_forgotten(desk: ConfigDesk) -> None:
    app = desk.workspace / "app"
    app.mkdir()
    entry = change(desk, "TOKEN", "hunter2", is_secret=True, env_path="app/.env")
    app.rename(desk.workspace / "moved")
    gone = desk.world.configuration.delete(entry, AS_LEA)
    assert gone.warning is not None
    look(desk)
    (desk.workspace / "moved").rename(app)
    look(desk)
    assert not (app / ".env").exists()
    entry = change(desk, "TOKEN", "hunter2", is_secret=True, env_path="app/.env")
    (app / ".env").unlink()
    app.rmdir()
    desk.world.configuration.delete(entry, AS_LEA)
    look(desk)
    assert len(lines(desk)) == 1
    look(desk, timedelta(days=8).total_seconds())
    assert lines(desk) == []


def test_other_workspaces_keep_their_own_lines(desk: ConfigDesk) -> None:
    desk.world.store.write(
        lambda tx: tx.put_env_line(a_line(".env", "KEY", workspace="other", revision=1, written=1, due_at=None))
    )
    entry = change(desk, "KEY", "x", env_path=".env")
    assert [(one.workspace, one.is_due) for one in lines(desk) if one.workspace == "other"] == [("other", True)]
    gone = desk.world.configuration.delete(entry, AS_LEA)
    assert "also in .env of host:/w" in str(gone.warning)
    assert [one.workspace for one in lines(desk)] == ["other"]


def problems(desk: ConfigDesk, viewer: Viewer = AS_LEA) -> list[tuple[str, str]]:
    found = desk.world.configuration.list_entries(viewer, None, None).problems
    return [(one.workspace, one.key) for one in found]


def move_workspace(desk: ConfigDesk, folder: Path) -> None:
    """Starts another service with another HIVELORE_WORKSPACE."""
    desk.world.settings = desk.world.settings.model_copy(update={"workspace": folder})
    for name in ("env_files", "env_reconciler", "entry_writer", "configuration", "configuration_check", "undo_service"):
        vars(desk.world).pop(name, None)


def test_a_line_stays_known_when_the_folder_or_the_machine_gets_another_name(
    desk: ConfigDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = change(desk, "TOKEN", "hunter2", is_secret=True, env_path=".env")
    moved = desk.workspace.rename(desk.workspace.parent / "moved")
    monkeypatch.setattr("socket.gethostname", lambda: "renamed")
    move_workspace(desk, moved)
    desk.world.configuration.delete(entry, AS_LEA)
    assert not (moved / ".env").exists()
    assert lines(desk) == []


def test_a_line_in_a_former_workspace_is_reported_until_it_is_removed(desk: ConfigDesk, tmp_path: Path) -> None:
    entry = change(desk, "TOKEN", "hunter2", is_secret=True, env_path=".env")
    (tmp_path / "new").mkdir()
    former = desk.workspace
    move_workspace(desk, tmp_path / "new")
    assert str(former) in str(desk.world.configuration.delete(entry, AS_LEA).warning)
    assert problems(desk) == []
    look(desk, 301)
    ((workspace, key),) = problems(desk)
    assert (workspace.endswith(str(former)), key) == (True, "TOKEN")
    report = desk.world.configuration_check.check()
    assert (report.lines, [one.key for one in report.problems]) == (0, ["TOKEN"])
    assert "HIVELORE_WORKSPACE" in report.problems[0].problem
    move_workspace(desk, former)
    look(desk)
    assert (problems(desk), lines(desk)) == ([], [])
    assert not (former / ".env").exists()


@pytest.mark.parametrize("content", ["", "x" * 32, "../../etc"])
def test_a_damaged_id_of_the_workspace_is_an_error(desk: ConfigDesk, content: str) -> None:
    (desk.workspace / FILE).write_text(content)
    with pytest.raises(Conflict, match="no id of a workspace"):
        change(desk, "KEY", "x", env_path=".env")
    assert desk.listed(AS_LEA) == []


def test_a_link_as_the_id_of_the_workspace_is_not_followed(desk: ConfigDesk) -> None:
    (desk.workspace / FILE).symlink_to("/etc/hostname")
    with pytest.raises(Conflict, match="cannot be read"):
        change(desk, "KEY", "x", env_path=".env")


def test_a_line_of_the_user_is_neither_overwritten_nor_removed(desk: ConfigDesk) -> None:
    file = desk.workspace / ".env"
    file.write_text("KEY=mine\n")
    with pytest.raises(Conflict, match="Hivelore did not write"):
        change(desk, "KEY", "x", env_path=".env")
    assert (desk.listed(AS_LEA), file.read_text()) == ([], "KEY=mine\n")
    file.write_text("")
    entry = change(desk, "KEY", "x", env_path=".env")
    desk.world.configuration.delete(entry, AS_LEA)
    file.write_text("KEY=mine\n")
    with pytest.raises(Conflict, match="Hivelore did not write"):
        undo(desk)
    assert file.read_text() == "KEY=mine\n"


def test_a_line_that_the_user_wrote_before_hivelore_could_is_neither_overwritten_nor_removed(desk: ConfigDesk) -> None:
    file = desk.workspace / ".env"
    desk.world.env_reconciler.reconcile = lambda *_: ()  # type: ignore[method-assign]
    entry = change(desk, "KEY", "x", env_path=".env")
    del desk.world.env_reconciler.reconcile
    file.write_text("KEY=mine\n")
    look(desk)
    (problem,) = desk.world.configuration.list_entries(AS_LEA, None, None).problems
    assert "did not write" in problem.problem
    desk.world.configuration.delete(entry, AS_LEA)
    assert (file.read_text(), lines(desk)) == ("KEY=mine\n", [])


def test_a_file_that_hivelore_created_is_removed_with_its_last_line(desk: ConfigDesk) -> None:
    (desk.workspace / "mine.env").write_text("")
    for path in (".env", "mine.env"):
        first, second = (change(desk, f"{key}{len(path)}", "x", env_path=path) for key in "AB")
        desk.world.configuration.delete(first, AS_LEA)
        desk.world.configuration.delete(second, AS_LEA)
    assert not (desk.workspace / ".env").exists()
    assert (desk.workspace / "mine.env").read_text() == ""


def test_a_secret_is_removed_although_another_line_cannot_be_written(desk: ConfigDesk) -> None:
    file = desk.workspace / ".env"
    entry = change(desk, "TOKEN", "hunter2", is_secret=True, env_path=".env")
    change(desk, "URL", "x", env_path=".env")
    with file.open("ab") as out:
        out.write(b"#" * (MAX_BYTES + 1))
    assert "more than" in desk.set("URL", "longer" * 9, AS_LEA, "global").warning
    assert desk.world.configuration.delete(entry, AS_LEA).warning is not None
    assert b"hunter2" not in file.read_bytes()
    assert [one.key for one in lines(desk)] == ["URL"]


def test_a_held_lock_is_a_problem_of_the_line_and_does_not_stall_the_worker(desk: ConfigDesk) -> None:
    change(desk, "KEY", "x", env_path=".env")
    (lock,) = (desk.world.settings.home / "locks").glob("env-*")
    desk.world.store.write(lambda tx: tx.touch_env_file(".env", instant(0)))
    with locked(lock):
        started = time.monotonic()
        look(desk)
        assert time.monotonic() - started < 5
        ((_, key),) = problems(desk)
        assert key == "KEY"
    look(desk)
    assert problems(desk) == []


def test_a_process_that_holds_the_lock_of_the_workspace_stops_nobody(desk: ConfigDesk) -> None:
    descriptor = os.open(desk.workspace, os.O_RDONLY)
    try:
        acquire(descriptor, str(desk.workspace))
        assert change(desk, "KEY", "x", env_path=".env")
        assert (desk.workspace / ".env").read_text() == "KEY=x\n"
    finally:
        os.close(descriptor)


def test_problems_of_private_entries_are_shown_to_those_who_see_them(desk: ConfigDesk) -> None:
    change(desk, "TOKEN", "x", AS_OPERATOR, scope="agent", to="ada", env_path="own.env")
    change(desk, "URL", "x", env_path=".env")
    for path in ("own.env", ".env"):
        (desk.workspace / f"{path}.env").hardlink_to(desk.workspace / path)
    change(desk, "TOKEN", "y", AS_OPERATOR, scope="agent", to="ada")
    change(desk, "URL", "y")
    for sees, expected in ((LeadSees.SHARED, ["URL"]), (LeadSees.ALL, ["URL", "TOKEN"])):
        desk.world.settings = desk.world.settings.model_copy(update={"lead_sees": sees})
        vars(desk.world).pop("configuration")
        assert [key for _, key in problems(desk)] == expected
        assert [key for _, key in problems(desk, AS_OPERATOR)] == ["URL", "TOKEN"]


def test_a_lock_is_released_when_its_process_is_killed(tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path; from hivelore.local.file_lock import locked\n"
        "with locked(Path(sys.argv[1])): print('held', flush=True); time.sleep(600)"
    )
    file = tmp_path / "locks/one"
    with subprocess.Popen([sys.executable, "-c", script, str(file)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(Busy), locked(file, attempts=3):
            pass
        process.kill()
    with locked(file):
        assert file.stat().st_mode & 0o777 == 0o600
