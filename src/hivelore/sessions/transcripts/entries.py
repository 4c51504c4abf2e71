"""What the files of all programs have in common: a JSON object on each line, texts in parts, instants, tools."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from hivelore.sessions.fence import unfenced
from hivelore.sessions.model import Does, Tool, Turn, Who

Entry = Mapping[str, Any]

NOTHING: Entry = {}
_ENDS = 1_500
"""Of what a tool answered, so many characters of the beginning and of the end are kept."""
_INPUT = 2_000
_LONGEST_LINE = 8_000_000
_RUN = frozenset({"bash", "shell", "shell_command", "exec_command", "local_shell", "run_shell_command", "terminal"})
_WRITE = frozenset(
    {"write", "edit", "multiedit", "notebookedit", "apply_patch", "write_file", "replace", "create_file", "create"}
)
_OF_INTEREST = (
    "command",
    "cmd",
    "file_path",
    "notebook_path",
    "path",
    "pattern",
    "query",
    "url",
    "description",
    "prompt",
    "memoryId",
)
_WRITTEN = ("content", "contents", "file_text", "new_string", "new_str", "new_source", "text")
_MOST_WRITTEN = 20_000
"""Characters, of what one call has put into files."""
_OURS = re.compile(r"memory-(?:search|get|list|store|delete|rate)\Z|hivelore", re.IGNORECASE)
_ADDED = re.compile(r"^\+(?!\+\+ )(.*)$", re.MULTILINE)
"""A line that a patch adds."""
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)


def entries(lines: Iterable[str]) -> Iterator[Entry]:
    """The lines that are whole JSON objects."""
    for line in lines:
        if not line.strip() or len(line) > _LONGEST_LINE:
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield cast(Entry, value)


def mapping(value: object) -> Entry:
    """The value where it is a mapping, else an empty one."""
    return cast(Entry, value) if isinstance(value, Mapping) else NOTHING


def parts(value: object) -> Sequence[object]:
    """The value where it is a list, else an empty one."""
    return cast(list[object], value) if isinstance(value, list) else ()


def texts(content: object) -> str:
    """What is said in a content: a text, or a list of parts of which some are texts."""
    if isinstance(content, str):
        return content
    said = (part if isinstance(part, str) else mapping(part).get("text") for part in parts(content))
    return "\n".join(text for text in said if isinstance(text, str))


def instant(value: object) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        at = datetime.fromisoformat(value)
        return at.astimezone(UTC) if at.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


def word(value: object) -> str:
    """The value where it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def tool(name: str, given: object, folder: str) -> Tool:
    """A tool as it was called; ``given`` is its input, which may be a JSON text. Files are told as seen from the
    ``folder`` that the session worked in."""
    if isinstance(given, str):
        try:
            parsed = json.loads(given)
        except (ValueError, RecursionError):
            parsed = None
        known = mapping(parsed) or {"command": given}
    else:
        known = mapping(given)
    short = name.lower().rsplit(".", 1)[-1]
    on = next((_text(known[key]) for key in _OF_INTEREST if _text(known.get(key))), "")
    if patched := _PATCHED.findall(on):
        paths = "\n".join(_seen_from(folder, path) for path in patched)
        return Tool(name, Does.WRITE, paths, "\n".join(_ADDED.findall(on))[:_MOST_WRITTEN])
    if short in _WRITE:
        return Tool(name, Does.WRITE, _seen_from(folder, on[:_INPUT]), _written(known)[:_MOST_WRITTEN])
    return Tool(name, Does.RUN if short in _RUN else Does.OTHER, on[:_INPUT])


def _written(given: Entry) -> str:
    """What a call puts into a file, in one piece or several."""
    pieces = [given, *map(mapping, parts(given.get("edits")))]
    return "\n".join(word(piece[key]) for piece in pieces for key in _WRITTEN if word(piece.get(key)))


def is_ours(used: Tool) -> bool:
    """Whether a tool gives back what is remembered already."""
    return _OURS.search(used.name) is not None


def said(who: Who, text: str, at: datetime | None) -> Iterator[Turn]:
    """One turn without what we put into it; none where nothing is left."""
    left = unfenced(text).strip()
    if left:
        yield Turn(who=who, text=left, at=at)


def answered(used: Tool, output: str, at: datetime | None, *, failed: bool) -> Turn:
    text = unfenced(output).strip()
    if len(text) > 2 * _ENDS:
        text = f"{text[:_ENDS]}\n...\n{text[-_ENDS:]}"
    return Turn(who=Who.RESULT, text=text, tool=used, failed=failed, at=at)


def _seen_from(folder: str, path: str) -> str:
    return path.removeprefix(f"{folder.rstrip('/')}/") if folder else path


def _text(value: object) -> str:
    """A text, or a command that is given in words."""
    if isinstance(value, list):
        words = [one for one in parts(cast(object, value)) if isinstance(one, str)]
        shell = len(words) > 2 and words[1] in ("-c", "-lc")
        return words[2] if shell else " ".join(words)
    return word(value)
