"""Sends what the transcript files of Claude Code grew by to the service.

A state for each session (``transcript_state``) says how much was sent. While the service is down, the transcripts
themselves are the queue. If the service has less than the state says, as after a deletion or with an older database,
the session is sent from its beginning.
"""

import json
import os
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path

from hivelore.errors import Busy, Unavailable
from hivelore.local.claude_code_files import (
    METADATA_SUFFIX,
    METADATA_TYPE,
    SUFFIX,
    is_session_id,
    open_regular,
    parts_of,
)
from hivelore.local.file_lock import locked
from hivelore.local.transcript_entries import ROUGH_ENTRY_BYTES, digest, parse_entry, shorten_entry, uuid_of
from hivelore.local.transcript_state import SentPart, SessionState, recent_sessions, tail_digest, waiting_sessions
from hivelore.local.transport import Connection, ServiceUrl

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from typing import BinaryIO

    from hivelore.local.transcript_entries import Json
    from hivelore.local.transcript_restore import Restored

BATCH_LINES = 500
BATCH_BYTES = 1_000_000
"""Most bytes of one request; one entry may have more."""
MOST_WAITING = 50
"""Most other sessions that are sent at once."""
MOST_RECENT = 50
"""Most other sessions that are looked at for growth without an event, the most recently sent ones."""
_KEY_LENGTH = 20
"""Characters of a key without its secret."""
_LOCK_ATTEMPTS = 100
_RESTARTS = 3
_LARGEST_METADATA = 100_000
_TIMEOUT = 20.0
_LARGEST_ANSWER = 1_000_000


class Refused(Exception):
    """The service does not take the entries, and would not take them later either."""


class _Missing(Exception):
    """The service does not have what was sent before."""


class Sender:
    """A connection to the service with the key of an agent."""

    def __init__(self, url: str, key: str) -> None:
        self.url = url
        self.key_id = public_part(key)
        self._key = key
        self._connection: Connection | None = None
        self._machine = os.uname().nodename

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def send(
        self, place: "tuple[str, str, str]", lines: "list[str]", before: SentPart | None = None
    ) -> "dict[str, Json]":
        """Append lines to a transcript, given by project key, session and sub-key, and return the answer. ``before``:
        what was sent of the file before them. Raises Unavailable and Refused."""
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
        if before is not None and before.transcript is not None:
            body |= {"transcript": before.transcript, "entries": before.entries}
        if before is not None:
            body |= {"anchor": before.anchor, "distance": before.distance}
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        # A folder name may be no valid text, which the service refuses.
        data = json.dumps(body, ensure_ascii=False).encode(errors="replace")
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
        found = _parsed(answer.body)
        if answer.status >= 300:
            detail = found.get("detail")
            problem = f"The service refuses the transcript (status {answer.status})."
            raise Refused(detail if isinstance(detail, str) and detail else problem)
        return found


def public_part(key: str) -> str:
    """Return the part of a key that may be stored."""
    return key.rpartition("_")[0][:_KEY_LENGTH]


def capture_session(
    file: Path, sender: Sender, home: Path, expired: "Callable[[], bool]", *, with_any_key: bool = False
) -> int:
    """Send what the transcript of a session and those of its sub-agents grew by; return how many entries were new.
    Stops when ``expired`` returns True. A session that was sent with the key of another agent is refused, unless
    ``with_any_key``. Raises Unavailable, Refused, and OSError for files that cannot be read; those of other sub-agents
    are sent all the same."""
    session, project_key = file.name.removesuffix(SUFFIX), file.parent.name
    if not file.name.endswith(SUFFIX) or not is_session_id(session):
        return 0
    state = SessionState(home, file)
    with locked(state.lock, _LOCK_ATTEMPTS):
        state.reload()
        _check_key(state, sender, (project_key, session, ""), with_any_key)
        for _ in range(_RESTARTS):
            try:
                return _capture_parts(state, (project_key, session), sender, expired)
            except _Missing:
                state.parts.clear()
    raise Refused("The service loses the transcript while it is sent. Try again.")


def capture_pending(sender: Sender, home: Path, expired: "Callable[[], bool]") -> None:
    """Send other sessions that wait, those that wait longest first, and recent ones that have grown without an event.
    Raises Unavailable."""
    tried = 0
    for state in waiting_sessions(home):
        if expired() or tried >= MOST_WAITING:
            break
        if state.key == sender.key_id:
            tried += 1
            _capture_later(state, sender, home, expired)
    for state in recent_sessions(home, MOST_RECENT):
        if expired():
            return
        with suppress(OSError):
            if state.key == sender.key_id and not state.is_waiting and state.has_grown():
                _capture_later(state, sender, home, expired)


