"""Whether the files of a database are still those that were opened: others may remove, replace or restore them."""

# apsw's types name a Buffer that Python 3.11 does not have.
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
ASIDE = ".replaced"
"""Ends the names of the files beside a database that was replaced under a running store."""


class Identity:
    """Of the database at a path, which is open and was used: the log of SQLite is there by then."""

    def __init__(self, path: Path, namespace: int, vfs: str | None = None) -> None:
        self._path, self._namespace, self._vfs = path, namespace, vfs
        log, index = database_files(path)[1:3]
        self._opened = _found(path, log)
        self._workers = _found(log, index)
        self._incarnation, self._newest = self._content()
        self._other: _Content | None = None
        self._looking = threading.Lock()

    def verify_files(self) -> None:
        """Compare the files by their inodes, which takes microseconds. Raises Unavailable where they are others."""
        if self._other is not None or any(_inode(name) != opened for name, opened in self._opened.items()):
            raise database_replaced()

    def verify_content(self) -> None:
        """As ``verify_files``, and see also what is in them: who restores a database may write into the same file. The
        incarnation stays the same, and the number of the newest change never falls. Other content counts for good:
        what is known of the former may be mixed into what is read by now."""
        self.verify_files()
        with self._looking:  # Else what another thread has read later is compared with what this one read before.
            content = incarnation, newest = self._content()
            if incarnation != self._incarnation or newest < self._newest:
                self._other = content
                raise database_replaced()
            self._newest = newest

    def set_aside(self) -> None:
        """Rename the log of a database that was replaced, once nobody has it open: SQLite would copy it into the file
        that came in its place. A database that was restored by SQLite itself may still be in that log: then it stays.
        """
        try:
            if _inode(self._path) == self._opened[self._path] and not self._holds_other():
                return
            for file, opened in self._workers.items():
                if _inode(file) == opened:
                    aside = file.replace(file.with_name(f"{file.name}{ASIDE}"))
                    _LOG.warning("The database was replaced: %s of the former one is now %s.", file, aside)
        except (HiveloreError, OSError) as error:
            _LOG.error(
                "The database was replaced, and the files of the former one beside it could not be renamed (%s). "
                "Remove %s before you start Hivelore again.",
                error,
                " and ".join(map(str, self._workers)),
            )

    def _holds_other(self) -> bool:
        """Whether the other content is in the file itself, whatever is in the log."""
        return self._other is not None and self._content(alone=True) == self._other

    def _content(self, *, alone: bool = False) -> _Content:
        """On a connection of its own, which knows nothing of before. ``alone``: without the log."""
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
            return None, 0  # It has no such tables: a database of another program.


def _found(*files: Path) -> dict[Path, _Inode]:
    return {file: found for file in files if (found := _inode(file)) is not None}


def _inode(path: Path) -> _Inode | None:
    """None where nothing is there."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Unavailable(
            f"The files of the database cannot be looked at ({error.strerror}).", cause=Cause.WRITES
        ) from None
    return found.st_dev, found.st_ino
