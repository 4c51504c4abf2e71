"""Profile of an agent as files on its machine, from the start of a session to its end (D02, D04).

The soul is SOUL.md and the identity IDENTITY.md in the workspace; the notes are CLAUDE.md or AGENTS.md in the settings
folder of the program. What stood there comes back when the last session ends. A folder beside each file, like
``.hivelore-CLAUDE.md``, contains:

    lock            held by the hook that changes the file or the state
    sending         held by the hook that sends edits
    state.json      the sessions that use the file, and what was written last
    backup-DIGEST   what stood there before
    new             what will replace the file
    last            what was removed from the file's place at the end
    unsent-*        edits that the service did not take yet
    refused-*       edits that the service will not take
    aside-*         what was in the way when the file was restored

Every step can be interrupted: the next one finds out from these files how far it came. The profile replaces the file by
moving ``new`` there, so the file is the user's own as long as ``new`` exists. Nothing local waits for the service.
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
    from collections.abc import Callable, Generator, Iterator, Sequence
    from typing import Any, TypeVar

    T = TypeVar("T")

FIELD_BYTES = 65_536
LARGEST_BACKUP = 16_000_000
"""Most bytes of a file that is backed up; a larger one is left alone."""
LARGEST_ANSWER = 2_000_000
MAX_KEPT = 20
"""Most edits and other texts that are kept beside a file. With so many, the profile does not replace it any more."""
CONNECT_SECONDS, READ_SECONDS = 0.25, 1.0
USER_SECONDS = 86_400
"""How long a session counts as running after its last event if its process is not known."""
REFRESH_SECONDS = 60
NOTES = {"claude-code": "CLAUDE.md", "codex": "AGENTS.md"}
"""By program: the file of the notes in its settings folder."""
_STATE, _LOCK, _SENDING, _NEW, _LAST = "state.json", "lock", "sending", "new", "last"
_BACKUP, _UNSENT, _REFUSED, _ASIDE = "backup-", "unsent-", "refused-", "aside-"
PREPARED = "prepared"
"""Stands for the session that files were prepared for until it starts."""
_SECOND = 1_000_000_000
_STORED, _STALE = 200, 412
_NEVER = (400, 413, 422)
"""Status codes of texts that the service will never take."""
_SHELLS = (b"sh", b"bash", b"dash", b"zsh", b"ksh", b"fish")
_MOST_SHELLS = 8


class Service:
    """The requests that the files need."""

    def __init__(self, url: "str | None", home: str) -> None:
        """``url`` None: no service runs."""
        self._url = url
        self._home = home

    def agent(self) -> "str | None":
        """Return the id of this agent; None if no service answers."""
        with suppress(HiveloreError, OSError, ValueError, KeyError):
            status, answer = self._call("GET", "/api/me")
            return answer["agentId"] if status == _STORED else None
        return None

    def profile(self) -> "dict[str, Any] | None":
        """Return the profile of this agent, which joins if it has not yet; None if no service answers."""
        with suppress(HiveloreError, OSError, ValueError, KeyError):
            status, answer = self._call("POST", "/api/agents/join", {})
            return answer["profile"] if status == _STORED else None
        return None

    def put(self, field: str, text: str, version: int) -> "tuple[int, dict[str, Any]]":
        """Return the status and the answer to a change of one field of the given version. Raises HiveloreError."""
        return self._call("PUT", "/api/agents/me/profile", {field: text}, version)

    def notify(self, text: str) -> None:
        with suppress(HiveloreError, OSError, ValueError):
            self._call("POST", "/api/events", {"level": "warning", "text": text[:1_000]})

    def _call(
        self, method: str, path: str, body: "dict[str, Any] | None" = None, version: "int | None" = None
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
        sent = None if body is None else json.dumps(body).encode()
        connection = Connection(ServiceUrl(self._url), CONNECT_SECONDS, READ_SECONDS)
        try:
            answer = connection.request(method, path, headers, sent, largest=LARGEST_ANSWER)
        finally:
            connection.close()
        return answer.status, json.loads(answer.body or b"{}")


class ProfileFile:
    """One field of the profile as a file. Only ``send`` uses the service."""

    def __init__(self, path: Path, field: str, *, follows_link: bool) -> None:
        """``follows_link``: a link to a file of this user stands for that file; otherwise a link is refused."""
        self.name = str(path)
        self.field = field
        self.path = path.resolve() if follows_link else path
        self.notices: list[str] = []
        """What the user has to know."""
        self._folder = self.path.with_name(f".hivelore-{self.path.name}")

    def has_state(self) -> bool:
        """Return True if sessions use the file, or if edits were not sent."""
        return (self._folder / _STATE).exists() or bool(self._kept(_UNSENT))

    def recover(self, session: "str | None") -> None:
        """Forget sessions that crashed, and restore what stood there if no other uses the file. ``session``: one that
        continues, even if its earlier process crashed."""
        if not self._folder.is_dir():
            return
        with self._locked():
            for temporary in self._folder.glob(".hivelore-*.new"):  # Of hooks that were stopped.
                temporary.unlink()
            state = self._load()
            if state is None:
                return
            had_users = bool(state["users"])
            state["users"] = {name: one for name, one in state["users"].items() if name == session or _is_alive(one)}
            if state["users"]:
                self._save(state)
            else:
                self._restore(state, is_crash=had_users)

    def start(self, session: "dict[str, Any]", profile: "dict[str, Any]") -> None:
        """Back up what is there and write the field, or join the sessions that use it."""
        with self._locked():
            state = self._load()
            if state is not None and not state["is_written"]:
                self._restore(state)
                state = None
            if state is None:
                self._take(session, profile)
            elif state["agent"] != profile["agentId"]:
                self.notices.append(
                    f"{self.name} belongs to a session of another agent, so this one has no {self.field} there."
                )
            elif not state["is_removed"]:
                state["users"].pop(PREPARED, None)
                if session["id"] != PREPARED or not state["users"]:
                    state["users"][session["id"]] = session
                self._save(state)
                self._update(state, profile)

    def refresh(self, session: "dict[str, Any]") -> "str | None":
        """Note that a session still runs. Return its agent, or None if it does not use the file."""
        if not self._folder.is_dir():
            return None
        with self._locked():
            state = self._load()
            user = None if state is None else state["users"].get(session["id"])
            if state is None or user is None:
                return None
            is_old = session["at"] - user["at"] >= REFRESH_SECONDS
            if is_old or (user["pid"], user["started"]) != (session["pid"], session["started"]):
                state["users"][session["id"]] = session
                self._save(state)
            return state["agent"]

    def end(self, session: "dict[str, Any]") -> "str | None":
        """Restore what stood there if no other session uses the file. Return the agent of the session, or None if it
        does not use the file."""
        if not self._folder.is_dir():
            return None
        with self._locked():
            state = self._load()
            if state is None or state["users"].pop(session["id"], None) is None:
                return None
            state["users"] = {name: one for name, one in state["users"].items() if _is_alive(one)}
            self._save(state)
            if not state["users"]:
                self._restore(state)
            return state["agent"]

    def release(self) -> bool:
        """Restore what stood there, whoever uses the file. Return True if there was anything to restore."""
        if not self._folder.is_dir():
            return False
        with self._locked():
            state = self._load()
            if state is None:
                return False
            state["users"] = {}
            self._save(state)
            self._restore(state)
            return True

    def send(self, agent: str, service: Service) -> None:
        """Send the edits of an agent: those that were kept, then that in the file."""
        if not self._folder.is_dir():
            return
        with self._locked(_SENDING):
            self._send_kept(agent, service)
            self._send_edit(agent, service)

    def remove_folder(self) -> None:
        """Remove the folder beside the file if it contains nothing but locks."""
        if not self._folder.is_dir():
            return
        locks = (_LOCK, _SENDING)
        with self._locked(_SENDING), self._locked(), suppress(OSError):  # Another hook may wait for a lock.
            if all(one.name in locks for one in self._folder.iterdir()):
                for name in locks:
                    (self._folder / name).unlink()
                self._folder.rmdir()

    def describe_kept(self) -> "str | None":
        """Return a text about what the user has to look at; None if there is nothing."""
        kept = [*self._kept(_REFUSED), *self._kept(_ASIDE)]
        if not kept:
            return None
        return (
            f"{len(kept)} texts from {self.name} are not in the profile. Look at {self._folder}/{kept[-1].name} and "
            "the files like it, and delete those that you do not need."
        )

    def is_left_over(self) -> bool:
        """Return True if the profile is in the file although no session uses it."""
        state = self._load()
        return state is not None and not any(map(_is_alive, state["users"].values()))

    # steps, under the lock

    @contextmanager
    def _locked(self, name: str = _LOCK) -> "Generator[None]":
        lock = self._lock(name)
        try:
            yield
        finally:
            os.close(lock)

    def _lock(self, name: str) -> int:
        while True:
            with suppress(FileNotFoundError):  # Another hook has just removed the folder.
                private_files.make_folder(self._folder)
                if self._folder.is_symlink() or self._folder.stat().st_uid != os.geteuid():
                    raise OSError(f"{self._folder} is not a folder of this user")
                lock = private_files.open_private(self._folder / name, os.O_RDWR)
                with suppress(FileNotFoundError):
                    fcntl.flock(lock, fcntl.LOCK_EX)
                    if os.path.samestat(os.fstat(lock), (self._folder / name).stat()):
                        return lock
                os.close(lock)

    def _take(self, session: "dict[str, Any]", profile: "dict[str, Any]") -> None:
        if sum(len(self._kept(kind)) for kind in (_UNSENT, _REFUSED, _ASIDE)) >= MAX_KEPT:
            self.notices.append(
                f"{self._folder} keeps {MAX_KEPT} texts or more, so {self.name} has no {self.field} of the profile. "
                "Look at them, and delete those that you do not need."
            )
            return
        before = self._read(self.path, LARGEST_BACKUP)
        state: dict[str, Any] = {
            "id": os.urandom(8).hex(),
            "agent": profile["agentId"],
            "version": profile["version"],
            "sent": None,
            "refused": None,
            "before": None if before is None else _digest(before[0]),
            "mode": private_files.FILE if before is None else before[1],
            "users": {session["id"]: session},
            "pending": None,
            "is_written": False,
            "is_removed": False,
            "is_conflict": False,
        }
        if before is not None and not (backup := self._backup(state)).exists():
            with private_files.replacing(backup) as out:
                out.write(before[0])
        self._replace(state, profile, state["before"])

    def _update(self, state: "dict[str, Any]", profile: "dict[str, Any]") -> None:
        """Write a newer version, unless the file was edited or conflicts with the profile."""
        found = self._read(self.path, LARGEST_BACKUP)
        is_ours = found is not None and _digest(found[0]) == state["sent"]
        if is_ours and not state["is_conflict"] and profile["version"] > state["version"]:
            self._replace(state, profile, state["sent"])

    def _replace(self, state: "dict[str, Any]", profile: "dict[str, Any]", expected: "str | None") -> None:
        """Replace the file by the field. ``expected``: the digest of its content."""
        data = profile[self.field].encode()
        pending = {"version": profile["version"], "sent": _digest(data)}
        with private_files.replacing(self._folder / _NEW, state["mode"]) as out:
            out.write(data)
        self._save(state | {"pending": pending})
        found = self._read(self.path, LARGEST_BACKUP)
        if (None if found is None else _digest(found[0])) != expected:
            raise OSError("it changed at the same time")
        (self._folder / _NEW).replace(self.path)
        self._save(state | pending | {"is_written": True})

    def _restore(self, state: "dict[str, Any]", *, is_crash: bool = False) -> None:
        """Restore what stood there. ``is_crash``: it is not certain that the agent wrote what is there now."""
        backup, last = self._backup(state), self._folder / _LAST
        if state["is_written"]:
            if not state["is_removed"]:
                # Moved before it is read: an edit at this time is in the file that was moved.
                if not os.path.lexists(last) and os.path.lexists(self.path):
                    self.path.rename(last)
                state["is_removed"] = True
                self._save(state)
            if os.path.lexists(last):
                self._keep(last, state, is_crash=is_crash)
            if backup.exists():  # Otherwise it was restored before the state could be removed.
                if os.path.lexists(self.path):
                    self.path.rename(self._name_for(_ASIDE))
                backup.chmod(state["mode"])
                backup.replace(self.path)
        (self._folder / _STATE).unlink()
        # Without a state, these are of no use: the file was not replaced.
        (self._folder / _NEW).unlink(missing_ok=True)
        backup.unlink(missing_ok=True)

    def _keep(self, last: Path, state: "dict[str, Any]", *, is_crash: bool) -> None:
        """Keep what was removed from the file's place, unless there is a copy of it."""
        try:
            found = self._read(last, LARGEST_BACKUP)
        except OSError:
            found = None
        if found is None:
            last.rename(self._name_for(_ASIDE))
            return
        digest = _digest(found[0])
        if digest == state["sent"] or (digest == state["before"] and self._backup(state).exists()):
            last.unlink()
            return
        if is_crash:
            with private_files.replacing(self._folder / f"{_ASIDE}{digest[:16]}") as out:
                out.write(found[0])
        last.rename(self._name_for(_UNSENT, f"-{state['version']}-{_mark(state['agent'])}"))

    def _send_kept(self, agent: str, service: Service) -> None:
        for file in self._kept(_UNSENT):
            _, _, version, mark = file.name.split("-")
            found = self._read(file, LARGEST_BACKUP) if mark == _mark(agent) else None
            if found is None:
                continue
            status, _ = self._put(found[0], int(version), service)
            if status in (_STORED, _STALE):  # A conflict is kept as a version by the service, which reports it.
                file.unlink()
            elif status in _NEVER:
                file.rename(self._name_for(_REFUSED))
            else:
                break

    def _send_edit(self, agent: str, service: Service) -> None:
        with self._locked():
            state = self._load()
            if state is None or state["agent"] != agent or not state["is_written"] or state["is_removed"]:
                return
            try:
                found = self._read(self.path, LARGEST_BACKUP)
            except OSError:  # Too large, or no file: it is kept at the end.
                return
        if found is None or (digest := _digest(found[0])) in (state["sent"], state["before"], state["refused"]):
            return
        status, answer = self._put(found[0], state["version"], service)
        if status == _STORED:
            done = {"version": answer["version"], "sent": digest, "is_conflict": False}
        elif status == _STALE:  # The file stays, and its next edit follows the version that is current now.
            done = {"version": answer["current"], "sent": digest, "is_conflict": True}
        elif status in _NEVER:
            done = {"refused": digest}
            self.notices.append(
                f"{self.name} was not stored as {self.field}: it has to be UTF-8 with at most {FIELD_BYTES:,} bytes, "
                "without characters that the service refuses. Correct it."
            )
        else:
            return
        with self._locked():
            now = self._load()
            if now is not None and now["id"] == state["id"]:
                self._save(now | done)

    def _put(self, data: bytes, version: int, service: Service) -> "tuple[int, dict[str, Any]]":
        """Return the status and the answer to an edit; status 0 if no service answers."""
        try:
            text = data.decode() if len(data) <= FIELD_BYTES else None
        except UnicodeDecodeError:
            text = None
        if text is None:
            return _NEVER[0], {}
        with suppress(HiveloreError, OSError, ValueError):
            return service.put(self.field, text, version)
        return 0, {}

    def _backup(self, state: "dict[str, Any]") -> Path:
        return self._folder / f"{_BACKUP}{state['before']}"

    def _name_for(self, kind: str, suffix: str = "") -> Path:
        return self._folder / f"{kind}{time.time_ns():020}{suffix}"

    def _kept(self, kind: str) -> "list[Path]":
        """Return the kept files of a kind, oldest first."""
        return sorted(self._folder.glob(f"{kind}*"))

    def _load(self) -> "dict[str, Any] | None":
        try:
            with (self._folder / _STATE).open("rb") as opened:
                state = json.loads(opened.read(LARGEST_ANSWER))
        except FileNotFoundError:
            return None
        pending = state["pending"]
        if pending is not None:
            state["pending"] = None
            if not (self._folder / _NEW).exists():  # It was moved to its place.
                state |= pending | {"is_written": True}
        return state

    def _save(self, state: "dict[str, Any]") -> None:
        with private_files.replacing(self._folder / _STATE) as out:
            out.write(json.dumps(state).encode())

    @staticmethod
    def _read(path: Path, largest: int) -> "tuple[bytes, int] | None":
        """Return content and permissions; None if there is no file. Raises OSError for anything but a regular file of
        this user, and for a larger file."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        with os.fdopen(descriptor, "rb") as opened:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
                raise OSError(f"{path} is not a regular file of this user")
            data = opened.read(largest + 1)
        if len(data) > largest:
            raise OSError(f"{path} has more than {largest:,} bytes")
        return data, stat.S_IMODE(found.st_mode)


def sync(
    event: str, session: str, program: str, *, url: "str | None", pid: str, parent: int = 0, is_on: bool = True
) -> None:
    """Do what an event of a session means for the files. A problem with one file does not keep the others from being
    restored. ``url`` None: no service runs. ``pid``: process id of the program, empty if it is not known; then it is
    an ancestor of the process ``parent``, or that. ``is_on`` False: files are only restored."""
    home = endpoint.home_folder()
    service, user = Service(url, home), _user(session, pid, parent)
    files = list(files_of(program, home))
    if event == "SessionStart":
        _each(files, lambda file: file.recover(session if is_on else None))
        # Sent before the profile is read, which then contains it.
        if any(file.has_state() for file in files) and (agent := service.agent()) is not None:
            _each(files, lambda file: file.send(agent, service))
        if is_on and (profile := service.profile()) is not None:
            _each(files, lambda file: file.start(user, profile))
    else:
        # All files are restored before anything is sent.
        agents = _each(files, lambda file: file.end(user) if event == "SessionEnd" else file.refresh(user))
        for agent in {one for one in agents if one is not None}:
            _each(files, lambda file, agent=agent: file.send(agent, service))
    if event == "SessionEnd" or not is_on:
        _each(files, ProfileFile.remove_folder)
    for file in files:
        kept = file.describe_kept() if event in ("SessionStart", "SessionEnd") else None
        for notice in (*file.notices, *filter(None, [kept])):
            service.notify(notice)


class Prepared:
    """What ``prepare`` did."""

    __slots__ = ("names", "notices")

    def __init__(self, names: "Sequence[str]", notices: "Sequence[str]") -> None:
        """``names``: of the files that contain the profile; ``notices``: what the user has to know."""
        self.names = names
        self.notices = notices


def prepare(program: str, agent: str, home: str, url: str) -> Prepared:
    """Put the profile into its files before the first session starts, which then uses them. ``agent``: the id of the
    agent that the session will have."""
    service, files = Service(url, home), list(files_of(program, home))
    user = {"id": PREPARED, "pid": 0, "started": "", "at": time.time_ns() // _SECOND}
    found = service.agent()
    if found != agent:
        why = "does not answer" if found is None else f"knows the hooks of this machine as agent {found}, not {agent}"
        return Prepared((), (f"The profile is not kept in files: the service {why}.",))
    _each(files, lambda file: file.recover(PREPARED))
    if any(file.has_state() for file in files):
        _each(files, lambda file: file.send(agent, service))
    profile = service.profile()
    if profile is None:
        return Prepared((), ("The profile is not kept in files: the service does not answer.",))
    _each(files, lambda file: file.start(user, profile))
    return Prepared(
        tuple(file.name for file in files if file.has_state()), tuple(one for file in files for one in file.notices)
    )


def left_over(program: str, home: str) -> "tuple[list[str], list[str]]":
    """Return the names of files that were not restored after their last session, and texts about what is kept beside
    files. Nothing changes."""
    names: list[str] = []
    texts: list[str] = []
    for file in files_of(program, home):
        try:
            names += [file.name] if file.is_left_over() else []
            texts += filter(None, [file.describe_kept()])
        except (OSError, ValueError, KeyError) as error:
            texts.append(f"The state of {file.name} cannot be read: {error}")
    return names, texts


def release(program: str, home: str, url: "str | None") -> "Sequence[str]":
    """Restore what stood in the files of a program, whoever uses them, and send what was edited. Return the names of
    the files that were restored."""
    service, files = Service(url, home), list(files_of(program, home))
    restored = [file.name for file, done in zip(files, _each(files, ProfileFile.release), strict=True) if done]
    if any(file.has_state() for file in files) and (agent := service.agent()) is not None:
        _each(files, lambda file: file.send(agent, service))
    _each(files, ProfileFile.remove_folder)
    return restored


def _each(files: "Sequence[ProfileFile]", step: "Callable[[ProfileFile], T]") -> "list[T | None]":
    done: list[T | None] = []
    for file in files:
        try:
            done.append(step(file))
        except (HiveloreError, OSError, ValueError, KeyError) as error:
            done.append(None)
            file.notices.append(f"{file.name} is not kept in step with the profile: {error}")
    return done


def files_of(program: str, home: str) -> "Iterator[ProfileFile]":
    """Yield the files of a program whose folders exist."""
    workspace = Path(endpoint.workspace(home, endpoint.given_workspace()))
    for name, field in (("SOUL.md", "soul"), ("IDENTITY.md", "identity")):
        if workspace.is_dir():
            yield ProfileFile(workspace / name, field, follows_link=False)
    settings = endpoint.agent_homes().get(program)
    if program in NOTES and settings is not None and settings.is_dir():
        yield ProfileFile(settings / NOTES[program], "notes", follows_link=True)


def _user(session: str, pid: str, parent: int = 0) -> "dict[str, Any]":
    number = int(pid) if pid.isdecimal() and len(pid) < 10 else _find_program(parent)
    return {"id": session, "pid": number, "started": _started(number), "at": time.time_ns() // _SECOND}


def _find_program(pid: int) -> int:
    """Return the process that started a hook, through shells or not; 0 if that is not known."""
    for _ in range(_MOST_SHELLS):
        name, _, fields = _status(pid).partition(b"(")[2].rpartition(b")")
        if not fields:
            return 0
        if name not in _SHELLS:
            return pid
        pid = int(fields.split()[1])
    return 0


def _is_alive(user: "dict[str, Any]") -> bool:
    """Return True if the process of a session runs; if it is not known, for some time after its last event."""
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
    fields = _status(pid).rpartition(b")")[2].split()
    return fields[19].decode() if len(fields) > 19 else ""


def _status(pid: int) -> bytes:
    """Return what Linux shows of a process; empty if that is not known."""
    with suppress(OSError), Path(f"/proc/{pid}/stat").open("rb") as opened:
        return opened.read(4_096)
    return b""


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _mark(agent: str) -> str:
    """Return a name for an agent that a file name can contain."""
    return _digest(agent.encode())[:16]
