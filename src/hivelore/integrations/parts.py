"""What a set-up consists of: files of ours, and entries of ours in files that others own, too; and what becomes of one
file when it is put in and taken out again. Nothing here writes."""

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
    """A file that is ours."""

    path: Path
    content: bytes


@dataclass(frozen=True, slots=True)
class Shared:
    """Entries of ours in a file of one of the ``FORMATS``."""

    path: Path
    format: str
    entries: tuple[Entry, ...]


Part = Whole | Shared


@dataclass(frozen=True, slots=True)
class Change:
    """One file: what it holds now and what it is to hold; None stands for no file."""

    path: Path
    before: bytes | None
    after: bytes | None

    def diff(self) -> str:
        """For people to read; of a picture only that it is one."""
        try:
            old, new = ((side or b"").decode().splitlines(keepends=True) for side in (self.before, self.after))
        except UnicodeDecodeError:
            return f"Binary file {self.path}\n"
        names = [os.devnull if side is None else str(self.path) for side in (self.before, self.after)]
        lines = difflib.unified_diff(old, new, *names, n=2)
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


@dataclass(frozen=True, slots=True)
class Touched:
    """One file as it was before us, and a digest of what we left there."""

    part: Part
    before: bytes | None
    digest: str


def put_in(part: Part, earlier: Touched | None) -> tuple[Change, Touched]:
    """What a file becomes with this part of a set-up, where ``earlier`` says what was set up there before; and what to
    keep of it. Raises Conflict where the file is not what its program would read."""
    now = read(part.path)
    if isinstance(part, Whole):
        was_ours = earlier is not None and now is not None
        after, before = part.content, earlier.before if earlier is not None and was_ours else now
        return Change(part.path, now, after), Touched(part, before, digest(after))
    is_changed = earlier is not None and digest(now) != earlier.digest
    left = undone(earlier).after if earlier is not None and is_changed else None
    with _about(part.path):
        text, language = _text(now), FORMATS[part.format]
        items = tuple(entry for entry in part.entries if entry.kind is Kind.ITEM)
        if earlier is None:
            # Hooks of ours that nobody remembers any more; everything else of that name somebody has put there.
            before = _left(now, language.without_entries(text, items))
        elif not is_changed:
            before = earlier.before
            text = _text(before)
        else:
            before = left
            text = text if earlier.part == part else _text(before)
        after = language.with_entries(text, part.entries).encode()
    return Change(part.path, now, after), Touched(part, before, digest(after))


def undone(touched: Touched) -> Change:
    """What a file becomes without us: what it was, or, where it was changed since, the same without our entries."""
    part, now = touched.part, read(touched.part.path)
    if now is None:
        return Change(part.path, None, None)
    if isinstance(part, Whole) or digest(now) == touched.digest:
        return Change(part.path, now, touched.before)
    with _about(part.path):
        left = FORMATS[part.format].without_entries(_text(now), part.entries)
    return Change(part.path, now, None if touched.before is None and not left.strip() else left.encode())


def is_edited(touched: Touched) -> bool:
    """Whether somebody has changed a file since we left it."""
    now = read(touched.part.path)
    return now is not None and digest(now) != touched.digest


def read(path: Path) -> bytes | None:
    """What a file holds; None where there is none. Raises Broken where it cannot be read."""
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Broken(f"{path} cannot be read ({error.strerror}). Nothing was changed.") from None
    if len(content) > _LARGEST:
        raise Conflict(f"{path} has more than {_LARGEST:,} bytes: no settings file. Nothing was changed.")
    return content


def digest(content: bytes | None) -> str:
    return "" if content is None else sha256(content).hexdigest()


def _left(now: bytes | None, text: str) -> bytes | None:
    return None if now is None else text.encode()


def _text(content: bytes | None) -> str:
    return (content or b"").decode()


@contextmanager
def _about(path: Path) -> Generator[None]:
    """Says of a conflict which file it is about, and what to do."""
    try:
        yield
    except UnicodeDecodeError:
        raise Conflict(f"{path} is not UTF-8. Nothing was changed: mend the file, then do this again.") from None
    except Conflict as error:
        raise Conflict(f"{path}: {error} Nothing was changed: mend the file, then do this again.") from None
