"""The start-up file of a workspace: reads it, writes it, and proposes what an agent edited in it (D40, D42)."""

import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from hivelore.core.text import counted
from hivelore.errors import Conflict, Forbidden, Invalid, NotFound, Proposed, Unavailable
from hivelore.local import private_files
from hivelore.python.client import Client
from hivelore.setup_scripts.start_up_file import (
    GLOBAL,
    FoundSection,
    Kind,
    Section,
    extract,
    prepend,
    select,
    unused_first_lines,
)

MOST_BYTES = 1_000_000
"""Largest start-up file."""
_OPEN = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW_MODE = 0o700
_EDIT = "start-up-edit-"
_LOCK_TRIES = 600
_LOCK_POLL = 0.1

Note = Callable[[str], None]
"""Tells the caller about an edit."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    path: Path
    kind: Kind
    content: bytes
    mode: int


def find(folder: Path) -> FoundFile | None:
    """Returns the start-up file of a folder: the first kind that exists. Raises Conflict if it is no file to be used,
    such as a link."""
    for kind in Kind:
        path = folder / kind.file_name
        with suppress(FileNotFoundError):
            content, mode = _read(path)
            return FoundFile(path, kind, content, mode)
    return None


def others(folder: Path, used: Kind) -> Sequence[str]:
    """Returns the names of further start-up files, which are ignored."""
    return [kind.file_name for kind in Kind if kind is not used and (folder / kind.file_name).exists()]


def update(folder: Path, agent: str, client: Client, note: Note) -> FoundFile | None:
    """Proposes what was edited in the start-up file, and puts the present setup scripts into it. Returns the file.

    An edit of a script that changed since is kept in a file of its own, so that no edit replaces a newer script."""
    with _locked(folder):
        known = find(folder)
        if known is not None:
            _propose_edits(folder, known, client, note)
        kind = Kind.SH if known is None else known.kind
        scripts, remarks = select(_fetch(client, agent), kind)
        wanted = prepend(None if known is None else known.content, scripts, kind)
        path = folder / kind.file_name
        if wanted is not None and len(wanted) > MOST_BYTES:
            raise Conflict(f"{path} would have {len(wanted):,} bytes; at most {MOST_BYTES:,}. Shorten it.")
        if known is None and wanted is not None:
            _create(folder, path, wanted)
        elif known is not None and wanted is None:
            _check_unchanged(known)
            known.path.unlink()
        elif known is not None and wanted is not None and wanted != known.content:
            _check_unchanged(known)
            _replace(known, wanted)
    for remark in (*remarks, *unused_first_lines(wanted or b"", scripts, kind)):
        note(remark)
    return find(folder)


def sync(folder: Path, client: Client, note: Note) -> int:
    """Proposes what was edited in the start-up file, which stays as it is. Returns the number of edited sections."""
    with _locked(folder):
        known = find(folder)
        return 0 if known is None else _propose_edits(folder, known, client, note)


def edited(known: FoundFile) -> Sequence[FoundSection]:
    """Returns the sections that differ from the scripts that were written there. Raises Invalid for damaged ones."""
    return [one for one in extract(known.content, known.kind).sections if one.is_edited]


def kept_edits(folder: Path) -> Sequence[Path]:
    """Returns the files with edits that could not be proposed."""
    return sorted(folder.glob(f"{_EDIT}*.txt"))


def _fetch(client: Client, agent: str) -> list[Section]:
    found: dict[str, Any] = client.call("GET", f"/api/agents/{agent}/setup-script")
    return [
        Section(GLOBAL, found["globalVersion"], found["globalSetupScript"] or ""),
        Section(agent, found["version"], found["setupScript"] or ""),
    ]


def _propose_edits(folder: Path, known: FoundFile, client: Client, note: Note) -> int:
    changed = edited(known)
    for one in changed:
        place = "/api/setup-script" if one.owner == GLOBAL else f"/api/agents/{one.owner}/setup-script"
        reason = f"Edited in {known.kind.file_name}, where version {one.version} was."
        try:
            body = {"setupScript": one.text, "version": one.version, "reason": reason, "propose": True}
            done = client.call("PUT", place, body=body)
        except Proposed as proposed:
            note(str(proposed))
        except (Conflict, Forbidden, Invalid, NotFound) as refused:
            kept = _keep(folder, one)
            note(f"An edit of the setup script cannot be proposed, and is kept in {kept}. {refused}")
        else:
            if done["changed"]:
                note(f"The edited setup script is version {done['version']} now.")
    return len(changed)


def _keep(folder: Path, section: FoundSection) -> Path:
    """Stores the content of a section in a file of its own, unless it is there already."""
    path = folder / f"{_EDIT}{sha256(section.content).hexdigest()[:12]}.txt"
    with suppress(FileExistsError), os.fdopen(private_files.create(path), "wb") as out:
        out.write(section.content)
    return path


def _read(path: Path) -> tuple[bytes, int]:
    try:
        descriptor = os.open(path, os.O_RDONLY | _OPEN)
    except FileNotFoundError:
        raise
    except OSError as error:
        why = "it is a link" if error.errno == errno.ELOOP else error.strerror
        raise Conflict(f"{path} cannot be read: {why}. Replace it by a file.") from None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise Conflict(f"{path} is no regular file. Remove it.")
        if found.st_uid not in (os.geteuid(), 0):
            raise Conflict(f"{path} belongs to another user. Make it yours (chown), or remove it.")
        with os.fdopen(os.dup(descriptor), "rb") as file:
            content = file.read(MOST_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(content) > MOST_BYTES:
        raise Conflict(f"{path} has more than {counted(MOST_BYTES, 'byte')}. Shorten it.")
    return content, stat.S_IMODE(found.st_mode) & 0o777


def _check_unchanged(known: FoundFile) -> None:
    """Raises Conflict if a file is not as it was read."""
    try:
        content, _ = _read(known.path)
    except FileNotFoundError:
        content = None
    if content != known.content:
        raise Conflict(f"{known.path} was changed at the same time. Try again.")


def _create(folder: Path, path: Path, content: bytes) -> None:
    """Creates the start-up file. Raises Conflict if there is one meanwhile."""
    try:
        if (other := find(folder)) is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), other.path)
        with _writing(path), private_files.creating(path, _NEW_MODE) as out:
            out.write(content)
    except FileExistsError as error:
        raise Conflict(f"{error.filename} was created at the same time. Try again.") from None


def _replace(known: FoundFile, content: bytes) -> None:
    with _writing(known.path):
        try:
            with private_files.replacing(known.path, known.mode) as out:
                out.write(content)
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            _overwrite(known.path, content)  # A container may mount this single file.


def _overwrite(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | _OPEN)
    with os.fdopen(descriptor, "wb") as out:
        if os.fstat(descriptor).st_nlink > 1:
            raise Conflict(f"{path} has a second name (hard link). Replace it by a copy.")
        out.write(content)
        out.truncate()
        out.flush()
        os.fsync(descriptor)


@contextmanager
def _writing(path: Path) -> Generator[None]:
    try:
        yield
    except FileExistsError:
        raise
    except OSError as error:
        raise Conflict(f"{path} cannot be written ({error.strerror}). Make it writable, or remove it.") from None


@contextmanager
def _locked(folder: Path) -> Generator[None]:
    """Lets one process at a time change the start-up file of a folder."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise Unavailable(f"The workspace {folder} cannot be used ({error.strerror}).") from None
    try:
        for _ in range(_LOCK_TRIES):
            with suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            time.sleep(_LOCK_POLL)
        else:
            raise Unavailable(f"Another process prepares {folder}. Try again later.")
        yield
    finally:
        os.close(descriptor)
