"""Folders of runs: prompt, output and lock of each. A folder without a lock belongs to a runner that ended."""

import fcntl
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from hivelore.local import private_files
from hivelore.runner.command import CODEX_FILE, MCP_FILE
from hivelore.runner.orphans import end_processes, processes_of

RUNS = "runs"
"""Folder of the runs in the home folder."""
KEPT = 50
"""Folders of ended runs that are kept for their output."""
_LOCK = "lock"


class RunFolder:
    """Locked as long as this process lives, until it is released."""

    def __init__(self, folder: Path) -> None:
        private_files.make_folder(folder)
        self.path = folder
        self._descriptor = private_files.open_private(folder / _LOCK, os.O_RDWR)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)  # Another runner may be looking whether it is free.

    def release(self) -> None:
        os.close(self._descriptor)


def create(runs: Path) -> RunFolder:
    return RunFolder(runs / os.urandom(12).hex())


def clean_up(runs: Path, note: Callable[[str], object]) -> None:
    """Ends what runners that were killed have left, and removes the oldest folders."""
    try:
        folders = sorted((entry for entry in runs.iterdir() if entry.is_dir()), key=_age, reverse=True)
    except OSError:
        return
    for number, folder in enumerate(folders):
        if not _is_free(folder):
            continue
        ended = end_processes(folder.name, runs.parent)
        if ended:
            note(f"Ended {ended} processes that the run {folder.name} of another runner had left.")
        remove_secrets(folder)
        if number >= KEPT:
            shutil.rmtree(folder, ignore_errors=True)


def remove_secrets(folder: Path) -> None:
    """Removes the configuration of MCP servers, which may contain keys, from the folder of an ended run."""
    for name in (MCP_FILE, CODEX_FILE):
        with suppress(OSError):
            (folder / name).unlink()


def prune(runs: Path) -> None:
    """Removes the oldest folders of ended runs. Their processes were ended with them."""
    try:
        folders = sorted((entry for entry in runs.iterdir() if entry.is_dir()), key=_age, reverse=True)
    except OSError:
        return
    for folder in folders[KEPT:]:
        if _is_free(folder) and not processes_of(folder.name, runs.parent):
            shutil.rmtree(folder, ignore_errors=True)


def _age(folder: Path) -> float:
    with suppress(OSError):
        return folder.stat().st_mtime
    return 0.0


def _is_free(folder: Path) -> bool:
    try:
        descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True
