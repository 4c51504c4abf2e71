"""Parts of a setup: our files, and our entries in shared files. Computes the changes of one file; writes nothing."""

import difflib
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from hivelore.errors import Broken, Conflict
from hivelore.integrations.entries import Entry, Kind
from hivelore.integrations.formats import FORMATS

_LARGEST = 10_000_000


@dataclass(frozen=True, slots=True)
class Whole:
    """A file of Hivelore."""

    path: Path
    content: bytes


@dataclass(frozen=True, slots=True)
class Shared:
    """Our entries in a shared file, in one of the ``FORMATS``."""

    path: Path
    format: str
    entries: tuple[Entry, ...]


Part = Whole | Shared


@dataclass(frozen=True, slots=True)
class Change:
    """Change of one file: its content before and after; None for no file."""

    path: Path
    before: bytes | None
    after: bytes | None

    def diff(self) -> str:
        """Return a diff for people; for a binary file only its name."""
        try:
            old, new = ((side or b"").decode().splitlines(keepends=True) for side in (self.before, self.after))
        except UnicodeDecodeError:
            return f"Binary file {self.path}\n"
        names = [os.devnull if side is None else str(self.path) for side in (self.before, self.after)]
        lines = difflib.unified_diff(old, new, *names, n=2)
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


@dataclass(frozen=True, slots=True)
class Touched:
    """A changed file: its content before setup, and a digest of the content that setup wrote."""

    part: Part
    before: bytes | None
    digest: str


def add_part(part: Part, earlier: Touched | None) -> tuple[Change, Touched]:
    """Return the change that adds a part, and the record for its removal. ``earlier``: record of a previous setup.

    Raises Conflict if the file is not valid for its program.
    """
    now = read(part.path)
    if isinstance(part, Whole):
        was_ours = earlier is not None and now is not None
        after, before = part.content, earlier.before if earlier is not None and was_ours else now
        return Change(part.path, now, after), Touched(part, before, digest(after))
    is_changed = earlier is not None and digest(now) != earlier.digest
    left = remove_part(earlier).after if earlier is not None and is_changed else None
    with _naming(part.path):
        text, language = _text(now), FORMATS[part.format]
        items = tuple(entry for entry in part.entries if entry.kind is Kind.ITEM)
        if earlier is None:
            # Remove our hooks that have no receipt; other entries with our names belong to the user.
            before = _unless_missing(now, language.without_entries(text, items))
        elif not is_changed:
            before = earlier.before
            text = _text(before)
        else:
            before = left
            text = text if earlier.part == part else _text(before)
        after = language.with_entries(text, part.entries).encode()
    return Change(part.path, now, after), Touched(part, before, digest(after))


def remove_part(touched: Touched) -> Change:
    """Return the change that removes a part: to the original content, or without our entries if it was edited since."""
    part, now = touched.part, read(touched.part.path)
    if now is None:
        return Change(part.path, None, None)
    if isinstance(part, Whole) or digest(now) == touched.digest:
        return Change(part.path, now, touched.before)
    with _naming(part.path):
        left = FORMATS[part.format].without_entries(_text(now), part.entries)
    return Change(part.path, now, None if touched.before is None and not left.strip() else left.encode())


def is_edited(touched: Touched) -> bool:
    """Return True if the file was edited since setup."""
    now = read(touched.part.path)
    return now is not None and digest(now) != touched.digest


def read(path: Path) -> bytes | None:
    """Return the content of a file; None if it does not exist. Raises Broken if it cannot be read."""
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Broken(f"{path} cannot be read ({error.strerror}). Nothing was changed.") from None
    if len(content) > _LARGEST:
        raise Conflict(f"{path} has more than {_LARGEST:,} bytes: it is not a settings file. Nothing was changed.")
    return content


def digest(content: bytes | None) -> str:
    return "" if content is None else sha256(content).hexdigest()


def _unless_missing(now: bytes | None, text: str) -> bytes | None:
    return None if now is None else text.encode()


def _text(content: bytes | None) -> str:
    return (content or b"").decode()


@contextmanager
def _naming(path: Path) -> Generator[None]:
    """Put the file before the message of a conflict, and what to do after it."""
    try:
        yield
    except UnicodeDecodeError:
        raise Conflict(f"{path} is not UTF-8. Nothing was changed: correct the file, then try again.") from None
    except Conflict as error:
        raise Conflict(f"{path}: {error} Nothing was changed: correct the file, then try again.") from None
