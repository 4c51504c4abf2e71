"""What was sent of the transcripts of sessions, and which sessions wait to be sent.

In the folder ``transcripts`` of the home folder, ``NAME.json`` has the state of one session with its sub-agents, and
``NAME.waiting`` marks a session that is not sent completely. The mark is there before the first entry is sent. States
may be lost: the service recognizes entries that are sent again.
"""

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from hivelore.local import endpoint, private_files
from hivelore.local.claude_code_files import open_regular
from hivelore.local.transcript_entries import parse_entry

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from hivelore.local.transcript_entries import Json

MOST_STATES = 2_000
"""Most sessions whose state is kept; those that were sent longest ago are forgotten, unless they wait."""
_STATE = ".json"
_WAITING = ".waiting"
_LARGEST_STATE = 4_000_000
_CHECKPOINT = 16
"""Batches after which the state is written."""
_TAIL = 256
"""Bytes before the end of what was sent that show that the file is still the same."""


@dataclass(frozen=True)
class SentPart:
    """What was sent of the transcript of a session or of one sub-agent."""

    inode: int
    end: int = 0
    """Position in the file up to which it was sent."""
    tail: str = ""
    """Digest of the bytes before ``end``."""
    anchor: str | None = None
    """The last uuid before ``end``."""
    distance: int = 0
    """Number of entries between the anchor and ``end``."""
    transcript: str | None = None
    """Id under which the service stores them."""
    entries: int = 0
    """Number of entries that the service had afterwards."""
    metadata: str | None = None
    """Digest of the type of the sub-agent that was sent."""
    has_others: bool = False
    """True if the service may have entries of other hosts that the file lacks."""

    def is_start_of(self, file: "BinaryIO") -> bool:
        """Return True if a file still begins with what was sent."""
        found = os.fstat(file.fileno())
        if self.inode != found.st_ino or not 0 <= self.end <= found.st_size:
            return False
        return tail_digest(file, self.end) == self.tail

    def behind_send(self, after: "SentPart", transcript: str, appended: int, entries: int) -> "SentPart":
        """Return the state after lines were appended. ``after``: the position behind them; ``entries``: the number of
        entries that the service has now."""
        has_others = self.has_others or entries != self.entries + appended
        return replace(after, transcript=transcript, entries=entries, has_others=has_others)

    def is_whole(self, file: Path, transcript: str, entries: int) -> bool:
        """Return True if a file is as it was sent, and the service has nothing else: a transcript with so many
        entries."""
        if self.has_others or (self.transcript, self.entries) != (transcript, entries):
            return False
        try:
            with open_regular(file) as data:
                return self.is_start_of(data) and not self.has_grown(file)
        except OSError:
            return False

    def has_grown(self, file: Path) -> bool:
        found = file.lstat()
        return (found.st_ino, found.st_size) != (self.inode, self.end)


def tail_digest(file: "BinaryIO", end: int) -> str:
    """Return what identifies the bytes before a position."""
    file.seek(max(end - _TAIL, 0))
    return hashlib.blake2b(file.read(min(end, _TAIL)), digest_size=8).hexdigest()


