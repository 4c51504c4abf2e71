"""The branch and the changed files of a repository that git itself created."""

import os
import stat
import time
from pathlib import Path

import pytest

from hivelore.local.git_changes import MAX_CHARACTERS, MAX_FILES, ChangedFiles
from hivelore.local.git_project import branch_of
from interfaces.test_git_project import git


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "hive"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for name in ("old.py", "a b.py", "wörter.py"):
        (folder / name).write_text("1\n", encoding="utf-8")
    git(folder, "add", "--all")
    git(folder, "commit", "-qm", "Begin")
    return folder


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hivelore.local.git_changes.PATIENCE", 60.0)


def test_the_branch_is_read_in_a_subfolder_and_a_worktree(repository: Path, tmp_path: Path) -> None:
    git(repository, "switch", "-qc", "fix/parser")
    git(repository, "worktree", "add", "-q", "-b", "beside", str(tmp_path / "beside"))
    (repository / "src").mkdir()
    assert branch_of(repository / "src") == "fix/parser"
    assert branch_of(tmp_path / "beside") == "beside"


def test_a_detached_head_and_a_folder_outside_a_repository_have_no_branch(repository: Path, tmp_path: Path) -> None:
    git(repository, "checkout", "-q", "--detach")
    assert branch_of(repository) is None
    assert branch_of(tmp_path) is None


@pytest.mark.usefixtures("patient")
def test_uncommitted_files_come_before_those_of_the_last_commits(repository: Path) -> None:
    (repository / "new.py").write_text("2\n", encoding="utf-8")
    git(repository, "add", "new.py")
    git(repository, "commit", "-qm", "Add")
    (repository / "a b.py").write_text("2\n", encoding="utf-8")
    (repository / "untracked.py").write_text("2\n", encoding="utf-8")
    assert ChangedFiles(str(repository)).read() == ["a b.py", "new.py", "old.py", "wörter.py"]


@pytest.mark.usefixtures("patient")
def test_outside_a_repository_and_without_commits_there_are_no_files(tmp_path: Path) -> None:
    assert ChangedFiles(str(tmp_path)).read() == []
    git(tmp_path, "init", "-q")
    assert ChangedFiles(str(tmp_path)).read() == []


@pytest.mark.usefixtures("patient")
def test_many_files_are_limited(repository: Path) -> None:
    for number in range(200):
        (repository / f"{'x' * (number % 150)}{number}.py").write_text("1\n", encoding="utf-8")
    git(repository, "add", "--all")
    found = ChangedFiles(str(repository)).read()
    assert 20 < len(found) <= MAX_FILES
    assert len("\n".join(found)) <= MAX_CHARACTERS


def test_git_that_hangs_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "git"
    program.write_text("#!/bin/sh\nprintf ' M a.py\\000half'\nexec sleep 60\n", encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    began = time.monotonic()
    assert ChangedFiles(str(tmp_path)).read() in ([], ["a.py"], ["a.py", " M a.py"])
    assert time.monotonic() - began < 30.0


@pytest.mark.parametrize("end", ["", "exec sleep 60\n"], ids=["ends", "hangs"])
def test_a_process_that_was_forked_after_the_start_of_git_reads_its_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    program = tmp_path / "git"
    program.write_text(f"#!/bin/sh\nprintf ' M a.py\\000'\n{end}", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("hivelore.local.git_changes.PATIENCE", 2.0 if end else 60.0)
    asked = ChangedFiles(str(tmp_path))
    forked = os.fork()
    if not forked:
        try:
            os._exit(asked.read() != ["a.py", " M a.py"])
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1]) == 0
    asked.read()


def test_without_git_there_are_no_files(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert ChangedFiles(str(repository)).read() == []
