"""Files in the workspace that contain entries as ``KEY=VALUE`` lines."""

import errno
import os
import re
import stat
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from pathlib import Path, PurePosixPath

from hivelore.configuration.env_text import assigned, differing, set_variables
from hivelore.configuration.model import PATH_BYTES
from hivelore.errors import Busy, Conflict, Invalid
from hivelore.folders import rules
from hivelore.local import file_lock, private_files

MAX_BYTES = 1_000_000
"""Most bytes of a file to which lines are added."""
LARGEST = 20 * MAX_BYTES
"""Most bytes of a file from which lines are removed."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Not blocking: opening a pipe would wait for a writer.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NAME = re.compile(r"\.env(\.[\w.-]+)?|[\w.-]+\.env")


class MissingFolder(Conflict):
    """The folder of a file does not exist."""


class EnvFiles:
    """Reads and writes by descriptor from folder to folder, so that no link leads outside of the workspace."""

    def __init__(self, workspace: Path, home: Path) -> None:
        self._workspace = workspace
        self._home = home

    def normalize(self, path: str) -> str:
        """Returns a path relative to the workspace. Raises Invalid for paths outside of it, for memory folders, and for
        names that are not those of .env files."""
        root = os.path.realpath(self._workspace)
        given = PurePosixPath(path)
        parts = given.parts
        if given.is_absolute():
            for base in (PurePosixPath(root), PurePosixPath(self._workspace)):
                if given.is_relative_to(base):
                    parts = given.relative_to(base).parts
                    break
            else:
                raise _invalid(f"It is outside of the workspace {root}. Use a path in it.")
        if ".." in parts or not path.isprintable() or len(path.encode()) > PATH_BYTES:
            raise _invalid(
                f"It has no '..', no control characters and at most {PATH_BYTES:,} bytes. Use a path in the workspace, "
                "like app/.env."
            )
        if not parts or not _NAME.fullmatch(parts[-1]):
            raise _invalid("The file has a name like .env, .env.local or app.env.")
        if rules.memory_folder("/".join(parts)) is not None:
            raise _invalid("Files in memory folders become memories. Use another folder of the workspace.")
        home = os.path.realpath(self._home)
        if Path(root, *parts).is_relative_to(home) and not Path(root).is_relative_to(home):
            raise _invalid("It is in the home folder of Hivelore. Use another folder of the workspace.")
        return "/".join(parts)

    def check(self, path: str) -> None:
        """Raises Conflict if the file cannot be written: its folder is missing or a link, or it is a link, a folder, or
        a file of another user."""
        with ExitStack() as stack:
            _read(*self._open_folder(path, stack), path, MAX_BYTES)

    def keys(self, path: str) -> frozenset[str] | None:
        """Returns the variables that a file sets; None if it does not exist. Raises Conflict as ``check``."""
        with ExitStack() as stack:
            before = _read(*self._open_folder(path, stack), path)
        return None if before is None else assigned(_text(before))

    @contextmanager
    def exclusive(self, attempts: int) -> Generator[None]:
        """Waits for other services of this machine that write files of the workspace, which may have other homes. Any
        process that can read the workspace could hold this lock, so after all attempts it does without, as for a
        workspace that is missing or on a file system without locks."""
        root = os.path.realpath(self._workspace)
        with ExitStack() as stack:
            with suppress(OSError, Busy):
                file_lock.acquire(stack.enter_context(_opened(root)), root, attempts)
            yield

    def update(self, path: str, values: Mapping[str, str | None], *, may_remove: bool = False) -> None:
        """Sets lines of a file, or removes them (None); all other lines stay as they are. The file is replaced at once
        and private to this user. Two calls for one file at the same time are not safe. Raises Conflict as ``check``, if
        the file would grow beyond ``MAX_BYTES``, or if a quote hides lines; and Invalid for a value that no .env file
        can contain. ``may_remove``: removes the file if no line is left."""
        with ExitStack() as stack:
            folder, name = self._open_folder(path, stack)
            owner = f"{self._home}/{name}"
            temporary = f".hivelore-{sha256(owner.encode()).hexdigest()[:16]}.new"
            with _explained(path):
                private_files.remove_at(folder, temporary)  # Of a process that was killed: it may contain secrets.
            before = _read(folder, name, path)
            data = _changed(before, values, path)
            with _explained(path):
                if may_remove and not (before if data is None else data):
                    private_files.remove_at(folder, name)
                elif data is not None:
                    private_files.replace_at(folder, name, data, temporary)

    def differing(self, path: str, values: Mapping[str, str | None]) -> frozenset[str]:
        """Returns the variables whose lines ``update`` would change. Raises as that."""
        with ExitStack() as stack:
            before = _read(*self._open_folder(path, stack), path)
        with _located(path):
            return differing(_text(before or b""), values)

    def _open_folder(self, path: str, stack: ExitStack) -> tuple[int, str]:
        """Returns the descriptor of the file's folder, and its name."""
        *folders, name = path.split("/")
        with _explained(path):
            folder = stack.enter_context(_opened(os.path.realpath(self._workspace)))
            for part in folders:
                folder = stack.enter_context(_opened(part, folder))
        return folder, name


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _changed(before: bytes | None, values: Mapping[str, str | None], path: str) -> bytes | None:
    """Returns the new content of a file; None if it stays as it is."""
    with _located(path):
        data = set_variables(_text(before or b""), values).encode("utf-8", "surrogateescape")
    if len(data) > max(MAX_BYTES, len(before or b"")):
        raise Conflict(f"{path} would have more than {MAX_BYTES:,} bytes. Choose another path, or delete other lines.")
    is_needed = before is not None or any(one is not None for one in values.values())
    return data if is_needed and data != before else None


@contextmanager
def _located(path: str) -> Generator[None]:
    """Names the file in a conflict of its content."""
    try:
        yield
    except Conflict as error:
        raise Conflict(f"{path} cannot be changed. {error}") from None


@contextmanager
def _opened(name: str, folder: int | None = None) -> Generator[int]:
    descriptor = os.open(name, _FOLDER, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _read(folder: int, name: str, path: str, most: int = LARGEST) -> bytes | None:
    """Returns the content of a file of at most ``most`` bytes; None if it does not exist."""
    with _explained(path):
        try:
            descriptor = os.open(name, _FILE, dir_fd=folder)
        except FileNotFoundError:
            return None
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise Conflict(f"{path} is not a regular file. Remove it, or choose another path.")
            if found.st_uid != os.geteuid():
                raise Conflict(f"{path} belongs to another user. Choose another path.")
            if found.st_nlink > 1:
                raise Conflict(f"{path} has a second name elsewhere (a hard link). Replace it by a copy.")
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                data = file.read(most + 1)
            if len(data) > most:
                raise Conflict(f"{path} has more than {most:,} bytes. Choose another path, or make it smaller.")
            return data
        finally:
            os.close(descriptor)


@contextmanager
def _explained(path: str) -> Generator[None]:
    try:
        yield
    except FileNotFoundError:
        raise MissingFolder(
            f"{path} in the workspace cannot be written: its folder does not exist. Create it, or choose another path."
        ) from None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK):
            problem = "it or one of its folders is a link, or no folder"
        else:
            problem = error.strerror or "unknown error"
        raise Conflict(
            f"{path} in the workspace cannot be written: {problem}. Correct that, or choose another path."
        ) from None


def _invalid(reason: str) -> Invalid:
    return Invalid(f"envPath is not allowed. {reason}", field="envPath")