class SessionState:
    """The state of one session. Hold its lock while you change it."""

    def __init__(self, home: Path, session_file: Path) -> None:
        self.session_file = session_file.absolute()
        name = hashlib.sha256(os.fsencode(self.session_file)).hexdigest()[:32]
        self._file = home / endpoint.SENT_TRANSCRIPTS / f"{name}{_STATE}"
        self._mark = self._file.with_suffix(_WAITING)
        self.lock = home / endpoint.LOCKS / f"transcripts-{name[:2]}"
        """Few lock files, which stay, for any number of sessions."""
        self._changes = 0
        self.reload()

    def reload(self) -> None:
        """Read the state again, as after getting its lock."""
        found = _read(self._file)
        self.url = _text(found.get("url"))
        """The service; None: it was not known yet."""
        self.key = _text(found.get("key"))
        """The public part of the key with which the session is sent; None: this is a new state."""
        parts = found.get("parts")
        self.parts = {name: part for name, each in _items(parts) if (part := _part(each)) is not None}
        """By sub-key; the empty one stands for the session itself."""
        self._written = found

    @property
    def is_waiting(self) -> bool:
        return self._mark.exists()

    def mark_waiting(self) -> None:
        """Note that the session is not sent completely. A mark that exists keeps its time."""
        if not self._file.exists():
            self.write()
        if not self.is_waiting:
            self._touch()

    def checkpoint(self) -> None:
        """Write the state after some batches, so that not all is sent again if the process is killed."""
        self._changes += 1
        if self._changes % _CHECKPOINT == 0:
            self.write()

    def postpone(self) -> None:
        """Let the other sessions that wait come first."""
        if self.is_waiting:
            self._touch()

    def complete(self) -> None:
        """Note that everything is sent."""
        self.write()
        self._mark.unlink(missing_ok=True)

    def remove(self) -> None:
        self._file.unlink(missing_ok=True)
        self._mark.unlink(missing_ok=True)

    def write(self) -> None:
        """Write the state to its file, if it has changed."""
        state: dict[str, Json] = {
            "session": os.fspath(self.session_file),
            "url": self.url,
            "key": self.key,
            "parts": {name: asdict(part) for name, part in self.parts.items()},
        }
        if state == self._written and self._file.exists():
            return
        is_new = not self._file.exists()
        private_files.make_folder(self._file.parent)
        with private_files.replacing(self._file) as out:
            out.write(json.dumps(state).encode())
        self._written = state
        if is_new:
            _forget_old_states(self._file.parent)

    def has_grown(self) -> bool:
        """Return True if a file of the session is not as it was sent. Raises FileNotFoundError without its file."""
        main = self.parts.get("")
        if main is None or main.has_grown(self.session_file):
            return True
        folder = self.session_file.with_suffix("")
        for sub_key, part in self.parts.items():
            with suppress(FileNotFoundError):
                if sub_key and part.has_grown(folder / f"{sub_key}{self.session_file.suffix}"):
                    return True
        return False

    def _touch(self) -> None:
        private_files.make_folder(self._mark.parent)
        os.close(private_files.open_private(self._mark, os.O_WRONLY))
        os.utime(self._mark)


def waiting_sessions(home: Path) -> "Iterator[SessionState]":
    """Yield the sessions that are not sent completely: those that wait longest first."""
    return _states(home, [path for _, path in _listed(home / endpoint.SENT_TRANSCRIPTS, _WAITING)])


def recent_sessions(home: Path, most: int) -> "Iterator[SessionState]":
    """Yield the sessions that were sent most recently."""
    return _states(home, [path for _, path in _listed(home / endpoint.SENT_TRANSCRIPTS, _STATE)[::-1][:most]])


def _states(home: Path, files: "list[Path]") -> "Iterator[SessionState]":
    for file in files:
        path = _text(_read(file.with_suffix(_STATE)).get("session"))
        if path is None:
            file.unlink(missing_ok=True)
        else:
            yield SessionState(home, Path(path))


def _listed(folder: Path, suffix: str) -> "list[tuple[float, Path]]":
    """Return files and the times of their last changes, oldest first."""
    found: list[tuple[float, str]] = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(suffix):
                with suppress(FileNotFoundError):
                    found.append((entry.stat(follow_symlinks=False).st_mtime, entry.path))
    return [(at, Path(path)) for at, path in sorted(found)]


def _forget_old_states(folder: Path) -> None:
    for _, file in _listed(folder, _STATE)[:-MOST_STATES]:
        if not file.with_suffix(_WAITING).exists():
            file.unlink(missing_ok=True)


def _read(file: Path) -> "dict[str, Json]":
    try:
        with open_regular(file) as data:
            return parse_entry(data.read(_LARGEST_STATE).decode()) or {}
    except (OSError, UnicodeDecodeError):
        return {}


def _part(value: "Json") -> SentPart | None:
    fields = dict(_items(value))
    kinds = SentPart.__annotations__
    try:
        part = SentPart(**fields)  # type: ignore[arg-type]
    except TypeError:
        return None
    is_valid = all(isinstance(getattr(part, name), kind) for name, kind in kinds.items())
    return part if is_valid else None


def _items(value: "Json") -> "list[tuple[str, Json]]":
    return list(value.items()) if isinstance(value, dict) else []


def _text(value: "Json") -> str | None:
    return value if isinstance(value, str) else None
