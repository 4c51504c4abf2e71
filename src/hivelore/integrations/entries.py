"""Entries in settings that also belong to others: adds and removes ours, and changes nothing else."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, cast

from hivelore.errors import Conflict

Settings = dict[str, Any]
OURS = "hivelore-hook"
"""Text in the command of each of our hooks, also after a user edited it."""


class Kind(Enum):
    """How much of a setting is ours."""

    OWN = auto()
    """The whole value; its name is ours."""
    ITEM = auto()
    """One item of a list to which others add, too."""
    NEEDED = auto()
    """Nothing; it is added only if it is missing, because the settings are invalid without it."""


@dataclass(frozen=True, slots=True)
class Entry:
    at: tuple[str, ...]
    """Names from the top to the entry."""
    value: Any
    kind: Kind = Kind.OWN


def add_entries(settings: Settings, entries: Sequence[Entry]) -> Settings:
    """Return the settings with our entries, replacing older ones.

    Raises Conflict if a parent of an entry has the wrong type.
    """
    changed = deepcopy(settings)
    for entry in entries:
        *parents, name = entry.at
        parent = changed
        for step, key in enumerate(parents, start=1):
            parent = _as_mapping(parent.setdefault(key, {}), entry.at[:step])
        if entry.kind is Kind.ITEM:
            items = parent.setdefault(name, [])
            if not isinstance(items, list):
                raise Conflict(f"{'.'.join(entry.at)} is not a list.")
            parent[name] = [*_without_ours(cast(list[Any], items)), entry.value]
        elif entry.kind is Kind.OWN or name not in parent:
            parent[name] = entry.value
    return changed


def remove_entries(settings: Settings, entries: Sequence[Entry]) -> Settings:
    """Return the settings without our entries, and without the parents that become empty."""
    changed = deepcopy(settings)
    for entry in entries:
        if entry.kind is not Kind.NEEDED:
            _remove(changed, entry.at, entry.kind)
    needed = {entry.at[0]: entry.value for entry in entries if entry.kind is Kind.NEEDED}
    return {} if changed == needed else changed


def _remove(place: Settings, at: tuple[str, ...], kind: Kind) -> None:
    name, *rest = at
    if name not in place:
        return
    if rest:
        inner = place[name]
        if not isinstance(inner, dict):
            return
        _remove(cast(Settings, inner), tuple(rest), kind)
        left: Any = cast(Settings, inner)
    elif kind is Kind.ITEM:
        left = _without_ours(cast(list[Any], place[name])) if isinstance(place[name], list) else place[name]
    else:
        left = {}
    if left:
        place[name] = left
    else:
        del place[name]


def _without_ours(items: Sequence[Any]) -> list[Any]:
    return [item for item in items if not mentions(item, OURS)]


def mentions(value: Any, text: str) -> bool:
    """Return True if a value contains a text anywhere."""
    if isinstance(value, str):
        return text in value
    if isinstance(value, Mapping):
        return any(mentions(inner, text) for inner in cast(Mapping[str, Any], value).values())
    return isinstance(value, Sequence) and any(mentions(inner, text) for inner in cast(Sequence[Any], value))


def _as_mapping(value: Any, at: Sequence[str]) -> Settings:
    if not isinstance(value, dict):
        raise Conflict(f"{'.'.join(at)} is not an object.")
    return cast(Settings, value)
