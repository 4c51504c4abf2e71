"""Entries of transcript files: what identifies them, and shortening of entries that are too long.

Used by hooks, by the command line and by the service. Standard library only.
"""

import hashlib
import json

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]
    Entry = dict[str, Json]

MAX_ENTRY_BYTES = 4_000_000
"""Most bytes of one entry."""
ROUGH_ENTRY_BYTES = 64_000_000
"""Bytes of a line above which it is not read as an entry."""
SHORTENED = "[left out by Hivelore: too long]"
_KEPT_TEXT = 20_000
"""Characters of a text that are kept in an entry that is too long; the second attempt keeps fewer."""
_LAST_ATTEMPT = 200
_MOST_DEPTH = 100


def parse_entry(line: str) -> "Entry | None":
    """Return the entry in a line; None if the line is no complete JSON object."""
    try:
        value: Json = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def uuid_of(entry: "Mapping[str, Json]") -> str | None:
    found = entry.get("uuid")
    return found if isinstance(found, str) and found else None


def shorten_entry(line: str, most: int = MAX_ENTRY_BYTES) -> str | None:
    """Return a line without its long texts if it has more than ``most`` bytes; None if it is too long even so.

    Ids and the links to other entries stay, so that a session can be resumed. Images become a text.
    """
    if len(line) <= most and len(line.encode(errors="replace")) <= most:
        return line
    entry = parse_entry(line) if len(line) <= ROUGH_ENTRY_BYTES else None
    if entry is None:
        return None
    # The result of a tool for display repeats the message for the model.
    entry.pop("toolUseResult", None)
    for kept in (_KEPT_TEXT, _LAST_ATTEMPT):
        short = json.dumps(_without_long_texts(entry, kept, _MOST_DEPTH), separators=(",", ":"))
        if len(short.encode(errors="replace")) <= most:
            return short
    return None


def _without_long_texts(value: "Json", kept: int, depth: int) -> "Json":
    if isinstance(value, str):
        return value if len(value) <= kept else f"{value[:kept]}\n{SHORTENED}"
    if depth == 0:
        return SHORTENED
    if isinstance(value, list):
        return [_without_long_texts(one, kept, depth - 1) for one in value]
    if isinstance(value, dict):
        if value.get("type") in ("thinking", "redacted_thinking"):
            return value  # The model's API refuses one whose text differs from its signature.
        if value.get("type") in ("image", "document") and isinstance(value.get("source"), dict):
            return {"type": "text", "text": SHORTENED}
        return {name: _without_long_texts(one, kept, depth - 1) for name, one in value.items()}
    return value


def digest(*parts: str) -> int:
    """Return a number of 63 bits that identifies an entry within its transcript."""
    encoded = [part.encode(errors="replace") for part in parts]
    joined = b"".join([len(data).to_bytes(8, "big") + data for data in encoded])
    return int.from_bytes(hashlib.blake2b(joined, digest_size=8).digest(), "big") >> 1


def append_digests(entries: "Sequence[Mapping[str, Json]]") -> "list[int | None]":
    """Return what identifies the entries of an append; None for those that are always appended."""
    return [None if (uuid := uuid_of(entry)) is None else digest(uuid) for entry in entries]


def file_digests(
    lines: "Sequence[str]", entries: "Sequence[Mapping[str, Json]]", anchor: str | None = None, distance: int = 0
) -> "list[int]":
    """Return what identifies consecutive lines of a file. ``anchor``: the last uuid before them; ``distance``: the
    number of entries between it and them.

    An entry without uuid is known by its text and its place behind the last entry with one. So lines that are sent
    again are recognized.
    """
    found: list[int] = []
    for line, entry in zip(lines, entries, strict=True):
        uuid = uuid_of(entry)
        if uuid is not None:
            anchor, distance = uuid, 0
            found.append(digest(uuid))
        else:
            distance += 1
            found.append(digest("after", anchor or "", line, str(distance)))
    return found
