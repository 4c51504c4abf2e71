"""What background threads have of the system."""

import platform
from pathlib import Path

from hivelore.runtime.background import give_back_memory

PIECES, SIZE = 60_000, 1_000


def resident() -> int:
    """Bytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(1_000 * int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def test_memory_that_was_freed_goes_back_to_the_system() -> None:
    if platform.libc_ver()[0] != "glibc":
        give_back_memory()  # does nothing, and breaks nothing
        return
    pieces = [bytes(SIZE) for _ in range(PIECES)]
    kept = pieces[::1_000]  # between freed pieces, so that the library does not return the memory
    del pieces
    before = resident()
    give_back_memory()
    assert before - resident() > PIECES * SIZE // 2
    assert all(len(piece) == SIZE for piece in kept)
