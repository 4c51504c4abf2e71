"""Clones in the workspace, with real repositories of git on this machine."""

import errno
import fcntl
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from hivelore.core.values import replace
from hivelore.errors import Conflict
from hivelore.local.git_project import project_of
from hivelore.repos import clones
from hivelore.repos.clone_folder import CloneFolder, RefsError
from hivelore.repos.clones import IN_ORDER, Clones, CloneTarget, Outcome, SyncResult
from hivelore.repos.model import TEXT_BYTES
from hivelore.repos.rules import project_of_url
from support.git_repos import Remote, git

UNSEEN = (".git/objects", ".git/refs/remotes", ".git/index")
"""Data of git that a fetch, or an attempt to merge, may change."""


class Machine:
    """A workspace, and the repository ``shop`` on this machine."""

    def __init__(self, folder: Path) -> None:
        self.remote = Remote(folder / "remote")
        self.workspace = folder / "workspace"
        self.clones = Clones(self.workspace, folder / "mirrors", allows_local=True)
        self.target = CloneTarget(name="shop", url=self.remote.url, branch=None)
        self.shop = self.clones.path("shop")

    def sync(self, seconds: float = 60, **changes: Any) -> SyncResult:
        return self.clones.sync(replace(self.target, **changes), seconds)

    @property
    def head(self) -> str:
        return git(self.shop, "rev-parse", "HEAD")

    def files(self) -> dict[str, bytes | str]:
        """Returns everything in the clone, with the data of git that an agent made."""
        found: dict[str, bytes | str] = {}
        for path in sorted(self.shop.rglob("*")):
            name = str(path.relative_to(self.shop))
            if not name.startswith(UNSEEN):
                found[name] = path.read_bytes() if path.is_file() else "folder"
        return found


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    yield Machine(tmp_path)
    assert not list(tmp_path.glob("mirrors/*/new-*"))
    assert not (tmp_path / "workspace" / "repos" / ".hivelore").exists()


def test_a_repository_is_cloned_and_its_branch_detected(tmp_path: Path, machine: Machine) -> None:
    machine.remote = Remote(tmp_path / "trunk", "trunk")
    tip = machine.remote.commit({"CLAUDE.md": "Use tabs.\n"})
    result = machine.sync(url=machine.remote.url)
    assert result.outcome is Outcome.CLONED
    found = result.found
    assert found is not None
    assert (found.branch, found.commit, found.clone_commit) == ("trunk", tip, tip)
    assert (found.file, found.content, found.size) == ("CLAUDE.md", "Use tabs.\n", 10)
    assert found.committed_at.timestamp() == 1_780_000_001
    assert machine.head == tip
    assert (machine.shop / "CLAUDE.md").read_text() == "Use tabs.\n"
    assert machine.sync(url=machine.remote.url).outcome is Outcome.CURRENT


def test_a_clone_belongs_to_the_project_of_its_url(machine: Machine) -> None:
    machine.remote.commit()
    machine.sync()
    assert project_of(machine.shop) == project_of_url(machine.remote.url)


def test_a_clean_clone_moves_forward(machine: Machine) -> None:
    machine.remote.commit()
    machine.sync()
    (machine.shop / "notes.txt").write_text("mine")
    tip = machine.remote.commit({"AGENTS.md": "Use spaces."})
    result = machine.sync()
    assert result.outcome is Outcome.UPDATED
    assert machine.head == tip
    assert result.found is not None
    assert (result.found.file, result.found.content) == ("AGENTS.md", "Use spaces.")
    assert (machine.shop / "notes.txt").read_text() == "mine"
    assert machine.sync().outcome is Outcome.CURRENT


def test_an_empty_folder_becomes_a_clone(machine: Machine) -> None:
    machine.remote.commit()
    machine.shop.mkdir(parents=True)
    assert machine.sync().outcome is Outcome.CLONED


def changed(machine: Machine) -> None:
    (machine.shop / "README.md").write_text("My change.\n")


def staged(machine: Machine) -> None:
    (machine.shop / "new.txt").write_text("x")
    git(machine.shop, "add", "new.txt")


def removed(machine: Machine) -> None:
    (machine.shop / "README.md").unlink()


def on_another_branch(machine: Machine) -> None:
    git(machine.shop, "checkout", "-q", "-b", "mine")


def detached(machine: Machine) -> None:
    git(machine.shop, "checkout", "-q", "--detach")


