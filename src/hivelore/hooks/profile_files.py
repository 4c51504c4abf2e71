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

from hivelore.errors import Broken, HiveloreError, Unavailable
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
_TEXT, _NUMBER, _TEXT_OR_NONE = (str,), (int,), (str, type(None))
_PENDING_SHAPE: "dict[str, tuple[type, ...]]" = {"version": _NUMBER, "sent": _TEXT}
_USER_SHAPE: "dict[str, tuple[type, ...]]" = {
    "id": _TEXT,
    "key": _TEXT,
    "pid": _NUMBER,
    "started": _TEXT,
    "at": _NUMBER,
}
_STATE_SHAPE: "dict[str, tuple[type, ...]]" = {
    "id": _TEXT,
    "agent": _TEXT,
    "version": _NUMBER,
    "sent": _TEXT_OR_NONE,
    "refused": _TEXT_OR_NONE,
    "before": _TEXT_OR_NONE,
    "mode": _NUMBER,
    "users": (dict,),
    "is_written": (bool,),
    "is_removed": (bool,),
    "is_conflict": (bool,),
    "pending": (dict, type(None)),
}
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

    def recover(self, session: "dict[str, Any] | None") -> None:
        """Forget sessions that crashed, and restore what stood there if no other uses the file. ``session``: one that
        continues, even if its earlier process crashed, and that takes over what was prepared with its key; None: what
        was prepared is restored, too."""
        if not self._folder.is_dir():
            return
        with self._locked():
            for temporary in self._folder.glob(".hivelore-*.new"):  # Of hooks that were stopped.
                temporary.unlink()
            state = self._load()
            if state is None:
                self._drop_copies()
                return
            had_users = bool(state["users"])
            prepared = state["users"].pop(PREPARED, None)
            users = {name: one for name, one in state["users"].items() if _is_alive(one) or _continues(session, one)}
            key = prepared["key"] if prepared is not None and _is_alive(prepared) else None
            if session is not None and session["key"] == key:
                users.setdefault(session["id"], session)
            state["users"] = users
            if users:
                self._save(state)
            else:
                self._restore(state, is_crash=had_users)

    def start(self, session: "dict[str, Any]", profile: "dict[str, Any]") -> bool:
        """Back up what is there and write the field, or join the sessions that use it. Return True if the file contains
        the field of this agent."""
        with self._locked():
            state = self._load()
            if state is not None and not state["is_written"]:
                self._restore(state)
                state = None
            if state is None:
                return self._take(session, profile)
            if state["agent"] != profile["agentId"]:
                self.notices.append(
                    f"{self.name} belongs to a session of another agent, so this one has no {self.field} there. Give "
                    "each agent a home folder of its own."
                )
                return False
            if state["is_removed"]:
                return False
            state["users"].pop(PREPARED, None)
            if session["id"] != PREPARED or not state["users"]:
                state["users"][session["id"]] = session
            self._save(state)
            self._update(state, profile)
            return True

    def refresh(self, session: "dict[str, Any]") -> "str | None":
        """Note that a session still runs. Return its agent, or None if it does not use the file with its key."""
        if not self._folder.is_dir():
            return None
        with self._locked():
            state = self._load()
            user = None if state is None else state["users"].get(session["id"])
            if state is None or user is None or user["key"] != session["key"]:
                return None
            is_old = session["at"] - user["at"] >= REFRESH_SECONDS
            if is_old or (user["pid"], user["started"]) != (session["pid"], session["started"]):
                state["users"][session["id"]] = session
                self._save(state)
            return state["agent"]

    def end(self, session: "dict[str, Any]") -> "str | None":
        """Restore what stood there if no other session uses the file. Return the agent of the session, or None if it
        does not use the file with its key."""
        if not self._folder.is_dir():
            return None
        with self._locked():
            state = self._load()
            user = None if state is None else state["users"].pop(session["id"], None)
            if state is None or user is None:
                return None
            state["users"] = {name: one for name, one in state["users"].items() if _is_alive(one)}
            self._save(state)
            if not state["users"]:
                self._restore(state)
            return state["agent"] if user["key"] == session["key"] else None

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

    def describe_kept(self) -> "Iterator[Problem]":
        """Yield what the user has to look at, besides edits that will be sent."""
        if kept := [*self._kept(_REFUSED), *self._kept(_ASIDE)]:
            yield Problem(
                f"{len(kept)} texts from {self.name} are not in the profile: {kept[-1]} and the files like it.",
                "Look at them, and delete those that you do not need.",
            )
        if not (self._folder / _STATE).exists():
            for backup in self._kept(_BACKUP):
                if not self._is_copy(backup):
                    yield Problem(
                        f"{backup} is a former {self.name}, which was not restored.",
                        "Compare them, and delete the one that you do not need.",
                    )

    def describe_unsent(self, agent: "str | None" = None) -> "Iterator[Problem]":
        """Yield which edits the service did not take yet, by agent. ``agent``: one that is left out."""
        counts: dict[str, int] = {}
        for file in self._kept(_UNSENT):
            owner = _agent_of(file)
            counts[owner] = counts.get(owner, 0) + 1
        for owner, count in counts.items():
            if agent is None or owner != _mark(agent):
                edits = "1 edit" if count == 1 else f"{count} edits"
                yield Problem(
                    f"{edits} of {self.name} by agent {owner} did not reach the service: {self._folder}/{_UNSENT}*.",
                    "The next session of this agent here sends them.",
                )

    def check(self) -> "Problem | None":
        """Return what is wrong with the state; None if nothing is."""
        try:
            self._load()
        except (Broken, OSError) as error:
            return Problem(f"{self.name} cannot be restored: {error}", self._remedy())
        return None

    def is_left_over(self) -> bool:
        """Return True if the profile is in the file although no session uses it."""
        state = self._load()
        return state is not None and not any(map(_is_alive, state["users"].values()))

    def is_prepared(self) -> bool:
        """Return True if the profile is in the file for a session that has not started."""
        state = self._load()
        alive = [] if state is None else [name for name, one in state["users"].items() if _is_alive(one)]
        return alive == [PREPARED]

    def explain(self, error: Exception) -> "Problem":
        """Return why the file was not restored, and what to do."""
        if isinstance(error, Broken):
            return Problem(f"{self.name} was not restored: {error}", self._remedy())
        kept = f" What stood there is in {backups[-1]}." if (backups := self._kept(_BACKUP)) else ""
        return Problem(f"{self.name} was not restored: {error}.{kept}", "Correct this, then run the command again.")

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

    def _take(self, session: "dict[str, Any]", profile: "dict[str, Any]") -> bool:
        if sum(len(self._kept(kind)) for kind in (_UNSENT, _REFUSED, _ASIDE)) >= MAX_KEPT:
            self.notices.append(
                f"{self._folder} keeps {MAX_KEPT} texts or more, so {self.name} has no {self.field} of the profile. "
                "Look at them, and delete those that you do not need."
            )
            return False
        if os.path.lexists(self._folder / _LAST):  # Of a state that somebody deleted.
            (self._folder / _LAST).rename(self._name_for(_ASIDE))
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
        return True

    def _drop_copies(self) -> None:
        """Remove backups that a hook made before it was stopped, if the file still has their content."""
        for backup in self._kept(_BACKUP):
            if self._is_copy(backup):
                backup.unlink()

    def _is_copy(self, backup: Path) -> bool:
        with suppress(OSError):
            found = self._read(self.path, LARGEST_BACKUP)
            return found is not None and backup.name == f"{_BACKUP}{_digest(found[0])}"
        return False

    def _remedy(self) -> str:
        """Return what to do about a damaged state."""
        state = self._folder / _STATE
        if backups := self._kept(_BACKUP):
            return (
                f"What stood there is in {backups[-1]}. Compare it with {self.path}, move it there, and delete {state}."
            )
        return f"Look at {self.path}: it may be the profile of an agent. Then delete {state}."

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
            found = self._read(file, LARGEST_BACKUP) if _agent_of(file) == _mark(agent) else None
            if found is None:
                continue
            status, _ = self._put(found[0], int(file.name.split("-")[2]), service)
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
        """Return the state; None if there is none. Raises Broken if it is damaged."""
        try:
            with (self._folder / _STATE).open("rb") as opened:
                state: Any = json.loads(opened.read(LARGEST_ANSWER))
        except FileNotFoundError:
            return None
        except (ValueError, RecursionError):
            state = None
        if not _is_state(state):
            raise Broken(f"its state ({self._folder / _STATE}) is damaged.")
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
    service, user = Service(url, home), _user(session, _key_mark(home), pid, parent)
    files = list(files_of(program, home))
    me: str | None = None
    if event == "SessionStart":
        _each(files, lambda file: file.recover(user if is_on else None))
        # Sent before the profile is read, which then contains it.
        if any(file.has_state() for file in files) and (me := service.agent()) is not None:
            _each(files, lambda file, agent=me: file.send(agent, service))
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
        problems = [*file.describe_kept()] if event in ("SessionStart", "SessionEnd") else []
        problems += file.describe_unsent(me) if event == "SessionStart" else []
        for notice in (*file.notices, *map(str, problems)):
            service.notify(notice)


