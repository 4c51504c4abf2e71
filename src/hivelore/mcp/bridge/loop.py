"""Main loop of the bridge: waits for a line from the client, or for its end."""

import os
import select
import sys
from _thread import start_new_thread
from time import sleep

from hivelore.mcp.bridge.streams import STDERR, STDIN, STDOUT, Lines

TYPE_CHECKING = False
"""Written out, because importing typing takes longer than starting the bridge."""

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hivelore.mcp.bridge.relay import Relay

GRACE = 0.7
"""Seconds for pending answers after the client has ended; clients may wait a second for our end."""
_CHUNK = 65_536
_POLL_PARENT = 250
_POLL_WHEN_FULL = 20
"""Milliseconds."""
_HUNG_UP = getattr(select, "POLLRDHUP", 0)
"""Event of a socket whose other end is closed; a pipe reports that always."""
_INTERRUPTED = 130
_USAGE = "usage: hivelore mcp [--project NAME]"
_HELP = (["--help"], ["-h"])


def main(arguments: "Sequence[str]" = ()) -> int:
    """Relay messages until the client ends, and return the exit code."""
    try:
        _open_standard_descriptors()
        if list(arguments) in _HELP:
            print(_USAGE)
            return 0
        project, good = _project(list(arguments))
        if not good:
            sys.stderr.write(f"{_USAGE}\n")
            return 2
        _relay_messages(project)
    except KeyboardInterrupt:
        os._exit(_INTERRUPTED)
    return 0


def _open_standard_descriptors() -> None:
    """Open missing standard streams, so that no connection gets their numbers, and our answers with them."""
    spare = os.open(os.devnull, os.O_RDWR)
    while spare <= STDERR:
        spare = os.open(os.devnull, os.O_RDWR)
    os.close(spare)


def _project(arguments: list[str]) -> tuple[str | None, bool]:
    match arguments:
        case []:
            return None, True
        case ["--project", name]:
            return name, True
        case [only] if only.startswith("--project="):
            return only.removeprefix("--project="), True
        case _:
            return None, False


def _relay_messages(project: str | None) -> None:
    lines = Lines()
    client = _Client()
    relay: Relay | None = None
    while True:
        while (relay is None or not relay.is_full()) and (line := lines.take()):
            relay = relay or _create_relay(project)
            relay.take(line)
        full = relay is not None and relay.is_full()
        if not client.wait(full):
            break
        if full or not client.has_spoken:
            continue
        try:
            data = os.read(STDIN, _CHUNK)
        except BlockingIOError:  # Another process has read it.
            continue
        except OSError:  # The terminal was closed.
            break
        if not data:
            break
        lines.feed(data)
    last = lines.rest()
    if last and client.is_there():
        relay = relay or _create_relay(project)
        relay.take(last)
    if relay is not None:
        relay.finish(GRACE)
        # Threads may block in a write without a reader, or in a stream.
        os._exit(0)


def _end_after(seconds: float) -> None:
    sleep(seconds)
    os._exit(0)


def _create_relay(project: str | None) -> "Relay":
    """Create the relay; its modules are imported with the first message."""
    from hivelore.mcp.bridge.relay import Relay
    from hivelore.mcp.bridge.service import Service
    from hivelore.mcp.bridge.streams import Output

    return Relay(Service(project), Output())


class _Client:
    """The process that started this one, and its pipes. Other processes may hold the pipes open after it ends."""

    def __init__(self) -> None:
        self.has_spoken = False
        self._process = os.getppid()
        self._handle = -1
        self._patience: int | None = None
        self._events = select.poll()
        self._events.register(STDIN, select.POLLIN)
        self._when_full = select.poll()
        self._when_full.register(STDIN, _HUNG_UP)
        for waiting in (self._events, self._when_full):
            # With no events requested, poll still reports that the reader has closed the pipe.
            waiting.register(STDOUT, 0)
        try:
            self._handle = os.pidfd_open(self._process)
            for waiting in (self._events, self._when_full):
                waiting.register(self._handle, select.POLLIN)
        except (AttributeError, OSError):
            # Not available on this system: poll.
            self._patience = _POLL_PARENT
        self._events_by_descriptor: dict[int, int] = {}

    def wait(self, full: bool) -> bool:
        """Wait for an event. Returns False once the client has ended. ``full``: do not read its messages."""
        self._events_by_descriptor = dict(
            self._when_full.poll(_POLL_WHEN_FULL) if full else self._events.poll(self._patience)
        )
        self.has_spoken = STDIN in self._events_by_descriptor
        if full and self.has_spoken:
            # It has closed its end, and its last messages must wait, but not longer than the client does.
            self._when_full.unregister(STDIN)
            start_new_thread(_end_after, (GRACE,))
        return self.is_there()

    def is_there(self) -> bool:
        return os.getppid() == self._process and not self._events_by_descriptor.keys() & {self._handle, STDOUT}
