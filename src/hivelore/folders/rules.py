"""Rules of memory folders: which files are memories, who owns them, and what changed since the last scan."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from hivelore.core.redaction.private_text import remove_private_text
from hivelore.errors import Invalid
from hivelore.folders.model import FolderScan, KnownFile, MemoryFolder
from hivelore.memories.model import NAME_LENGTH, Scope
from hivelore.sessions.fence import remove_fences

PERSONAL = MemoryFolder("personal/memory", Scope.AGENT)
SHARED = MemoryFolder("shared/memory", Scope.SWARM)
_FIXED = (PERSONAL, SHARED, MemoryFolder("shared/thoughts", Scope.SWARM))
_PREFIXES = {f"{folder.path}/": folder for folder in _FIXED}
_AGENTS = "agents"
_AGENT_FOLDER = "memory"
MAX_DEPTH = 16
"""Scanned levels below a memory folder."""
_TEMPORARY = re.compile(
    r"^(#.*#|~\$.*|4913|___jb_\w+___)$|(~|\.(swp|swo|swx|tmp|temp|part|partial|crdownload|lock))$", re.IGNORECASE
)
"""Names of temporary files of editors and downloads."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def memory_folder(path: str) -> MemoryFolder | None:
    """Returns the memory folder of a file; None if it is in none."""
    for prefix, folder in _PREFIXES.items():
        if path.startswith(prefix):
            return folder
    parts = path.split("/")
    if len(parts) > 3 and parts[0] == _AGENTS and parts[2] == _AGENT_FOLDER:
        return MemoryFolder("/".join(parts[:3]), Scope.AGENT, parts[1])
    return None


def is_scanned_folder(parts: Sequence[str]) -> bool:
    """Returns True for memory folders, their parents and their subfolders."""
    if any(part.startswith(".") or not is_utf8_name(part) for part in parts):
        return False
    path = "/".join(parts)
    folder = memory_folder(f"{path}/x")
    if folder is not None:
        return len(parts) - folder.path.count("/") <= MAX_DEPTH
    ways = [tuple(fixed.path.split("/")) for fixed in _FIXED]
    return tuple(parts) in [way[: len(parts)] for way in ways] or (parts[0] == _AGENTS and len(parts) < 3)


def is_memory_file(path: str) -> bool:
    """Returns True for files in a memory folder that are neither hidden nor temporary."""
    name = path.rpartition("/")[2]
    return (
        memory_folder(path) is not None
        and is_utf8_name(path)
        and not name.startswith(".")
        and _TEMPORARY.search(name) is None
    )


def is_utf8_name(name: str) -> bool:
    """Returns False for names that are not valid UTF-8."""
    return name.isascii() or name.encode(errors="replace").decode() == name


def memory_name(path: str) -> str:
    """Returns the name of a file's memory: the file name without extension."""
    name = path.rpartition("/")[2]
    stem = name.rpartition(".")[0] or name
    return _CONTROL.sub(" ", stem).strip()[:NAME_LENGTH].strip() or "file"


def decode_content(content: bytes) -> str:
    """Returns the text of a file without private and injected parts. Raises Invalid if it is not text."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Invalid("It is not UTF-8 text.") from None
    if "\0" in text:
        raise Invalid("It is not text: it contains NUL bytes.")
    return remove_fences(remove_private_text(text))


def content_digest(content: bytes) -> str:
    return sha256(content).hexdigest()


@dataclass(frozen=True, slots=True)
class FolderChanges:
    """Changes between scans. Each path is in one group at most; a move counts under its new path."""

    written: tuple[str, ...]
    """New files, and files whose mark changed."""
    deleted: tuple[KnownFile, ...]
    moved: tuple[tuple[KnownFile, str], ...]
    """With the new path."""


def find_changes(known: Mapping[str, KnownFile], before: FolderScan, now: FolderScan) -> FolderChanges:
    """Returns the changes since ``known`` that two scans agree on. Files being written wait for a later scan."""
    calm = {path: mark for path, mark in now.marks.items() if before.marks.get(path) == mark}
    new = [path for path in calm if path not in known]
    gone = [file for path, file in known.items() if _is_deleted(path, before) and _is_deleted(path, now)]
    left = {file.mark: file for file in reversed(gone)}
    moved = {path: left.pop(calm[path]) for path in new if calm[path] in left}
    moving = {file.path for file in moved.values()}
    changed = [path for path, file in known.items() if path in calm and calm[path] != file.mark]
    return FolderChanges(
        written=(*changed, *(path for path in new if path not in moved)),
        deleted=tuple(file for file in gone if file.path not in moving),
        moved=tuple((file, path) for path, file in moved.items()),
    )


def find_renamed(gone: Iterable[KnownFile], path: str, digest: str) -> KnownFile | None:
    """Returns the deleted file that a new one replaces: same content and memory folder, preferably the same name."""
    folder, name = memory_folder(path), path.rpartition("/")[2]
    same = [file for file in gone if file.digest == digest and memory_folder(file.path) == folder]
    return min(same, key=lambda file: (file.path.rpartition("/")[2] != name, file.path), default=None)


def _is_deleted(path: str, scan: FolderScan) -> bool:
    return path not in scan.marks and not any(path.startswith(f"{folder}/") or not folder for folder in scan.unread)
