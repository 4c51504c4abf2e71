"""Lock of a data directory: it has one owner. The kernel releases the lock when the owner ends."""

import fcntl
import os

from hivelore.errors import Broken, Busy
from hivelore.local.endpoint import LOCK, Folder

SERVICE = "service"
EMBEDDED = "embedded"
_ATTEMPTS = 20
_PAUSE = 0.005


class Owner:
    """Process that holds a data directory. ``url`` is None for an embedded owner.

    Not a dataclass: the bridge reads the owner on its first message, and that module is slow to import.
    """

    __slots__ = ("kind", "pid", "started_at", "url")

    def __init__(self, *, pid: int, kind: str, url: str | None, started_at: str) -> None:
        self.pid = pid
        self.kind = kind
        self.url = url
        self.started_at = started_at

    def as_dict(self) -> dict[str, int | str | None]:
        return {"pid": self.pid, "kind": self.kind, "url": self.url, "started_at": self.started_at}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Owner) and self.as_dict() == other.as_dict()

    def __hash__(self) -> int:
        return hash((self.pid, self.started_at))


class Lock:
    """A lock that is held until ``release``. Raises Busy with the owner's pid if another process holds it."""

    def __init__(self, home: Folder, owner: Owner) -> None:
        from hivelore.local import private_files

        self._file = f"{os.fspath(home)}/{LOCK}"
        self.owner = owner
        try:
            self._descriptor = private_files.open_private(self._file, os.O_RDWR)
        except OSError as error:
            raise Broken(
                f"The lock file {self._file} cannot be opened ({error.strerror}). Make it and its folder writable, "
                "or choose another folder with HIVELORE_HOME."
            ) from None
        if not self._acquire(home):
            os.close(self._descriptor)
            raise held_by(read_owner(home))
        os.ftruncate(self._descriptor, 0)
        import json

        os.pwrite(self._descriptor, json.dumps(owner.as_dict()).encode(), 0)

    def _acquire(self, home: Folder) -> bool:
        import time

        for _ in range(_ATTEMPTS):
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if read_owner(home) is not None:
                    return False
                # Not held: another process is reading the owner, which takes the lock for a moment.
                time.sleep(_PAUSE)
            else:
                return True
        return False

    def release(self) -> None:
        if self._descriptor >= 0:
            os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = -1


def read_owner(home: Folder) -> Owner | None:
    """Return the process that holds the directory; None if there is none."""
    data = read_lock(home)
    return None if data is None else _parse(data)


def read_lock(home: Folder) -> bytes | None:
    """Return the content of the lock file, which may be empty at first; None if the directory is not locked."""
    try:
        descriptor = os.open(f"{os.fspath(home)}/{LOCK}", os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Broken(f"The lock file in {os.fspath(home)} cannot be read ({error.strerror}).") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return os.pread(descriptor, 4_096, 0)
        return None
    finally:
        os.close(descriptor)


def _parse(data: bytes) -> Owner:
    import json  # Slow to import, and callers that only need the URL do not use it.

    try:
        return Owner(**json.loads(data))
    except (ValueError, TypeError):
        # Locked a moment ago, and not written yet.
        return Owner(pid=0, kind=EMBEDDED, url=None, started_at="")


def held_by(owner: Owner | None) -> Busy:
    if owner is None or not owner.pid:
        return Busy("Another process is opening this data directory. Try again in a moment.")
    if owner.kind == SERVICE:
        return Busy(f"A service (pid {owner.pid}) at {owner.url} holds this data directory.", pid=owner.pid)
    return Busy(
        f"The process {owner.pid} has this data directory open. Close it there, or talk to a service instead.",
        pid=owner.pid,
    )
