"""Files and folders that only their owner can read, whatever the umask.

Users with write access to a folder could create links with our names: no function here follows links. Imports little,
because bridges and hooks use it.
"""

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import BinaryIO, TypeAlias

    Name: TypeAlias = str | os.PathLike[str]

FILE = 0o600
FOLDER = 0o700
OTHERS = stat.S_IRWXG | stat.S_IRWXO
_NO_HARD_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})
"""Errors of file systems without hard links."""
_NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC


def create(file: "Name") -> int:
    """Create a file and return its descriptor for writing. Raises FileExistsError."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, FILE)
    os.fchmod(descriptor, FILE)  # The umask may have removed some permissions.
    return descriptor


def open_private(file: "Name", flags: int) -> int:
    """Open a file such as a lock or log, creating it if necessary. Raises OSError unless it is a regular file."""
    try:
        # Without blocking: a pipe would wait for a reader.
        descriptor = os.open(file, flags | os.O_CREAT | os.O_NONBLOCK | _NO_LINK, FILE)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "it is a link; remove it", os.fspath(file)) from None
        raise
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file; remove it", os.fspath(file))
    if found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) != FILE:
        os.fchmod(descriptor, FILE)
    return descriptor


def replacing(file: "Name", mode: int = FILE) -> "AbstractContextManager[BinaryIO]":
    """Replace the content of a file when the block ends; if it raises, the file does not change."""
    return _completed(file, mode, lambda temporary: os.replace(temporary, file))


def creating(file: "Name", mode: int = FILE) -> "AbstractContextManager[BinaryIO]":
    """Create a file with its whole content when the block ends. Raises FileExistsError then if it exists."""
    return _completed(file, mode, lambda temporary: _link(temporary, file))


@contextmanager
def _completed(file: "Name", mode: int, complete: "Callable[[str], None]") -> Generator["BinaryIO"]:
    """Write a temporary file beside a file, and complete it when the block ends."""
    temporary = os.path.join(os.path.dirname(file), f".hivelore-{os.urandom(8).hex()}.new")
    descriptor = create(temporary)
    try:
        with os.fdopen(descriptor, "wb") as out:
            yield out
            out.flush()
            os.fchmod(descriptor, mode)
            os.fsync(descriptor)
        complete(temporary)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def create_at(folder: int, name: str, mode: int = FILE) -> int:
    """Create a file in an open folder and return its descriptor for writing. Raises FileExistsError. The umask may
    remove permissions of ``mode``."""
    return os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, mode, dir_fd=folder)


def replace_at(folder: int, name: str, data: bytes, temporary: str) -> None:
    """Replace a file in an open folder at once. ``temporary``: name of the new file until it is complete."""
    descriptor = create_at(folder, temporary)
    try:
        with os.fdopen(descriptor, "wb") as out:
            os.fchmod(descriptor, FILE)
            out.write(data)
            out.flush()
            os.fsync(descriptor)
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)
    except BaseException:
        remove_at(folder, temporary)
        raise


def remove_at(folder: int, name: str) -> None:
    """Remove a file in an open folder, if there is one."""
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def _link(temporary: str, file: "Name") -> None:
    """Give a temporary file its name, unless the name is taken."""
    try:
        os.link(temporary, file)
    except FileExistsError:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fspath(file)) from None
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        if os.path.lexists(file):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fspath(file)) from None
        os.rename(temporary, file)
        return
    os.unlink(temporary)


def make_folder(folder: "Name") -> None:
    """Create a private folder and its missing parents. An existing folder does not change."""
    try:
        os.mkdir(folder, FOLDER)
    except FileNotFoundError:
        parent = os.path.dirname(folder)
        if not parent:  # The current folder was removed.
            raise
        make_folder(parent)
        os.mkdir(folder, FOLDER)
    except FileExistsError:
        if os.path.isdir(folder):
            return
        raise
    os.chmod(folder, FOLDER)  # The umask may have removed some permissions.


def tighten(path: "Name") -> None:
    """Remove the permissions of other users. Missing paths, links and files of other users do not change."""
    # By name: closing a descriptor of a database would release the locks of this process on it.
    with suppress(OSError):
        found = os.lstat(path)
        is_folder = stat.S_ISDIR(found.st_mode)
        if found.st_uid == os.geteuid() and found.st_mode & OTHERS and (is_folder or stat.S_ISREG(found.st_mode)):
            os.chmod(path, FOLDER if is_folder else FILE)
