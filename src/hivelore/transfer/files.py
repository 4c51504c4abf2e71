"""Files on this machine as drafts: selection by type, size and .gitignore.

The caller's process reads them, so a service never opens a path that a client sent.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hivelore.errors import Invalid
from hivelore.memories.drafts import Draft
from hivelore.memories.model import NAME_LENGTH, Scope, Source

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

MAX_BYTES = 2_000_000
"""Largest indexed file in bytes."""
_SNIFFED = 8_192
_ALWAYS_IGNORED = (".git/", ".hg/", ".svn/", "node_modules/", "__pycache__/", ".venv/")
_IGNORE = ".gitignore"


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was left out."""

    path: Path
    reason: str
    expected: bool = False
    """True if the file has no text to index, which is no error."""


def read_drafts(path: Path, scope: Scope, project: str | None) -> Iterator[Draft | Skipped]:
    """Yields the file at ``path``, or every file below it that no .gitignore excludes, in a stable order."""
    for file in find_files(path):
        yield file if isinstance(file, Skipped) else read_draft(file, scope, project)


def find_files(path: Path) -> Iterator[Path | Skipped]:
    """Yields the resolved paths of the files that ``read_drafts`` reads."""
    root = resolve_path(path)
    return _walk_files(root) if root.is_dir() else iter([root])


def resolve_path(path: Path) -> Path:
    """Returns the canonical path of a file or folder. Raises Invalid if it does not exist."""
    try:
        path.stat()
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}.", field="path") from None
    except ValueError:  # NUL, or half of a surrogate pair
        raise Invalid(f"{str(path)!r} is not a valid path.", field="path") from None
    return path.resolve()


def read_draft(file: Path, scope: Scope, project: str | None) -> Draft | Skipped:
    """Returns the draft of a file, named after it. A later draft of the same path replaces it."""
    try:
        found = file.stat()
        if not stat.S_ISREG(found.st_mode):
            return Skipped(file, "not a regular file", expected=True)
        if found.st_size > MAX_BYTES:
            return Skipped(file, f"larger than {MAX_BYTES:,} bytes: split it")
        data = file.read_bytes()
    except OSError as error:
        return Skipped(file, error.strerror or str(error))
    if b"\0" in data[:_SNIFFED]:
        return Skipped(file, "binary", expected=True)
    try:
        text = data.decode("utf-8-sig")
        path = str(file)
        path.encode()
    except UnicodeDecodeError as error:
        return Skipped(file, f"not UTF-8 (byte {error.start})")
    except UnicodeEncodeError:
        return Skipped(file, "its name is not valid Unicode")
    if "\0" in text:
        return Skipped(file, "binary", expected=True)
    if not text.strip():
        return Skipped(file, "empty", expected=True)
    name = file.stem[:NAME_LENGTH]
    return Draft(content=text, name=name, scope=scope, source=Source.FILE_INDEX, source_path=path, project=project)


def _walk_files(root: Path) -> Iterator[Path | Skipped]:
    specs = _rules_above(root)
    unreadable: list[OSError] = []
    for folder, folders, files in os.walk(root, onerror=unreadable.append):
        here = Path(folder)
        rules = [*(_ALWAYS_IGNORED if here == root else ()), *(_read_rules(here) if _IGNORE in files else ())]
        if rules:
            specs[here] = _parse_rules(rules)
        folders[:] = sorted(name for name in folders if not _is_ignored(here / name, specs, is_folder=True))
        # Links are skipped, because their targets are indexed at their own paths.
        found = (here / name for name in sorted(files) if not (here / name).is_symlink())
        yield from (file for file in found if not _is_ignored(file, specs, is_folder=False))
    yield from (Skipped(Path(str(error.filename)), error.strerror or str(error)) for error in unreadable)


def _rules_above(root: Path) -> dict[Path, "GitIgnoreSpec"]:
    """Returns the .gitignore rules between the top of the repository and ``root``; none if they exclude ``root``,
    because naming it asks for it."""
    top = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)
    specs: dict[Path, GitIgnoreSpec] = {}
    for folder in root.parents:
        if folder.is_relative_to(top) and (rules := _read_rules(folder)):
            specs[folder] = _parse_rules(rules)
    return {} if _is_ignored(root, specs, is_folder=True) else specs


def _read_rules(folder: Path) -> list[str]:
    try:
        return (folder / _IGNORE).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _parse_rules(rules: list[str]) -> "GitIgnoreSpec":
    # Imported here, because few commands walk a folder.
    from pathspec import GitIgnoreSpec

    def is_rule(line: str) -> bool:
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:
            return False
        return True

    # Git ignores invalid rules.
    return GitIgnoreSpec.from_lines(line for line in rules if is_rule(line))


def _is_ignored(path: Path, specs: dict[Path, "GitIgnoreSpec"], *, is_folder: bool) -> bool:
    """Returns True if the nearest .gitignore with a matching rule excludes the path."""
    for folder in path.parents:
        spec = specs.get(folder)
        if spec is None:
            continue
        relative = path.relative_to(folder).as_posix() + ("/" if is_folder else "")
        verdict = spec.check_file(relative).include
        if verdict is not None:
            return verdict
    return False
