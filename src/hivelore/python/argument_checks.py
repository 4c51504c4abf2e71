"""What callers of the Python API hand in, looked at for its type once, before anything is done with it.

Nobody has to run a type checker: a number where a text belongs is the same error here as on every other interface.
"""

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from msgspec import UNSET

from hivelore.errors import Invalid
from hivelore.memories.drafts import Draft
from hivelore.memories.model import NAME_LENGTH

_DEEP_ENOUGH = 20
"""Levels of metadata that are looked at: what is nested deeper is refused for that."""
_SHORT = 50
"""Characters of a text that an error repeats."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What an argument takes, in words, and whether a value is that."""

    words: str
    holds: Callable[[object], bool]

    def or_none(self) -> "Kind":
        return Kind(f"{self.words} or None", lambda value: value is None or self.holds(value))

    def or_unset(self) -> "Kind":
        return Kind(self.words, lambda value: value is UNSET or self.holds(value))


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_sayable(value: object) -> bool:
    """A text without half a surrogate pair, which no database and no URL takes."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_short(value: object) -> bool:
    return isinstance(value, str) and len(value) <= NAME_LENGTH


def _are_texts(value: object) -> bool:
    """A text is no list of its letters, and a mapping none of its keys."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Collection):
        return False
    return all(isinstance(one, str) for one in cast(Collection[object], value))


def _is_json(value: object, depth: int = 0) -> bool:
    if value is None or isinstance(value, str | int | float):
        return True
    if depth >= _DEEP_ENOUGH:
        return isinstance(value, list | dict)
    if isinstance(value, list):
        return all(_is_json(one, depth + 1) for one in cast(list[object], value))
    return _is_object(value, depth)


def _is_object(value: object, depth: int = 0) -> bool:
    if not isinstance(value, Mapping if depth == 0 else dict):
        return False
    parts = cast(Mapping[object, object], value)
    return all(isinstance(name, str) and _is_json(part, depth + 1) for name, part in parts.items())


TEXT = Kind("a text", lambda value: isinstance(value, str))
WORD = Kind("a text of whole characters", _is_sayable)
ID = Kind(f"a text of at most {NAME_LENGTH} whole characters", lambda value: _is_short(value) and _is_sayable(value))
TEXTS = Kind("a list of texts", _are_texts)
WHOLE = Kind("a whole number", _is_whole)
NUMBER = Kind("a number", lambda value: _is_whole(value) or isinstance(value, float))
TRUTH = Kind("True or False", lambda value: isinstance(value, bool))
INSTANT = Kind("a datetime", lambda value: isinstance(value, datetime))
METADATA = Kind("a dictionary of what JSON can say", _is_object)
PATH = Kind("a path", lambda value: isinstance(value, str | os.PathLike))
STATUS = Kind("'all', 'live' or 'expired'", lambda value: value in ("all", "live", "expired"))


def check(kind: Kind, **given: object) -> None:
    """Raises Invalid that names the first argument that is of another kind."""
    for name, value in given.items():
        if not kind.holds(value):
            raise Invalid(f"{name} is {kind.words}, not {_told(value)}.", field=name)


def drafts_of(given: Iterable[Draft | str]) -> Iterable[Draft]:
    """What is to be remembered, one after the other; a text is a draft that says no more."""
    if isinstance(given, str | bytes | Mapping) or not isinstance(cast(Any, given), Iterable):
        raise Invalid(f"drafts is a list of texts or drafts, not {_told(cast(object, given))}.", field="drafts")
    return map(_draft_of, given)


def _draft_of(one: object) -> Draft:
    if isinstance(one, str):
        return Draft(content=one)
    if isinstance(one, Draft):
        return one
    raise Invalid(f"Each of drafts is a text or a Draft, not {_told(one)}.", field="drafts")


def _told(value: object) -> str:
    if isinstance(value, str) and len(value) <= _SHORT:
        return repr(value)
    return "None" if value is None else type(value).__name__
