"""Requests and answers as JSON, with errors that name the field at fault."""

import difflib
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Literal, TypeVar, get_args, get_origin
from uuid import UUID

import msgspec
from msgspec import structs

from hivelore.errors import Invalid

T = TypeVar("T")

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
_MOST_SHOWN = 40
"""Characters of a wrong value that an error repeats."""


def decode(kind: type[T], data: bytes) -> T:
    """Reads JSON. Raises Invalid for text that is no JSON (field ``body``) and for a value of another shape."""
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        raise explained(error, kind) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Invalid("The body is not valid JSON.", field="body") from None


def convert(kind: type[T], data: Any) -> T:
    """Reads plain values. Raises Invalid."""
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise explained(error, kind) from None


def from_text(kind: type[T], given: Mapping[str, str]) -> T:
    """Reads the arguments of a URL, where numbers and truth values are text. Raises Invalid."""
    values: dict[str, Any] = dict(given)
    for field in _fields(kind):
        text = given.get(field.encode_name)
        plain = next((one for one in (bool, int, float) if one in (field.type, *_parts(field.type))), None)
        if text is not None and plain is not None:
            with suppress(msgspec.ValidationError):
                values[field.encode_name] = msgspec.convert(text, plain, strict=False)
    return convert(kind, values)


def _parts(kind: Any) -> set[Any]:
    """The types inside of a union or an annotation."""
    return {inner for part in get_args(kind) for inner in (part, *_parts(part)) if isinstance(inner, type)}


def checked(request: T) -> T:
    """Returns a request that a caller of the Python API made, after the checks that it would pass on its way to a
    service. Raises Invalid."""
    try:
        msgspec.json.encode(request)
        values = msgspec.to_builtins(request, builtin_types=_KEPT)
    except UnicodeEncodeError:
        raise Invalid("A text has half of a surrogate pair, which is not valid Unicode.") from None
    except (TypeError, OverflowError, ValueError) as error:
        raise Invalid(f"A value cannot be written as JSON: {error}.") from None
    return convert(type(request), values)


def explained(error: msgspec.ValidationError, kind: type[Any]) -> Invalid:
    """Returns the error for people: which field, what is wrong with it, and what it takes."""
    text = str(error)
    found = _PLACE.search(text)
    place = "" if found is None else found["place"].removeprefix("$").removeprefix(".")
    text = _PLACE.sub("", text)
    if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", text, re.DOTALL):
        return _unknown_field(unknown[1], place, kind)
    if missing := re.fullmatch(r"Object missing required field `(\w+)`", text):
        field = f"{place}.{missing[1]}" if place else missing[1]
        return Invalid(f"{field} is required.", field=field)
    field = place or "body"
    return Invalid(f"{field} {_choice(kind, place) or _in_words(text)}.", field=field)


def _unknown_field(name: str, place: str, kind: type[Any]) -> Invalid:
    shown = name[:_MOST_SHOWN]
    if place or not _fields(kind):
        return Invalid(f"Unknown field {shown!r}.", field=f"{place}.{shown}" if place else shown)
    known = [one.encode_name for one in _fields(kind)]
    near = difflib.get_close_matches(name, known, 1)
    choice = f"Did you mean {near[0]!r}?" if near else f"Known are: {', '.join(known)}." if known else "None is known."
    return Invalid(f"Unknown field {shown!r}. {choice}", field=shown)


def _choice(kind: type[Any], place: str) -> str | None:
    """What a field takes, where it is one of few values or a number within bounds; None for other fields."""
    declared = next((one.type for one in _fields(kind) if one.encode_name == place), None)
    if declared is None:
        return None
    for part in (declared, *get_args(declared)):
        if isinstance(part, type) and issubclass(part, Enum):
            return f"must be one of {', '.join(str(one.value) for one in part)}"
        if get_origin(part) is Literal:
            return f"must be one of {', '.join(map(str, get_args(part)))}"
        bounds = next((one for one in get_args(part) if isinstance(one, msgspec.Meta)), None)
        if bounds is not None and bounds.ge is not None and bounds.le is not None:
            return f"must be {bounds.ge} to {bounds.le}"
    return None


def _fields(kind: type[Any]) -> tuple[structs.FieldInfo, ...]:
    return structs.fields(kind) if issubclass(kind, msgspec.Struct) else ()


def _in_words(text: str) -> str:
    """What a field must be, from the words of msgspec."""
    if "RFC3339" in text:
        return f"must be {_TYPES['datetime']}"
    if "timezone" in text:
        return "needs a time zone, like 2026-01-31T12:00:00Z"
    if length := re.fullmatch(r"Expected `(\w+)` of length (>=|<=) (\d+)", text):
        unit = "entries" if length[1] == "array" else "characters"
        return f"must have at {'least' if length[2] == '>=' else 'most'} {length[3]} {unit}"
    if size := re.fullmatch(r"Expected `\w+` (>=|<=) (\S+)", text):
        return f"must be at {'least' if size[1] == '>=' else 'most'} {size[2]}"
    if types := re.fullmatch(r"Expected `([^`]+)`, got `([^`]+)`", text):
        wanted = " or ".join(_TYPES.get(one, one) for one in types[1].split(" | "))
        return f"must be {wanted}, not {_TYPES.get(types[2], types[2])}"
    return f"is not valid ({text})"
