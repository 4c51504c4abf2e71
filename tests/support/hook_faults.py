"""Faults around a hook, each for the length of a ``with`` block, and ways to run hooks meanwhile."""

import os
import resource
import socketserver
import sqlite3
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from signal import SIGCONT, SIGSTOP
from threading import Event, Thread

from support.hook_home import FROM_TRANSCRIPT, KEPT, Home
from support.powerless import bounded

NOTHING: Collection[str] = ()
HUGE = 300_000_000
"""Bytes of a transcript."""
_ODD_ENTRIES = (
    '{"type": "hologram", "message": {"content": [[["deep"]]]}}',
    '{"type": "assistant", "message": {"role": "assistant", "content": [{"type": "smell", "smell": 7}, null, 3]}}',
    '{"type": "user", "message": "no mapping", "timestamp": "yesterday"}',
    "[1, 2, 3]",
    "null",
    '{"type": ["assistant"], "message": {"content": {"text": {"text": 1}}}}',
    "\x00\x01\x02",
)
_LATER = "import time; _now = time.time; time.time = lambda: _now() + {}"
_YEAR = 366 * 24 * 3_600


def written(file: Path, lines: Sequence[str]) -> None:
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Way:
    """A way to run hooks during a fault."""

    environ: Mapping[str, str] = field(default_factory=dict[str, str])
    first: str | None = None
    before: Callable[[], None] | None = None
    transcript: Callable[[Path, Sequence[str]], object] = written
    keeps: Collection[str] = KEPT
    """The events of which something is to be kept in the end; none where they can be neither taken nor put aside."""


Fault = Callable[[Home], AbstractContextManager[Way]]
WELL = Way()


@contextmanager
def _stopped(home: Home, way: Way = WELL) -> Generator[Way]:
    home.stop()
    yield way
    home.start()


@contextmanager
def _hung(home: Home) -> Generator[Way]:
    pid = home.pid
    os.kill(pid, SIGSTOP)
    yield WELL
    os.kill(pid, SIGCONT)


class _Squatter(socketserver.ThreadingTCPServer):
    """Another program at a port, which always sends the same answer; None: it never answers."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, port: int, says: bytes | None) -> None:
        self.says = says
        self.over = Event()
        super().__init__(("127.0.0.1", port), _AnswerHandler)

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignores that the peer closed the connection."""


class _AnswerHandler(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, _Squatter)
        if self.server.says is None:
            self.server.over.wait()
        elif self.server.says:
            self.request.recv(65_536)
            self.request.sendall(self.server.says)


@contextmanager
def _port_taken(says: bytes | None, home: Home) -> Generator[Way]:
    home.stop()
    with _Squatter(home.port, says) as squatter:
        thread = Thread(target=squatter.serve_forever, args=(0.01,))
        thread.start()
        yield WELL
        home.hook.finish()  # One that tries to start the service tries it as long as somebody has the port.
        squatter.over.set()
        squatter.shutdown()
        thread.join()
    home.start()


def _without_room() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


@contextmanager
def _disk_full(way: Way, home: Home) -> Generator[Way]:
    """Fills the disk of the service; ``way`` has the disk of the hooks."""
    limits = resource.prlimit(home.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(home.pid, resource.RLIMIT_FSIZE, (0, limits[1]))
    yield way
    resource.prlimit(home.pid, resource.RLIMIT_FSIZE, limits)


@contextmanager
def _locked(home: Home) -> Generator[Way]:
    with closing(sqlite3.connect(home.folder / "hivelore.db")) as other:
        other.execute("BEGIN IMMEDIATE")
        yield WELL
        other.rollback()


@contextmanager
def _corrupt_spool(home: Home) -> Generator[Way]:
    home.stop()
    spool = home.folder / "spool"
    spool.mkdir(exist_ok=True)
    for number, text in enumerate((b"", b'{"half": ', b"\xff\xfe\x00", b"[" * 100_000, b"null", b'{"payload": {}}')):
        (spool / f"{number:020}.json").write_bytes(text)
    (spool / f"{7:020}.json").mkdir()
    (spool / f"{8:020}.json").symlink_to(spool / "nowhere")
    (spool / f"{9:020}.new").write_bytes(b"cut o")
    yield WELL
    home.start()


@contextmanager
def _wrong_key(home: Home) -> Generator[Way]:
    file = home.folder / "agent.key"
    good = file.read_text()
    file.write_text(f"{good[:20]}{'0' * 60}\n")
    yield WELL
    file.write_text(good)


@contextmanager
def _not_writable(home: Home) -> Generator[Way]:
    home.stop()
    home.folder.chmod(0o500)
    yield Way(before=bounded(), keeps=NOTHING)
    home.hook.finish()
    home.folder.chmod(0o700)
    home.start()


def _missing(file: Path, lines: Sequence[str]) -> None:
    """Names a file that does not exist."""


def _huge(file: Path, lines: Sequence[str]) -> None:
    with file.open("wb") as out:
        out.write(lines[0].encode() + b"\n")
        out.seek(HUGE)  # No disk is filled by it.
        out.write("\n".join(("", *lines, "")).encode())


def _cut(file: Path, lines: Sequence[str]) -> None:
    written(file, lines)
    with file.open("ab") as out:
        out.write(lines[-1].encode()[:-9])


def _odd(file: Path, lines: Sequence[str]) -> None:
    written(file, [*_ODD_ENTRIES, *lines, *_ODD_ENTRIES])


def _always(way: Way) -> Fault:
    return lambda _: nullcontext(way)


FAULTS: Mapping[str, Fault] = {
    "none": _always(WELL),
    "service stopped": _stopped,
    "service hung": _hung,
    "port: speaks no HTTP": partial(_port_taken, b"220 mail.example ESMTP\r\n"),
    "port: a web site": partial(
        _port_taken, b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>"
    ),
    "port: another service": partial(
        _port_taken,
        b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{"decision":"block"}',
    ),
    "port: unknown page": partial(_port_taken, b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
    "port: says nothing": partial(_port_taken, None),
    "port: hangs up": partial(_port_taken, b""),
    "disk full": partial(_disk_full, Way(before=_without_room, keeps=NOTHING)),
    "disk full, not for hooks": partial(_disk_full, WELL),
    "database locked": _locked,
    "corrupt spool": _corrupt_spool,
    "wrong key": _wrong_key,
    "transcript missing": _always(Way(transcript=_missing, keeps=KEPT - FROM_TRANSCRIPT)),
    "transcript of 300 MB": _always(Way(transcript=_huge)),
    "transcript cut off": _always(Way(transcript=_cut)),
    "transcript unknown": _always(Way(transcript=_odd)),
    "clock a year ahead": _always(Way(first=_LATER.format(_YEAR))),
    "clock a year behind": _always(Way(first=_LATER.format(-_YEAR))),
    "clock behind, stopped": partial(_stopped, way=Way(first=_LATER.format(-_YEAR))),
    "home not writable": _not_writable,
    "hooks turned off": _always(Way(environ={"HIVELORE_HOOK_DISABLED": "1"}, keeps=NOTHING)),
}
"""Folder names with spaces, quotes, newlines and non-Latin letters."""
