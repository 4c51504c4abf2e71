"""Profile of an agent as files on its machine, from the start of a session to its end (D02, D04).

The soul is SOUL.md and the identity IDENTITY.md in the workspace; the notes are CLAUDE.md or AGENTS.md in the settings
folder of the program. What stood there comes back when the last session ends. A folder beside each file, like
``.hivelore-CLAUDE.md``, contains:

    lock          held by the hook that reads or writes the file
    state.json    the sessions that use it, and what was written last
    backup        what stood there before
    unsent-*      edits that the service did not take yet; those that are too long stay there
    aside-*       what was in the way when the file was restored

Every step can be interrupted: the next one finds out from the state how far it came.
"""

import fcntl
import hashlib
import json
import os
import stat
import time
from contextlib import contextmanager, suppress
from pathlib import Path

from hivelore.errors import HiveloreError, Unavailable
from hivelore.local import endpoint, private_files
from hivelore.local.transport import Connection, ServiceUrl

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from typing import Any, TypeVar

    T = TypeVar("T")

FIELD_BYTES = 65_536
LARGEST_BACKUP = 16_000_000
"""Most bytes of a file that is backed up; a larger one is left alone."""
LARGEST_ANSWER = 1_000_000
MAX_UNSENT = 20
CONNECT_SECONDS, READ_SECONDS = 0.25, 1.0
USER_SECONDS = 86_400
"""How long a session counts as running if its process is not known."""
NOTES = {"claude-code": "CLAUDE.md", "codex": "AGENTS.md"}
"""By program: the file of the notes in its settings folder."""
_STATE, _BACKUP, _LOCK, _UNSENT = "state.json", "backup", "lock", "unsent-"
_SECOND = 1_000_000_000
_STALE = 412


class Service:
    """The requests that the files need."""

    def __init__(self, url: "str | None", home: str) -> None:
        """``url`` None: no service runs."""
        self._url = url
        self._home = home

    def profile(self) -> "dict[str, Any] | None":
        """Return the profile of this agent, which joins if it has not yet; None if no service answers."""
        with suppress(HiveloreError, OSError, ValueError, KeyError):
            status, answer = self._call("POST", "/api/agents/join", {})
            return answer["profile"] if status == 200 else None
        return None

    def put(self, field: str, text: str, version: int) -> "tuple[int, dict[str, Any]]":
        """Return the status and the answer to a change of one field of the given version. Raises HiveloreError."""
        return self._call("PUT", "/api/agents/me/profile", {field: text}, version)

    def notify(self, text: str) -> None:
        with suppress(HiveloreError, OSError, ValueError):
            self._call("POST", "/api/events", {"level": "warning", "text": text})

    def _call(
        self, method: str, path: str, body: "dict[str, Any]", version: "int | None" = None
    ) -> "tuple[int, dict[str, Any]]":
        if self._url is None:
            raise Unavailable("No service runs.")
        headers = {
            "Authorization": f"Bearer {endpoint.key(endpoint.AGENT_KEY, self._home)}",
            "Content-Type": "application/json",
            "Connection": "close",
        }
        if version is not None:
            headers["If-Match"] = f'"{version}"'
        connection = Connection(ServiceUrl(self._url), CONNECT_SECONDS, READ_SECONDS)
        try:
            answer = connection.request(method, path, headers, json.dumps(body).encode(), largest=LARGEST_ANSWER)
        finally:
            connection.close()
        return answer.status, json.loads(answer.body or b"{}")


