"""Settings files as text: JSON, with comments or without, and TOML; read strictly, and written so that what is not ours
keeps its form."""

import json
import tomllib
from collections.abc import Sequence
from typing import Any, Protocol, cast

from hivelore.errors import Conflict
from hivelore.integrations.entries import Entry, Settings, put_in, take_out
from hivelore.integrations.json_text import parsed, rewritten

_UNSAFE = "It is written in a way that cannot be changed safely."


class Format(Protocol):
    """Texts in, texts out. An empty text stands for no settings. Raises Conflict, with the reason, where a text is
    not what it should be or cannot be changed without touching what is not ours."""

    def with_entries(self, text: str, entries: Sequence[Entry]) -> str: ...

    def without_entries(self, text: str, entries: Sequence[Entry]) -> str: ...


class Json:
    """``comments``: whether the program whose file it is allows them."""

    def __init__(self, *, comments: bool = False) -> None:
        self._comments = comments

    def with_entries(self, text: str, entries: Sequence[Entry]) -> str:
        return self._written(text, put_in(self._read(text), entries))

    def without_entries(self, text: str, entries: Sequence[Entry]) -> str:
        if not text.strip():
            return text
        left = self._written(text, take_out(self._read(text), entries))
        return "" if left != text and "".join(left.split()) == "{}" else left

    def _read(self, text: str) -> Settings:
        if not text.strip():
            return {}
        try:
            settings = parsed(text, comments=self._comments).value
        except ValueError as error:
            raise Conflict(f"It is not valid JSON ({error}).") from None
        if not isinstance(settings, dict):
            raise Conflict("It holds no JSON object.")
        return cast(Settings, settings)

    def _written(self, text: str, settings: Settings) -> str:
        try:
            return rewritten(text if text.strip() else "{}\n", settings, comments=self._comments)
        except ValueError:
            raise Conflict(_UNSAFE) from None


class Toml:
    """Takes entries that are tables of their own, of texts, lists of texts, numbers and one-level tables of texts;
    they go to the end of the file."""

    def with_entries(self, text: str, entries: Sequence[Entry]) -> str:
        before = _read_toml(text)
        changed = text
        for entry in entries:
            if _at(before, entry.at) == entry.value:
                continue
            changed = _without_table(changed, entry.at)
            gap = "" if not changed.strip() else "\n" if changed.endswith("\n") else "\n\n"
            changed = f"{changed}{gap}{_table(entry)}"
        _check(changed, put_in(before, entries))
        return changed

    def without_entries(self, text: str, entries: Sequence[Entry]) -> str:
        before = _read_toml(text)
        changed = text
        for entry in entries:
            changed = _without_table(changed, entry.at)
        _check(changed, take_out(before, entries))
        return changed


def _read_toml(text: str) -> Settings:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Conflict(f"It is not valid TOML ({error}).") from None


def _at(settings: Settings, at: Sequence[str]) -> Any:
    place: Any = settings
    for name in at:
        place = cast(Settings, place).get(name) if isinstance(place, dict) else None
    return place


def _check(text: str, wanted: Settings) -> None:
    """That an edit of the text was the edit that was meant."""
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
    """Without the table at a place and those below it, from its heading to the next one, and the blank line before."""
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
    """JSON's strings are TOML's, but for one character."""
    if isinstance(value, dict):
        inner = ", ".join(f"{_text(name)} = {_value(item)}" for name, item in cast(Settings, value).items())
        return f"{{ {inner} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, cast(list[Any], value)))}]"
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


FORMATS: dict[str, Format] = {"json": Json(), "jsonc": Json(comments=True), "toml": Toml()}