def with_own_commit(machine: Machine) -> None:
    git(machine.shop, "commit", "-q", "--allow-empty", "-m", "Mine")


def with_untracked(machine: Machine) -> None:
    (machine.shop / "incoming.txt").write_text("mine")


def with_ignored(machine: Machine) -> None:
    (machine.shop / "secret.env").write_text("mine")


def in_a_merge(machine: Machine) -> None:
    git(machine.shop, "branch", "side")
    git(machine.shop, "update-ref", "MERGE_HEAD", "HEAD")


UNUPDATED = {
    changed: Outcome.DIRTY,
    staged: Outcome.DIRTY,
    removed: Outcome.DIRTY,
    on_another_branch: Outcome.OTHER_BRANCH,
    detached: Outcome.OTHER_BRANCH,
    with_own_commit: Outcome.DIVERGED,
    with_untracked: Outcome.BLOCKED,
    with_ignored: Outcome.BLOCKED,
    in_a_merge: Outcome.BLOCKED,
}


@pytest.mark.parametrize("work", UNUPDATED, ids=lambda work: work.__name__)
def test_a_clone_with_work_in_it_stays_as_it_is(machine: Machine, work: Any) -> None:
    machine.remote.commit({"README.md": "one", ".gitignore": "*.env\n"})
    machine.sync()
    work(machine)
    before, head = machine.files(), machine.head
    (machine.remote.work / ".gitignore").unlink()
    tip = machine.remote.commit(
        {"README.md": "two", "incoming.txt": "theirs", "secret.env": "theirs", "CLAUDE.md": "New."}
    )
    result = machine.sync()
    assert result.outcome is UNUPDATED[work]
    assert result.outcome not in IN_ORDER
    assert str(machine.shop) in result.detail
    assert (machine.files(), machine.head) == (before, head)
    assert result.found is not None
    assert (result.found.commit, result.found.clone_commit, result.found.content) == (tip, head, "New.")


def test_a_clone_with_commits_on_top_is_in_order(machine: Machine) -> None:
    machine.remote.commit()
    machine.sync()
    with_own_commit(machine)
    assert machine.sync().outcome is Outcome.AHEAD


def test_a_rewritten_history_changes_no_clone(machine: Machine) -> None:
    machine.remote.commit()
    machine.remote.commit()
    machine.sync()
    head = machine.head
    git(machine.remote.work, "reset", "-q", "--hard", "HEAD~1")
    machine.remote.commit({"README.md": "rewritten"})
    assert machine.sync().outcome is Outcome.DIVERGED
    assert machine.head == head


def test_a_branch_that_vanished_is_named(machine: Machine) -> None:
    machine.remote.commit()
    machine.remote.commit(branch="next")
    assert machine.sync(branch="next").outcome is Outcome.CLONED
    git(machine.remote.bare, "branch", "-D", "next")
    head = machine.head
    result = machine.sync(branch="next")
    assert result.outcome is Outcome.BRANCH_GONE
    assert "no branch next" in result.detail
    assert "hivelore repo update" in result.detail
    assert (result.found, machine.head) == (None, head)
    assert machine.sync(name="other", branch="nowhere").outcome is Outcome.BRANCH_GONE
    assert not machine.clones.path("other").exists()


def test_a_renamed_default_branch_is_followed_and_the_clone_stays(machine: Machine) -> None:
    machine.remote.commit()
    machine.sync()
    git(machine.remote.bare, "branch", "-m", "main", "trunk")
    machine.remote.branch = "trunk"
    tip = machine.remote.commit()
    result = machine.sync()
    assert result.outcome is Outcome.OTHER_BRANCH
    assert result.found is not None
    assert (result.found.branch, result.found.commit) == ("trunk", tip)


def test_an_empty_repository_is_no_clone_yet(machine: Machine) -> None:
    assert machine.sync().outcome is Outcome.EMPTY
    assert not machine.shop.exists()
    machine.remote.commit()
    assert machine.sync().outcome is Outcome.CLONED


def test_an_unreachable_repository_leaves_the_clone(machine: Machine) -> None:
    machine.remote.commit()
    machine.sync()
    machine.remote.bare.rename(machine.remote.bare.with_name("gone"))
    head = machine.head
    for result in (machine.sync(), machine.sync(branch="main"), machine.sync(name="other")):
        assert result.outcome is Outcome.UNREACHABLE
        assert "Check the network" in result.detail
        assert "graft" not in result.detail
    assert machine.head == head
    assert machine.sync(name="far", url="https://127.0.0.1:9/x/shop").outcome is Outcome.UNREACHABLE
    assert machine.sync(name="far", url="ssh://git@127.0.0.1:9/x/shop").outcome is Outcome.UNREACHABLE


