"""Files of Hivelore are readable by their owner only, whatever the umask and the mode of the home folder."""

import errno
import os
import re
import stat
import subprocess
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import hivelore
from hivelore.cli import checks
from hivelore.cli.checks import Level
from hivelore.errors import Broken
from hivelore.hooks.fallback import count_lost, spool
from hivelore.hooks.install import copy_to
from hivelore.local import endpoint, launcher, private_files
from hivelore.local.lock import EMBEDDED, Lock, Owner
from hivelore.local.protection import exposed, protect

OTHERS = stat.S_IRWXG | stat.S_IRWXO
NOBODY = 65534


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder of the user that everybody may read, unlike the private one of pytest."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@contextmanager
def umask(mask: int) -> Generator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def open_to_others(folder: Path) -> list[str]:
    """Returns the files below a folder that other users may read or change."""
    return sorted(
        f"{path.relative_to(folder)} {path.lstat().st_mode & 0o777:o}"
        for path in folder.rglob("*")
        if path.lstat().st_mode & OTHERS and not path.is_symlink()
    )


def read_by_another_user(file: Path) -> bool:
    """Returns True if a process of another user can read it; without root rights, judged by its mode."""
    if os.geteuid() != 0:
        return bool(file.stat().st_mode & OTHERS)
    command = ["cat", str(file)]
    tried = subprocess.run(command, user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, check=False)
    return tried.returncode == 0


def remember_in(home: Path) -> list[str]:
    """Stores a memory and returns the files of the home folder that others could read meanwhile."""
    with hivelore.open(home) as hive:
        hive.remember("Ada deploys on Fridays.")
        return open_to_others(home)


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o777])
def test_nothing_in_a_readable_home_is_open_to_others(shared: Path, mask: int) -> None:
    with umask(mask):
        during = remember_in(shared)
        copy_to(shared)
        spool(shared / endpoint.SPOOL, {"payload": {}})
        count_lost(shared / endpoint.SPOOL, 1)
    assert (during, open_to_others(shared)) == ([], [])
    assert shared.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o777])
def test_a_new_home_and_its_files_are_private(tmp_path: Path, mask: int) -> None:
    home = tmp_path / "above" / "home"
    with umask(mask):
        remember_in(home)
    assert {folder.stat().st_mode & 0o777 for folder in (home.parent, home)} == {0o700}
    assert open_to_others(tmp_path) == []


def test_another_user_reads_nothing(shared: Path) -> None:
    (shared / "theirs.txt").write_text("for all")
    (shared / "theirs.txt").chmod(0o644)
    with hivelore.open(shared) as hive:
        hive.remember("Ada deploys on Fridays.")
        read = [file.name for file in shared.iterdir() if file.is_file() and read_by_another_user(file)]
    assert read == ["theirs.txt"]


def test_open_files_are_made_private_at_the_next_start(shared: Path) -> None:
    remember_in(shared)
    copy_to(shared)
    spool(shared / endpoint.SPOOL, {"payload": {}})
    for name in (endpoint.LOG, f"{endpoint.LOG}.1", f"{endpoint.DATABASE}-wal", f"{endpoint.DATABASE}-shm"):
        (shared / name).touch()
    for path in shared.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    assert remember_in(shared) == []


def test_a_database_elsewhere_is_private_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "disk"
    elsewhere.mkdir()
    monkeypatch.setenv("HIVELORE_DATABASE", str(elsewhere / "kept.db"))
    with umask(0):
        remember_in(tmp_path / "home")
    assert open_to_others(tmp_path / "home") == []
    assert {file.stat().st_mode & 0o777 for file in elsewhere.iterdir()} == {0o600}


def test_a_linked_database_is_private_at_its_target(tmp_path: Path, shared: Path) -> None:
    (shared / endpoint.DATABASE).symlink_to(tmp_path / "kept.db")
    with umask(0):
        remember_in(shared)
    assert (tmp_path / "kept.db").stat().st_mode & 0o777 == 0o600


