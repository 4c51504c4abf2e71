"""The files of agents: what is found below the memory folders and read of them, and that nothing leads out."""

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


def test_both_folders_are_made_and_making_them_again_is_fine(files: WorkspaceFiles, root: Path) -> None:
    files.create_folders()
    assert (root / "personal" / "memory").is_dir()
    assert (root / "shared" / "memory").is_dir()
    assert files.scan().marks == {}
    assert files.scan().unread == ()


def test_files_of_every_memory_folder_are_found_and_no_others(files: WorkspaceFiles, root: Path) -> None:
    wanted = ["personal/memory/a.md", "shared/memory/x/y/b", "shared/thoughts/c.txt", "agents/bob/memory/d – 日本.md"]
    for path in (*wanted, "personal/e.md", "repos/shop/f.md", "shared/memory/.git/config", "shared/memory/g.md~"):
        write(root, path)
    assert sorted(files.scan().marks) == sorted(wanted)


def test_a_mark_stays_with_the_file_and_changes_with_its_content(files: WorkspaceFiles, root: Path) -> None:
    file = write(root, "shared/memory/a.md")
    (mark,) = files.scan().marks.values()
    moved = file.rename(root / "personal" / "memory" / "b.md")
    assert files.scan().marks == {"personal/memory/b.md": mark}
    moved.write_text("Other words.")
    assert files.scan().marks["personal/memory/b.md"] != mark


def test_what_is_read_is_what_is_there_with_its_mark(files: WorkspaceFiles, root: Path) -> None:
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


def test_a_folder_that_becomes_a_link_holds_nothing(files: WorkspaceFiles, root: Path, tmp_path: Path) -> None:
    write(root, "shared/memory/a.md")
    write(tmp_path, "elsewhere/a.md", "Secret.")
    (root / "shared" / "memory").rename(root / "shared" / "old")
    (root / "shared" / "memory").symlink_to(tmp_path / "elsewhere")
    with pytest.raises((NotFound, Unavailable)):
        files.read("shared/memory/a.md", MOST)
    with pytest.raises(Unavailable, match="links"):
        files.create_folders()


def test_the_workspace_itself_may_be_reached_by_a_link(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    files = WorkspaceFiles(tmp_path / "link", tmp_path)
    files.create_folders()
    assert files.path == str(real)
    write(real, "shared/memory/a.md")
    assert list(files.scan().marks) == ["shared/memory/a.md"]


def test_pipes_and_sockets_are_passed_by_without_waiting(
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


def test_a_file_that_is_gone_or_too_large_or_a_folder_is_refused(files: WorkspaceFiles, root: Path) -> None:
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


def test_what_may_not_be_read_is_told_and_does_not_count_as_gone(files: WorkspaceFiles, root: Path) -> None:
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
    told = subprocess.run(
        [sys.executable, "-c", program], preexec_fn=without_override(), capture_output=True, text=True, check=True
    ).stdout
    closed.chmod(0o700)
    assert told.splitlines() == [
        "('shared/memory/closed',) A folder in shared/memory cannot be read (Permission denied). "
        "['shared/memory/a.md']",
        "It cannot be read (Permission denied).",
    ]


def test_a_workspace_that_is_away_says_so(files: WorkspaceFiles, root: Path) -> None:
    root.rename(root.with_name("away"))
    look = files.scan()
    assert look.unread == ("",)
    assert "cannot be read (No such file or directory)" in str(look.problem)
    with pytest.raises(NotFound):
        files.read("shared/memory/a.md", MOST)


def test_where_no_folder_can_be_made_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(Unavailable, match="cannot be made"):
        WorkspaceFiles(tmp_path / "file", tmp_path).create_folders()


@pytest.mark.parametrize("cap", ["MAX_FILES", "MAX_ENTRIES"])
def test_too_many_files_are_looked_at_in_part(
    files: WorkspaceFiles, root: Path, monkeypatch: pytest.MonkeyPatch, cap: str
) -> None:
    monkeypatch.setattr(workspace, cap, 5)
    for number in range(9):
        write(root, f"shared/memory/{number}.md")
    look = files.scan()
    assert len(look.marks) <= 5
    assert look.unread == ("",)
    assert "rest is not looked at" in str(look.problem)


def test_the_files_of_the_service_are_no_memories_wherever_they_lie(root: Path) -> None:
    home = root / "shared" / "memory" / "hivelore"
    files = WorkspaceFiles(root, home)
    files.create_folders()
    write(root, "shared/memory/hivelore/service.log")
    write(root, "shared/memory/a.md")
    assert list(files.scan().marks) == ["shared/memory/a.md"]
