"""Settings files as text: JSON with or without comments, and TOML. Text that is not ours keeps its form."""

import tomllib
from collections.abc import Callable, Sequence
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
    """tomlkit is imported only here: no other verb than ``setup`` needs it."""

    def with_entries(self, text: str, entries: Sequence[Entry]) -> str:
        before = _read_toml(text)

        def add(document: Settings) -> None:
            for entry in entries:
                if _get(before, entry.at) != entry.value:
                    _add_table(document, entry)

        return _edit_toml(text, add, add_entries(before, entries))

    def without_entries(self, text: str, entries: Sequence[Entry]) -> str:
        def remove(document: Settings) -> None:
            for entry in entries:
                _remove_table(document, entry.at)

        return _edit_toml(text, remove, remove_entries(_read_toml(text), entries))


def _read_toml(text: str) -> Settings:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Conflict(f"It is not valid TOML ({error}).") from None


def _edit_toml(text: str, edit: Callable[[Settings], None], wanted: Settings) -> str:
    """Raises Conflict if the edited text does not have the wanted settings."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(text)
        edit(document)
        changed = tomlkit.dumps(document)
        if tomllib.loads(changed) == wanted:
            return changed
    except (TOMLKitError, tomllib.TOMLDecodeError):
        pass
    raise Conflict(_UNSAFE)


def _get(settings: Settings, at: Sequence[str]) -> Any:
    value: Any = settings
    for name in at:
        value = cast(Settings, value).get(name) if isinstance(value, dict) else None
    return value


def _add_table(document: Settings, entry: Entry) -> None:
    import tomlkit
    from tomlkit.items import InlineTable

    parent: Any = document
    for name in entry.at[:-1]:
        if name not in parent:
            parent[name] = tomlkit.table(is_super_table=True)
        parent = parent[name]
    name = entry.at[-1]
    if isinstance(parent, InlineTable):
        parent[name] = entry.value
        return
    table = tomlkit.table()
    for key, value in entry.value.items():
        if isinstance(value, dict):
            table[key] = tomlkit.inline_table()
            table[key].update(value)
        else:
            table[key] = value
    if comments := _comments_after(parent.get(name)):
        table.add(tomlkit.ws(comments))
    parent[name] = table


def _remove_table(parent: Any, at: Sequence[str]) -> str:
    """Remove a table and the parents that become empty. Returns the comments at its end that have no place yet."""
    from tomlkit.container import Container
    from tomlkit.items import Table, Whitespace

    name, *rest = at
    if name not in parent or (rest and not isinstance(parent[name], dict)):
        return ""
    comments = _remove_table(parent[name], rest) if rest else _comments_after(parent[name])
    if rest and parent[name]:
        return comments
    container = parent.value if isinstance(parent, Table) else parent
    body = container.body if isinstance(container, Container) else []
    place = next((place for place, (key, _) in enumerate(body) if key is not None and key.key == name), None)
    del parent[name]
    if place is None or not parent:
        return comments
    body[place] = (None, Whitespace(comments))
    return ""


def _comments_after(table: Any) -> str:
    """Return the comments at the end of a table: they belong to the table that follows."""
    from tomlkit.items import Table

    found = ""
    for key, item in reversed(table.value.body) if isinstance(table, Table) else ():
        if key is not None:
            found = _comments_after(item) + found
            break
        found = item.as_string() + found
    return found if "#" in found else ""


FORMATS: dict[str, Format] = {"json": Json(), "jsonc": Json(comments=True), "toml": Toml()}
