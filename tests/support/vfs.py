"""A disk for SQLite that records its operations, fails on demand, and simulates power cuts."""

# apsw's types name a Buffer that Python 3.11 does not have.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from itertools import count
from pathlib import Path
from random import Random
from threading import Condition, current_thread
from typing import Any

import apsw

SECTOR = 512
PATIENCE = 60.0
"""Seconds after which a test that hangs fails."""
_numbers = count(1)


class Kind(Enum):
    DATABASE = apsw.SQLITE_OPEN_MAIN_DB
    LOG = apsw.SQLITE_OPEN_WAL
    JOURNAL = apsw.SQLITE_OPEN_MAIN_JOURNAL
    OTHER = 0


class Deed(Enum):
    OPEN = "open"
    READ = "read"
    WRITE = "write"
    CUT = "cut"
    SYNC = "sync"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Step:
    """One operation on a file. ``offset`` is where a WRITE began, the size a CUT left, or how many
    steps had been done when a SYNC began: what came after those is not covered by it."""

    deed: Deed
    kind: Kind
    file: str
    offset: int = 0
    data: bytes = b""


@dataclass(slots=True)
class Fault:
    deed: Deed
    kind: Kind
    error: type[apsw.Error]
    met: int = 0
    """How often it was run into."""


class Disk(apsw.VFS):
    """An SQLite VFS over the usual one; give ``name`` to every new connection.

    ``latency`` is how many seconds a sync takes; nothing is really synced, because the log of steps knows.
    ``read_only``: as on a volume that is mounted so.
    """

    def __init__(self, *, latency: float = 0.0, read_only: bool = False) -> None:
        self.name = f"hivelore-test-{next(_numbers)}"
        super().__init__(self.name, "")
        self.steps: list[Step] = []
        self.count: Counter[tuple[Deed, Kind]] = Counter()
        """How often each deed was done to files of each kind."""
        self.read_only = read_only
        self.open = 0
        """Files that are open now."""
        self.sleepers: list[str] = []
        """The names of the threads that waited for a lock, once for each time."""
        self._latency = latency
        self._fault: Fault | None = None
        self._changed = Condition()

    @contextmanager
    def failing(self, deed: Deed, kind: Kind, error: type[apsw.Error]) -> Generator[Fault]:
        """Makes operations of this kind fail on files of this kind."""
        self._fault = Fault(deed, kind, error)
        try:
            yield self._fault
        finally:
            self._fault = None

    def wait_until(self, so: Callable[[], bool]) -> None:
        """Waits until a condition holds, checked after each step and each fault."""
        with self._changed:
            assert self._changed.wait_for(so, PATIENCE)

    def syncs(self) -> int:
        return sum(self.count[Deed.SYNC, kind] for kind in Kind)

    def after_power_cut(self, at: int, chance: Random) -> Mapping[str, bytes]:
        """The files as the first ``at`` steps may leave them: what was synced is there, and of every later write all,
        some sectors, or nothing."""
        files: dict[str, bytearray] = {}
        unsynced: dict[str, list[tuple[int, Step]]] = {}
        for index, step in enumerate(self.steps[:at]):
            match step.deed:
                case Deed.OPEN:
                    files.setdefault(step.file, bytearray())
                    unsynced.setdefault(step.file, [])
                case Deed.DELETE:
                    files.pop(step.file, None)
                    unsynced.pop(step.file, None)
                case Deed.SYNC:
                    for _, earlier in (one for one in unsynced[step.file] if one[0] < step.offset):
                        _do(files[step.file], earlier, len(earlier.data))
                    unsynced[step.file] = [one for one in unsynced[step.file] if one[0] >= step.offset]
                case _:
                    unsynced[step.file].append((index, step))
        for file, left in unsynced.items():
            for _, step in left:
                if chance.random() < 0.5:
                    _do(files[file], step, SECTOR * chance.randint(0, -(-len(step.data) // SECTOR)))
        # A temporary file has no name, and nobody looks for it afterwards.
        return {file: bytes(content) for file, content in files.items() if file}

    # What SQLite calls.

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        kind = next((kind for kind in Kind if kind.value & flags[0]), Kind.OTHER)
        path = name.filename() if isinstance(name, apsw.URIFilename) else name or ""
        if self.read_only:
            if kind in (Kind.LOG, Kind.JOURNAL) and not Path(path).exists():
                raise apsw.CantOpenError
            flags[0] = flags[0] & ~(apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE) | apsw.SQLITE_OPEN_READONLY
        self.meet(Deed.OPEN, kind)
        file = _File(self, kind, Path(path).name, name, flags)
        self.open += 1
        self.done(Step(Deed.OPEN, kind, file.file))
        return file

    def xDelete(self, filename: str, syncdir: bool) -> None:
        super().xDelete(filename, syncdir)
        self.done(Step(Deed.DELETE, Kind.OTHER, Path(filename).name))

    def xSleep(self, microseconds: int) -> int:
        self.sleepers.append(current_thread().name)
        return super().xSleep(microseconds)

    def excepthook(self, etype: Any, evalue: Any, etraceback: Any) -> bool:
        """Ignores requested faults where SQLite accepts no error, as on closing."""
        return issubclass(etype, apsw.Error)

    # Reports of a file to its disk.

    def meet(self, deed: Deed, kind: Kind) -> None:
        """Raises a requested fault."""
        fault = self._fault
        if fault is not None and (fault.deed, fault.kind) == (deed, kind):
            with self._changed:
                fault.met += 1
                self._changed.notify_all()
            raise fault.error

    def done(self, step: Step) -> None:
        with self._changed:
            self.steps.append(step)
            self.count[step.deed, step.kind] += 1
            self._changed.notify_all()

    def synced(self, kind: Kind, file: str) -> None:
        covered = len(self.steps)
        if self._latency:
            time.sleep(self._latency)
        self.done(Step(Deed.SYNC, kind, file, covered))


class _File(apsw.VFSFile):
    def __init__(
        self, disk: Disk, kind: Kind, file: str, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        super().__init__("", name, flags)  # pyright: ignore[reportArgumentType]: its types forget URIFilename
        self.file = file
        self._disk = disk
        self._kind = kind

    def xClose(self) -> None:
        super().xClose()
        self._disk.open -= 1

    def xRead(self, amount: int, offset: int) -> bytes:
        self._disk.meet(Deed.READ, self._kind)
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:
        self._disk.meet(Deed.WRITE, self._kind)
        super().xWrite(data, offset)
        self._disk.done(Step(Deed.WRITE, self._kind, self.file, offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:
        super().xTruncate(newsize)
        self._disk.done(Step(Deed.CUT, self._kind, self.file, newsize))

    def xSync(self, flags: int) -> None:
        self._disk.meet(Deed.SYNC, self._kind)
        self._disk.synced(self._kind, self.file)


def _do(content: bytearray, step: Step, length: int) -> None:
    if step.deed is Deed.CUT:
        del content[step.offset :]
        return
    data = step.data[:length]
    content.extend(bytes(max(step.offset + len(data) - len(content), 0)))
    content[step.offset : step.offset + len(data)] = data
