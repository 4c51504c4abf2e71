"""Waiting for what comes first: a line from the client, or the end of the client."""

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
"""Seconds that answers under way get when the client has gone; it may wait for a second until we end."""
_CHUNK = 65_536
_LOOK_AFTER_PARENT = 250
_LOOK_WHEN_FULL = 20
"""Milliseconds."""
_HUNG_UP = getattr(select, "POLLRDHUP", 0)
"""How a socket says that the other end says no more; a pipe does so unasked."""
_INTERRUPTED = 130
_USAGE = "usage: hivelore mcp [--project NAME]"
_HELP = (["--help"], ["-h"])


def main(arguments: "Sequence[str]" = ()) -> int:
    """Carry messages until the client ends. Answers the exit code."""
    try:
        _occupy_standard_descriptors()
        if list(arguments) in _HELP:
            print(_USAGE)
            return 0
        project, good = _project(list(arguments))
        if not good:
            sys.stderr.write(f"{_USAGE}\n")
            return 2
        _carry(project)
    except KeyboardInterrupt:
        os._exit(_INTERRUPTED)
    return 0


def _occupy_standard_descriptors() -> None:
    """See that no connection gets the number of a stream that we were started without, and our answers with it."""
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


def _carry(project: str | None) -> None:
    lines = Lines()
    client = _Client()
    relay: Relay | None = None
    while True:
        while (relay is None or not relay.is_full()) and (line := lines.take()):
            relay = relay or _relay(project)
            relay.take(line)
        full = relay is not None and relay.is_full()
        if not client.wait(full):
            break
        if full or not client.has_spoken:
            continue
        try:
            data = os.read(STDIN, _CHUNK)
        except BlockingIOError:  # Somebody else has read it.
            continue
        except OSError:  # A terminal that is gone.
            break
        if not data:
            break
        lines.feed(data)
    last = lines.rest()
    if last and client.is_there():
        relay = relay or _relay(project)
        relay.take(last)
    if relay is not None:
        relay.finish(GRACE)
        # Threads may hang in a write that nobody reads, or in a stream.
        os._exit(0)


def _end_after(seconds: float) -> None:
    sleep(seconds)
    os._exit(0)


def _relay(project: str | None) -> "Relay":
    """What carries messages; imported with the first one."""
    from hivelore.mcp.bridge.relay import Relay
    from hivelore.mcp.bridge.service import Service
    from hivelore.mcp.bridge.streams import Output

    return Relay(Service(project), Output())


class _Client:
    """The process that started us, and the pipes it gave us. Another process may hold them open when it is gone."""

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
            # Without asking for anything, one is told that nobody reads any more.
            waiting.register(STDOUT, 0)
        try:
            self._handle = os.pidfd_open(self._process)
            for waiting in (self._events, self._when_full):
                waiting.register(self._handle, select.POLLIN)
        except (AttributeError, OSError):
            # Not on this system: look every now and then.
            self._patience = _LOOK_AFTER_PARENT
        self._known: dict[int, int] = {}

    def wait(self, full: bool) -> bool:
        """Wait for something to happen; False once the client is gone. ``full``: leave alone what it says."""
        self._known = dict(self._when_full.poll(_LOOK_WHEN_FULL) if full else self._events.poll(self._patience))
        self.has_spoken = STDIN in self._known
        if full and self.has_spoken:
            # It says no more, and what it has said has to wait; but not for longer than the client does.
            self._when_full.unregister(STDIN)
            start_new_thread(_end_after, (GRACE,))
        return self.is_there()

    def is_there(self) -> bool:
        return os.getppid() == self._process and not self._known.keys() & {self._handle, STDOUT}
