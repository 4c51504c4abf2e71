"""Looking through the folders in which agents keep memories as files: by descriptors from folder to folder, so that no
link leads out of them, however quickly somebody puts one there."""

import os
import socket
import stat
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from hivelore.errors import NotFound, TooLarge, Unavailable
from hivelore.folders import rules
from hivelore.folders.model import Look
from hivelore.local import private_files

MOST_FILES = 10_000
MOST_ENTRIES = 50_000
"""Names that are looked at, those included that are no memories."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Not blocking: opening a pipe would wait for who writes into it.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_GONE = (FileNotFoundError, NotADirectoryError)


def host() -> str:
    """What this machine is called."""
    return socket.gethostname()


class WorkspaceFiles:
    """Implements ``storage.ports.Workspace``."""

    def __init__(self, root: Path, home: Path) -> None:
        """``home``: the folder of the service, whose own files are no memories even where it lies among them."""
        self.path = os.path.realpath(root)
        self._home = home

    def make(self) -> None:
        try:
            if Path(self.path).is_relative_to(os.path.realpath(self._home)):
                private_files.make_folder(Path(self.path))
            else:
                Path(self.path).mkdir(parents=True, exist_ok=True)
            for folder in (rules.PERSONAL, rules.SHARED):
                with ExitStack() as stack:
                    self._made(folder.path.split("/"), stack)
        except OSError as error:
            raise Unavailable(
                f"The folders in {self.path} cannot be made ({error.strerror}); links in it do not count."
            ) from None

    def look(self) -> Look:
        walk = _Walk(self._home)
        try:
            with _opened(self.path) as root:
                walk.into(root, ())
        except _TooMany:
            walk.unread.append("")
            walk.trouble = f"There are more than {MOST_FILES:,} files, or too many others: the rest is not looked at."
        except OSError as error:
            walk.unread.append("")
            walk.trouble = f"The workspace {self.path} cannot be read ({error.strerror})."
        return Look(walk.marks, tuple(walk.unread), walk.trouble)

    def read(self, path: str, most: int) -> tuple[str, bytes]:
        try:
            with ExitStack() as stack:
                file = self._file(path, stack)
                before = os.fstat(file)
                if not stat.S_ISREG(before.st_mode):
                    raise NotFound("It is no file.")
                if before.st_size > most:
                    raise TooLarge(f"It has {before.st_size:,} bytes; a file may have {most:,}.")
                content = _content(file, before.st_size + 1)
                after = _mark(os.fstat(file))
        except _GONE:
            raise NotFound("It is gone.") from None
        except OSError as error:
            raise Unavailable(f"It cannot be read ({error.strerror}).") from None
        if after != _mark(before) or len(content) != before.st_size:
            raise NotFound("It is just being written.")
        return after, content

    def _file(self, path: str, stack: ExitStack) -> int:
        *parts, name = path.split("/")
        folder = stack.enter_context(_opened(self.path))
        for part in parts:
            folder = stack.enter_context(_opened(part, folder))
        file = os.open(name, _FILE, dir_fd=folder)
        stack.callback(os.close, file)
        return file

    def _made(self, parts: list[str], stack: ExitStack) -> None:
        folder = stack.enter_context(_opened(self.path))
        for part in parts:
            with suppress(FileExistsError):
                os.mkdir(part, dir_fd=folder)
            folder = stack.enter_context(_opened(part, folder))


class _TooMany(Exception):
    pass


class _Walk:
    """Raises _TooMany, or OSError for the folder that it begins in."""

    def __init__(self, home: Path) -> None:
        self.marks: dict[str, str] = {}
        self.unread: list[str] = []
        self.trouble: str | None = None
        self._entries = 0
        self._home: tuple[int, int] | None = None
        with suppress(OSError):
            self._home = _identity(home.stat())

    def into(self, folder: int, parts: tuple[str, ...]) -> None:
        with os.scandir(folder) as entries:
            for entry in entries:
                self._entries += 1
                if self._entries > MOST_ENTRIES:
                    raise _TooMany
                self._see(entry, folder, (*parts, entry.name))

    def _see(self, entry: "os.DirEntry[str]", folder: int, parts: tuple[str, ...]) -> None:
        path = "/".join(parts)
        if entry.is_dir(follow_symlinks=False):
            if rules.leads_on(parts):
                self._enter(entry.name, folder, parts)
        elif entry.is_file(follow_symlinks=False) and rules.is_taken(path):
            if len(self.marks) >= MOST_FILES:
                raise _TooMany
            with suppress(FileNotFoundError):
                self.marks[path] = _mark(entry.stat(follow_symlinks=False))

    def _enter(self, name: str, above: int, parts: tuple[str, ...]) -> None:
        try:
            with _opened(name, above) as folder:
                if _identity(os.fstat(folder)) != self._home:
                    self.into(folder, parts)
        except _GONE:
            return
        except OSError as error:
            path = "/".join(parts)
            top = rules.folder_of(f"{path}/x")
            self.unread.append(path)
            self.trouble = f"A folder in {path if top is None else top.path} cannot be read ({error.strerror})."


@contextmanager
def _opened(name: str, above: int | None = None) -> Generator[int]:
    descriptor = os.open(name, _FOLDER, dir_fd=above)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _content(file: int, most: int) -> bytes:
    pieces: list[bytes] = []
    while most > 0 and (piece := os.read(file, most)):
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)


def _mark(told: os.stat_result) -> str:
    return f"{told.st_size}-{told.st_mtime_ns}-{told.st_ino}"


def _identity(told: os.stat_result) -> tuple[int, int]:
    return told.st_dev, told.st_ino
