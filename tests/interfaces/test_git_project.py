"""The project of a folder, with repositories that git itself created."""

import os
import subprocess
from pathlib import Path

import pytest

from hivelore.local.git_project import branch_of, normalize_remote, project_of, project_or_folder


def git(folder: Path, *words: str) -> None:
    names = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a"}
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), **names}
    subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, env=environment)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "work" / "hive"
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    git(folder, "commit", "--allow-empty", "-qm", "Begin")
    return folder


def test_a_folder_outside_a_repository_has_no_project(tmp_path: Path) -> None:
    assert project_of(tmp_path) is None


def test_a_place_outside_a_repository_is_its_folder(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    assert project_or_folder(tmp_path) == project_or_folder(tmp_path / "link") == str(tmp_path)
    assert project_or_folder(repository) == project_of(repository)
    assert project_or_folder(tmp_path / "gone") is None


def test_a_project_is_named_after_its_origin(repository: Path) -> None:
    git(repository, "remote", "add", "upstream", "https://example.com/others/hive")
    git(repository, "remote", "add", "origin", "git@Example.com:bees/hive.git")
    assert project_of(repository) == "example.com/bees/hive"


def test_without_an_origin_it_is_named_after_its_folder(repository: Path) -> None:
    assert project_of(repository) == str(repository)


def test_every_folder_in_the_repository_belongs_to_it(repository: Path) -> None:
    inside = repository / "a" / "b"
    inside.mkdir(parents=True)
    assert project_of(inside) == project_of(str(inside)) == str(repository)


@pytest.mark.parametrize("remote", ["", "https://example.com/bees/hive"])
def test_its_worktrees_are_the_same_project(repository: Path, tmp_path: Path, remote: str) -> None:
    if remote:
        git(repository, "remote", "add", "origin", remote)
    git(repository, "worktree", "add", "-q", str(tmp_path / "beside"))
    assert project_of(tmp_path / "beside") == project_of(repository)


def test_a_clone_is_the_same_project_as_another(repository: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        git(tmp_path, "clone", "-q", str(repository), name)
    assert project_of(tmp_path / "one") == project_of(tmp_path / "two") == str(repository)


def test_a_submodule_is_its_own_project(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(repository), "outer")
    git(tmp_path / "outer", "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repository), "inner")
    git(tmp_path / "outer" / "inner", "remote", "set-url", "origin", "https://example.com/bees/inner")
    assert project_of(tmp_path / "outer" / "inner") == "example.com/bees/inner"


@pytest.mark.parametrize(
    "config",
    [
        '[remote "origin"]\n\turl = https://example.com/bees/hive ; ours\n',
        '[core]\nurl = a\n[Remote "origin"]\nfetch = b\nURL="https://example.com/bees/hive"\n[remote "c"]\nurl = d',
    ],
)
def test_the_configuration_is_read_as_git_reads_it(repository: Path, config: str) -> None:
    (repository / ".git" / "config").write_text(config)
    assert project_of(repository) == "example.com/bees/hive"


def test_a_damaged_repository_is_named_after_its_folder(repository: Path) -> None:
    (repository / ".git" / "config").write_bytes(b'[remote "origin"]\n\turl = \xff\xfe\n'[:20])
    assert project_of(repository) == str(repository)


def test_a_file_of_git_that_ends_in_zeros_after_a_crash_is_read(repository: Path, tmp_path: Path) -> None:
    worktree = tmp_path / "beside"
    git(repository, "worktree", "add", "-q", "-b", "beside", str(worktree))
    own = repository / ".git" / "worktrees" / "beside"
    for file in (worktree / ".git", own / "HEAD", own / "commondir"):
        file.write_bytes(file.read_bytes() + b"\0" * 512)
    assert project_or_folder(worktree) == str(repository)
    assert branch_of(worktree) == "beside"


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/bees/hive",
        "https://user:word@EXAMPLE.com:443/bees/hive.git",
        "ssh://git@example.com/bees/hive.git/",
        "git@example.com:bees/hive.git",
        "example.com:bees/hive",
    ],
)
def test_all_forms_of_a_remote_give_the_same_name(url: str) -> None:
    assert normalize_remote(url) == "example.com/bees/hive"


@pytest.mark.parametrize(
    "url", ["/srv/hive", "./hive", "../a:b/hive", "file:///srv/hive", "hive", "https://example.com", ":x"]
)
def test_a_remote_without_a_host_keeps_its_name(url: str) -> None:
    assert normalize_remote(f" {url}.git ") == url
