"""Sends what the transcript files of Claude Code grew by to the service.

A file in the home folder says how much of a transcript was sent, to which service and with which key. It may be lost:
the service recognizes entries that are sent again. While the service is down, the transcripts themselves are the queue.
"""

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path

from hivelore.errors import Unavailable
from hivelore.local import endpoint, private_files
from hivelore.local.claude_code_files import (
    METADATA_SUFFIX,
    METADATA_TYPE,
    SUFFIX,
    is_session_id,
    open_regular,
    parts_of,
)
from hivelore.local.file_lock import locked
from hivelore.local.transcript_entries import ROUGH_ENTRY_BYTES, parse_entry, shorten_entry, uuid_of
from hivelore.local.transport import Connection, ServiceUrl

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    from hivelore.local.transcript_entries import Json

BATCH_LINES = 500
BATCH_BYTES = 1_000_000
"""Most bytes of one request; one entry may have more."""
MOST_STATES = 2_000
"""Most transcripts whose state is kept; those that were sent longest ago are forgotten."""
MOST_PENDING = 50
"""Most other transcripts that are looked at, the most recent ones."""
_KEY_LENGTH = 20
"""Characters of a key without its secret."""
_LOCK_ATTEMPTS = 100
_LARGEST_METADATA = 100_000
_TIMEOUT = 20.0
_LARGEST_ANSWER = 1_000_000


class Refused(Exception):
    """The service does not take the entries, and would not take them later either."""


class Sender:
    """A connection to the service with the key of an agent."""

    def __init__(self, url: str, key: str) -> None:
        self.url = url
        self.key_id = key.rpartition("_")[0][:_KEY_LENGTH]
        """The part of the key that may be stored."""
        self._key = key
        self._connection: Connection | None = None
        self._machine = os.uname().nodename

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def send(self, place: "tuple[str, str, str]", lines: "list[str]") -> None:
        """Append lines to a transcript, given by project key, session and sub-key. Raises Unavailable and Refused."""
        project_key, session, sub_key = place
        body: dict[str, Json] = {
            "projectKey": project_key,
            "sessionId": session,
            "lines": list(lines),
            "machine": self._machine,
            "fromFile": True,
        }
        if sub_key:
            body["subKey"] = sub_key
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        data = json.dumps(body, ensure_ascii=False).encode()
        connection, self._connection = self._connection, None
        try:
            connection = connection or Connection(ServiceUrl(self.url), _TIMEOUT, _TIMEOUT)
            answer = connection.request("POST", "/api/transcripts", headers, data, largest=_LARGEST_ANSWER)
        except BaseException as error:
            if connection is not None:
                connection.close()
            if isinstance(error, (OSError, ValueError)):
                raise Unavailable(f"The transcript cannot be sent ({error}).") from None
            raise
        if answer.is_complete:
            self._connection = connection
        else:
            connection.close()
        if answer.status >= 500 or answer.status in (401, 403, 408, 425, 429):
            raise Unavailable(f"The service does not take the transcript now (status {answer.status}).")
        if answer.status >= 300:
            raise Refused(_detail(answer.body) or f"The service refuses the transcript (status {answer.status}).")


def capture_session(file: Path, sender: Sender, home: Path, expired: "Callable[[], bool]") -> int:
    """Send what the transcript of a session and those of its sub-agents grew by; return the number of sent entries.
    Stops when ``expired`` returns True. Raises Unavailable, Refused, and OSError for files that cannot be read."""
    session, project_key = file.name.removesuffix(SUFFIX), file.parent.name
    if not file.name.endswith(SUFFIX) or not is_session_id(session):
        return 0
    sent = _capture_file(file, (project_key, session, ""), sender, home, expired)
    for sub_key, part in parts_of(file):
        if expired():
            break
        with suppress(FileNotFoundError):
            grown = _capture_file(part, (project_key, session, sub_key), sender, home, expired)
            if grown and (metadata := _metadata_line(part)) is not None:
                sender.send((project_key, session, sub_key), [metadata])
            sent += grown
    return sent


def capture_pending(sender: Sender, home: Path, expired: "Callable[[], bool]") -> None:
    """Send what other transcripts grew by while the service was down. Raises like ``capture_session``."""
    for state_file in _recent_states(home)[:MOST_PENDING]:
        if expired():
            return
        state = _read_state(state_file)
        file = Path(str(state.get("session")))
        if not _is_of(state, sender) or not file.name.endswith(SUFFIX):
            continue
        try:
            if file.stat().st_size != state.get("end"):
                capture_session(file, sender, home, expired)
        except FileNotFoundError:
            state_file.unlink(missing_ok=True)
        except Refused:
            continue


def note_sent(file: Path, session_file: Path, sender: Sender, home: Path) -> None:
    """Note that the service has all entries of a file, as after a restore."""
    with open_regular(file) as data:
        anchor, end = 0, 0
        for start, line in _complete_lines(data, 0):
            end = start + len(line)
            if _has_uuid(line):
                anchor = start
        _write_state(home, file, session_file, sender, os.fstat(data.fileno()).st_ino, anchor, end)


