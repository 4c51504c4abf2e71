"""Files and folders that only their owner can read, whatever the umask; standard library only.

Where other users may write to a folder too, they can put links at the names that we use: no function here follows one.
"""

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

FILE = 0o600
FOLDER = 0o700
OTHERS = stat.S_IRWXG | stat.S_IRWXO
_NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC


def create(file: Path) -> int:
    """A descriptor to write a new file with. Raises FileExistsError where there is anything under its name."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, FILE)
    os.fchmod(descriptor, FILE)  # The umask may have taken some of it.
    return descriptor


def opened(file: str | os.PathLike[str], flags: int) -> int:
    """A descriptor of a file that stays where it is, such as a lock or a log; it is made where it is missing. Raises
    OSError for what is no regular file."""
    try:
        # Not blocking: a pipe would wait for who reads from it.
        descriptor = os.open(file, flags | os.O_CREAT | os.O_NONBLOCK | _NO_LINK, FILE)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "it is a link; remove it", os.fspath(file)) from None
        raise
    told = os.fstat(descriptor)
    if not stat.S_ISREG(told.st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no regular file; remove it", os.fspath(file))
    if told.st_uid == os.geteuid() and stat.S_IMODE(told.st_mode) != FILE:
        os.fchmod(descriptor, FILE)
    return descriptor


@contextmanager
def replacing(file: Path, mode: int = FILE) -> Generator[BinaryIO]:
    """What is written becomes the file's content when the block ends; where it raises, the file stays as it was."""
    aside = file.with_name(f".hivelore-{os.urandom(8).hex()}.new")
    descriptor = create(aside)
    try:
        with os.fdopen(descriptor, "wb") as out:
            yield out
            out.flush()
            os.fchmod(descriptor, mode)
            os.fsync(descriptor)
        aside.replace(file)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def make_folder(folder: Path) -> None:
    """Make a folder and those above it that are missing, open to their owner alone. One that is there stays as it
    is."""
    try:
        folder.mkdir(FOLDER)
    except FileNotFoundError:
        make_folder(folder.parent)
        folder.mkdir(FOLDER)
    except FileExistsError:
        if folder.is_dir():
            return
        raise
    folder.chmod(FOLDER)  # The umask may have taken some of it.


def tighten(path: Path) -> None:
    """Take from others what they may do with a file or folder of this user's. What is missing, a link, or another
    user's stays as it is."""
    # By its name: to close a descriptor of a database would end the locks that this process has on it.
    with suppress(OSError):
        told = path.lstat()
        is_folder = stat.S_ISDIR(told.st_mode)
        if told.st_uid == os.geteuid() and told.st_mode & OTHERS and (is_folder or stat.S_ISREG(told.st_mode)):
            path.chmod(FOLDER if is_folder else FILE)
