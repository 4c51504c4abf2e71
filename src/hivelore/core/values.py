"""Immutable values that interfaces send and receive, and the names that they have in JSON."""

import dataclasses
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, TypeVar

from msgspec import Meta, Struct, field, structs

V = TypeVar("V")

Instant = Annotated[datetime, Meta(tz=True)]
"""A time with its zone; in JSON as RFC 3339."""


def json_names(**names: str) -> Callable[[str], str]:
    """Returns the rule by which a ``Value`` names its fields: as given here, else in camelCase."""

    def name_of(field: str) -> str:
        first, *others = field.split("_")
        return names.get(field) or first + "".join(part.capitalize() for part in others)

    return name_of


def written(default: V) -> V:
    """Returns a default that JSON contains, for classes that omit other defaults."""
    return field(default_factory=lambda: default)


class Value(Struct, frozen=True, rename="camel"):
    """A value of an answer. Readers ignore fields that they do not know, so a client may be older than its service."""


class Request(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The arguments of an operation. Unknown fields are refused."""


class NoArguments(Request, frozen=True):
    """The request of an operation that takes no arguments."""


def replace(value: V, /, **changes: Any) -> V:
    """Returns a copy of a value, or of a dataclass, with some fields changed."""
    if isinstance(value, Struct):
        return structs.replace(value, **changes)
    return dataclasses.replace(value, **changes)  # type: ignore[type-var]
