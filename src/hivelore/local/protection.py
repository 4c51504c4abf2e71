"""Permissions of Hivelore's files: finds files that other users can access, and removes that access."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hivelore.local import endpoint, private_files
from hivelore.local.private_files import FILE, FOLDER, OTHERS

_DATABASE_SUFFIXES = ("", "-wal", "-shm", "-journal")
_FILES = (
    endpoint.OPERATOR_KEY,
    endpoint.AGENT_KEY,
    endpoint.CONFIG_KEYS,
    endpoint.LOCK,
    endpoint.STARTING,
    endpoint.LOG,
    f"{endpoint.LOG}.1",
)
_FOLDERS = (endpoint.SPOOL, endpoint.HOOK, endpoint.SET_UP, endpoint.LOCKS)
_WRITE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class Exposed:
    """A file or folder that other users can access."""

    path: Path
    why: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.path}: {self.why}. {self.remedy}"


def protect(home: Path, database: Path | None) -> list[Exposed]:
    """Remove the access of other users where that is possible. Returns what remains."""
    for path in _written_paths(home, database):
        private_files.tighten(path)
    return exposed(home, database)


def exposed(home: Path, database: Path | None) -> list[Exposed]:
    """``database``: its file, which may be elsewhere; None if it is not a file on this machine."""
    folders = dict.fromkeys(path for path in (home, None if database is None else _real(database).parent) if path)
    found = [exposed for folder in folders if (exposed := _check_folder(folder)) is not None]
    trusted = (os.geteuid(), 0, home.stat().st_uid if home.exists() else 0)
    return [
        *found,
        *(file for path in _written_paths(home, database) if (file := _check_file(path, trusted)) is not None),
    ]


def database_files(path: Path) -> list[Path]:
    """Return the paths of a database and of the files that SQLite creates for it."""
    real = _real(path)
    return [real.with_name(f"{real.name}{suffix}") for suffix in _DATABASE_SUFFIXES]


def _written_paths(home: Path, database: Path | None) -> Iterator[Path]:
    """Yield all paths that Hivelore writes. Files of agents in the workspace are not among them."""
    yield from (home / name for name in (*_FILES, *_FOLDERS, endpoint.WORKSPACE))
    for folder in (home / name for name in _FOLDERS):
        if not folder.is_symlink():
            for place, folders, files in os.walk(folder):
                yield from (Path(place, each) for each in (*folders, *files))
    if database is not None:
        yield from database_files(database)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _check_folder(folder: Path) -> Exposed | None:
    try:
        mode = stat.S_IMODE(folder.stat().st_mode)
    except OSError:
        return None
    if not mode & _WRITE:
        return None
    return Exposed(folder, f"other users can create files in it (mode {mode:o})", f"chmod go-w {folder}")


def _check_file(path: Path, trusted: tuple[int, ...]) -> Exposed | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    if stat.S_ISLNK(found.st_mode):
        return None
    if found.st_uid not in trusted:
        return Exposed(path, f"it belongs to another user ({found.st_uid})", f"chown {os.geteuid()} {path}")
    mode = stat.S_IMODE(found.st_mode)
    if not mode & OTHERS:
        return None
    wanted = FOLDER if stat.S_ISDIR(found.st_mode) else FILE
    return Exposed(path, f"other users can read it (mode {mode:o})", f"chmod {wanted:o} {path}")