@pytest.mark.parametrize("kind", ["file", "folder", "link", "linked git", "git file", "other", "worktree", "broken"])
def test_something_else_in_the_place_of_a_clone_stays(tmp_path: Path, machine: Machine, kind: str) -> None:
    machine.remote.commit()
    machine.clones.create_folder()
    other = Remote(tmp_path / "other")
    other.commit()
    elsewhere = tmp_path / "elsewhere"
    git(tmp_path, "clone", "-q", machine.remote.url, str(elsewhere))
    match kind:
        case "file":
            machine.shop.write_text("mine")
        case "folder":
            machine.shop.mkdir()
            (machine.shop / "x").write_text("mine")
        case "link":
            machine.shop.symlink_to(elsewhere)
        case "linked git":
            machine.shop.mkdir()
            (machine.shop / ".git").symlink_to(elsewhere / ".git")
        case "git file":
            machine.shop.mkdir()
            (machine.shop / ".git").write_text(f"gitdir: {elsewhere}/.git\n")
        case "other":
            git(tmp_path, "clone", "-q", other.url, str(machine.shop))
        case "worktree":
            git(elsewhere, "worktree", "add", "-q", str(machine.shop))
        case _:
            machine.shop.mkdir()
            (machine.shop / ".git").mkdir()
            (machine.shop / ".git" / "config").write_text(f'[remote "origin"]\nurl = {machine.remote.url}\n')
    before = machine.files() if machine.shop.is_dir() else machine.shop.read_bytes()
    machine.remote.commit()
    result = machine.sync()
    assert result.outcome is Outcome.NOT_A_CLONE
    assert (machine.files() if machine.shop.is_dir() else machine.shop.read_bytes()) == before


def test_a_workspace_inside_a_repository_is_not_taken_for_the_clone(machine: Machine) -> None:
    machine.remote.commit()
    machine.workspace.mkdir()
    git(machine.workspace, "init", "-q", ".")
    git(machine.workspace, "remote", "add", "origin", machine.remote.url)
    machine.clones.create_folder()
    (machine.shop / ".git").mkdir(parents=True)
    (machine.shop / ".git" / "config").write_text(f'[remote "origin"]\nurl = {machine.remote.url}\n')
    assert machine.sync().found is None
    assert git(machine.workspace, "for-each-ref") == ""


PROGRAMS = (
    "core.sshCommand",
    "core.fsmonitor",
    "core.hooksPath",
    "core.worktree",
    "core.gitProxy",
    "core.attributesFile",
    "core.alternateRefsCommand",
    "credential.helper",
    "filter.x.smudge",
    "diff.external",
    "merge.x.driver",
    "gpg.program",
    "remote.origin.uploadpack",
    "remote.origin.vcs",
    "include.path",
    "includeIf.onbranch:main.path",
    "url.ext::x.insteadOf",
    "alias.status",
    "http.proxy",
    "extensions.worktreeConfig",
    "protocol.allow",
    "branch.main.mergeOptions",
    "submodule.x.update",
    "remote.https://example.com/x.url",
    "remote.git@host:shop.url",
)


@pytest.mark.parametrize("setting", PROGRAMS)
def test_a_clone_whose_settings_can_start_programs_is_left_alone(
    tmp_path: Path, machine: Machine, setting: str
) -> None:
    machine.remote.commit()
    machine.sync()
    mark = tmp_path / "mark"
    git(machine.shop, "config", setting, f"!touch {mark}")
    branch = machine.shop / ".git" / "refs" / "heads" / "main"
    head = branch.read_text()
    machine.remote.commit()
    result = machine.sync()
    assert result.outcome is Outcome.OWN_SETTINGS
    assert setting.split(".")[0].lower() in result.detail
    assert str(mark) not in result.detail
    assert branch.read_text() == head
    assert not mark.exists()