def _capture_later(state: SessionState, sender: Sender, home: Path, expired: "Callable[[], bool]") -> None:
    try:
        capture_session(state.session_file, sender, home, expired)
    except FileNotFoundError:
        state.remove()
    except Busy:
        return
    except (Refused, OSError, ValueError, RecursionError):
        state.postpone()


def note_waiting(file: Path, key: str, home: Path) -> None:
    """Note that a session waits for a service that does not run."""
    if not file.name.endswith(SUFFIX) or not is_session_id(file.name.removesuffix(SUFFIX)):
        return
    state = SessionState(home, file)
    with locked(state.lock, _LOCK_ATTEMPTS):
        state.reload()
        if state.key is None:
            state.key = public_part(key)
        state.mark_waiting()


class RestoreState:
    """The state of a session while its files are restored. No other process sends them meanwhile."""

    def __init__(self, state: SessionState, url: str, key: str) -> None:
        self._state = state
        self._sender = (url, public_part(key))

    def is_whole(self, sub_key: str, file: Path, transcript: str, entries: int) -> bool:
        """Return True if a file is known to have all entries of a stored transcript, and no others."""
        part = self._part(sub_key)
        return part is not None and part.is_whole(file, transcript, entries)

    def note(self, sub_key: str, file: Path, restored: "Restored", transcript: str, entries: int) -> None:
        """Note that a file has all entries of the service. One that was kept may have others, which wait to be sent."""
        part = self._part(sub_key)
        if restored.is_written:
            with open_regular(file) as data:
                sent = replace(_sent_until(data, restored), transcript=transcript, entries=entries)
            line = _metadata_line(file) if sub_key else None
            part = sent if line is None else replace(sent, metadata=str(digest(line)))
        elif part is None or (part.transcript, part.entries) != (transcript, entries):
            return
        if (self._state.url, self._state.key) != self._sender:
            self._state.parts.clear()
            self._state.url, self._state.key = self._sender
        self._state.parts[sub_key] = replace(part, has_others=False)
        self._state.write()

    def _part(self, sub_key: str) -> SentPart | None:
        is_same = (self._state.url, self._state.key) == self._sender
        return self._state.parts.get(sub_key) if is_same else None


@contextmanager
def restoring(file: Path, url: str, key: str, home: Path) -> "Generator[RestoreState]":
    """Hold the state of a session, with the service and the key of the agent that has it. Raises Busy while the session
    is sent."""
    state = SessionState(home, file)
    with locked(state.lock):
        state.reload()
        yield RestoreState(state, url, key)


def _sent_until(data: "BinaryIO", restored: "Restored") -> SentPart:
    sent = SentPart(inode=restored.inode)
    for _, line in _complete_lines(data, 0, restored.size):
        entry = parse_entry(line.decode(errors="replace"))
        if entry is not None:
            sent = _behind(sent, uuid_of(entry))
    return replace(sent, end=restored.size, tail=tail_digest(data, restored.size))


def _check_key(state: SessionState, sender: Sender, place: "tuple[str, str, str]", with_any_key: bool) -> None:
    """Let a state belong to a sender. Raises Refused if the session was sent with the key of another agent of the same
    service: its earlier conversation is not for this one."""
    if state.key not in (None, sender.key_id):
        if state.url in (None, sender.url) and not with_any_key and not _is_of_agent(state, sender, place):
            raise Refused("The session was sent with another key. 'hivelore session save' sends it with this one.")
        if state.url != sender.url or with_any_key:
            state.parts.clear()
    state.url, state.key = sender.url, sender.key_id


def _is_of_agent(state: SessionState, sender: Sender, place: "tuple[str, str, str]") -> bool:
    """Return True if the agent of the sender has what was sent with another key, as after a change of its key."""
    main = state.parts.get("")
    return main is not None and main.transcript is not None and not sender.send(place, [], main).get("restart")


