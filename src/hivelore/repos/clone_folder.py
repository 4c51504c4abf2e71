"""The ``.git`` folder of a clone, read and changed without git.

Agents can change anything in it at any time. Git would start programs that its configuration names, and append to its
logs through links. Here, no link is followed. The logs get no entry.
"""

import errno
import os
import re
import stat
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from hivelore.local import private_files

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_SHARED = 0o666
"""Permissions of refs before the umask, as git gives them."""
_GIT = ".git"
_HEADS = "refs/heads/"
_MOST = 20_000_000
_COMMIT = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_UNDERWAY = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "rebase-merge", "rebase-apply", "sequencer")


class RefsError(Exception):
    """The branches of a clone cannot be read or changed. The text says why."""


class CloneFolder:
    """All methods raise OSError for a folder that is not what git makes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, *parts: str) -> bytes:
        """Returns the content of a file in ``.git``."""
        with self._open((_GIT, *parts[:-1])) as folder:
            descriptor = os.open(parts[-1], _FILE, dir_fd=folder)
            with os.fdopen(descriptor, "rb") as file:
                mode = os.fstat(descriptor).st_mode
                if not stat.S_ISREG(mode):
                    raise OSError(errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL, "it is not a regular file")
                data = file.read(_MOST + 1)
        if len(data) > _MOST:
            raise OSError(errno.EFBIG, "it is too large")
        return data

    def odd_entry(self) -> str | None:
        """Returns the path of something in ``.git`` that is neither file nor folder, or has another name elsewhere.
        Hooks are left out: they are not used."""
        top = self._folder / _GIT
        for where, folders, files in os.walk(top):
            inside = Path(where).relative_to(top)
            if where == os.fspath(top):
                folders[:] = [one for one in folders if one != "hooks" or Path(where, one).is_symlink()]
            for name in (*folders, *files):
                found = Path(where, name).lstat()
                is_file = stat.S_ISREG(found.st_mode) and (found.st_nlink == 1 or "objects" in inside.parts)
                if not (is_file or stat.S_ISDIR(found.st_mode)):
                    return os.fspath(inside / name)
        return None

    def is_underway(self) -> bool:
        """Returns True while a merge, rebase or the like is not finished."""
        return any(os.path.lexists(self._folder / _GIT / name) for name in _UNDERWAY)

    def head(self) -> tuple[str | None, str | None]:
        """Returns the branch that is checked out (None: a commit is) and its commit (None: it has none). Raises
        RefsError."""
        text = self.read("HEAD").strip()
        if text.startswith(b"ref: refs/heads/"):
            branch = text.removeprefix(b"ref: refs/heads/").decode(errors="replace")
            return branch, self.commit(f"{_HEADS}{branch}")
        return None, _commit("HEAD", text)

    def commit(self, ref: str) -> str | None:
        """Returns the commit of a ref; None: there is no such ref. Raises RefsError."""
        parts = _parts(ref)
        try:
            return _commit(ref, self.read(*parts).strip())
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            pass
        try:
            packed = self.read("packed-refs")
        except FileNotFoundError:
            return None
        name = ref.encode()
        for line in packed.splitlines():
            commit, _, named = line.partition(b" ")
            if named == name:
                return _commit(ref, commit)
        return None

    def put_ref(self, ref: str, commit: str) -> None:
        """Sets a ref. Raises RefsError while another process changes it."""
        with self._locked(ref) as put:
            put(commit)

    @contextmanager
    def holding(self, branch: str, commit: str) -> Generator[Callable[[str], None]]:
        """Yields the function that moves the branch that is checked out. Within the block nobody else commits to it or
        checks out another one. Raises RefsError unless the branch is checked out, with this commit, and free."""
        with self._locked("HEAD"), self._locked(f"{_HEADS}{branch}") as put:
            if self.head() != (branch, commit):
                raise RefsError("Its branch was changed meanwhile.")
            yield put

    @contextmanager
    def _locked(self, ref: str) -> Generator[Callable[[str], None]]:
        """Holds the lock of a ref, as git does, and yields the function that sets it."""
        parts = _parts(ref)
        name = parts[-1]
        lock = f"{name}.lock"
        with self._open((_GIT, *parts[:-1]), make=True) as folder:
            try:
                descriptor = private_files.create_at(folder, lock, _SHARED)
            except FileExistsError:
                raise RefsError(f"Another process changes {ref}, or left {ref}.lock.") from None
            is_there = True

            def put(commit: str) -> None:
                nonlocal is_there
                os.write(descriptor, f"{commit}\n".encode())
                os.fsync(descriptor)
                os.rename(lock, name, src_dir_fd=folder, dst_dir_fd=folder)
                is_there = False

            try:
                yield put
            finally:
                os.close(descriptor)
                if is_there:
                    os.unlink(lock, dir_fd=folder)

    @contextmanager
    def _open(self, parts: Sequence[str], *, make: bool = False) -> Generator[int]:
        """Yields the descriptor of a folder in the clone. ``make``: creates missing ones in ``.git``."""
        descriptor = os.open(self._folder, _FOLDER)
        try:
            for place, part in enumerate(parts):
                if make and place:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=descriptor)
                inner = os.open(part, _FOLDER, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = inner
            yield descriptor
        finally:
            os.close(descriptor)


def _parts(ref: str) -> list[str]:
    parts = ref.split("/")
    if any(one in ("", ".", "..") or "\0" in one for one in parts):
        raise RefsError(f"{ref} is no name of a branch.")
    return parts


def _commit(ref: str, text: bytes) -> str:
    if not _COMMIT.fullmatch(text):
        raise RefsError(f"{ref} has no commit.")
    return text.decode()
