""".env files in the workspace."""

import os
from pathlib import Path

import pytest

from hivelore.configuration.env_files import LARGEST, MAX_BYTES, EnvFiles
from hivelore.errors import Conflict, Invalid


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / "app").mkdir(parents=True)
    return folder


@pytest.fixture
def files(workspace: Path) -> EnvFiles:
    return EnvFiles(workspace, workspace.parent / "home")


def names(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


def test_a_line_is_written_and_the_file_is_private(files: EnvFiles, workspace: Path) -> None:
    file = workspace / "app/.env"
    file.write_bytes(b"A=1\n\xff raw \r B\nKEY=old")
    file.chmod(0o644)
    files.update("app/.env", {"KEY": "new"})
    assert file.read_bytes() == b"A=1\n\xff raw \r B\nKEY=new\n"
    assert file.stat().st_mode & 0o777 == 0o600
    files.update("app/.env", {"KEY": None})
    assert file.read_bytes() == b"A=1\n\xff raw \r B\n"
    assert names(file.parent) == [".env"]


def test_removing_from_a_missing_file_creates_none(files: EnvFiles, workspace: Path) -> None:
    files.update("app/.env", {"KEY": None})
    assert names(workspace / "app") == []


def test_paths_are_relative_to_the_workspace(files: EnvFiles, workspace: Path) -> None:
    assert files.normalize("app/.env") == files.normalize("./app//.env") == "app/.env"
    assert files.normalize(f"{workspace}/app/prod.env") == "app/prod.env"
    (link := workspace.parent / "link").symlink_to(workspace)
    assert EnvFiles(link, workspace / "home").normalize(f"{link}/.env.local") == ".env.local"


@pytest.mark.parametrize(
    "path",
    [
        "../.env",
        "app/../../.env",
        "/etc/x.env",
        "{workspace}/../x.env",
        "app",
        ".",
        "Makefile",
        ".bashrc",
        ".envrc",
        "app/.env\n",
        "shared/memory/x.env",
        "personal/memory/app/.env",
        "agents/ada/memory/x.env",
        "shared/thoughts/.env",
        "x" * 1_000 + "/.env",
    ],
)
def test_other_paths_are_refused(files: EnvFiles, workspace: Path, path: str) -> None:
    with pytest.raises(Invalid, match="envPath is not allowed"):
        files.normalize(path.format(workspace=workspace))


def test_the_home_folder_inside_the_workspace_is_refused(workspace: Path) -> None:
    with pytest.raises(Invalid, match="home folder"):
        EnvFiles(workspace, workspace / "home").normalize("home/.env")


def refused(files: EnvFiles, path: str, reason: str) -> None:
    for attempt in (lambda: files.check(path), lambda: files.update(path, {"KEY": "x"})):
        with pytest.raises(Conflict, match=reason):
            attempt()


def test_links_are_not_followed(files: EnvFiles, workspace: Path) -> None:
    outside = workspace.parent / "outside"
    outside.mkdir()
    (outside / "x.env").write_text("A=1\n")
    (workspace / "app/.env").symlink_to(outside / "x.env")
    (workspace / "linked").symlink_to(outside)
    (workspace / "dead.env").symlink_to(outside / "new.env")
    refused(files, "app/.env", "link")
    refused(files, "linked/x.env", "link")
    refused(files, "dead.env", "link")
    (workspace / "hard.env").hardlink_to(outside / "x.env")
    refused(files, "hard.env", "hard link")
    assert (outside / "x.env").read_text() == "A=1\n"
    assert names(outside) == ["x.env"]


def test_what_is_no_regular_file_is_refused(files: EnvFiles, workspace: Path) -> None:
    (workspace / "app/.env").mkdir()
    refused(files, "app/.env", "regular file")
    os.mkfifo(workspace / "pipe.env")
    refused(files, "pipe.env", "regular file")
    refused(files, "missing/.env", "does not exist")
    (workspace / "large.env").write_bytes(b"#" * (MAX_BYTES + 1))
    refused(files, "large.env", "bytes")


def test_a_file_does_not_grow_beyond_its_limit_and_a_line_is_removed_from_a_larger_one(
    files: EnvFiles, workspace: Path
) -> None:
    file = workspace / "app/.env"
    file.write_bytes(b"#" * (MAX_BYTES - 20) + b"\nKEY=hunter2\n")
    with pytest.raises(Conflict, match="would have more"):
        files.update("app/.env", {"MORE": "x" * 20})
    with file.open("ab") as out:
        out.write(b"#" * 100)
    with pytest.raises(Conflict, match="more than"):
        files.check("app/.env")
    files.update("app/.env", {"KEY": None})
    assert b"hunter2" not in file.read_bytes()
    file.write_bytes(b"#" * (LARGEST + 1))
    with pytest.raises(Conflict, match="more than"):
        files.update("app/.env", {"KEY": None})


def test_a_file_is_removed_with_its_last_line_only_on_request(files: EnvFiles, workspace: Path) -> None:
    file = workspace / "app/.env"
    files.update("app/.env", {"KEY": "x"})
    files.update("app/.env", {"KEY": None})
    assert file.read_bytes() == b""
    files.update("app/.env", {"KEY": None}, may_remove=True)
    assert not file.exists()
    file.write_text("# mine\n")
    files.update("app/.env", {"KEY": None}, may_remove=True)
    assert file.read_text() == "# mine\n"


def test_the_variables_of_a_file_are_read(files: EnvFiles, workspace: Path) -> None:
    assert files.keys("app/.env") is None
    (workspace / "app/.env").write_text("A=1\n")
    assert files.keys("app/.env") == {"A"}
    assert files.differing("app/.env", {"A": "1", "B": None, "C": "x"}) == {"C"}


def test_files_of_other_users_are_refused(files: EnvFiles, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (workspace / "app/.env").write_text("A=1\n")
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    refused(files, "app/.env", "another user")
    assert (workspace / "app/.env").read_text() == "A=1\n"


def test_a_failed_write_leaves_the_file_alone(
    files: EnvFiles, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "app/.env").write_text("A=1\n")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Conflict, match="No space"):
        files.update("app/.env", {"KEY": "x"})
    assert (workspace / "app/.env").read_text() == "A=1\n"
    assert names(workspace / "app") == [".env"]