def _capture_parts(
    state: SessionState, session: "tuple[str, str]", sender: Sender, expired: "Callable[[], bool]"
) -> int:
    """Send the parts of a session. Problems of one do not keep the others from being sent."""
    count, problem, is_complete = 0, None, True
    try:
        for sub_key, part in chain([("", state.session_file)], parts_of(state.session_file)):
            if sub_key and expired():
                is_complete = False
                break
            try:
                appended, is_sent = _capture_part(state, part, (*session, sub_key), sender, expired)
                count += appended
                is_complete &= is_sent
            except (Refused, OSError) as error:
                if not isinstance(error, FileNotFoundError):
                    problem = problem or error
                elif not sub_key:
                    raise
    finally:
        state.write()
    if problem is not None:
        raise problem
    if is_complete:
        state.complete()
    else:
        state.mark_waiting()
    return count


def _capture_part(
    state: SessionState, file: Path, place: "tuple[str, str, str]", sender: Sender, expired: "Callable[[], bool]"
) -> "tuple[int, bool]":
    """Send what one file grew by. Return how many entries were new, and whether all are sent."""
    sub_key, count = place[2], 0
    sent = state.parts.get(sub_key)
    if sent is not None and not sent.has_grown(file) and (sent.metadata or not sub_key):
        return 0, True
    with open_regular(file) as data:
        if sent is None or not sent.is_start_of(data):
            sent = SentPart(inode=os.fstat(data.fileno()).st_ino)
        while not expired():
            lines, after = _next_batch(data, sent)
            if after.end <= sent.end:
                sent = _send_metadata(file, place, sent, sender) if sub_key else sent
                state.parts[sub_key] = sent
                return count, True
            if lines:
                state.mark_waiting()
                answer = sender.send(place, lines, sent)
                if answer.get("restart"):
                    raise _Missing
                count += _number(answer.get("appended"))
                transcript = answer.get("id")
                if isinstance(transcript, str):
                    appended, entries = _number(answer.get("appended")), _number(answer.get("entries"))
                    after = sent.behind_send(after, transcript, appended, entries)
            sent = after
            state.parts[sub_key] = sent
            state.checkpoint()
    return count, False


def _send_metadata(file: Path, place: "tuple[str, str, str]", sent: SentPart, sender: Sender) -> SentPart:
    """Send the type of a sub-agent, after entries of it."""
    line = _metadata_line(file)
    if line is None or sent.transcript is None or sent.metadata == (known := str(digest(line))):
        return sent
    answer = sender.send(place, [line])
    sent = sent.behind_send(sent, sent.transcript, _number(answer.get("appended")), _number(answer.get("entries")))
    return replace(sent, metadata=known)


def _next_batch(data: "BinaryIO", sent: SentPart) -> "tuple[list[str], SentPart]":
    """Return the next entries, and what will have been sent with them."""
    lines: list[str] = []
    size, end, after = 0, sent.end, sent
    for start, line in _complete_lines(data, sent.end):
        text = _entry_line(line)
        if text is not None:
            length = len(text.encode())
            if lines and (len(lines) >= BATCH_LINES or size + length > BATCH_BYTES):
                break
            lines.append(text)
            size += length
            after = _behind(after, uuid_of(parse_entry(text) or {}))
        end = start + len(line)
    return lines, replace(after, end=end, tail=tail_digest(data, end))


def _behind(sent: SentPart, uuid: str | None) -> SentPart:
    """Return the anchor and the distance behind another entry."""
    if uuid is not None:
        return replace(sent, anchor=uuid, distance=0)
    return replace(sent, distance=sent.distance + 1)


def _complete_lines(data: "BinaryIO", offset: int, until: int | None = None) -> "Iterator[tuple[int, bytes]]":
    """Yield the lines that end with a line break, with their positions. Of one that is too long only the end."""
    data.seek(offset)
    while (until is None or offset < until) and (line := data.readline(ROUGH_ENTRY_BYTES)):
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


def _metadata_line(part: Path) -> str | None:
    """Return the entry that stands for the file next to the transcript of a sub-agent."""
    try:
        with open_regular(part.with_name(part.name.removesuffix(SUFFIX) + METADATA_SUFFIX)) as data:
            entry = parse_entry(data.read(_LARGEST_METADATA).decode())
    except (OSError, UnicodeDecodeError):
        return None
    return None if entry is None else json.dumps({**entry, "type": METADATA_TYPE})


def _number(value: "Json") -> int:
    return value if isinstance(value, int) else 0


def _parsed(body: bytes) -> "dict[str, Json]":
    try:
        return parse_entry(body.decode()) or {}
    except UnicodeDecodeError:
        return {}
