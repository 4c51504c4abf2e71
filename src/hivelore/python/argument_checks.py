"""Checks of the arguments that no request class describes.

Callers need not run a type checker: a number where a text belongs is the same error here as on every other interface.
"""

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from hivelore.errors import Invalid
from hivelore.memories.drafts import Draft
from hivelore.memories.model import NAME_LENGTH

_SHORT = 50
"""Most characters of a text that an error repeats."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of argument, in words, and the test for it."""

    words: str
    admits: Callable[[object], bool]

    def or_none(self) -> "Kind":
        return Kind(f"{self.words} or None", lambda value: value is None or self.admits(value))


def _is_unicode(value: object) -> bool:
    """Returns True for a text without half a surrogate pair, which no database and no URL can hold."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _are_texts(value: object) -> bool:
    """Returns False for a single text, which would count as a list of its letters, and for a mapping."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Collection):
        return False
    return all(isinstance(one, str) for one in cast(Collection[object], value))


TEXT = Kind("a text", lambda value: isinstance(value, str))
WORD = Kind("a text of valid Unicode", _is_unicode)
ID = Kind(
    f"a text of at most {NAME_LENGTH} characters",
    lambda value: isinstance(value, str) and len(value) <= NAME_LENGTH and _is_unicode(value),
)
TEXTS = Kind("a list of texts", _are_texts)
NUMBER = Kind("a number", lambda value: isinstance(value, int | float) and not isinstance(value, bool))
PATH = Kind("a path", lambda value: isinstance(value, str | os.PathLike))


def check(kind: Kind, **given: object) -> None:
    """Raises Invalid for the first argument that is not of this kind."""
    for name, value in given.items():
        if not kind.admits(value):
            raise Invalid(f"{name} must be {kind.words}, not {_short(value)}.", field=name)


def drafts_of(given: Iterable[Draft | str]) -> Iterable[Draft]:
    """Yields drafts; a text stands for a draft with this content. Raises Invalid."""
    if isinstance(given, str | bytes | Mapping) or not isinstance(cast(Any, given), Iterable):
        raise Invalid(f"drafts must be a list of texts or drafts, not {_short(cast(object, given))}.", field="drafts")
    return map(_draft_of, given)


def _draft_of(one: object) -> Draft:
    if isinstance(one, str):
        return Draft(content=one)
    if isinstance(one, Draft):
        return one
    raise Invalid(f"Each of drafts must be a text or a Draft, not {_short(one)}.", field="drafts")


def _short(value: object) -> str:
    if isinstance(value, str) and len(value) <= _SHORT:
        return repr(value)
    return "None" if value is None else type(value).__name__
