"""Calls of the service that a runner could not make, kept in files until it answers again.

The name of a file has the time, the process, and the group of the call: calls about one task stay in their order.
"""

import hashlib
import json
import os
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any

from hivelore.core.redaction import KEY_BYTES, Redactor
from hivelore.errors import Busy, Conflict, Forbidden, HiveloreError, Invalid, NotFound, Unauthenticated, Unavailable
from hivelore.local import file_lock, private_files
from hivelore.runner.easier_calls import make_easier
from hivelore.runner.ports import Call, ServiceClient

MOST_CALLS = 10_000
MOST_BYTES = 64_000_000
"""Limits; above them the oldest calls are deleted."""
LARGEST_CALL = 1_000_000
_NAME = re.compile(r"\d{20}-\d+-([0-9a-f]{16})-[0-9a-f]{8}\.json")
_TASK = re.compile(r"/api/tasks/[^/]+")
_LOCK = "lock"
_AWAY = (Unavailable, Unauthenticated)
"""Errors after which no further call is made now."""
_REFUSED = (Invalid, NotFound, Conflict, Forbidden)
"""Errors after which a call is not made again, except for an easier one."""
LONGEST_KEPT = timedelta(days=7)
MOST_BEFORE = 100
"""Kept calls that are made before a new one; if there are more, the new one is kept, too."""
LAST_SECONDS = 5.0
"""Seconds in which a runner that ends still makes kept calls."""
_FIRST_PAUSE = 5 * 10**9
_LONGEST_PAUSE = 60 * 10**9
"""Nanoseconds between two tries of a call at which the service fails. A result is of no use long after its lease."""


class Sent(StrEnum):
    """What became of a call."""

    MADE = "made"
    KEPT = "kept"
    LOST = "lost"
    """The service is away, and the call could not be kept."""


