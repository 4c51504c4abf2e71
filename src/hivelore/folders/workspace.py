"""Workspace files, opened by descriptor from folder to folder, so that no link created meanwhile leads outside."""

import os
import socket
import stat
from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from hivelore.errors import NotFound, TooLarge, Unavailable
from hivelore.folders import rules
from hivelore.folders.model import FolderScan
from hivelore.local import private_files

MAX_FILES = 10_000
MAX_ENTRIES = 50_000
"""Directory entries read, including those that are not memories."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Not blocking: opening a pipe would wait for a writer.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_GONE = (FileNotFoundError, NotADirectoryError)


def host_name() -> str:
    """Returns the name of this machine."""
    return socket.gethostname()


def make_folders(root: str, paths: Iterable[str]) -> None:
    """Creates folders below a folder, without following links. Raises OSError."""
    for path in paths:
        with ExitStack() as stack:
            folder = stack.enter_context(_open_folder(root))
            for part in path.split("/"):
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=folder)
                folder = stack.enter_context(_open_folder(part, folder))


class WorkspaceFiles:
    """Implements ``folders.ports.Workspace``."""

    def __init__(self, root: Path, home: Path) -> None:
        """``home``: data directory of the service, which is never scanned."""
        self.path = os.path.realpath(root)
        self._home = home

    def create_folders(self) -> None:
        try:
            if Path(self.path).is_relative_to(os.path.realpath(self._home)):
                private_files.make_folder(Path(self.path))
            else:
                Path(self.path).mkdir(parents=True, exist_ok=True)
            make_folders(self.path, (rules.PERSONAL.path, rules.SHARED.path))
        except OSError as error:
            raise Unavailable(
                f"The memory folders in {self.path} cannot be created ({error.strerror}). Links are not followed."
            ) from None

    def scan(self) -> FolderScan:
        walk = _Walk(self._home)
        try:
            with _open_folder(self.path) as root:
                walk.scan_folder(root, ())
        except _TooManyFilesError:
            walk.unread.append("")
            walk.problem = f"The workspace has more than {MAX_FILES:,} files, or too many others. The rest is ignored."
        except OSError as error:
            walk.unread.append("")
            walk.problem = f"The workspace {self.path} cannot be read ({error.strerror})."
        return FolderScan(walk.marks, tuple(walk.unread), walk.problem)

    def read(self, path: str, most: int) -> tuple[str, bytes]:
        try:
            with ExitStack() as stack:
                file = self._open_file(path, stack)
                before = os.fstat(file)
                if not stat.S_ISREG(before.st_mode):
                    raise NotFound("It is not a regular file.")
                if before.st_size > most:
                    raise TooLarge(f"It has {before.st_size:,} bytes; the limit is {most:,}.")
                content = _read_bytes(file, before.st_size + 1)
                after = _file_mark(os.fstat(file))
        except _GONE:
            raise NotFound("It does not exist any more.") from None
        except OSError as error:
            raise Unavailable(f"It cannot be read ({error.strerror}).") from None
        if after != _file_mark(before) or len(content) != before.st_size:
            raise NotFound("It is being written.")
        return after, content

    def _open_file(self, path: str, stack: ExitStack) -> int:
        *parts, name = path.split("/")
        folder = stack.enter_context(_open_folder(self.path))
        for part in parts:
            folder = stack.enter_context(_open_folder(part, folder))
        file = os.open(name, _FILE, dir_fd=folder)
        stack.callback(os.close, file)
        return file


class _TooManyFilesError(Exception):
    pass


class _Walk:
    """Raises _TooManyFilesError, or OSError for the folder it starts in."""

    def __init__(self, home: Path) -> None:
        self.marks: dict[str, str] = {}
        self.unread: list[str] = []
        self.problem: str | None = None
        self._entries = 0
        self._home: tuple[int, int] | None = None
        with suppress(OSError):
            self._home = _identity(home.stat())

    def scan_folder(self, folder: int, parts: tuple[str, ...]) -> None:
        with os.scandir(folder) as entries:
            for entry in entries:
                self._entries += 1
                if self._entries > MAX_ENTRIES:
                    raise _TooManyFilesError
                self._visit(entry, folder, (*parts, entry.name))

    def _visit(self, entry: "os.DirEntry[str]", folder: int, parts: tuple[str, ...]) -> None:
        path = "/".join(parts)
        if entry.is_dir(follow_symlinks=False):
            if rules.is_scanned_folder(parts):
                self._enter(entry.name, folder, parts)
        elif entry.is_file(follow_symlinks=False) and rules.is_memory_file(path):
            if len(self.marks) >= MAX_FILES:
                raise _TooManyFilesError
            with suppress(FileNotFoundError):
                self.marks[path] = _file_mark(entry.stat(follow_symlinks=False))

    def _enter(self, name: str, above: int, parts: tuple[str, ...]) -> None:
        try:
            with _open_folder(name, above) as folder:
                if _identity(os.fstat(folder)) != self._home:
                    self.scan_folder(folder, parts)
        except _GONE:
            return
        except OSError as error:
            path = "/".join(parts)
            top = rules.memory_folder(f"{path}/x")
            self.unread.append(path)
            self.problem = f"A folder in {path if top is None else top.path} cannot be read ({error.strerror})."


@contextmanager
def _open_folder(name: str, above: int | None = None) -> Generator[int]:
    descriptor = os.open(name, _FOLDER, dir_fd=above)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _read_bytes(file: int, most: int) -> bytes:
    pieces: list[bytes] = []
    while most > 0 and (piece := os.read(file, most)):
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)


def _file_mark(status: os.stat_result) -> str:
    return f"{status.st_size}-{status.st_mtime_ns}-{status.st_ino}"


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