class Problem:
    """Something that the user has to know, and what to do about it."""

    __slots__ = ("remedy", "what")

    def __init__(self, what: str, remedy: str) -> None:
        self.what = what
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.what} {self.remedy}"


class Prepared:
    """What ``PreparedFiles.put`` did."""

    __slots__ = ("names", "notices")

    def __init__(self, names: "Sequence[str]", notices: "Sequence[str]") -> None:
        """``names``: of the files that contain the profile; ``notices``: what the user has to know."""
        self.names = names
        self.notices = notices


class PreparedFiles:
    """The files of the profile before the first session starts, which then uses them."""

    def __init__(self, program: str, agent: str, home: str, url: str) -> None:
        """``agent``: the id of the agent that the session will have."""
        self._program = program
        self._agent = agent
        self._home = home
        self._service = Service(url, home)

    def give_back(self) -> "Sequence[str]":
        """Restore files that no session uses, those that were prepared included. Return what the user has to know."""
        files = list(files_of(self._program, self._home))
        _each(files, lambda file: file.recover(None))
        _each(files, ProfileFile.remove_folder)
        return [notice for file in files for notice in file.notices]

    def put(self) -> Prepared:
        """Put the profile into its files. Creates the settings folder of the program."""
        service, notices = self._service, list[str]()
        found = service.agent()
        if found != self._agent:
            why = (
                "does not answer"
                if found is None
                else f"knows the hooks of this machine as agent {found}, not {self._agent}"
            )
            return Prepared((), (f"The profile is not kept in files: the service {why}.",))
        settings = endpoint.agent_homes().get(self._program)
        if settings is None:
            notices.append("The notes have no file: HOME is not set, and the user has no home folder.")
        else:
            try:
                private_files.make_folder(settings)
            except OSError as error:
                notices.append(f"The notes have no file: {settings} cannot be created ({error.strerror}).")
        files = list(files_of(self._program, self._home))
        user = _user(PREPARED, _key_mark(self._home), "0")
        _each(files, lambda file: file.recover(user))
        if any(file.has_state() for file in files):
            _each(files, lambda file: file.send(self._agent, service))
        profile = service.profile()
        if profile is None:
            return Prepared((), ("The profile is not kept in files: the service does not answer.",))
        done = _each(files, lambda file: file.start(user, profile))
        names = [file.name for file, is_there in zip(files, done, strict=True) if is_there]
        for file in files:
            notices += [*file.notices, *map(str, file.describe_unsent(self._agent))]
        return Prepared(names, notices)