class Outbox:
    """Calls of one agent to one service, delivered in their order, by one process at a time."""

    def __init__(self, folder: Path, note: Callable[[str], object]) -> None:
        """``folder``: that of this agent and this service."""
        self._folder = folder
        self._note = note
        self._redactor = Redactor(os.urandom(KEY_BYTES))
        self._lock = threading.Lock()
        """Held while kept calls are made."""
        self._end: int | None = None
        """Time after which no kept call is made."""
        self._failed: dict[str, tuple[int, int]] = {}
        """Groups with a call at which the service failed: how often, and the time of the next try."""

    def send(self, client: ServiceClient, call: Call) -> Sent:
        """Makes a call, after those that were kept, or keeps it if the service is away. Raises HiveloreError if the
        service refuses it."""
        line = self._line()
        if line and len(line) <= MOST_BEFORE:
            self.deliver(client)
            line = self._line()
        group = _group_of(call.path)
        if not line and all(_group_in(name) != group for name in self._waiting()):
            try:
                client.call(call.method, call.path, body=call.body)
            except _AWAY:
                pass
            else:
                return Sent.MADE
        return self.keep(call)

    def keep(self, call: Call) -> Sent:
        """Keeps a call, with secrets masked. A full disk loses it, which is noted."""
        try:
            texts = {name: value for name, value in call.body.items() if name not in call.verbatim}
            body = {**call.body, **self._redactor.clean_metadata(texts)}
            entry: dict[str, Any] = {"method": call.method, "path": call.path, "body": body}
            data = json.dumps(entry, ensure_ascii=False).encode()
            if len(data) > LARGEST_CALL:
                raise OSError(0, "it is too large")
            private_files.make_folder(self._folder)
            self._make_room(len(data))
            group = _group_of(call.path)
            name = f"{time.time_ns():020}-{os.getpid()}-{group}-{os.urandom(4).hex()}.json"
            with private_files.replacing(self._folder / name) as out:
                out.write(data)
        except (OSError, HiveloreError, RecursionError) as error:
            self._note(f"{call.method} {call.path} is lost: the service is away, and it cannot be kept ({error}).")
            return Sent.LOST
        return Sent.KEPT

    def end_within(self, seconds: float) -> None:
        """Makes ``deliver`` end after some seconds, also one that goes on in another thread."""
        self._end = time.time_ns() + int(seconds * 1e9)

    def deliver(self, client: ServiceClient) -> int:
        """Makes the calls that wait, and returns their number. Stops when the service is away. A call that the service
        refuses is made easier, and at last dropped: the task went on without it. One at which the service fails is set
        aside with all that follow in its group, so that others go on, and made again after a pause that grows."""
        done = 0
        if not self._line():
            return done
        with self._lock, suppress(Busy), file_lock.locked(self._folder / _LOCK, attempts=1):
            line = self._line()
            waiting = {_group_in(name) for name in self._waiting()}
            self._failed = {group: found for group, found in self._failed.items() if group in waiting}
            aside = set[str]()
            for name in line:
                if self._end is not None and time.time_ns() > self._end:
                    break
                if _group_in(name) in aside:
                    continue
                file = self._folder / name
                call = self._read(file)
                if call is not None and _is_old(name):
                    self._note(f"{call.method} {call.path} was kept for too long, and is dropped.")
                elif call is not None:
                    try:
                        _make(client, call)
                        done += 1
                        self._failed.pop(_group_in(name), None)
                    except _AWAY:
                        break
                    except (HiveloreError, ValueError) as error:
                        self._note(f"{call.method} {call.path}, which was kept for the service, failed. {error}")
                        if not isinstance(error, _REFUSED):
                            self._set_aside(_group_in(name))
                            aside.add(_group_in(name))
                            continue
                file.unlink(missing_ok=True)
        return done

    def _set_aside(self, group: str) -> None:
        failures = self._failed.get(group, (0, 0))[0]
        pause = min(_FIRST_PAUSE * 2 ** min(failures, 10), _LONGEST_PAUSE)
        self._failed[group] = (failures + 1, time.time_ns() + pause)

    def _line(self) -> list[str]:
        """Returns the calls that can be made now, without those that are set aside."""
        now = time.time_ns()
        return [name for name in self._waiting() if self._failed.get(_group_in(name), (0, 0))[1] <= now]

    def waiting(self) -> int:
        return len(self._waiting())

    def _waiting(self) -> list[str]:
        try:
            names = [entry.name for entry in os.scandir(self._folder) if _NAME.fullmatch(entry.name)]
        except OSError:
            return []
        return sorted(names)

    def _read(self, file: Path) -> Call | None:
        try:
            with file.open("rb") as data:
                entry: dict[str, Any] = json.loads(data.read(LARGEST_CALL + 1))
            return Call(str(entry["method"]), str(entry["path"]), dict(entry["body"]))
        except FileNotFoundError:  # Another process made room.
            return None
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            self._note(f"{file} cannot be read and is deleted.")
            return None

    def _make_room(self, size: int) -> None:
        sizes = list[tuple[str, int]]()
        for name in self._waiting():
            with suppress(FileNotFoundError):  # It was made meanwhile.
                sizes.append((name, (self._folder / name).stat().st_size))
        count, total = len(sizes), sum(each for _, each in sizes)
        for name, each in sizes:
            if count < MOST_CALLS and total + size <= MOST_BYTES:
                break
            (self._folder / name).unlink(missing_ok=True)
            self._note(f"{name} in {self._folder} was deleted to make room.")
            count, total = count - 1, total - each


def _make(client: ServiceClient, call: Call) -> None:
    """Makes a call, or an easier one if the service refuses it."""
    while True:
        try:
            client.call(call.method, call.path, body=call.body)
        except Invalid as error:
            easier = make_easier(call, error)
            if easier is None:
                raise
            call = easier
        else:
            return


def _group_of(path: str) -> str:
    """Returns the group of a call: those of one task have one, each other call has its own."""
    found = _TASK.match(path)
    return os.urandom(8).hex() if found is None else hashlib.sha256(found[0].encode()).hexdigest()[:16]


def _group_in(name: str) -> str:
    """Returns the group that the name of a file has."""
    found = _NAME.fullmatch(name)
    return "" if found is None else found[1]


def _is_old(name: str) -> bool:
    return time.time_ns() - int(name.partition("-")[0]) > LONGEST_KEPT / timedelta(microseconds=1) * 1_000
