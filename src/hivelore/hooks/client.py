"""Delivers one event from stdin to the service and prints the answer, before a deadline."""

import os
import sys
import time

from hivelore.errors import HiveloreError
from hivelore.local import endpoint
from hivelore.local.git_project import branch_of, project_or_folder
from hivelore.local.lock import read_lock
from hivelore.local.transport import Connection, ServiceUrl

TYPE_CHECKING = False

if TYPE_CHECKING:
    import signal
    from collections.abc import Sequence
    from types import FrameType, TracebackType
else:
    import _signal as signal  # Its C part: the module itself is slower to import than everything else here.

CONNECTING = 0.25
"""Share of the time limit for connecting."""
LARGEST = 8_000_000
"""Most bytes of an event, and of an answer."""
LARGEST_TASK = 16_384
FILES_SECONDS = 2.0
"""Most seconds for the files of the profile."""
FILES_ONLY = "--files"
"""Option of a hook whose event concerns the files of the profile and the start-up file only."""
LONGEST = 60.0
"""Most seconds of work in the background."""
_CHUNK = 65_536
_FOLDERS = {"cursor": "CURSOR_PROJECT_DIR"}
"""Variables with the project folder of programs that run hooks elsewhere."""
_PIDS = {"claude-code": "CLAUDE_PID"}
"""Variables with the process ids of programs."""
_STARTS = ("SessionStart", "sessionStart")
"""Names that programs give the start of a session."""
_END = "SessionEnd"
_RESTORED = ("SessionStart", _END)
"""Events at which files of a session can be restored."""
_AGAIN = (401, 403, 408, 409, 425, 429)
"""Status codes that may be temporary, besides those from 500 on."""
_ESCAPES = {number: f"\\u{number:04x}" for number in (*range(32), ord('"'), ord("\\"))}


class Late(Exception):
    """The time limit has passed."""


class Undelivered(Exception):
    """The event was not delivered."""

    def __init__(self, reason: str, *, again: bool = True) -> None:
        """``reason``: see ``sessions.missed_answers``."""
        super().__init__()
        self.reason = reason
        self.again = again
        """True if it may be delivered later."""


class Event:
    """An event of an agent program."""

    __slots__ = ("fields", "is_detached", "parent", "payload", "program", "url")

    def __init__(self, program: str) -> None:
        self.program = program
        self.fields = {"id": os.urandom(16).hex()}
        """What Hivelore adds to the payload."""
        self.payload = b""
        """The event in the words of the program."""
        self.url = endpoint.given_url()
        """HIVELORE_URL, if it is set."""
        self.parent = os.getppid()
        """The process that started the hook."""
        self.is_detached = False
        """True once this process is detached from the agent."""

    def body(self) -> bytes:
        fields = "".join(f'"{name}":"{value.translate(_ESCAPES)}",' for name, value in self.fields.items() if value)
        return b'{%s"payload":%s}' % (fields.encode(errors="replace"), self.payload)


def main(arguments: "Sequence[str]") -> None:
    """Deliver an event from stdin and end this process; the exit code is always 0."""
    sys.excepthook = _give_up
    if endpoint.hooks_are_off():
        _end()
    event = Event(_option(arguments, "--agent"))

    def detach(_: int, __: "FrameType | None") -> None:
        _detach(event)

    if FILES_ONLY in arguments:
        _keep_files(event, arguments)
        _end()
    signal.signal(signal.SIGALRM, detach)
    signal.setitimer(signal.ITIMER_REAL, endpoint.hook_wait())
    again, reason = True, "late"
    try:
        try:
            event.payload = _read_stdin()
            event.fields |= _describe_context(arguments)
            event.fields |= _describe_run(arguments, starts=_is_one_of(_STARTS, arguments, event.payload))
            signal.signal(signal.SIGALRM, _too_late)
            answer = b"" if event.is_detached else _deliver(event)
            signal.setitimer(signal.ITIMER_REAL, 0)
            if not event.is_detached:
                _write(answer)
                _keep_files(event, arguments)
                _end()
        except Undelivered as problem:
            again, reason = problem.again, problem.reason
        except (OSError, ValueError, LookupError, ArithmeticError, HiveloreError):
            reason = "down"
        signal.setitimer(signal.ITIMER_REAL, 0)
    except Late:  # It is raised once, at any point.
        pass
    _keep_files(event, arguments)
    event.fields["missed"] = reason
    _leave(event, again=again)
    _end()


def _keep_files(event: Event, arguments: "Sequence[str]") -> None:
    """Propose edits of the start-up file. Keep the files of the profile in step with the service, if the user switched
    that on; otherwise files of earlier sessions are restored."""
    is_on = endpoint.keeps_profile_files()
    if not is_on and not _is_one_of(_RESTORED, arguments, event.payload):
        return
    import json

    from hivelore.hooks.profile_files import sync

    signal.signal(signal.SIGALRM, _too_late)
    signal.setitimer(signal.ITIMER_REAL, FILES_SECONDS)
    try:
        payload = json.loads(event.payload or _read_stdin())
        name = _option(arguments, "--event") or payload.get("hook_event_name", "")
        url = _url_or_none(event)
        if session := str(payload.get("session_id", "")):
            pid = os.environ.get(_PIDS.get(event.program, ""), "")
            sync(name, session, event.program, url=url, pid=pid, parent=event.parent, is_on=is_on)
        if url is not None and (FILES_ONLY in arguments or name == _END):
            from hivelore.hooks.start_up_file import propose_edits

            propose_edits(payload, endpoint.home_folder(), is_end=name == _END)
    except (Late, Undelivered, OSError, ValueError, AttributeError, HiveloreError):
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _url_or_none(event: Event) -> str | None:
    try:
        return event.url or _url_of(endpoint.home_folder())
    except Undelivered:
        return None


