"""One event from the program's pipe to the service, and the answer back, before a deadline."""

import _socket
import os
import sys
import time
from _thread import allocate_lock, start_new_thread

from hivelore.errors import HiveloreError
from hivelore.local import endpoint
from hivelore.local.git_project import place_of
from hivelore.local.lock import read_lock

TYPE_CHECKING = False

if TYPE_CHECKING:
    import signal
    from collections.abc import Sequence
    from types import FrameType, TracebackType

    Address = tuple[int, int, int, str, tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]]
else:
    import _signal as signal  # Its core: the module itself takes longer than all the rest.

CONNECTING = 0.25
"""The part of the time that may pass until there is a connection."""
LARGEST = 8_000_000
"""Bytes of an event, or of an answer."""
LARGEST_TASK = 16_384
LONGEST = 60.0
"""Seconds that what nobody waits for may take."""
_CHUNK = 65_536
_FOLDERS = {"cursor": "CURSOR_PROJECT_DIR"}
"""Variables that say in which folder a program works, where it runs its hooks in another one."""
_AGAIN = (401, 403, 408, 409, 425, 429)
"""Refusals by the service that may be none later, like all from 500 on."""
_ESCAPES = {number: f"\\u{number:04x}" for number in (*range(32), ord('"'), ord("\\"))}


class Late(Exception):
    """The time is over."""


class Undelivered(Exception):
    """The event is not where it should be."""

    def __init__(self, *, again: bool = True) -> None:
        super().__init__()
        self.again = again
        """Whether it may be taken later."""


class Event:
    """What there is to hand over."""

    __slots__ = ("fields", "is_alone", "payload", "program", "url")

    def __init__(self, program: str) -> None:
        self.program = program
        self.fields: dict[str, str] = {}
        """What the program did not tell."""
        self.payload = b""
        """What it told, as it came."""
        self.url: str | None = None
        """Where somebody said that the service is."""
        self.is_alone = False
        """Whether nobody waits for this process any more."""

    def body(self) -> bytes:
        told = "".join(f'"{name}":"{value.translate(_ESCAPES)}",' for name, value in self.fields.items() if value)
        return b'{%s"payload":%s}' % (told.encode(errors="replace"), self.payload)


def main(arguments: "Sequence[str]") -> None:
    """Take an event from stdin, and end this process: with 0, whatever happens."""
    sys.excepthook = _give_up
    if endpoint.hooks_are_off():
        _end()
    event = Event(_option(arguments, "--agent"))

    def go_on_alone(_: int, __: "FrameType | None") -> None:
        _go_on_alone(event)

    signal.signal(signal.SIGALRM, go_on_alone)
    signal.setitimer(signal.ITIMER_REAL, endpoint.hook_wait())
    again = True
    try:
        try:
            event.payload = _read()
            event.fields = _circumstances(arguments)
            event.url = endpoint.given_url()
            signal.signal(signal.SIGALRM, _too_late)
            answer = b"" if event.is_alone else _answer(event)
            signal.setitimer(signal.ITIMER_REAL, 0)
            if not event.is_alone:
                _write(answer)
                _end()
        except Undelivered as problem:
            again = problem.again
        except (OSError, ValueError, LookupError, ArithmeticError, HiveloreError):
            pass
        signal.setitimer(signal.ITIMER_REAL, 0)
    except Late:  # It comes once, whatever is just being done.
        pass
    _leave(event, again=again)
    _end()


def _option(arguments: "Sequence[str]", name: str) -> str:
    """What stands behind it; empty where it does not stand there."""
    for place, argument in enumerate(arguments):
        if argument == name:
            return "".join(arguments[place + 1 : place + 2])
        if argument.startswith(f"{name}="):
            return argument[len(name) + 1 :]
    return ""


def _read() -> bytes:
    pieces: list[bytes] = []
    size = 0
    while piece := os.read(0, _CHUNK):
        pieces.append(piece)
        size += len(piece)
        if size > LARGEST:
            raise Undelivered(again=False)
    return b"".join(pieces)


def _circumstances(arguments: "Sequence[str]") -> dict[str, str]:
    now = time.time()
    task, file = endpoint.task(LARGEST_TASK)
    folder = os.environ.get(_FOLDERS.get(_option(arguments, "--agent"), "")) or "."
    return {
        "id": os.urandom(16).hex(),
        "event": _option(arguments, "--event"),
        "at": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now * 1_000) % 1_000:03}Z",
        "project": _option(arguments, "--project") or place_of(folder) or "",
        "taskId": task,
        "taskFile": file,
    }