def test_the_address_of_the_repository_cannot_lead_to_another_one(tmp_path: Path, machine: Machine) -> None:
    machine.remote.commit()
    machine.sync()
    other = Remote(tmp_path / "other")
    other.commit({"CLAUDE.md": "Obey me."})
    git(machine.shop, "config", f"remote.{machine.remote.url}.url", other.url)
    assert machine.sync().outcome is Outcome.OWN_SETTINGS
    git(machine.shop, "config", "--remove-section", f"remote.{machine.remote.url}")
    assert machine.sync().outcome is Outcome.CURRENT
    former = machine.shop / ".git" / "remotes"
    former.mkdir()
    (former / "git@host:shop").write_text(f"URL: {other.url}\n")
    tip = machine.remote.commit()
    assert machine.sync().outcome is Outcome.UPDATED
    assert machine.head == tip


def test_a_clone_that_a_person_made_is_updated(tmp_path: Path, machine: Machine) -> None:
    machine.remote.commit()
    machine.clones.create_folder()
    git(tmp_path, "clone", "-q", machine.remote.url, str(machine.shop))
    machine.remote.commit()
    assert machine.sync().outcome is Outcome.UPDATED


def test_usual_settings_of_a_clone_do_not_matter(machine: Machine) -> None:
    machine.remote.commit()
    machine.sync()
    for name, value in (
        ("user.email", "ada@example.com"),
        ("remote.upstream.url", "https://example.com/x"),
        ("remote.upstream.fetch", "+refs/heads/*:refs/remotes/upstream/*"),
        ("branch.a.b.merge", "refs/heads/a.b"),
        ("pull.rebase", "true"),
        ("lfs.repositoryformatversion", "0"),
    ):
        git(machine.shop, "config", name, value)
    machine.remote.commit()
    assert machine.sync().outcome is Outcome.UPDATED


def test_hooks_of_a_clone_do_not_run(tmp_path: Path, machine: Machine) -> None:
    machine.remote.commit()
    machine.sync()
    mark = tmp_path / "mark"
    for name in ("post-checkout", "post-merge", "pre-merge-commit", "reference-transaction", "post-index-change"):
        hook = machine.shop / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
        hook.chmod(0o755)
    machine.remote.commit()
    assert machine.sync().outcome is Outcome.UPDATED
    assert not mark.exists()


def _link_to(kind: str, victim: Path, inside: Path) -> None:
    match kind:
        case "logs/HEAD" | "index":
            (inside / kind).unlink()
            (inside / kind).symlink_to(victim)
        case "logs/refs/heads/main":
            (inside / kind).unlink()
            os.link(victim, inside / kind)
        case _:
            (inside / kind).rename(victim.with_name("moved"))
            (inside / kind).symlink_to(victim.with_name("moved"))


@pytest.mark.parametrize("kind", ["logs/HEAD", "logs/refs/heads/main", "index", "refs/heads", "objects/pack"])
def test_links_in_the_git_folder_are_not_followed(tmp_path: Path, machine: Machine, kind: str) -> None:
    machine.remote.commit()
    machine.sync()
    victim = tmp_path / "victim"
    victim.write_text("mine")
    _link_to(kind, victim, machine.shop / ".git")
    machine.remote.commit()
    result = machine.sync()
    assert result.outcome is Outcome.OWN_SETTINGS
    assert f"{kind} is a link" in result.detail
    assert victim.read_text() == "mine"


