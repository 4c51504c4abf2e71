"""Whether the files of a database are still those that were opened: others may remove, replace or restore them."""

# apsw's types name a Buffer that Python 3.11 does not have.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from pathlib import Path

import apsw

from hivelore.adapters.replaced import replaced
from hivelore.adapters.sqlite.connection import BUSY_TIMEOUT_MS, our_errors
from hivelore.adapters.sqlite.view import SQL
from hivelore.domain.health import Cause
from hivelore.errors import Unavailable

_Inode = tuple[int, int]


class Identity:
    """Of the database at a path, which is open and was used: the log of SQLite is there by then."""

    def __init__(self, path: Path, namespace: int, vfs: str | None = None) -> None:
        self._path, self._namespace, self._vfs = path, namespace, vfs
        self._opened = [
            (name, found) for name in (path, path.with_name(f"{path.name}-wal")) if (found := _inode(name)) is not None
        ]
        self._incarnation, self._newest = self._content()
        self._is_other = False

    def verify_files(self) -> None:
        """Compare the files by their inodes, which takes microseconds. Raises Unavailable where they are others."""
        if self._is_other or any(_inode(name) != opened for name, opened in self._opened):
            raise replaced()

    def verify_content(self) -> None:
        """As ``verify_files``, and see also what is in them: who restores a database may write into the same file. The
        incarnation stays the same, and the number of the newest change never falls. Other content counts for good:
        what is known of the former may be mixed into what is read by now."""
        self.verify_files()
        incarnation, newest = self._content()
        if incarnation != self._incarnation or newest < self._newest:
            self._is_other = True
            raise replaced()
        self._newest = newest

    def _content(self) -> tuple[str | None, int]:
        """On a connection of its own, which knows nothing of before."""
        with our_errors():
            connection = apsw.Connection(
                str(self._path), flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_NOMUTEX, vfs=self._vfs
            )
            try:
                connection.set_busy_timeout(BUSY_TIMEOUT_MS)
                return next(iter(connection.execute(SQL["identity"], {"namespace": self._namespace})))
            finally:
                connection.close()


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