def test_files_of_another_user_are_reported(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (shared / endpoint.DATABASE).touch()
    (shared / endpoint.DATABASE).chmod(0o644)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    ((path, why, remedy),) = [(one.path, one.why, one.remedy) for one in protect(shared, shared / endpoint.DATABASE)]
    assert path == shared / endpoint.DATABASE
    assert (why, remedy) == ("other users can read it (mode 644)", f"chmod 600 {path}")
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_folder_writable_by_others_is_reported(shared: Path) -> None:
    shared.chmod(0o777)
    assert [(one.path, one.why) for one in protect(shared, None)] == [
        (shared, "other users can create files in it (mode 777)")
    ]
    assert shared.stat().st_mode & 0o777 == 0o777


def test_the_doctor_reports_open_files_and_changes_nothing(shared: Path) -> None:
    remember_in(shared)
    assert checks.files(exposed(shared, shared / endpoint.DATABASE)).level is Level.OK
    (shared / endpoint.DATABASE).chmod(0o640)
    finding = checks.files(exposed(shared, shared / endpoint.DATABASE))
    assert (finding.level, finding.remedy) == (Level.WARNING, f"chmod 600 {shared / endpoint.DATABASE}")
    assert (shared / endpoint.DATABASE).stat().st_mode & 0o777 == 0o640


def test_the_default_home_is_made_private_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("HIVELORE_HOME", raising=False)
    home = endpoint.home()
    home.mkdir()
    home.chmod(0o755)
    endpoint.make_home(home)
    assert home.stat().st_mode & 0o777 == 0o700


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file that must not be reached through a link."""
    file = tmp_path / "victim"
    file.write_text("as it was")
    return file


def test_a_link_is_never_written_through(shared: Path, victim: Path) -> None:
    (shared / "new").symlink_to(victim)
    with pytest.raises(FileExistsError):
        private_files.create(shared / "new")
    with pytest.raises(OSError, match="it is a link") as problem:
        private_files.open_private(shared / "new", os.O_WRONLY)
    assert (problem.value.errno, victim.read_text()) == (errno.ELOOP, "as it was")


def _lock(home: Path) -> None:
    Lock(home, Owner(pid=os.getpid(), kind=EMBEDDED, url=None, started_at=""))


@pytest.mark.parametrize(
    ("name", "start"), [(endpoint.LOCK, _lock), (endpoint.STARTING, launcher.ensure), (endpoint.LOG, launcher.ensure)]
)
def test_links_named_like_locks_and_log_are_refused(
    shared: Path, victim: Path, name: str, start: Callable[[Path], object]
) -> None:
    (shared / name).symlink_to(victim)
    with pytest.raises(Broken, match="it is a link"):
        start(shared)
    assert victim.read_text() == "as it was"


def test_a_pipe_in_place_of_a_file_does_not_block(shared: Path) -> None:
    os.mkfifo(shared / "log")
    with pytest.raises(OSError, match=r"No such device|no regular file"):
        os.close(private_files.open_private(shared / "log", os.O_WRONLY))


def test_links_named_like_temporary_files_are_not_followed(shared: Path, victim: Path) -> None:
    names = [f".{name}.new" for name in (endpoint.OPERATOR_KEY, endpoint.AGENT_KEY, "hivelore-hook")]
    (shared / "bin").mkdir()
    for place in (shared, shared / "bin"):
        for name in names:
            (place / name).symlink_to(victim)
    with umask(0):
        remember_in(shared)
        copy_to(shared)
    assert victim.read_text() == "as it was"
    assert (shared / endpoint.OPERATOR_KEY).read_text().startswith("hl_")


def _fail_halfway(file: Path) -> None:
    with private_files.replacing(file) as out:
        out.write(b"half")
        raise ZeroDivisionError


def test_a_file_is_replaced_completely_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text("before")
    with pytest.raises(ZeroDivisionError):
        _fail_halfway(file)
    assert (file.read_text(), list(tmp_path.iterdir())) == ("before", [file])
    with umask(0), private_files.replacing(file, 0o640) as out:
        assert {path.stat().st_mode & 0o777 for path in tmp_path.glob(".*")} == {0o600}
        out.write(b"after")
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("after", 0o640)


def test_a_link_named_like_a_temporary_file_is_left_alone(
    tmp_path: Path, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "urandom", bytes)
    (tmp_path / f".hivelore-{bytes(8).hex()}.new").symlink_to(victim)
    with pytest.raises(FileExistsError), private_files.replacing(tmp_path / "settings.json"):
        pass
    assert (victim.read_text(), (tmp_path / "settings.json").exists()) == ("as it was", False)


def test_no_other_module_creates_files() -> None:
    makes = re.compile(r"O_CREAT|\.write_(text|bytes)\(|mkstemp|NamedTemporary|\.touch\(\)|open\([^)]*\"[xa+]")
    source = Path(private_files.__file__).parents[1]
    assert [str(path.relative_to(source)) for path in source.rglob("*.py") if makes.search(path.read_text())] == [
        "local/private_files.py"
    ]


@pytest.mark.parametrize("has_links", [True, False])
def test_a_created_file_replaces_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_links: bool) -> None:
    def refuse(source: str, target: Path) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    if not has_links:
        monkeypatch.setattr(os, "link", refuse)
    file = tmp_path / "file"
    with private_files.creating(file, 0o700) as out:
        out.write(b"first")
    assert file.stat().st_mode & 0o777 == 0o700
    with pytest.raises(FileExistsError), private_files.creating(file) as out:
        out.write(b"second")
    assert file.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [file]
