"""Workspace files: scanning and reading memory folders without leaving them."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from hivelore.errors import NotFound, TooLarge, Unavailable
from hivelore.folders import workspace
from hivelore.folders.workspace import WorkspaceFiles
from support.powerless import without_override

MOST = 1_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "work space – ü"


@pytest.fixture
def files(root: Path, tmp_path: Path) -> WorkspaceFiles:
    made = WorkspaceFiles(root, tmp_path / "home")
    made.create_folders()
    return made


def write(root: Path, path: str, text: str = "Words.") -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_creating_the_folders_twice_is_allowed(files: WorkspaceFiles, root: Path) -> None:
    files.create_folders()
    assert (root / "personal" / "memory").is_dir()
    assert (root / "shared" / "memory").is_dir()
    assert files.scan().marks == {}
    assert files.scan().unread == ()


def test_only_files_in_memory_folders_are_found(files: WorkspaceFiles, root: Path) -> None:
    wanted = ["personal/memory/a.md", "shared/memory/x/y/b", "shared/thoughts/c.txt", "agents/bob/memory/d – 日本.md"]
    for path in (*wanted, "personal/e.md", "repos/shop/f.md", "shared/memory/.git/config", "shared/memory/g.md~"):
        write(root, path)
    assert sorted(files.scan().marks) == sorted(wanted)


def test_a_mark_depends_on_the_content_and_not_on_the_path(files: WorkspaceFiles, root: Path) -> None:
    file = write(root, "shared/memory/a.md")
    (mark,) = files.scan().marks.values()
    moved = file.rename(root / "personal" / "memory" / "b.md")
    assert files.scan().marks == {"personal/memory/b.md": mark}
    moved.write_text("Other words.")
    assert files.scan().marks["personal/memory/b.md"] != mark


def test_reading_returns_mark_and_content(files: WorkspaceFiles, root: Path) -> None:
    write(root, "shared/memory/a.md", "Wörter\0")
    mark, content = files.read("shared/memory/a.md", MOST)
    assert content == "Wörter\0".encode()
    assert {"shared/memory/a.md": mark} == files.scan().marks


def test_links_are_neither_found_nor_followed(files: WorkspaceFiles, root: Path, tmp_path: Path) -> None:
    secret = write(tmp_path, "elsewhere/secret.md")
    shared = root / "shared" / "memory"
    (shared / "link.md").symlink_to(secret)
    (shared / "folder").symlink_to(secret.parent)
    (shared / "loop").symlink_to(shared)
    (root / "shared" / "thoughts").symlink_to(secret.parent)
    (root / "agents").symlink_to(secret.parent)
    assert files.scan().marks == {}
    for path in ("shared/memory/link.md", "shared/memory/folder/secret.md", "shared/thoughts/secret.md"):
        with pytest.raises((NotFound, Unavailable)):
            files.read(path, MOST)


def test_a_folder_replaced_by_a_link_is_empty(files: WorkspaceFiles, root: Path, tmp_path: Path) -> None:
    write(root, "shared/memory/a.md")
    write(tmp_path, "elsewhere/a.md", "Secret.")
    (root / "shared" / "memory").rename(root / "shared" / "old")
    (root / "shared" / "memory").symlink_to(tmp_path / "elsewhere")
    with pytest.raises((NotFound, Unavailable)):
        files.read("shared/memory/a.md", MOST)
    with pytest.raises(Unavailable, match="Links"):
        files.create_folders()


def test_the_workspace_path_may_be_a_link(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    files = WorkspaceFiles(tmp_path / "link", tmp_path)
    files.create_folders()
    assert files.path == str(real)
    write(real, "shared/memory/a.md")
    assert list(files.scan().marks) == ["shared/memory/a.md"]


def test_pipes_and_sockets_are_skipped_without_waiting(
    files: WorkspaceFiles, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = root / "shared" / "memory"
    os.mkfifo(shared / "pipe.md")
    monkeypatch.chdir(shared)  # The name of a socket may not be long.
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket.md")
        assert files.scan().marks == {}
        for name in ("pipe.md", "socket.md"):
            with pytest.raises((NotFound, Unavailable)):
                files.read(f"shared/memory/{name}", MOST)


def test_missing_files_large_files_and_folders_are_refused(files: WorkspaceFiles, root: Path) -> None:
    write(root, "shared/memory/large.md", "x" * (MOST + 1))
    write(root, "shared/memory/folder/a.md")
    with pytest.raises(TooLarge, match="1,001 bytes"):
        files.read("shared/memory/large.md", MOST)
    for path in (
        "shared/memory/none.md",
        "shared/memory/none/a.md",
        "shared/memory/large.md/a",
        "shared/memory/folder",
    ):
        with pytest.raises(NotFound):
            files.read(path, MOST)


def test_unreadable_folders_are_reported_and_not_deleted(files: WorkspaceFiles, root: Path) -> None:
    write(root, "shared/memory/a.md").chmod(0)
    closed = write(root, "shared/memory/closed/b.md").parent
    closed.chmod(0)
    program = f"""
from pathlib import Path
from hivelore.folders.workspace import WorkspaceFiles
from hivelore.errors import Unavailable
files = WorkspaceFiles(Path({str(root)!r}), Path("/nowhere"))
print(files.scan().unread, files.scan().problem, list(files.scan().marks))
try:
    files.read("shared/memory/a.md", 9)
except Unavailable as error:
    print(error)
"""
    output = subprocess.run(
        [sys.executable, "-c", program], preexec_fn=without_override(), capture_output=True, text=True, check=True
    ).stdout
    closed.chmod(0o700)
    assert output.splitlines() == [
        "('shared/memory/closed',) A folder in shared/memory cannot be read (Permission denied). "
        "['shared/memory/a.md']",
        "It cannot be read (Permission denied).",
    ]


def test_a_missing_workspace_is_reported(files: WorkspaceFiles, root: Path) -> None:
    root.rename(root.with_name("away"))
    look = files.scan()
    assert look.unread == ("",)
    assert "cannot be read (No such file or directory)" in str(look.problem)
    with pytest.raises(NotFound):
        files.read("shared/memory/a.md", MOST)


def test_a_folder_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(Unavailable, match="cannot be created"):
        WorkspaceFiles(tmp_path / "file", tmp_path).create_folders()


@pytest.mark.parametrize("cap", ["MAX_FILES", "MAX_ENTRIES"])
def test_files_beyond_the_limit_are_ignored(
    files: WorkspaceFiles, root: Path, monkeypatch: pytest.MonkeyPatch, cap: str
) -> None:
    monkeypatch.setattr(workspace, cap, 5)
    for number in range(9):
        write(root, f"shared/memory/{number}.md")
    look = files.scan()
    assert len(look.marks) <= 5
    assert look.unread == ("",)
    assert "The rest is ignored" in str(look.problem)


def test_the_data_directory_is_never_scanned(root: Path) -> None:
    home = root / "shared" / "memory" / "hivelore"
    files = WorkspaceFiles(root, home)
    files.create_folders()
    write(root, "shared/memory/hivelore/service.log")
    write(root, "shared/memory/a.md")
    assert list(files.scan().marks) == ["shared/memory/a.md"]
