"""Shared parsing of transcripts: JSON lines, text parts, times and tool calls."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from hivelore.core.redaction.excerpts import MARGIN, beginning, ending
from hivelore.core.redaction.private_text import remove_private_text
from hivelore.core.values import replace
from hivelore.sessions.fence import remove_fences
from hivelore.sessions.model import Speaker, Tool, ToolEffect, Turn

Entry = Mapping[str, Any]

NO_FIELDS: Entry = {}
_MAX_OUTPUT_HALF = 1_500
"""Characters kept from the beginning and from the end of a tool output."""
_OMISSION = "\n...\n"
_MAX_INPUT = 2_000
_MAX_LINE = 8_000_000
_RUN_TOOLS = frozenset(
    {"bash", "shell", "shell_command", "exec_command", "local_shell", "run_shell_command", "terminal"}
)
_WRITE_TOOLS = frozenset(
    {"write", "edit", "multiedit", "notebookedit", "apply_patch", "write_file", "replace", "create_file", "create"}
)
_INPUT_FIELDS = (
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
_CONTENT_FIELDS = ("content", "contents", "file_text", "new_string", "new_str", "new_source", "text")
_REPLACED_FIELDS = ("old_string", "old_str", "old_source")
_MAX_WRITTEN = 20_000
"""Characters kept of the text one call writes to files, and of the text that it replaces."""
_OWN_TOOL = re.compile(r"memory-(?:search|get|list|store|delete|rate)\Z|hivelore", re.IGNORECASE)
_ADDED = re.compile(r"^\+(?!\+\+ )(.*)$", re.MULTILINE)
"""A line that a patch adds."""
_REMOVED = re.compile(r"^-(?!-- )(.*)$", re.MULTILINE)
"""A line that a patch removes."""
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)


def parse_entries(lines: Iterable[str]) -> Iterator[Entry]:
    """Yields the lines that are complete JSON objects."""
    for line in lines:
        if not line.strip() or len(line) > _MAX_LINE:
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield cast(Entry, value)


def as_mapping(value: object) -> Entry:
    """Returns the value if it is a mapping, else an empty one."""
    return cast(Entry, value) if isinstance(value, Mapping) else NO_FIELDS


def as_list(value: object) -> Sequence[object]:
    """Returns the value if it is a list, else an empty one."""
    return cast(list[object], value) if isinstance(value, list) else ()


def join_texts(content: object) -> str:
    """Returns the text of a content: a string, or a list with text parts."""
    if isinstance(content, str):
        return content
    said = (part if isinstance(part, str) else as_mapping(part).get("text") for part in as_list(content))
    return "\n".join(text for text in said if isinstance(text, str))


def parse_instant(value: object) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        at = datetime.fromisoformat(value)
        return at.astimezone(UTC) if at.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


def as_text(value: object) -> str:
    """Returns the value if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def parse_tool(name: str, given: object, folder: str) -> Tool:
    """Parses a tool call. ``given``: its input, possibly a JSON string. Paths are made relative to ``folder``, the
    working folder."""
    if isinstance(given, str):
        try:
            parsed = json.loads(given)
        except (ValueError, RecursionError):
            parsed = None
        known = as_mapping(parsed) or {"command": given}
    else:
        known = as_mapping(given)
    short = name.lower().rsplit(".", 1)[-1]
    on = remove_private_text(
        next((_join_words(known[key]) for key in _INPUT_FIELDS if _join_words(known.get(key))), "")
    )
    if patched := _PATCHED.findall(on):
        paths = "\n".join(_relative_path(folder, path) for path in patched)
        added, removed = ("\n".join(lines.findall(on)) for lines in (_ADDED, _REMOVED))
        return Tool(name, ToolEffect.WRITE, paths, beginning(added, _MAX_WRITTEN), beginning(removed, _MAX_WRITTEN))
    if short in _WRITE_TOOLS:
        changed = (_texts_of(known, fields) for fields in (_CONTENT_FIELDS, _REPLACED_FIELDS))
        written, removed = (beginning(text, _MAX_WRITTEN) for text in changed)
        return Tool(name, ToolEffect.WRITE, _relative_path(folder, beginning(on, _MAX_INPUT)), written, removed)
    return Tool(name, ToolEffect.RUN if short in _RUN_TOOLS else ToolEffect.OTHER, beginning(on, _MAX_INPUT))


def _texts_of(given: Entry, fields: Iterable[str]) -> str:
    """Returns the texts that a call has in these fields, and in those of its edits."""
    pieces = [given, *map(as_mapping, as_list(given.get("edits")))]
    return "\n".join(as_text(piece[key]) for piece in pieces for key in fields if as_text(piece.get(key)))


def is_own_tool(used: Tool) -> bool:
    """Returns True for tools that return stored memories."""
    return _OWN_TOOL.search(used.name) is not None


def spoken_turn(who: Speaker, text: str, at: datetime | None) -> Iterator[Turn]:
    """Yields a turn without private and injected text; nothing if no text is left."""
    left = remove_fences(remove_private_text(text)).strip()
    if left:
        yield Turn(speaker=who, text=left, at=at)


def result_turn(used: Tool, output: str, at: datetime | None, *, failed: bool) -> Turn:
    text = remove_fences(remove_private_text(output)).strip()
    if len(text) > 2 * (_MAX_OUTPUT_HALF + MARGIN):
        text = f"{beginning(text, _MAX_OUTPUT_HALF)}{_OMISSION}{ending(text, _MAX_OUTPUT_HALF)}"
    return Turn(speaker=Speaker.RESULT, text=text, tool=used, failed=failed, at=at)


def shorten_turn(turn: Turn) -> Turn:
    """Returns the turn without the margins that the text of its tool has for redaction."""
    if turn.tool is None:
        return turn
    target = turn.tool.target
    is_path_list = turn.tool.effect is ToolEffect.WRITE and "\n" in target
    tool = replace(
        turn.tool,
        target=target if is_path_list else target[:_MAX_INPUT],
        written=turn.tool.written[:_MAX_WRITTEN],
        removed=turn.tool.removed[:_MAX_WRITTEN],
    )
    text = turn.text
    if len(text) > 2 * _MAX_OUTPUT_HALF:
        text = f"{text[:_MAX_OUTPUT_HALF]}{_OMISSION}{text[-_MAX_OUTPUT_HALF:]}"
    return replace(turn, text=text, tool=tool)


def _relative_path(folder: str, path: str) -> str:
    return path.removeprefix(f"{folder.rstrip('/')}/") if folder else path


def _join_words(value: object) -> str:
    """Returns a text, or a command given as a list of words."""
    if isinstance(value, list):
        words = [one for one in as_list(cast(object, value)) if isinstance(one, str)]
        shell = len(words) > 2 and words[1] in ("-c", "-lc")
        return words[2] if shell else " ".join(words)
    return as_text(value)