def test_an_agent_that_changes_the_git_folder_after_the_checks_starts_and_writes_nothing(
    tmp_path: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.remote.commit()
    machine.sync()
    victim, mark, inside = tmp_path / "victim", tmp_path / "mark", machine.shop / ".git"
    victim.write_text("mine")
    look, looks = CloneFolder.odd_entry, list[str | None]()

    def look_too_early(folder: CloneFolder) -> str | None:
        found = look(folder)
        looks.append(found)
        if len(looks) < 2:  # A sync looks before and after the fetch.
            return found
        for log in ("logs/HEAD", "logs/refs/heads/main", "logs/refs/remotes/origin/main"):
            (inside / log).unlink(missing_ok=True)
            (inside / log).parent.mkdir(parents=True, exist_ok=True)
            (inside / log).symlink_to(victim)
        (inside / "info").mkdir(exist_ok=True)
        (inside / "info" / "attributes").write_text("* filter=x diff=x merge=x\n")
        with (inside / "config").open("a") as config:
            for name in ("core.sshCommand", "core.fsmonitor", "filter.x.smudge", "filter.x.clean", "filter.x.process"):
                section, _, key = name.rpartition(".")
                config.write(f"[{section.replace('.', ' ')}]\n{key} = touch {mark}\n".replace("filter x", 'filter "x"'))
            config.write("[user]\nname = evil\n")
        return found

    monkeypatch.setattr(CloneFolder, "odd_entry", look_too_early)
    tip = machine.remote.commit()
    assert machine.sync().outcome is Outcome.UPDATED
    assert (machine.shop / ".git" / "refs" / "heads" / "main").read_text().strip() == tip
    assert victim.read_text() == "mine"
    assert not mark.exists()


def test_a_branch_that_is_a_link_is_replaced_and_not_followed(tmp_path: Path, machine: Machine) -> None:
    machine.remote.commit()
    machine.sync()
    victim = tmp_path / "victim"
    victim.write_text("mine")
    tracked = machine.shop / ".git" / "refs" / "remotes" / "origin" / "main"
    tracked.parent.mkdir(parents=True, exist_ok=True)
    tracked.unlink(missing_ok=True)
    tracked.symlink_to(victim)
    CloneFolder(machine.shop).put_ref("refs/remotes/origin/main", machine.head)
    assert victim.read_text() == "mine"
    assert tracked.read_text().strip() == machine.head
    tracked.with_name("other").symlink_to(tmp_path)
    with pytest.raises(OSError, match=r"Not a directory|symbolic"):
        CloneFolder(machine.shop).put_ref("refs/remotes/origin/other/main", machine.head)
    for odd in ("refs/heads/../../x", "refs/heads//x", "refs/heads/\0"):
        with pytest.raises(RefsError):
            CloneFolder(machine.shop).put_ref(odd, machine.head)


def test_branches_are_read_where_git_stores_them(machine: Machine) -> None:
    machine.remote.commit()
    machine.sync()
    git(machine.shop, "checkout", "-q", "-b", "topic/a")
    git(machine.shop, "commit", "-q", "--allow-empty", "-m", "Mine")
    folder, head = CloneFolder(machine.shop), machine.head
    assert folder.head() == ("topic/a", head)
    git(machine.shop, "pack-refs", "--all")
    assert folder.head() == ("topic/a", head)
    assert folder.commit("refs/heads/topic") is None
    with folder.holding("topic/a", head) as move:
        move(git(machine.shop, "rev-parse", "main"))
    assert machine.head == git(machine.shop, "rev-parse", "main")
    git(machine.shop, "checkout", "-q", "--detach")
    assert folder.head() == (None, machine.head)
    with pytest.raises(RefsError, match="changed meanwhile"), folder.holding("main", machine.head):
        pass
    assert not list((machine.shop / ".git").rglob("*.lock"))


def test_packed_branches_and_usual_file_settings_do_not_hinder_an_update(machine: Machine) -> None:
    machine.remote.commit()
    machine.sync()
    git(machine.shop, "gc", "-q")
    git(machine.shop, "config", "core.autocrlf", "true")
    tip = machine.remote.commit({"a.txt": "one\ntwo\n"})
    assert machine.sync().outcome is Outcome.UPDATED
    assert machine.head == git(machine.shop, "rev-parse", "origin/main") == tip
    assert (machine.shop / "a.txt").read_bytes() == b"one\r\ntwo\r\n"
    assert git(machine.shop, "status", "--porcelain") == ""
    git(machine.shop, "fsck")


@pytest.mark.parametrize("name", ["info/attributes", "info/grafts", "shallow"])
def test_files_that_change_what_a_clone_is_are_named(machine: Machine, name: str) -> None:
    machine.remote.commit()
    machine.sync()
    (machine.shop / ".git" / name).parent.mkdir(exist_ok=True)
    (machine.shop / ".git" / name).touch()
    result = machine.sync()
    assert (result.outcome, name in result.detail) == (Outcome.OWN_SETTINGS, True)


@pytest.mark.parametrize("name", ["HEAD", "refs/heads/main", "index"])
def test_a_clone_in_use_is_blocked(machine: Machine, name: str) -> None:
    machine.remote.commit()
    machine.sync()
    head = machine.head
    lock = machine.shop / ".git" / f"{name}.lock"
    lock.touch()
    machine.remote.commit()
    assert machine.sync().outcome is Outcome.BLOCKED
    lock.unlink()
    assert (machine.head, git(machine.shop, "status", "--porcelain")) == (head, "")
    assert machine.sync().outcome is Outcome.UPDATED


def test_damage_on_this_machine_is_not_called_unreachable(tmp_path: Path, machine: Machine) -> None:
    machine.remote.commit()
    machine.sync()
    machine.remote.commit()
    (machine.shop / ".git" / "index").write_text("broken")
    assert machine.sync().outcome is Outcome.BLOCKED
    (tmp_path / "mirrors").rename(tmp_path / "former")
    (tmp_path / "mirrors").touch()
    result = machine.sync()
    assert (result.outcome, str(tmp_path / "mirrors") in result.detail) == (Outcome.BLOCKED, True)


def test_a_clone_is_copied_to_another_file_system(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.remote.commit({"CLAUDE.md": "-> AGENTS.md", "AGENTS.md": "Use tabs."})
    rename = Path.rename

    def rename_here(path: Path, target: Path) -> Path:
        if target == machine.shop and path.parent.parent.name == "mirrors":
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", rename_here)
    assert machine.sync().outcome is Outcome.CLONED
    assert (machine.shop / "CLAUDE.md").is_symlink()
    assert git(machine.shop, "status", "--porcelain") == ""
    (machine.shop.parent / ".hivelore").rmdir()


def test_an_update_does_not_begin_with_little_time_left(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.remote.commit()
    machine.sync()
    head = machine.head
    machine.remote.commit()
    monkeypatch.setattr(clones, "_LEAST_LEFT", 1_000)
    assert machine.sync().outcome is Outcome.TIMED_OUT
    assert machine.head == head


def _with_submodule(tmp_path: Path, machine: Machine) -> None:
    inner = Remote(tmp_path / "inner")
    inner.commit()
    git(machine.remote.work, "submodule", "--quiet", "add", inner.url, "inner")
    machine.remote.commit({"README.md": "with a submodule"})
    machine.sync()
    git(machine.shop, "submodule", "--quiet", "update", "--init")
    (machine.shop / "inner" / "work.txt").write_text("mine")


@pytest.mark.parametrize("kind", ["file", "removed"])
def test_work_in_a_submodule_that_becomes_something_else_stays(tmp_path: Path, machine: Machine, kind: str) -> None:
    _with_submodule(tmp_path, machine)
    head = machine.head
    git(machine.remote.work, "rm", "-q", "-f", "inner")
    machine.remote.commit({"inner": "a file"} if kind == "file" else None)
    result = machine.sync()
    assert (result.outcome, "submodule inner" in result.detail) == (Outcome.BLOCKED, True)
    assert (machine.shop / "inner" / "work.txt").read_text() == "mine"
    assert machine.head == head


def test_another_commit_of_a_submodule_leaves_its_folder(tmp_path: Path, machine: Machine) -> None:
    _with_submodule(tmp_path, machine)
    git(machine.remote.work / "inner", "commit", "-q", "--allow-empty", "-m", "Further")
    machine.remote.commit({"README.md": "moved"})
    assert machine.sync().outcome is Outcome.UPDATED
    assert (machine.shop / "inner" / "work.txt").read_text() == "mine"


def test_a_mirror_belongs_to_one_url(tmp_path: Path, machine: Machine) -> None:
    machine.remote.commit({"CLAUDE.md": "One."})
    machine.sync()
    other = Remote(tmp_path / "other")
    tip = other.commit({"CLAUDE.md": "Two."})
    assert machine.sync(url=other.url).outcome is Outcome.NOT_A_CLONE
    machine.shop.rename(tmp_path / "former")
    found = machine.sync(url=other.url).found
    assert found is not None
    assert (found.commit, found.content) == (tip, "Two.")
    assert git(machine.shop, "config", "remote.origin.url") == other.url
    assert len(list((tmp_path / "mirrors" / "shop").glob("*.git"))) == 1


def test_templates_and_submodules_are_not_used(tmp_path: Path, machine: Machine) -> None:
    mark = tmp_path / "mark"
    hooks = tmp_path / "template" / "hooks"
    hooks.mkdir(parents=True)
    (hooks / "post-checkout").write_text(f"#!/bin/sh\ntouch {mark}\n")
    (hooks / "post-checkout").chmod(0o755)
    (tmp_path / ".gitconfig").write_text(f"[init]\ntemplateDir = {hooks.parent}\n[submodule]\nrecurse = true\n")
    inner = Remote(tmp_path / "inner")
    inner.commit()
    git(machine.remote.work, "submodule", "--quiet", "add", inner.url, "inner")
    machine.remote.commit({"README.md": "with a submodule"})
    assert machine.sync().outcome is Outcome.CLONED
    machine.remote.commit()
    assert machine.sync().outcome is Outcome.UPDATED
    assert list((machine.shop / "inner").iterdir()) == []
    assert not mark.exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "../shop"},
        {"name": ".hivelore"},
        {"name": "-x"},
        {"url": "ext::touch MARK"},
        {"url": "--upload-pack=touch MARK"},
        {"url": "file://host/x"},
        {"url": "ssh://-oProxyCommand=touch MARK/x"},
        {"branch": "--upload-pack=touch MARK"},
        {"branch": "main:refs/heads/other"},
    ],
)
def test_hostile_answers_of_a_service_are_refused(machine: Machine, tmp_path: Path, changes: dict[str, str]) -> None:
    mark = tmp_path / "mark"
    target = replace(machine.target, **{name: one.replace("MARK", str(mark)) for name, one in changes.items()})
    result = machine.clones.sync(target, 60)
    assert result.outcome is Outcome.REFUSED
    assert not mark.exists()
    assert not machine.workspace.exists()