class ProfileFile:
    """One field of the profile as a file."""

    def __init__(self, path: Path, field: str, *, follows_link: bool) -> None:
        """``follows_link``: a link to a file of this user stands for that file; otherwise a link is refused."""
        self.name = str(path)
        self.field = field
        self.path = path.resolve() if follows_link else path
        self._folder = self.path.with_name(f".hivelore-{self.path.name}")

    def recover(self, session: "dict[str, Any]", agent: "str | None", service: Service) -> bool:
        """Restore what stood there if all sessions that used the file crashed, and send what was not sent yet. Return
        True if there was anything to do. ``agent``: the agent of this session; None if no service answers."""
        if not self._folder.is_dir():
            return False
        with self._locked():
            state, unsent = self._load(), self._unsent()
            if state is not None:
                users = state["users"]
                state["users"] = {
                    name: user for name, user in users.items() if name == session["id"] or _is_alive(user)
                }
                if state["users"]:
                    self._save(state)
                    state = None
                else:
                    edited = self._edited(state)
                    is_ours = state["agent"] == agent
                    self._restore(state, edited if not is_ours or not self._send(state, edited, service) else None)
            if agent is not None:
                self._send_unsent(agent, service)
            return state is not None or bool(unsent)

    def start(self, session: "dict[str, Any]", profile: "dict[str, Any]", service: Service) -> None:
        """Back up what is there and write the field, or join the sessions that use it."""
        with self._locked():
            state = self._load()
            if state is None:
                self._take(session, profile)
            elif state["agent"] != profile["agentId"]:
                service.notify(
                    f"{self.name} belongs to a session of another agent, so this one has no {self.field} there."
                )
            else:
                state["users"][session["id"]] = session
                self._save(state)
                self._update(state, profile)

    def write_back(self, session: "dict[str, Any]", service: Service) -> None:
        """Send an edit to the service."""
        if not self._folder.is_dir():
            return
        with self._locked():
            state = self._load()
            if state is not None and session["id"] in state["users"]:
                self._send(state, self._edited(state), service)

    def end(self, session: "dict[str, Any]", service: Service) -> None:
        """Send an edit, and restore what stood there if no other session uses the file."""
        if not self._folder.is_dir():
            return
        with self._locked():
            state = self._load()
            if state is None or session["id"] not in state["users"]:
                return
            edited = self._edited(state)
            is_sent = self._send(state, edited, service)
            del state["users"][session["id"]]
            if any(map(_is_alive, state["users"].values())):
                self._save(state)
            else:
                self._restore(state, None if is_sent else edited)

    # steps, under the lock

    @contextmanager
    def _locked(self) -> "Generator[None]":
        private_files.make_folder(self._folder)
        if self._folder.is_symlink() or self._folder.stat().st_uid != os.geteuid():
            raise OSError(f"{self._folder} is not a folder of this user")
        lock = private_files.open_private(self._folder / _LOCK, os.O_RDWR)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _take(self, session: "dict[str, Any]", profile: "dict[str, Any]") -> None:
        data = profile[self.field].encode()
        before = self._read(LARGEST_BACKUP)
        state: dict[str, Any] = {
            "agent": profile["agentId"],
            "version": profile["version"],
            "sent": _digest(data),
            "before": None if before is None else _digest(before[0]),
            "mode": 0o600 if before is None else before[1],
            "users": {session["id"]: session},
            "is_written": False,
        }
        if before is not None:
            with private_files.replacing(self._folder / _BACKUP) as out:
                out.write(before[0])
        self._save(state)  # Before the file changes: a crash after this restores it.
        self._write(data, state["mode"])
        self._save(state | {"is_written": True})

    def _update(self, state: "dict[str, Any]", profile: "dict[str, Any]") -> None:
        """Write a newer version, unless the file was edited."""
        found, data = self._read(FIELD_BYTES), profile[self.field].encode()
        if found is None or _digest(found[0]) != state["sent"] or profile["version"] <= state["version"]:
            return
        state |= {"version": profile["version"], "sent": _digest(data)}
        self._write(data, state["mode"])
        self._save(state)

    def _edited(self, state: "dict[str, Any]") -> "bytes | None":
        """Return the content if it was edited since it was written or sent."""
        try:
            found = self._read(LARGEST_BACKUP)
        except OSError:  # Too large, or no file: it is put aside at the end.
            return None
        digest = None if found is None else _digest(found[0])
        if digest == state["sent"] and not state["is_written"]:  # The hook was stopped before it could note that.
            state["is_written"] = True
            self._save(state)
        is_edited = state["is_written"] and digest not in (state["sent"], state["before"])
        return found[0] if is_edited and found is not None else None

    def _send(self, state: "dict[str, Any]", edited: "bytes | None", service: Service) -> bool:
        """Send edited content. Return False if the service did not take it."""
        if edited is None:
            return True
        if len(edited) > FIELD_BYTES:
            service.notify(f"{self.name} has more than {FIELD_BYTES:,} bytes, so it was not stored. Shorten it.")
            return False
        try:
            status, answer = service.put(self.field, edited.decode(), state["version"])
        except (HiveloreError, OSError, ValueError):
            return False
        if status == 200:
            state["version"] = answer["version"]
        elif status != _STALE:  # A conflict is kept as a version by the service, which reports it.
            return False
        state["sent"] = _digest(edited)
        self._save(state)
        return True

    def _restore(self, state: "dict[str, Any]", unsent: "bytes | None") -> None:
        """Restore what stood there. ``unsent``: content that the service did not take."""
        backup = self._folder / _BACKUP
        if unsent is not None:
            self._keep_unsent(state, unsent)
        try:
            found = self._read(LARGEST_BACKUP)
        except OSError:
            found = None
            self.path.rename(self._folder / f"aside-{time.time_ns():020}")
        digest = None if found is None else _digest(found[0])
        if not state["is_written"] and digest not in (None, state["sent"], state["before"]):
            # The hook was stopped before it could note whether it replaced the file: both texts are kept.
            if backup.exists():
                backup.rename(self._folder / f"aside-{time.time_ns():020}")
        elif state["before"] is None:
            self.path.unlink(missing_ok=True)
        elif backup.exists():  # Otherwise it was restored before the state could be removed.
            backup.chmod(state["mode"])
            backup.replace(self.path)
        (self._folder / _STATE).unlink()

    def _keep_unsent(self, state: "dict[str, Any]", data: bytes) -> None:
        files = self._unsent()
        for file in files[: max(len(files) + 1 - MAX_UNSENT, 0)]:
            file.unlink()
        kept = {"agent": state["agent"], "version": state["version"], "text": data.decode(errors="replace")}
        with private_files.replacing(self._folder / f"{_UNSENT}{time.time_ns():020}") as out:
            out.write(json.dumps(kept).encode())

    def _send_unsent(self, agent: str, service: Service) -> None:
        for file in self._unsent():
            with suppress(HiveloreError, OSError, ValueError, KeyError):
                with file.open("rb") as opened:
                    kept = json.loads(opened.read(4 * LARGEST_BACKUP))
                is_ours = kept["agent"] == agent and len(kept["text"].encode()) <= FIELD_BYTES
                if is_ours and service.put(self.field, kept["text"], kept["version"])[0] in (200, _STALE):
                    file.unlink()

    def _unsent(self) -> "list[Path]":
        """Return the files with edits that were not sent, oldest first."""
        return sorted(self._folder.glob(f"{_UNSENT}*"))

    def _load(self) -> "dict[str, Any] | None":
        try:
            with (self._folder / _STATE).open("rb") as opened:
                return json.loads(opened.read(LARGEST_ANSWER))
        except FileNotFoundError:
            return None

    def _save(self, state: "dict[str, Any]") -> None:
        with private_files.replacing(self._folder / _STATE) as out:
            out.write(json.dumps(state).encode())

    def _read(self, largest: int) -> "tuple[bytes, int] | None":
        """Return content and permissions; None if there is no file. Raises OSError for anything but a regular file of
        this user, _TooLarge."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        with os.fdopen(descriptor, "rb") as opened:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
                raise OSError(f"{self.path} is not a regular file of this user")
            data = opened.read(largest + 1)
        if len(data) > largest:
            raise _TooLarge
        return data, stat.S_IMODE(found.st_mode)

    def _write(self, data: bytes, mode: int) -> None:
        with private_files.replacing(self.path, mode) as out:
            out.write(data)


class _TooLarge(OSError):
    pass


def sync(event: str, session: str, program: str, *, url: "str | None", pid: str) -> None:
    """Do what an event of a session means for the files. A problem with one file does not keep the others from being
    restored. ``url`` None: no service runs. ``pid``: process id of the program, empty if it is not known."""
    home = endpoint.home_folder()
    service, user = Service(url, home), _user(session, pid)
    files = list(files_of(program, home))

    def each(step: "Callable[[ProfileFile], T]") -> "list[T]":
        done: list[T] = []
        for file in files:
            try:
                done.append(step(file))
            except (HiveloreError, OSError, ValueError, KeyError) as error:
                service.notify(f"{file.name} is not kept in step with the profile: {error}"[:1_000])
        return done

    if event == "SessionStart":
        profile = service.profile()
        agent = None if profile is None else profile["agentId"]
        if any(each(lambda file: file.recover(user, agent, service))):
            profile = service.profile()
        if profile is not None:
            each(lambda file: file.start(user, profile, service))
    elif event == "SessionEnd":
        each(lambda file: file.end(user, service))
    else:
        each(lambda file: file.write_back(user, service))


def files_of(program: str, home: str) -> "Iterator[ProfileFile]":
    """Yield the files of a program whose folders exist."""
    workspace = Path(endpoint.workspace(home, endpoint.given_workspace()))
    for name, field in (("SOUL.md", "soul"), ("IDENTITY.md", "identity")):
        if workspace.is_dir():
            yield ProfileFile(workspace / name, field, follows_link=False)
    settings = endpoint.agent_homes().get(program)
    if program in NOTES and settings is not None and settings.is_dir():
        yield ProfileFile(settings / NOTES[program], "notes", follows_link=True)


def _user(session: str, pid: str) -> "dict[str, Any]":
    number = int(pid) if pid.isdecimal() and len(pid) < 10 else 0
    return {"id": session, "pid": number, "started": _started(number), "at": time.time_ns() // _SECOND}


def _is_alive(user: "dict[str, Any]") -> bool:
    """Return True if the process of a session runs; if it is not known, for some time after its last start."""
    if not user["pid"]:
        return time.time_ns() // _SECOND - user["at"] < USER_SECONDS
    try:
        os.kill(user["pid"], 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return _started(user["pid"]) == user["started"]
    return _started(user["pid"]) == user["started"]


def _started(pid: int) -> str:
    """Return when a process started, in ticks; empty if that is not known. A later process may have the same id."""
    with suppress(OSError, IndexError), Path(f"/proc/{pid}/stat").open("rb") as opened:
        return opened.read(4_096).rpartition(b")")[2].split()[19].decode()
    return ""


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