class LeftOver:
    """What is beside the files of a program."""

    __slots__ = ("names", "prepared", "problems")

    def __init__(self) -> None:
        self.names: list[str] = []
        """Files that were not restored after their last session."""
        self.prepared: list[str] = []
        """Files that contain the profile for a session that has not started."""
        self.problems: list[Problem] = []


def left_over(program: str, home: str) -> LeftOver:
    """Return what was not restored, and what is kept beside files. Nothing changes."""
    found = LeftOver()
    for file in files_of(program, home):
        problem = file.check()
        if problem is not None:
            found.problems.append(problem)
        elif file.is_left_over():
            found.names.append(file.name)
        elif file.is_prepared():
            found.prepared.append(file.name)
        found.problems += [*file.describe_kept(), *file.describe_unsent()]
    return found


class Released:
    """What ``release`` did."""

    __slots__ = ("failures", "kept", "names")

    def __init__(self) -> None:
        self.names: list[str] = []
        """Files that were restored."""
        self.failures: list[Problem] = []
        """Why files were not restored."""
        self.kept: list[Problem] = []
        """What is kept beside files."""


def release(program: str, home: str, url: "str | None") -> Released:
    """Restore what stood in the files of a program, whoever uses them, and send what was edited."""
    service, files, done = Service(url, home), list(files_of(program, home)), Released()
    for file in files:
        try:
            if file.release():
                done.names.append(file.name)
        except (HiveloreError, OSError) as error:
            done.failures.append(file.explain(error))
    if any(file.has_state() for file in files) and (agent := service.agent()) is not None:
        _each(files, lambda file: file.send(agent, service))
    _each(files, ProfileFile.remove_folder)
    for file in files:
        done.kept += [*file.describe_kept(), *file.describe_unsent()]
    return done


