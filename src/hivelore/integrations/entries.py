"""Our entries in settings that others own, too: put in and taken out, with everything else left as it is."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, cast

from hivelore.errors import Conflict

Settings = dict[str, Any]
OURS = "hivelore-hook"
"""What the command of each of our hooks contains, also of one that somebody has edited since."""


class Kind(Enum):
    """How much of a place is ours."""

    OWN = auto()
    """All that stands there, under a name of ours."""
    ITEM = auto()
    """One item of a list that others add to."""
    NEEDED = auto()
    """Nothing: it is only put there where nothing is, because the rest is not valid without it."""


@dataclass(frozen=True, slots=True)
class Entry:
    at: tuple[str, ...]
    """The names that lead to it, from the top."""
    value: Any
    kind: Kind = Kind.OWN


def put_in(settings: Settings, entries: Sequence[Entry]) -> Settings:
    """The settings with our entries, each once, in place of what stood there of ours. Raises Conflict where what
    leads to an entry is of another shape than its program wants it."""
    changed = deepcopy(settings)
    for entry in entries:
        *way, name = entry.at
        place = changed
        for step, key in enumerate(way, start=1):
            place = _as_mapping(place.setdefault(key, {}), entry.at[:step])
        if entry.kind is Kind.ITEM:
            items = place.setdefault(name, [])
            if not isinstance(items, list):
                raise Conflict(f"{'.'.join(entry.at)} is no list.")
            place[name] = [*_others(cast(list[Any], items)), entry.value]
        elif entry.kind is Kind.OWN or name not in place:
            place[name] = entry.value
    return changed


def take_out(settings: Settings, entries: Sequence[Entry]) -> Settings:
    """The settings without our entries, and without what only held them."""
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
        left = _others(cast(list[Any], place[name])) if isinstance(place[name], list) else place[name]
    else:
        left = {}
    if left:
        place[name] = left
    else:
        del place[name]


def _others(items: Sequence[Any]) -> list[Any]:
    return [item for item in items if not mentions(item, OURS)]


def mentions(value: Any, text: str) -> bool:
    """Whether a text stands anywhere in a value."""
    if isinstance(value, str):
        return text in value
    if isinstance(value, Mapping):
        return any(mentions(inner, text) for inner in cast(Mapping[str, Any], value).values())
    return isinstance(value, Sequence) and any(mentions(inner, text) for inner in cast(Sequence[Any], value))


def _as_mapping(value: Any, at: Sequence[str]) -> Settings:
    if not isinstance(value, dict):
        raise Conflict(f"{'.'.join(at)} is no object.")
    return cast(Settings, value)
