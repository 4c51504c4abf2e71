"""Immutable values that interfaces send and receive, and their JSON, with errors that name the field at fault."""

import dataclasses
import difflib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar, Union, cast, get_args, get_origin
from uuid import UUID

import msgspec
from msgspec import Meta, Struct, structs

from hivelore.errors import Invalid

V = TypeVar("V")

Instant = Annotated[datetime, Meta(tz=True)]
"""A time with its zone; in JSON as RFC 3339."""
_TAKES_DAYS = "days"
if TYPE_CHECKING:
    DayOrInstant: TypeAlias = date
else:
    DayOrInstant = Annotated[datetime, Meta(tz=True, extra={_TAKES_DAYS: True})]
"""An ``Instant`` that callers may give as a date: the start of that day in UTC."""


def json_names(**names: str) -> Callable[[str], str]:
    """Returns the rule by which a ``Value`` names its fields: as given here, else in camelCase."""

    def name_of(field: str) -> str:
        first, *others = field.split("_")
        return names.get(field) or first + "".join(part.capitalize() for part in others)

    return name_of


def written(default: V) -> V:
    """Returns a default that JSON contains, for classes that omit other defaults."""
    return msgspec.field(default_factory=lambda: default)


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


T = TypeVar("T")

_SHORT_TIME = "RFC3339"
"""Part of the error of msgspec for a text that is not a complete time."""
_DATE = "got `date`"
"""Part of the error of msgspec for a date where a time belongs."""
_SURROGATE = "A text has half of a surrogate pair, which is not valid Unicode."
_PLACE = re.compile(r" - at `(?P<place>[^`]*)`$")
_TYPES = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "datetime": "a time like 2026-01-31T12:00:00Z",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_KEPT = (datetime, date, time, timedelta, bytes, bytearray, Decimal, UUID)
"""Types that msgspec would write as text: a caller who passes one where a text belongs made a mistake."""
_LONGEST_NAME = 40
_SHOWN = re.compile(rf"[A-Za-z_]{{1,{_LONGEST_NAME}}}")


class NotJson(Invalid):
    """The text is not JSON."""


def decode(kind: type[T], data: bytes) -> T:
    """Reads JSON. Raises NotJson, and Invalid for a value of another shape."""
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        if _SHORT_TIME in str(error):
            return convert(kind, msgspec.json.decode(data))
        raise explained(error, kind) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        with suppress(ValueError, RecursionError):
            json.loads(data, parse_constant=_refuse_constant)
            raise Invalid(_SURROGATE) from None
        raise NotJson("The body is not valid JSON.") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def convert(kind: type[T], data: Any) -> T:
    """Reads plain values. Times may be any ISO 8601 time with a zone, and dates where the field takes them. Raises
    Invalid."""
    while True:
        try:
            return msgspec.convert(data, kind)
        except msgspec.ValidationError as error:
            found, full = _PLACE.search(str(error)), data
            if found is not None and (_SHORT_TIME in str(error) or _DATE in str(error)):
                days = _takes_days(kind, _field_at(found["place"]))
                full = _with_full_times(data, re.findall(r"\w+|\[", found["place"]), days)
            if full == data:
                raise explained(error, kind) from None
            data = full


def _with_full_times(data: Any, path: Sequence[str], days: bool) -> Any:
    """Returns a copy of plain values with RFC 3339 times at a path; ``[`` and a number in it stand for all entries.
    ``days``: True if dates stand for the start of the day in UTC."""
    if isinstance(data, list) and path[:1] == ["["]:
        return [_with_full_times(one, path[2:], days) for one in cast("list[Any]", data)]
    if isinstance(data, Mapping) and path:
        values = cast("Mapping[str, Any]", data)
        return {name: _with_full_times(one, path[1:], days) if name == path[0] else one for name, one in values.items()}
    if path:
        return cast(Any, data)
    with suppress(ValueError):
        if days and isinstance(data, date | str):
            return start_of(data if isinstance(data, date) else date.fromisoformat(data))
    with suppress(ValueError):
        if isinstance(data, str):
            return datetime.fromisoformat(data).isoformat()
    return cast(Any, data)


def start_of(day: date) -> datetime:
    """Returns the start of a day in UTC; a time as it is."""
    return day if isinstance(day, datetime) else datetime.combine(day, time(), UTC)


def _takes_days(kind: type[Any], place: str) -> bool:
    return any(
        isinstance(one, Meta) and _TAKES_DAYS in (one.extra or {})
        for part in _types_at(kind, place)
        for one in get_args(part)
    )


def _field_at(place: str) -> str:
    """Returns the path of a field from a place as msgspec writes it."""
    return place.removeprefix("$").removeprefix(".")


def from_text(kind: type[T], given: Mapping[str, Any]) -> T:
    """Reads the arguments of a URL, where numbers and truth values are text, and lists are lists of text. Raises
    Invalid."""
    values = dict(given)
    for name, plain in _plain_fields(kind).items():
        if isinstance(given.get(name), str):
            with suppress(msgspec.ValidationError):
                values[name] = msgspec.convert(given[name], plain, strict=False)
    return convert(kind, values)


@cache
def _plain_fields(kind: type[Any]) -> Mapping[str, type[Any]]:
    """The fields that hold a truth value or a number."""
    found: dict[str, type[Any]] = {}
    for field in _fields(kind):
        plain = next((one for one in (bool, int, float) if one in (field.type, *_parts(field.type))), None)
        if plain is not None:
            found[field.encode_name] = plain
    return found


