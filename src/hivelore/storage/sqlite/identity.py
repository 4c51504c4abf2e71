"""Identity of a database: detects that its files were removed, replaced or restored after it was opened."""

# The types of apsw use a Buffer that Python 3.11 does not have.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

import logging
import threading
from pathlib import Path

import apsw

from hivelore.errors import Broken, HiveloreError, Unavailable
from hivelore.health.model import Cause
from hivelore.local.protection import database_files
from hivelore.storage.refusals import database_replaced
from hivelore.storage.sqlite.connection import BUSY_TIMEOUT_MS, our_errors
from hivelore.storage.sqlite.view import SQL

_LOG = logging.getLogger("hivelore")
_Inode = tuple[int, int]
_Content = tuple[str | None, int]
"""The incarnation and the number of the newest change."""
REPLACED_SUFFIX = ".replaced"
"""Suffix for the log files of a database that was replaced while the store was open."""


class Identity:
    """The identity of an open database. Create it after the first write, when the log of SQLite exists."""

    def __init__(self, path: Path, namespace: int, vfs: str | None = None) -> None:
        self._path, self._namespace, self._vfs = path, namespace, vfs
        log, index = database_files(path)[1:3]
        self._opened = _found(path, log)
        self._log_files = _found(log, index)
        self._incarnation, self._newest = self._content()
        self._foreign_content: _Content | None = None
        self._lock = threading.Lock()

    def verify_files(self) -> None:
        """Compares the inodes of the files, in microseconds. Raises Unavailable if they differ."""
        if self._foreign_content is not None or any(_inode(name) != opened for name, opened in self._opened.items()):
            raise database_replaced()

    def verify_content(self) -> None:
        """Verifies the files and their content, since a restore may write into the same file. The incarnation must be
        the same, and the number of the newest change must not fall. A mismatch is final: caches may already mix the old
        and the new content."""
        self.verify_files()
        with self._lock:  # Otherwise a newer value read by another thread could be compared with an older one.
            content = incarnation, newest = self._content()
            if incarnation != self._incarnation or newest < self._newest:
                self._foreign_content = content
                raise database_replaced()
            self._newest = newest

    def set_aside(self) -> None:
        """Renames the log of a replaced database after it was closed: SQLite would copy that log into the new file. The
        log stays if SQLite itself restored the database, because it may contain the new content."""
        try:
            if _inode(self._path) == self._opened[self._path] and not self._holds_other():
                return
            for file, opened in self._log_files.items():
                if _inode(file) == opened:
                    aside = file.replace(file.with_name(f"{file.name}{REPLACED_SUFFIX}"))
                    _LOG.warning("The database was replaced. %s of the old one was renamed to %s.", file, aside)
        except (HiveloreError, OSError) as error:
            _LOG.error(
                "The database was replaced, and the log files of the old one could not be renamed (%s). Remove %s "
                "before you start Hivelore again.",
                error,
                " and ".join(map(str, self._log_files)),
            )

    def _holds_other(self) -> bool:
        """Returns True if the foreign content is in the file itself, ignoring the log."""
        return self._foreign_content is not None and self._content(alone=True) == self._foreign_content

    def _content(self, *, alone: bool = False) -> _Content:
        """Reads the content on a fresh connection. ``alone``: ignore the log."""
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_NOMUTEX | apsw.SQLITE_OPEN_URI
        name = f"{self._path.absolute().as_uri()}{'?immutable=1' if alone else ''}"
        try:
            with our_errors():
                connection = apsw.Connection(name, flags=flags, vfs=self._vfs)
                try:
                    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
                    return next(iter(connection.execute(SQL["identity"], {"namespace": self._namespace})))
                finally:
                    connection.close()
        except Broken as error:
            if error.cause is not None:
                raise
            return None, 0  # Our tables are missing: a database of another program.


def _found(*files: Path) -> dict[Path, _Inode]:
    return {file: found for file in files if (found := _inode(file)) is not None}


def _inode(path: Path) -> _Inode | None:
    """Returns None if the file does not exist."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Unavailable(f"The files of the database cannot be read ({error.strerror}).", cause=Cause.WRITES) from None
    return found.st_dev, found.st_ino
