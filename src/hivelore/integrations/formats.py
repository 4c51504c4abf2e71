"""Settings files as text: JSON with or without comments, and TOML. Text that is not ours keeps its form."""

import json
import tomllib
from collections.abc import Sequence
from typing import Any, Protocol, cast

from hivelore.errors import Conflict
from hivelore.integrations.entries import Entry, Settings, add_entries, remove_entries
from hivelore.integrations.json_text import parse, rewrite

_UNSAFE = "Its form cannot be changed safely."


class Format(Protocol):
    """Adds and removes entries in a text; an empty text has no settings.

    Raises Conflict with the reason if the text is invalid, or cannot be changed without changing other entries.
    """

    def with_entries(self, text: str, entries: Sequence[Entry]) -> str: ...

    def without_entries(self, text: str, entries: Sequence[Entry]) -> str: ...


class Json:
    """``comments``: the program allows comments in its file."""

    def __init__(self, *, comments: bool = False) -> None:
        self._comments = comments

    def with_entries(self, text: str, entries: Sequence[Entry]) -> str:
        return self._write(text, add_entries(self._read(text), entries))

    def without_entries(self, text: str, entries: Sequence[Entry]) -> str:
        if not text.strip():
            return text
        rest = self._write(text, remove_entries(self._read(text), entries))
        return "" if rest != text and "".join(rest.split()) == "{}" else rest

    def _read(self, text: str) -> Settings:
        if not text.strip():
            return {}
        try:
            settings = parse(text, comments=self._comments).value
        except ValueError as error:
            raise Conflict(f"It is not valid JSON ({error}).") from None
        if not isinstance(settings, dict):
            raise Conflict("It contains no JSON object.")
        return cast(Settings, settings)

    def _write(self, text: str, settings: Settings) -> str:
        try:
            return rewrite(text if text.strip() else "{}\n", settings, comments=self._comments)
        except ValueError:
            raise Conflict(_UNSAFE) from None


class Toml:
    """Supports entries that are tables of texts, lists of texts, numbers and flat tables; appends them to the file."""

    def with_entries(self, text: str, entries: Sequence[Entry]) -> str:
        before = _read_toml(text)
        changed = text
        for entry in entries:
            if _get(before, entry.at) == entry.value:
                continue
            changed = _without_table(changed, entry.at)
            gap = "" if not changed.strip() else "\n" if changed.endswith("\n") else "\n\n"
            changed = f"{changed}{gap}{_table(entry)}"
        _check(changed, add_entries(before, entries))
        return changed

    def without_entries(self, text: str, entries: Sequence[Entry]) -> str:
        before = _read_toml(text)
        changed = text
        for entry in entries:
            changed = _without_table(changed, entry.at)
        _check(changed, remove_entries(before, entries))
        return changed


def _read_toml(text: str) -> Settings:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Conflict(f"It is not valid TOML ({error}).") from None


def _get(settings: Settings, at: Sequence[str]) -> Any:
    value: Any = settings
    for name in at:
        value = cast(Settings, value).get(name) if isinstance(value, dict) else None
    return value


def _check(text: str, wanted: Settings) -> None:
    """Raises Conflict if the edited text does not have the wanted settings."""
    try:
        written = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        written = None
    if written != wanted:
        raise Conflict(_UNSAFE)


def _table(entry: Entry) -> str:
    lines = [f"[{_dotted(entry.at)}]"]
    lines += [f"{name} = {_value(value)}" for name, value in entry.value.items()]
    return "\n".join(lines) + "\n"


def _without_table(text: str, at: tuple[str, ...]) -> str:
    """Remove a table and its subtables, from its heading to the next one, with the blank line before it."""
    ours = _dotted(at)
    kept: list[str] = []
    inside = False
    for line in text.splitlines(keepends=True):
        heading = line.strip()
        if heading.startswith("["):
            inside = heading.startswith((f"[{ours}]", f"[{ours}.", f"[[{ours}]", f"[[{ours}."))
            if inside and kept and not kept[-1].strip():
                kept.pop()
        if not inside:
            kept.append(line)
    return "".join(kept)


def _dotted(at: Sequence[str]) -> str:
    return ".".join(at)


def _value(value: Any) -> str:
    """Strings of JSON are strings of TOML, except for one character."""
    if isinstance(value, dict):
        inner = ", ".join(f"{_text(name)} = {_value(item)}" for name, item in cast(Settings, value).items())
        return f"{{ {inner} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, cast(list[Any], value)))}]"
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


FORMATS: dict[str, Format] = {"json": Json(), "jsonc": Json(comments=True), "toml": Toml()}
