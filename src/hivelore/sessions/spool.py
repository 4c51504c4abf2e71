"""Spool: the folder of hook events that could not be delivered, and their delivery."""

import errno
import json
import logging
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

from hivelore.core.agents import Interface, Viewer
from hivelore.core.redaction import Redactor
from hivelore.core.tracebacks import masked_traceback
from hivelore.errors import Broken, HiveloreError, Invalid, Unauthenticated, Unavailable
from hivelore.identity.service import Agents
from hivelore.local.endpoint import SPOOL, SPOOL_LOST
from hivelore.local.transport import is_same
from hivelore.memories.model import Json
from hivelore.sessions.capture import HookService
from hivelore.sessions.ports import Spool
from hivelore.sessions.programs import SpooledEvent, parse_spooled_event

_SUFFIX = ".json"
_UNREADABLE = ".unreadable"
_MAX_BYTES = 64_000_000
"""Largest event; hooks spool less than this in total."""
_TRANSIENT_ERRORS = (
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOMEM,
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EIO,
    errno.EAGAIN,
    errno.EINTR,
)
"""Errors that are not caused by the file or event."""


class SpoolFolder:
    """Implements ``Spool``."""

    def __init__(self, home: Path) -> None:
        self._folder = home / SPOOL

    def waiting(self) -> Sequence[str]:
        try:
            return sorted(file.name for file in self._folder.iterdir() if file.suffix == _SUFFIX)
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except OSError as error:
            raise Unavailable(f"The folder {self._folder} cannot be read ({error.strerror}).") from None

    def read(self, name: str) -> Json:
        try:
            return json.loads(_read_regular_file(self._folder / name))
        except (ValueError, RecursionError) as error:
            raise Invalid(f"{self._folder / name} is not a hook event ({error}).") from None
        except OSError as error:
            kind = Unavailable if error.errno in _TRANSIENT_ERRORS else Invalid
            raise kind(f"{self._folder / name} cannot be read ({error.strerror}).") from None

    def remove(self, name: str) -> None:
        try:
            (self._folder / name).unlink(missing_ok=True)
        except OSError as error:
            raise Unavailable(f"{self._folder / name} cannot be removed ({error.strerror}).") from None

    def set_aside(self, name: str) -> None:
        file = self._folder / name
        try:
            file.rename(file.with_suffix(_UNREADABLE))
        except FileNotFoundError:
            pass  # A hook has removed it to make room.
        except OSError as error:
            raise Unavailable(f"{file} cannot be renamed ({error.strerror}).") from None

    def lost(self) -> int:
        try:
            return (self._folder / SPOOL_LOST).stat().st_size
        except OSError:
            return 0


def _read_regular_file(file: Path) -> bytes:
    """Reads a regular file only; other kinds may never end, or belong to another user."""
    with open(file, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK)) as data:
        status = os.fstat(data.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_BYTES:
            raise ValueError("not a regular file, or too large")
        return data.read(_MAX_BYTES)


_LOG = logging.getLogger("hivelore")


class SpoolDelivery:
    def __init__(self, spool: Spool, hooks: HookService, agents: Agents, redactor: Redactor, url: str | None) -> None:
        """``url``: URL of this service; None for a process that serves none."""
        self._spool = spool
        self._hooks = hooks
        self._agents = agents
        self._redactor = redactor
        self._url = url
        self._elsewhere: set[str] = set()
        """Names of events for other services, which are read only once."""

    def deliver(self, stopping: Callable[[], bool] = lambda: False) -> int:
        """Delivers waiting events in order and returns their number. An event is removed once its effects are durable;
        delivering it twice has no further effect. An event that cannot be delivered is set aside. If the rest must
        wait, raises Unavailable, Broken if the database is damaged, or MemoryError or OSError if the machine lacks
        resources."""
        taken = 0
        waiting = self._spool.waiting()
        self._elsewhere.intersection_update(waiting)
        for name in waiting:
            if stopping():
                break
            if name not in self._elsewhere:
                taken += self._deliver_event(name)
        return taken

    def waiting(self) -> int:
        return len(self._spool.waiting())

    def lost(self) -> int:
        """Returns the number of events that could not be spooled since the folder was created."""
        return self._spool.lost()

    def _deliver_event(self, name: str) -> bool:
        try:
            event = parse_spooled_event(self._spool.read(name))
            if event.url is not None and self._url is not None and not is_same(event.url, self._url):
                self._elsewhere.add(name)  # Left in place for the other service.
                return False
            self._handle(event)
        except Exception as error:  # It is logged. It would block all later events otherwise.
            if _is_transient(error):
                raise
            said = str(error) if isinstance(error, HiveloreError) else masked_traceback(error, self._redactor)
            _LOG.warning("Hook event %s cannot be delivered and is set aside. %s", name, said)
            self._spool.set_aside(name)
            return False
        self._spool.remove(name)
        return True

    def _handle(self, event: SpooledEvent) -> None:
        try:
            viewer = self._viewer(event)
        except Unauthenticated:
            self._hooks.count_miss(event)
            raise
        self._hooks.handle_late(event, viewer)

    def _viewer(self, event: SpooledEvent) -> Viewer:
        """Returns the owner of the key; without a key the local agent, because only its user can write to the home
        folder. Raises Unauthenticated for a key that is not valid."""
        if event.key == "":
            raise Unauthenticated("HIVELORE_KEY of the agent program is no key ('hl_...'). Correct or unset it.")
        if event.key is not None:
            return self._agents.viewer_of_key_id(event.key, Interface.HOOK)
        local = self._agents.local_agent()
        return Viewer(role=local.role, agent=local.id, interface=Interface.HOOK)


def _is_transient(error: Exception) -> bool:
    """Returns True for errors that are not caused by the event."""
    if isinstance(error, OSError):
        return error.errno in _TRANSIENT_ERRORS
    return isinstance(error, (Unavailable, MemoryError)) or (isinstance(error, Broken) and error.cause is not None)