@cache
def list_fields(kind: type[Any]) -> frozenset[str]:
    """Returns the JSON names of the fields that hold a list."""
    return frozenset(
        field.encode_name
        for field in _fields(kind)
        if any(get_origin(part) in (list, tuple) for part in (field.type, *get_args(field.type)))
    )


def _parts(kind: Any) -> set[Any]:
    """The types inside of a union or an annotation."""
    return {inner for part in get_args(kind) for inner in (part, *_parts(part)) if isinstance(inner, type)}


def validated(request: T) -> T:
    """Returns a request that a caller of the Python API made, after the checks that it would pass on its way to a
    service. Raises Invalid."""
    try:
        msgspec.json.encode(request)
        values = msgspec.to_builtins(request, builtin_types=_KEPT)
    except UnicodeEncodeError:
        raise Invalid(_SURROGATE) from None
    except (TypeError, OverflowError, ValueError) as error:
        raise Invalid(f"A value cannot be written as JSON: {error}.") from None
    return convert(type(request), values)


def explained(error: msgspec.ValidationError, kind: type[Any]) -> Invalid:
    """Returns an error that names the field at fault and the values that it takes."""
    text = str(error)
    found = _PLACE.search(text)
    place = "" if found is None else _field_at(found["place"])
    text = _PLACE.sub("", text)
    if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", text, re.DOTALL):
        return _unknown_field(unknown[1], place, kind)
    if missing := re.fullmatch(r"Object missing required field `(\w+)`", text):
        field = f"{place}.{missing[1]}" if place else missing[1]
        return Invalid(f"{field} is required.", field=field)
    field = place or "body"
    said = _choice(kind, place) or _in_words(text)
    if _takes_days(kind, place):
        said = said.replace(_TYPES["datetime"], f"a date like 2026-01-31 or {_TYPES['datetime']}")
    return Invalid(f"{field} {said}.", field=field)


def _unknown_field(name: str, place: str, kind: type[Any]) -> Invalid:
    """Returns the error for a field at ``place`` that the request class does not have."""
    shown = f" {name!r}" if is_shown(name) else ""
    known = [one.encode_name for part in _types_at(kind, place) for one in _fields(part)]
    near = difflib.get_close_matches(name[:_LONGEST_NAME], known, 1)
    choice = f"Did you mean {near[0]!r}?" if near else f"Known are: {', '.join(known)}." if known else "None is known."
    field = ".".join(part for part in (place, shown and name) if part)
    return Invalid(f"Unknown field{shown}. {choice}", field=field or "body")


def is_shown(name: str) -> bool:
    """Returns True if an error may repeat a name that a caller gave; others may be a secret in the wrong place."""
    return _SHOWN.fullmatch(name) is not None


def _choice(kind: type[Any], place: str) -> str | None:
    """What a field takes, where it is one of few values or a number within bounds; None for other fields."""
    for part in _types_at(kind, place):
        if isinstance(part, type) and issubclass(part, Enum):
            return f"must be one of {', '.join(str(one.value) for one in part)}"
        if get_origin(part) is Literal:
            return f"must be one of {', '.join(map(str, get_args(part)))}"
        bounds = next((one for one in get_args(part) if isinstance(one, msgspec.Meta)), None)
        if bounds is not None and bounds.ge is not None and bounds.le is not None:
            return f"must be {bounds.ge} to {bounds.le}"
    return None


def _types_at(kind: Any, place: str) -> list[Any]:
    """Returns the types that a place like ``memories[0].scope`` takes: every branch of a union, and what an annotation
    is about."""
    found = _branches(kind)
    for step in re.findall(r"\[[^]]*\]|[^.\[]+", place):
        if step.startswith("["):
            inner = [one for part in found if get_origin(part) for one in get_args(part) if one is not Ellipsis]
        else:
            inner = [one.type for part in found for one in _fields(part) if one.encode_name == step]
        found = [branch for one in inner for branch in _branches(one)]
    return found


def _branches(kind: Any) -> list[Any]:
    if get_origin(kind) in (Union, UnionType):
        return [branch for part in get_args(kind) for branch in _branches(part)]
    if get_origin(kind) is Annotated:
        return [kind, *_branches(get_args(kind)[0])]
    return [kind]


def _fields(kind: Any) -> tuple[structs.FieldInfo, ...]:
    return structs.fields(kind) if isinstance(kind, type) and issubclass(kind, msgspec.Struct) else ()


def _in_words(text: str) -> str:
    """Returns the rule that a value breaks, from an error of msgspec."""
    if _SHORT_TIME in text:
        return f"must be {_TYPES['datetime']}"
    if "timezone" in text:
        return "needs a time zone, like 2026-01-31T12:00:00Z"
    if length := re.fullmatch(r"Expected `(\w+)` of length (>=|<=) (\d+)", text):
        if length[2] == ">=" and length[3] == "1":
            return "must not be empty"
        unit = "entries" if length[1] == "array" else "characters"
        return f"must have at {'least' if length[2] == '>=' else 'most'} {length[3]} {unit}"
    if size := re.fullmatch(r"Expected `\w+` (>=|<=) (\S+)", text):
        return f"must be at {'least' if size[1] == '>=' else 'most'} {size[2]}"
    if types := re.fullmatch(r"Expected `([^`]+)`, got `([^`]+)`", text):
        wanted = " or ".join(_TYPES.get(one, one) for one in types[1].split(" | "))
        return f"must be {wanted}, not {_TYPES.get(types[2], types[2])}"
    return f"is not valid ({text})" if "'" not in text else "is not valid"