def _each(files: "Sequence[ProfileFile]", step: "Callable[[ProfileFile], T]") -> "list[T | None]":
    done: list[T | None] = []
    for file in files:
        try:
            done.append(step(file))
        except (HiveloreError, OSError, ValueError, KeyError) as error:
            done.append(None)
            notice = f"{file.name} is not kept in step with the profile: {error}"
            if notice not in file.notices:
                file.notices.append(notice)
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


def _user(session: str, key: str, pid: str, parent: int = 0) -> "dict[str, Any]":
    """Return a session as the state has it. ``key``: mark of the key of its agent."""
    number = int(pid) if pid.isdecimal() and len(pid) < 10 else _find_program(parent)
    at = time.time_ns() // _SECOND
    return {"id": session, "key": key, "pid": number, "started": _started(number), "at": at}


def _key_mark(home: str) -> str:
    """Return a mark of the key that hooks use; it says without a service whether two sessions have the same agent."""
    with suppress(HiveloreError):
        return _digest(endpoint.key(endpoint.AGENT_KEY, home).encode())[:16]
    return ""


def _continues(session: "dict[str, Any] | None", user: "dict[str, Any]") -> bool:
    return session is not None and (session["id"], session["key"]) == (user["id"], user["key"])


def _is_state(state: "Any") -> bool:
    """Return True if a state has the shape that ``_take`` gives it."""
    if not _has(state, _STATE_SHAPE):
        return False
    is_pending = state["pending"] is None or _has(state["pending"], _PENDING_SHAPE)
    return is_pending and all(_has(user, _USER_SHAPE) for user in state["users"].values())


def _has(given: "Any", shape: "dict[str, tuple[type, ...]]") -> bool:
    try:
        return all(isinstance(given[name], kinds) for name, kinds in shape.items())
    except (KeyError, TypeError):
        return False


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
    """Return the id of an agent as a file name contains it."""
    return "".join(one if one.isalnum() or one == "-" else "_" for one in agent[:64])


def _agent_of(unsent: Path) -> str:
    return unsent.name.split("-", 3)[3]
