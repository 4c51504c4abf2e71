"""Processes that a test did not start itself."""

from pathlib import Path


def has_ended(pid: int) -> bool:
    """Returns True also for a process that ended, and that nobody has waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