def _capture_file(
    file: Path, place: "tuple[str, str, str]", sender: Sender, home: Path, expired: "Callable[[], bool]"
) -> int:
    state_file = _state_file(home, file)
    sent = 0
    # Few lock files, which stay, for any number of transcripts.
    lock = home / endpoint.LOCKS / f"transcripts-{state_file.name[:2]}"
    with locked(lock, _LOCK_ATTEMPTS), open_regular(file) as data:
        found = os.fstat(data.fileno())
        session_file = file if not place[2] else _session_file(file, place[1])
        offset, end = _position(_read_state(state_file), sender, found, data)
        while not expired():
            lines, anchor, read_to = _next_batch(data, offset)
            if read_to <= end:
                break
            if lines:
                sender.send(place, lines)
            sent += len(lines)
            end = read_to
            # The next batch begins with the last entry that has a uuid, by which the service knows those after it.
            offset = anchor if anchor is not None and anchor > offset else read_to
            _write_state(home, file, session_file, sender, found.st_ino, offset, end)
    return sent


def _position(state: "dict[str, Json]", sender: Sender, found: os.stat_result, data: "BinaryIO") -> "tuple[int, int]":
    """Return where the next batch begins, and the end of what was sent; zeros if the state is not of this file."""
    offset, end = state.get("offset"), state.get("end")
    if not (isinstance(offset, int) and isinstance(end, int) and 0 <= offset <= end <= found.st_size):
        return 0, 0
    if not _is_of(state, sender) or state.get("inode") != found.st_ino:
        return 0, 0
    for place in (offset, end):
        if place:
            data.seek(place - 1)
            if data.read(1) != b"\n":
                return 0, 0
    return offset, end


def _next_batch(data: "BinaryIO", offset: int) -> "tuple[list[str], int | None, int]":
    """Return the next entries, the position of the last one with a uuid, and the end of what was read."""
    lines: list[str] = []
    size, anchor, end = 0, None, offset
    for start, line in _complete_lines(data, offset):
        text = _entry_line(line)
        if text is not None:
            length = len(text.encode())
            if lines and (len(lines) >= BATCH_LINES or size + length > BATCH_BYTES):
                break
            lines.append(text)
            size += length
            if _has_uuid(line):
                anchor = start
        end = start + len(line)
    return lines, anchor, end


def _complete_lines(data: "BinaryIO", offset: int) -> "Iterator[tuple[int, bytes]]":
    """Yield the lines that end with a line break, with their positions. Of one that is too long only the end."""
    data.seek(offset)
    while line := data.readline(ROUGH_ENTRY_BYTES):
        if line.endswith(b"\n"):
            yield offset, line
        elif len(line) < ROUGH_ENTRY_BYTES:
            return  # It is still being written.
        offset += len(line)


def _entry_line(line: bytes) -> str | None:
    """Return the entry in a line, shortened if necessary; None for other content."""
    try:
        text = line.decode().strip()
    except UnicodeDecodeError:
        return None
    if parse_entry(text) is None:
        return None
    return shorten_entry(text)


def _has_uuid(line: bytes) -> bool:
    entry = parse_entry(line.decode(errors="replace"))
    return entry is not None and uuid_of(entry) is not None


def _metadata_line(part: Path) -> str | None:
    """Return the entry that stands for the file beside the transcript of a sub-agent."""
    try:
        with open_regular(part.with_name(part.name.removesuffix(SUFFIX) + METADATA_SUFFIX)) as data:
            entry = parse_entry(data.read(_LARGEST_METADATA).decode())
    except (OSError, UnicodeDecodeError):
        return None
    return None if entry is None else json.dumps({**entry, "type": METADATA_TYPE}, ensure_ascii=False)


def _session_file(part: Path, session: str) -> Path:
    folder = next((parent for parent in part.parents if parent.name == session), part)
    return folder.with_name(f"{session}{SUFFIX}")


def _state_file(home: Path, file: Path) -> Path:
    name = hashlib.sha256(os.fsencode(file.absolute())).hexdigest()[:32]
    return home / endpoint.SENT_TRANSCRIPTS / f"{name}.json"


def _is_of(state: "dict[str, Json]", sender: Sender) -> bool:
    """Return True if a state is about the same service and agent. A transcript is never sent with another key."""
    return state.get("url") == sender.url and state.get("key") == sender.key_id


def _read_state(file: Path) -> "dict[str, Json]":
    try:
        with open_regular(file) as data:
            return parse_entry(data.read(_LARGEST_METADATA).decode()) or {}
    except (OSError, UnicodeDecodeError):
        return {}


def _write_state(home: Path, file: Path, session_file: Path, sender: Sender, inode: int, offset: int, end: int) -> None:
    state = {
        "file": os.fspath(file),
        "session": os.fspath(session_file),
        "inode": inode,
        "offset": offset,
        "end": end,
        "url": sender.url,
        "key": sender.key_id,
    }
    place = _state_file(home, file)
    is_new = not place.exists()
    private_files.make_folder(place.parent)
    with private_files.replacing(place) as out:
        out.write(json.dumps(state).encode(errors="replace"))
    if is_new:
        for outdated in _recent_states(home)[MOST_STATES:]:
            outdated.unlink(missing_ok=True)


def _recent_states(home: Path) -> "list[Path]":
    """Return the state files, the most recently written first."""
    found: list[tuple[float, str]] = []
    with suppress(OSError), os.scandir(home / endpoint.SENT_TRANSCRIPTS) as entries:
        for entry in entries:
            if entry.name.endswith(".json"):
                with suppress(FileNotFoundError):
                    found.append((entry.stat(follow_symlinks=False).st_mtime, entry.path))
    return [Path(path) for _, path in sorted(found, reverse=True)]


def _detail(body: bytes) -> str:
    try:
        problem = parse_entry(body.decode())
    except UnicodeDecodeError:
        return ""
    detail = None if problem is None else problem.get("detail")
    return detail if isinstance(detail, str) else ""