def test_local_paths_need_the_setting_of_this_machine(tmp_path: Path, machine: Machine) -> None:
    machine.remote.commit()
    strict = Clones(machine.workspace, tmp_path / "mirrors", allows_local=False)
    result = strict.sync(machine.target, 60)
    assert result.outcome is Outcome.REFUSED
    assert "HIVELORE_REPO_LOCAL_PATHS" in result.detail


def test_a_url_that_a_configuration_rewrites_to_a_program_is_not_used(tmp_path: Path, machine: Machine) -> None:
    mark = tmp_path / "mark"
    (tmp_path / ".gitconfig").write_text(f'[url "ext::touch {mark} "]\ninsteadOf = https://evil.example/\n')
    assert machine.sync(url="https://evil.example/x").outcome is Outcome.UNREACHABLE
    assert not mark.exists()


def test_errors_of_git_show_no_credentials(tmp_path: Path, machine: Machine) -> None:
    (tmp_path / ".gitconfig").write_text(
        '[url "https://ada:hunter2secret@127.0.0.1:9/"]\ninsteadOf = https://host.example/\n'
    )
    result = machine.sync(url="https://host.example/x")
    assert result.outcome is Outcome.UNREACHABLE
    assert "hunter2secret" not in result.detail
    assert "ada" not in result.detail.replace(str(tmp_path), "")