def _option(arguments: "Sequence[str]", name: str) -> str:
    """Return the value of an option; empty if it is missing."""
    for place, argument in enumerate(arguments):
        if argument == name:
            return "".join(arguments[place + 1 : place + 2])
        if argument.startswith(f"{name}="):
            return argument[len(name) + 1 :]
    return ""


def _read_stdin() -> bytes:
    pieces: list[bytes] = []
    size = 0
    while piece := os.read(0, _CHUNK):
        pieces.append(piece)
        size += len(piece)
        if size > LARGEST:
            raise Undelivered("refused", again=False)
    return b"".join(pieces)


def _is_one_of(names: "Sequence[str]", arguments: "Sequence[str]", payload: bytes) -> bool:
    """Return True for an event with one of the names."""
    name = _option(arguments, "--event")
    if name:
        return name in names
    # The payload is not parsed: that would take longer than everything else.
    return len(payload) <= _CHUNK and any(f'"{one}"'.encode() in payload for one in names)


def _describe_context(arguments: "Sequence[str]") -> dict[str, str]:
    now = time.time()
    task, file = endpoint.task(LARGEST_TASK)
    return {
        "event": _option(arguments, "--event"),
        "at": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now * 1_000) % 1_000:03}Z",
        "project": _option(arguments, "--project") or project_or_folder(_folder(arguments)) or "",
        "taskId": task,
        "taskFile": file,
    }


def _folder(arguments: "Sequence[str]") -> str:
    return os.environ.get(_FOLDERS.get(_option(arguments, "--agent"), "")) or "."


def _describe_run(arguments: "Sequence[str]", *, starts: bool) -> dict[str, str]:
    """Return what the agent program and git show of the run. It is asked for last, because an event may lack it."""
    fields = _describe_work(_folder(arguments)) if starts else {}
    if endpoint.nudges():
        from hivelore.local.attendance import is_attended

        if is_attended(_option(arguments, "--agent"), os.environ):
            fields["nudge"] = endpoint.NUDGE
    return fields


def _describe_work(folder: str) -> dict[str, str]:
    """Return what the repository of a folder shows of the work in it."""
    branch = branch_of(folder)
    if branch is None:
        return {}
    from hivelore.local.git_changes import ChangedFiles

    return {"branch": branch, "changedFiles": "\n".join(ChangedFiles(folder).read())}


def _deliver(event: Event) -> bytes:
    """Return the answer of the service; empty if nothing is injected. Raises Undelivered for another answer."""
    home = endpoint.home_folder()
    url = ServiceUrl(event.url or _url_of(home))
    headers = {
        "Authorization": f"Bearer {endpoint.key(endpoint.AGENT_KEY, home)}",
        "Content-Type": "application/json",
        "Connection": "close",
    }
    # The alarm limits the time of the answer.
    connection = Connection(url, CONNECTING * endpoint.hook_wait(), None)
    answer = connection.request("POST", f"/api/hooks/{event.program}", headers, event.body(), largest=LARGEST)
    name, value = endpoint.TAKEN
    if answer.headers.get(name) == value and answer.status in (200, 204) and answer.is_framed:
        return answer.body
    ours = answer.kind == "application/problem+json"
    raise Undelivered("refused", again=not ours or answer.status >= 500 or answer.status in _AGAIN)


def _url_of(home: str) -> str:
    """Return the URL of the service that holds the home folder, from its lock file."""
    owner = read_lock(home)
    url = (owner or b"").partition(b'"url": "')[2].partition(b'"')[0]
    if not url:
        raise Undelivered("down")
    return url.decode()


def _write(answer: bytes) -> None:
    while answer:
        answer = answer[os.write(1, answer) :]


def _leave(event: Event, *, again: bool) -> None:
    """Spool the event in a detached process."""
    if not event.is_detached and not _fork_detached():
        return
    os.dup2(1, 0)
    os.closerange(3, 256)

    from hivelore.hooks.fallback import spool_or_start

    spool_or_start(event, again=again, longest=LONGEST)


def _detach(event: Event) -> None:
    """Continue in a detached process when the time limit passes while the event is still being read."""
    if not _fork_detached():
        _end()
    event.is_detached = True
    signal.signal(signal.SIGALRM, _too_late)
    signal.setitimer(signal.ITIMER_REAL, LONGEST)


def _fork_detached() -> bool:
    """Fork, and return True in the new process. It is detached: the agent does not wait for it and cannot end it."""
    if os.fork():
        return False
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (1, 2):
        os.dup2(null, descriptor)
    return True


def _too_late(_: int, __: "FrameType | None") -> None:
    raise Late


def _give_up(_: type[BaseException], __: BaseException, ___: "TracebackType | None") -> None:
    _end()


def _end() -> None:
    # At once: the normal end of the interpreter takes a millisecond.
    os._exit(0)
