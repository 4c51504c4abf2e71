"""Which files are memories, whose, and what has become of them since they were last looked at."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from hivelore.errors import Invalid
from hivelore.folders.model import KnownFile, Look, MemoryFolder
from hivelore.memories.model import NAME_LENGTH, Scope
from hivelore.sessions.fence import unfenced

PERSONAL = MemoryFolder("personal/memory", Scope.AGENT)
SHARED = MemoryFolder("shared/memory", Scope.SWARM)
_FIXED = (PERSONAL, SHARED, MemoryFolder("shared/thoughts", Scope.SWARM))
_PREFIXES = {f"{folder.path}/": folder for folder in _FIXED}
_AGENTS = "agents"
_OF_AN_AGENT = "memory"
DEEPEST = 16
"""Folders below a memory folder that are looked into."""
_TEMPORARY = re.compile(
    r"^(#.*#|~\$.*|4913|___jb_\w+___)$|(~|\.(swp|swo|swx|tmp|temp|part|partial|crdownload|lock))$", re.IGNORECASE
)
"""Names under which editors and downloads keep what is not finished."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def folder_of(path: str) -> MemoryFolder | None:
    """The memory folder in which a file lies; None where it lies in none."""
    for prefix, folder in _PREFIXES.items():
        if path.startswith(prefix):
            return folder
    parts = path.split("/")
    if len(parts) > 3 and parts[0] == _AGENTS and parts[2] == _OF_AN_AGENT:
        return MemoryFolder("/".join(parts[:3]), Scope.AGENT, parts[1])
    return None


def leads_on(parts: Sequence[str]) -> bool:
    """Whether to look into a folder: a memory folder, one that leads to some, or one below them."""
    if any(part.startswith(".") or not is_text(part) for part in parts):
        return False
    path = "/".join(parts)
    folder = folder_of(f"{path}/x")
    if folder is not None:
        return len(parts) - folder.path.count("/") <= DEEPEST
    ways = [tuple(fixed.path.split("/")) for fixed in _FIXED]
    return tuple(parts) in [way[: len(parts)] for way in ways] or (parts[0] == _AGENTS and len(parts) < 3)


def is_taken(path: str) -> bool:
    """Whether a file of this name is a memory: in a memory folder, neither hidden nor unfinished."""
    name = path.rpartition("/")[2]
    return (
        folder_of(path) is not None and is_text(path) and not name.startswith(".") and _TEMPORARY.search(name) is None
    )


def is_text(name: str) -> bool:
    """False for names of bytes that are no UTF-8, which nobody can be told."""
    return name.isascii() or name.encode(errors="replace").decode() == name


def name_of(path: str) -> str:
    """What the memory of a file is called: as the file, without extension."""
    name = path.rpartition("/")[2]
    stem = name.rpartition(".")[0] or name
    return _CONTROL.sub(" ", stem).strip()[:NAME_LENGTH].strip() or "file"


def text_of(content: bytes) -> str:
    """What a file says, without what we had told an agent ourselves. Raises Invalid for what is no text."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Invalid("It is no text in UTF-8.") from None
    if "\0" in text:
        raise Invalid("It is no text: it has NUL bytes.")
    return unfenced(text)


def digest_of(content: bytes) -> str:
    return sha256(content).hexdigest()


@dataclass(frozen=True, slots=True)
class Differences:
    """What has become of files. A path is in one of them at most, of a move its new one."""

    written: tuple[str, ...]
    """New, or with other content than before, as far as the marks tell."""
    gone: tuple[KnownFile, ...]
    moved: tuple[tuple[KnownFile, str], ...]
    """With the new path."""


def differences(known: Mapping[str, KnownFile], before: Look, now: Look) -> Differences:
    """What is new since ``known``, by path. Only what two looks agree on: what is just being written, or replaced, is
    left for a later one."""
    calm = {path: mark for path, mark in now.marks.items() if before.marks.get(path) == mark}
    new = [path for path in calm if path not in known]
    gone = [file for path, file in known.items() if _is_gone(path, before) and _is_gone(path, now)]
    left = {file.mark: file for file in reversed(gone)}
    moved = {path: left.pop(calm[path]) for path in new if calm[path] in left}
    moving = {file.path for file in moved.values()}
    changed = [path for path, file in known.items() if path in calm and calm[path] != file.mark]
    return Differences(
        written=(*changed, *(path for path in new if path not in moved)),
        gone=tuple(file for file in gone if file.path not in moving),
        moved=tuple((file, path) for path, file in moved.items()),
    )


def same_content(gone: Iterable[KnownFile], path: str, digest: str) -> KnownFile | None:
    """The file that a new one has taken the place of under another name: one with this content that was in the same
    memory folder; the one of the same name first."""
    folder, name = folder_of(path), path.rpartition("/")[2]
    same = [file for file in gone if file.digest == digest and folder_of(file.path) == folder]
    return min(same, key=lambda file: (file.path.rpartition("/")[2] != name, file.path), default=None)


def _is_gone(path: str, look: Look) -> bool:
    return path not in look.marks and not any(path.startswith(f"{folder}/") or not folder for folder in look.unread)
