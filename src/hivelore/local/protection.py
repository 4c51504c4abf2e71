"""What other users of this machine could read or change of what Hivelore keeps, and taking it from them."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hivelore.local import endpoint, private_files
from hivelore.local.private_files import FILE, FOLDER, OTHERS

_BESIDE_A_DATABASE = ("", "-wal", "-shm", "-journal")
_FILES = (
    endpoint.OPERATOR_KEY,
    endpoint.AGENT_KEY,
    endpoint.LOCK,
    endpoint.STARTING,
    endpoint.LOG,
    f"{endpoint.LOG}.1",
)
_FOLDERS = (endpoint.SPOOL, endpoint.HOOK, endpoint.SET_UP)
_WRITE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class Exposed:
    """Something that is not this user's alone."""

    path: Path
    why: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.path}: {self.why}. {self.remedy}"


def protect(home: Path, database: Path | None) -> list[Exposed]:
    """Take it from others where it is ours to do so. Answers what is left."""
    for path in _kept(home, database):
        private_files.tighten(path)
    return exposed(home, database)


def exposed(home: Path, database: Path | None) -> list[Exposed]:
    """``database``: a file, which may lie elsewhere; None for one that is no file of this machine."""
    folders = dict.fromkeys(path for path in (home, None if database is None else _real(database).parent) if path)
    found = [one for folder in folders if (one := _of_folder(folder)) is not None]
    trusted = (os.geteuid(), 0, home.stat().st_uid if home.exists() else 0)
    return [*found, *(one for path in _kept(home, database) if (one := _of_file(path, trusted)) is not None)]


def database_files(path: Path) -> list[Path]:
    """A database and the files that SQLite keeps beside it, whether they are there or not."""
    real = _real(path)
    return [real.with_name(f"{real.name}{suffix}") for suffix in _BESIDE_A_DATABASE]


def _kept(home: Path, database: Path | None) -> Iterator[Path]:
    """All that Hivelore writes. Of the folder with agents' files only itself: they are made by others."""
    yield from (home / name for name in (*_FILES, *_FOLDERS, endpoint.WORKSPACE))
    for folder in (home / name for name in _FOLDERS):
        if not folder.is_symlink():
            for place, folders, files in os.walk(folder):
                yield from (Path(place, each) for each in (*folders, *files))
    if database is not None:
        yield from database_files(database)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _of_folder(folder: Path) -> Exposed | None:
    try:
        mode = stat.S_IMODE(folder.stat().st_mode)
    except OSError:
        return None
    if not mode & _WRITE:
        return None
    return Exposed(folder, f"other users can put files into it (mode {mode:o})", f"chmod go-w {folder}")


def _of_file(path: Path, trusted: tuple[int, ...]) -> Exposed | None:
    try:
        told = path.lstat()
    except OSError:
        return None
    if stat.S_ISLNK(told.st_mode):
        return None
    if told.st_uid not in trusted:
        return Exposed(path, f"it belongs to another user ({told.st_uid})", f"chown {os.geteuid()} {path}")
    mode = stat.S_IMODE(told.st_mode)
    if not mode & OTHERS:
        return None
    wanted = FOLDER if stat.S_ISDIR(told.st_mode) else FILE
    return Exposed(path, f"other users can read it (mode {mode:o})", f"chmod {wanted:o} {path}")
