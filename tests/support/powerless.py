"""Processes for which permission bits hold, even if root runs the tests."""

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from support.missing import missing

_DROP_FROM_BOUNDING_SET = 24
"""PR_CAPBSET_DROP of prctl(2)."""
_OVERRIDE, _SEARCH = 1, 2
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: what lets root pass over permission bits."""


def without_override() -> Callable[[], None] | None:
    """Returns the function that a child process runs before it becomes another program, so that it cannot override
    permission bits; None if the user cannot override them anyway. Raises OSError if root cannot give up that power."""
    if os.geteuid() != 0:
        return None
    libc = ctypes.CDLL(None, use_errno=True)

    def give_up() -> None:
        for capability in (_OVERRIDE, _SEARCH):
            if libc.prctl(_DROP_FROM_BOUNDING_SET, capability, 0, 0, 0) != 0:
                raise OSError(ctypes.get_errno(), "root cannot give up its capabilities here")

    return give_up


def bounded() -> Callable[[], None] | None:
    """Like ``without_override``; if root cannot give that power up, the test is skipped (``missing``)."""
    before = without_override()
    try:
        subprocess.run([sys.executable, "-c", ""], preexec_fn=before, check=True, timeout=150)
    except subprocess.SubprocessError:
        missing("root cannot give up its power over permission bits here: A READ-ONLY DIRECTORY WAS NOT TRIED")
    return before


def make_read_only(folder: Path) -> None:
    for file in folder.iterdir():
        file.chmod(0o400)
    folder.chmod(0o500)


def make_writable(folder: Path) -> None:
    folder.chmod(0o700)
    for file in folder.iterdir():
        file.chmod(0o600)