INSTRUCTIONS: dict[str, tuple[dict[str, str | bytes | None], tuple[str, str] | None]] = {
    "first": ({"CLAUDE.md": "one", "AGENTS.md": "two"}, ("CLAUDE.md", "one")),
    "second": ({"AGENTS.md": "two"}, ("AGENTS.md", "two")),
    "none": ({"docs/CLAUDE.md": "no"}, None),
    "folder": ({"CLAUDE.md/x": "no", "AGENTS.md": "two"}, ("AGENTS.md", "two")),
    "link": ({"CLAUDE.md": "-> AGENTS.md", "AGENTS.md": "two"}, ("CLAUDE.md", "two")),
    "link into a folder": ({"CLAUDE.md": "-> docs/./a.md", "docs/a.md": "-> ../b.md", "b.md": "b"}, ("CLAUDE.md", "b")),
    "link out": ({"CLAUDE.md": "-> ../../../../../../etc/passwd"}, None),
    "link to a path": ({"CLAUDE.md": "-> /etc/passwd", "AGENTS.md": "two"}, ("AGENTS.md", "two")),
    "link to git": ({"CLAUDE.md": "-> .git/config"}, None),
    "link to itself": ({"CLAUDE.md": "-> CLAUDE.md"}, None),
    "link to magic": ({"CLAUDE.md": "-> :(top,glob)**", "b.md": "b"}, None),
    "empty": ({"CLAUDE.md": ""}, ("CLAUDE.md", "")),
    "not UTF-8": ({"CLAUDE.md": b"\xef\xbb\xbfa\xff\0b"}, ("CLAUDE.md", "a\ufffd\ufffdb")),
}


@pytest.mark.parametrize("kind", INSTRUCTIONS)
def test_instructions_are_read_from_the_commit(machine: Machine, kind: str) -> None:
    files, expected = INSTRUCTIONS[kind]
    machine.remote.commit(files)
    machine.sync()
    (machine.shop / "CLAUDE.md").unlink(missing_ok=True) if (machine.shop / "CLAUDE.md").is_symlink() else None
    found = machine.sync().found
    assert found is not None
    assert (found.file, found.content) == (expected or (None, None))


