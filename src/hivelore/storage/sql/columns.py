"""Columns of tables: conversion of rows to values and of values to parameters, and the SQL that lists the columns.

Every table is declared once, in the module of its capability. A shipped code is never reused for another value.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import Enum
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar

import orjson

from hivelore.core.agents import Interface, Role
from hivelore.memories.model import Action, Json, Scope, Source, Trust
from hivelore.storage.sql.statements import Param

V = TypeVar("V")
E = TypeVar("E", bound=Enum)

Row = Sequence[Any]
Convert = Callable[[Any], Any]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


class Codec(NamedTuple):
    """The way a column stores a field. NULL stands for None in every column."""

    read: Convert | None = None
    write: Convert | None = None
    column: str = ""
    """The name of the column, if it differs from the field."""
    is_whole: bool = False
    """True if the column is written from the whole value instead of one field."""

    def named(self, column: str) -> "Codec":
        return self._replace(column=column)


def to_micros(instant: datetime) -> int:
    return (instant - EPOCH) // MICROSECOND


def to_micros_or_none(instant: datetime | None) -> int | None:
    return None if instant is None else to_micros(instant)


def from_micros(micros: int) -> datetime:
    return EPOCH + timedelta(microseconds=micros)


def to_json(value: Sequence[str] | Mapping[str, Json]) -> str:
    return orjson.dumps(value).decode()


def _read_texts(text: str) -> tuple[str, ...]:
    return tuple(orjson.loads(text)) if text != "[]" else ()


def _read_object(text: str) -> Mapping[str, Json]:
    return orjson.loads(text) if text != "{}" else {}


def codes(of: Mapping[E, int]) -> Codec:
    """Returns the codec of an enum that is stored as numbers."""
    return Codec({code: value for value, code in of.items()}.__getitem__, of.__getitem__)


PLAIN = Codec()
INSTANT = Codec(from_micros, to_micros)
"""Microseconds since 1970."""
FLAG = Codec(bool, int)
TEXTS = Codec(_read_texts, to_json)
OBJECT = Codec(_read_object, to_json)

SCOPE = {Scope.AGENT: 1, Scope.SWARM: 2}
SOURCE = {Source.MANUAL: 1, Source.FILE_INDEX: 2, Source.SESSION_SUMMARY: 3, Source.TASK_COMPLETION: 4}
SCOPE_OF = {code: scope for scope, code in SCOPE.items()}
SOURCE_OF = {code: source for source, code in SOURCE.items()}
SCOPES = codes(SCOPE)
SOURCES = codes(SOURCE)
ROLES = codes({Role.WORKER: 1, Role.LEAD: 2, Role.OPERATOR: 3})
INTERFACES = codes(
    {
        Interface.PYTHON: 1,
        Interface.CLI: 2,
        Interface.REST: 3,
        Interface.MCP: 4,
        Interface.HOOK: 5,
        Interface.SERVICE: 6,
    }
).named("door")
TRUSTS = codes({Trust.OPERATOR: 1, Trust.AGENT: 2, Trust.TOOL_OUTPUT: 3, Trust.WEB: 4})
ACTION = {
    Action.CREATED: 1,
    Action.EDITED: 2,
    Action.PROMOTED: 3,
    Action.DEMOTED: 4,
    Action.FORGOTTEN: 5,
    Action.READ: 6,
    Action.PROPOSED: 7,
    Action.DECIDED: 8,
    Action.UNDONE: 9,
}
ACTIONS = codes(ACTION)


def plain(fields: str) -> dict[str, Codec]:
    """Returns columns that store these fields unchanged."""
    return dict.fromkeys(fields.split(), PLAIN)


class Columns(Generic[V]):
    """Columns that together store a value. Those of nested values follow its own."""

    def __init__(self, build: Callable[..., V], absent: object = None, /, **fields: "Codec | Columns[Any]") -> None:
        """``build`` takes the fields as keyword arguments. A nested value is None if its first column is ``absent``."""
        self._build = build
        self._absent = absent
        self._plain = {field: codec for field, codec in fields.items() if isinstance(codec, Codec)}
        self._readers = [(field, codec.read) for field, codec in self._plain.items() if codec.read is not None]
        self._writers = [
            (codec.column or field, None if codec.is_whole else attrgetter(field), codec.write)
            for field, codec in self._plain.items()
        ]
        self.names: list[str] = [name for name, _, _ in self._writers]
        self._nested: list[tuple[str, Columns[Any], int, int]] = []
        for field, columns in fields.items():
            if isinstance(columns, Columns):
                self._nested.append((field, columns, len(self.names), len(self.names) + len(columns.names)))
                self.names += columns.names

    def read(self, row: Row, **others: object) -> V:
        """Reads the columns in the order of ``names``; ``others`` are fields that other tables store."""
        return self._build(**self._fields(row), **others)

    def read_all(self, rows: Sequence[Row], **others: Sequence[object]) -> list[V]:
        """Reads several rows; ``others`` have a value for each row."""
        fields = [self._fields(row) for row in rows]
        for field, values in others.items():
            for each, value in zip(fields, values, strict=True):
                each[field] = value
        return [self._build(**each) for each in fields]

    def _fields(self, row: Row) -> dict[str, Any]:
        values = dict(zip(self._plain, row, strict=False))
        for field, convert in self._readers:
            if (one := values[field]) is not None:
                values[field] = convert(one)
        for field, columns, start, stop in self._nested:
            values[field] = None if row[start] == columns._absent else columns.read(row[start:stop])
        return values

    def params(self, value: V) -> dict[str, Param]:
        params: dict[str, Param] = {}
        for column, get, convert in self._writers:
            one: Any = value if get is None else get(value)
            params[column] = one if convert is None or one is None else convert(one)
        for field, columns, _, _ in self._nested:
            inner = getattr(value, field)
            params |= columns.none_params() if inner is None else columns.params(inner)
        return params

    def none_params(self) -> dict[str, Param]:
        """Returns the parameters of a missing value."""
        first, *others = self.names
        absent: Any = self._absent
        return {first: absent, **dict.fromkeys(others)}

    def listed(self, alias: str = "") -> str:
        """Returns the columns as SELECT lists them."""
        return ", ".join(f"{alias}.{name}" if alias else name for name in self.names)


class Table(Columns[V]):
    """A table that stores one value in each row. Statements name its columns by placeholders (``sql.statements``)."""

    def __init__(
        self,
        build: Callable[..., V],
        name: str,
        keys: str,
        written: str = "",
        /,
        **fields: Codec | Columns[Any],
    ) -> None:
        """``keys`` are the columns of the primary key except the namespace. ``written`` are columns that only
        statements need, such as digests that an index finds."""
        super().__init__(build, None, **fields)
        self.name = name
        self._keys = keys.split()
        self._own = list(dict.fromkeys([*self._keys, *self.names, *written.split()]))

    def insert(self, *, given: str | None = None) -> str:
        """Returns the columns and values of an insert; ``given``: including the key of the row, with this clause."""
        names = ["namespace", *([] if given is None else ["key"]), *self._own]
        return f"({', '.join(names)}) {given or ''} VALUES ({', '.join(f':{name}' for name in names)})"

    def update(self) -> str:
        """Returns the assignments of ON CONFLICT that replace a row."""
        keys = ", ".join(self._keys)
        replaced = ", ".join(f"{name} = excluded.{name}" for name in self._own if name not in self._keys)
        return f"ON CONFLICT (namespace, {keys}) DO UPDATE SET {replaced}"


def digest(*parts: str) -> bytes:
    """Returns 16 bytes for one or several texts, for indexes on texts that may be too long to be indexed."""
    joined = b"".join([len(part).to_bytes(8, "big") + part for part in map(str.encode, parts)])
    return hashlib.blake2b(joined, digest_size=16).digest()