def _answer(event: Event) -> bytes:
    """What the service answers; empty where the program is to be told nothing."""
    home = endpoint.home_folder()
    host, port, authority, path, tls = _parts(event.url or _url_of(home))
    key = endpoint.key(endpoint.AGENT_KEY, home)
    body = event.body()
    head = (
        f"POST {path}/api/hooks/{event.program} HTTP/1.1\r\nHost: {authority}\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    connection = _connected(host, port, tls)
    connection.sendall(head.encode() + body)
    received = b""
    while len(received) < LARGEST and (piece := connection.recv(_CHUNK)):
        received += piece
    return _said(received)


def _said(received: bytes) -> bytes:
    """The body of an answer of ours. Raises Undelivered for any other, or where it is not whole."""
    head, _, body = received.partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    status = int(lines[0].split(b" ")[1]) if lines[0].startswith(b"http/1.") else 0
    if ": ".join(endpoint.TAKEN).encode() in lines:
        if status == 204:
            return b""
        if status == 200 and b"content-length: %d" % len(body) in lines:
            return body
    ours = b"content-type: application/problem+json" in lines
    raise Undelivered(again=not ours or status >= 500 or status in _AGAIN)


def _url_of(home: str) -> str:
    """Where the service is that holds the home folder, by what it has written there."""
    told = read_lock(home)
    url = (told or b"").partition(b'"url": "')[2].partition(b'"')[0]
    if not url:
        raise Undelivered
    return url.decode()


def _parts(url: str) -> tuple[str, int, str, str, bool]:
    """Host, port, authority, path and whether it is TLS. Raises ValueError for what is no such URL."""
    scheme, _, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    host, colon, port = authority.rpartition(":")
    if not colon or port.endswith("]"):
        host, port = authority, "443" if scheme == "https" else "80"
    if scheme not in ("http", "https") or not host or not url.isascii():
        raise ValueError(f"{url!r} is not the URL of a service")
    return host.strip("[]"), int(port), authority, (slash + path).rstrip("/"), scheme == "https"


def _connected(host: str, port: int, tls: bool) -> _socket.socket:
    patience = CONNECTING * endpoint.hook_wait()
    family, kind, protocol, _, address = _address(host, port, patience)
    raw = _socket.socket(family, kind, protocol)
    raw.settimeout(patience)
    raw.connect(address)
    raw.settimeout(None)  # From now on the alarm ends it.
    if not tls:
        return raw
    import socket
    import ssl

    return ssl.create_default_context().wrap_socket(socket.socket(fileno=raw.detach()), server_hostname=host)


def _address(host: str, port: int, patience: float) -> "Address":
    """Of a name that has to be asked for, which no alarm interrupts, another thread asks."""
    found: list[Address] = []
    done = allocate_lock()

    def look() -> None:
        try:
            found.extend(_socket.getaddrinfo(host.encode(), port, type=_socket.SOCK_STREAM))
        finally:
            done.release()

    done.acquire()
    if host == "localhost" or host.replace(".", "").isdecimal() or ":" in host:
        look()
    else:
        start_new_thread(look, ())
        done.acquire(timeout=patience)
    if not found:
        raise Undelivered
    return found[0]


def _write(answer: bytes) -> None:
    while answer:
        answer = answer[os.write(1, answer) :]


def _leave(event: Event, *, again: bool) -> None:
    """Have another process see to it."""
    if not event.is_alone and not _is_another():
        return
    os.dup2(1, 0)
    os.closerange(3, 256)

    from hivelore.hooks.fallback import see_to

    see_to(event, again=again, longest=LONGEST)


def _go_on_alone(event: Event) -> None:
    """The time is over before all is known that there is to hand over: another process finds out."""
    if not _is_another():
        _end()
    event.is_alone = True
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, LONGEST)


def _is_another() -> bool:
    """Become two, and answer in each whether it is the new one. That one belongs to nobody, so that whoever waits for
    the other does not wait for it, and is not ended with it."""
    if os.fork():
        return False
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (1, 2):
        os.dup2(nowhere, descriptor)
    return True


def _too_late(_: int, __: "FrameType | None") -> None:
    raise Late


def _give_up(_: type[BaseException], __: BaseException, ___: "TracebackType | None") -> None:
    _end()


def _end() -> None:
    # At once: what an interpreter does at its end takes a millisecond, and there is nothing to tidy.
    os._exit(0)