@pytest.mark.parametrize("piece", [b"x", "é".encode(), b"\xff", b"\0"])
def test_of_large_instructions_the_beginning_is_read(machine: Machine, piece: bytes) -> None:
    content = (b"y" + piece * 5_000_000)[:5_000_000]
    machine.remote.commit({"CLAUDE.md": content})
    found = machine.sync().found
    assert found is not None
    assert found.size == 5_000_000
    assert found.content is not None
    assert TEXT_BYTES - 3 <= len(found.content.encode()) <= TEXT_BYTES


def test_a_sync_ends_in_time_with_all_that_it_started(tmp_path: Path, machine: Machine) -> None:
    program = tmp_path / "ssh"
    program.write_text(f"#!/bin/sh\necho $$ >> {tmp_path}/pids\nsleep 300 &\nwait\n")
    program.chmod(0o755)
    (tmp_path / ".gitconfig").write_text(f"[core]\nsshCommand = {program}\n")
    begun = time.monotonic()
    result = machine.sync(1, url="git@host.example:x/shop")
    assert result.outcome is Outcome.TIMED_OUT
    assert time.monotonic() - begun < 20
    shown = subprocess.run(["ps", "-eo", "args"], check=True, capture_output=True, text=True).stdout
    assert str(program) not in shown
    assert not machine.shop.exists()


def test_git_asks_nobody(tmp_path: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "mark"
    asking = tmp_path / "askpass"
    asking.write_text(f"#!/bin/sh\ntouch {mark}\necho x\n")
    asking.chmod(0o755)
    program = tmp_path / "ssh"
    program.write_text(f"#!/bin/sh\n(exec < /dev/tty) 2>/dev/null && touch {mark}\nenv > {tmp_path}/env\nexit 1\n")
    program.chmod(0o755)
    for name in ("GIT_ASKPASS", "SSH_ASKPASS"):
        monkeypatch.setenv(name, str(asking))
    monkeypatch.setenv("GIT_SSH_COMMAND", str(program))
    assert machine.sync(url="git@host.example:x/shop").outcome is Outcome.UNREACHABLE
    environment = (tmp_path / "env").read_text()
    assert "GIT_TERMINAL_PROMPT=0" in environment
    assert str(asking) not in environment
    assert not mark.exists()


def test_two_syncs_of_one_repository_do_not_meet(machine: Machine) -> None:
    machine.remote.commit({f"{number}.txt": "x" * 10_000 for number in range(200)})
    results: list[SyncResult] = []
    threads = [Thread(target=lambda: results.append(machine.sync())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.outcome for one in results) == [Outcome.CLONED, *[Outcome.CURRENT] * 3]


def test_a_repository_that_another_process_syncs_is_busy(tmp_path: Path, machine: Machine) -> None:
    machine.remote.commit()
    machine.sync()
    with (tmp_path / "mirrors" / "shop" / "lock").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert machine.sync(0.3).outcome is Outcome.BUSY


def test_what_a_killed_process_left_is_removed(tmp_path: Path, machine: Machine) -> None:
    machine.remote.commit()
    machine.sync(name="shop-2")
    unfinished = tmp_path / "workspace" / "repos" / ".hivelore"
    own = tmp_path / "mirrors" / "shop"
    for left in (own / "new-0123", own / "0123.git", unfinished / "shop-4567"):
        left.mkdir(parents=True)
        (left / "x").write_text("x")
    assert machine.sync().outcome is Outcome.CLONED
    (mirror,) = own.glob("*.git")
    for left in (mirror / "packed-refs.lock", mirror / "refs" / "heads" / "main.lock"):
        left.touch()
    machine.remote.commit()
    assert machine.sync().outcome is Outcome.UPDATED
    assert not list(unfinished.iterdir())
    unfinished.rmdir()
    assert len(list((tmp_path / "mirrors" / "shop-2").glob("*.git"))) == 1


def test_links_in_place_of_the_folders_are_refused(tmp_path: Path, machine: Machine) -> None:
    machine.remote.commit()
    machine.workspace.mkdir()
    (tmp_path / "elsewhere").mkdir()
    (machine.workspace / "repos").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Conflict, match="is a link"):
        machine.sync()


def test_a_folder_that_cannot_be_written_is_named(machine: Machine) -> None:
    machine.remote.commit()
    machine.workspace.write_text("a file")
    with pytest.raises(Conflict, match="HIVELORE_WORKSPACE"):
        machine.sync()
