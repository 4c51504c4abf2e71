"""SQL statements of a store: tables, named statements, filters, and the readers and writers that run them.

Every table is declared once, in the module of its capability. A shipped code is never reused for another value.

Statements stand in ``.sql`` files, each under a line ``-- name: what_it_does``. In them, ``{columns:agent}`` lists the
columns of a table as its declaration reads them (with an alias: ``{columns:agent a}``), ``{insert:agent}`` inserts a
row, ``{import:agent}`` inserts one with its key, and ``{update:agent}`` replaces the row that has the same key. Other
placeholders are filled by the dialect, or by the code that runs the statement.

A filter is written as conditions on a memory, which always has the alias ``m``. Only the conditions that are set are
written: a ``(:x IS NULL OR ...)`` defeats every query planner.
"""

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from importlib.resources import files
from operator import attrgetter
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar, cast, runtime_checkable

import numpy as np
import orjson
from numpy.typing import NDArray

from hivelore.core.agents import Interface, Role
from hivelore.core.values import replace
from hivelore.indexing.model import (
    ChangeKind,
    Deferred,
    ModelKey,
    Vector,
)
from hivelore.memories.model import Action, Json, Scope, Source, Trust
from hivelore.memories.stored import DocumentKey
from hivelore.observations.model import GENERAL
from hivelore.search.model import Filter, Visibility
from hivelore.storage.change_recorder import ChangeRecorder

Param = None | int | float | str | bytes | list[int | str]
Params = Mapping[str, Param]

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
SOURCE = {
    Source.MANUAL: 1,
    Source.FILE_INDEX: 2,
    Source.SESSION_SUMMARY: 3,
    Source.TASK_COMPLETION: 4,
    Source.LESSON: 5,
}
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


def _read_script_agent(agent: str) -> str | None:
    return agent or None


def _write_script_agent(script: Any) -> str:
    return script.agent or ""


SCRIPT_AGENT = Codec(_read_script_agent, _write_script_agent, is_whole=True)
"""The agent of a setup script; empty for the global one."""


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
    """A table that stores one value in each row. Statements name its columns by placeholders."""

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


SHARED = "hivelore.storage.sql"
_NAME = re.compile(r"^--\s*name:\s*(\w+)\s*$", re.MULTILINE)
_PLACE = re.compile(r"\{(columns|insert|import|update|same|any):([\w.]+)(?: (\w+))?\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The parts of shared statements that differ between engines."""

    package: str
    """Its own ``queries.sql`` overrides shared statements."""
    any: str
    """Compares with the members of a set, ``{name}``."""
    same: str
    """Compares the text ``{column}``, which may be too long for an index, with ``{name}``."""
    given: str
    """Allows an insert with a key that is otherwise assigned."""
    join: str
    """Joins the confidence or the usefulness counts of a memory: ``{table}`` and ``{name}``."""
    places: Mapping[str, str]
    """Other placeholders."""


def parse(text: str) -> dict[str, str]:
    """Returns the statements of one file by name. Raises ValueError for a duplicate name."""
    pieces = _NAME.split(text)
    statements: dict[str, str] = {}
    for name, body in zip(pieces[1::2], pieces[2::2], strict=True):
        if name in statements:
            raise ValueError(f"the statement {name!r} is defined twice")
        statements[name] = body.strip().rstrip(";")
    return statements


def load(*sources: tuple[str, str]) -> Mapping[str, str]:
    """Returns the statements of several files, given as (package, file name). A later statement replaces an earlier one
    of the same name: a dialect overrides a shared statement."""
    statements: dict[str, str] = {}
    for package, file in sources:
        statements |= parse(files(package).joinpath(file).read_text(encoding="utf-8"))
    return statements


def load_dialect(dialect: Dialect, tables: Mapping[str, Table[Any]], places: Mapping[str, str]) -> Mapping[str, str]:
    """Returns the statements of a store in a dialect. ``places`` are placeholders that all dialects share."""
    shared = sorted(file.name for file in files(SHARED).iterdir() if file.name.endswith(".sql"))
    statements = load(*((SHARED, file) for file in shared), (dialect.package, "queries.sql"))
    filled_in = {
        **places,
        **dialect.places,
        "operational": dialect.join.format(table="operational", name="o"),
        "usefulness": dialect.join.format(table="usefulness", name="u"),
        "decided_with": statements["decided_with"],
    }

    def fill(place: re.Match[str]) -> str:
        kind, name, argument = place[1], place[2], place[3] or ""
        match kind:
            case "any":
                return dialect.any.format(name=name)
            case "same":
                return dialect.same.format(column=name, name=argument)
            case "columns":
                return tables[name].listed(argument)
            case "update":
                return tables[name].update()
            case _:
                return tables[name].insert(given=dialect.given if kind == "import" else None)

    def filled(statement: str) -> str:
        for place, sql in filled_in.items():
            statement = statement.replace(f"{{{place}}}", sql)
        return _PLACE.sub(fill, statement)

    return {name: filled(statement) for name, statement in statements.items()}


_PRIVATE, _SHARED = SCOPE[Scope.AGENT], SCOPE[Scope.SWARM]


def _disjoint_visibility(visibility: Visibility) -> list[tuple[str, dict[str, Param]]]:
    """Returns what a viewer may see as disjoint conditions: shared memories and private ones."""
    conditions: list[tuple[str, dict[str, Param]]] = []
    if visibility.swarm:
        conditions.append((f" AND m.scope = {_SHARED}", {}))
    if visibility.others:
        conditions.append((f" AND m.scope = {_PRIVATE}", {}))
    elif visibility.own is not None:
        conditions.append((f" AND m.owner = :own AND m.scope = {_PRIVATE}", {"own": visibility.own}))
    return conditions


def _visible(visibility: Visibility) -> tuple[str, dict[str, Param]]:
    """Returns what a viewer may see as one condition."""
    if visibility.others and visibility.swarm:
        return "", {}
    if visibility.swarm and visibility.own is not None:
        return f" AND (m.scope = {_SHARED} OR m.owner = :own)", {"own": visibility.own}
    conditions = _disjoint_visibility(visibility)
    return conditions[0] if conditions else (" AND 1 = 0", {})


_RARE_TAG = "m.key IN (SELECT t.document FROM memory_tag t WHERE t.namespace = :namespace AND t.tag = :tag)"
"""Starts from the tag."""
_COMMON_TAG = (
    "EXISTS (SELECT 1 FROM memory_tag t WHERE t.namespace = m.namespace AND t.tag = :tag AND t.document = m.key)"
)
"""Checks the tags of each memory."""

_CONDITIONS = {
    "owner": "m.owner = :owner",
    "source": "m.source = :source",
    "project": "(m.project = :project OR m.project IS NULL)",
    "session": "m.session = :session",
    "tag": _RARE_TAG,
    "subject": "m.subject = :subject",
    "held_at": "COALESCE(m.valid_from, m.created_at) <= :held_at"
    " AND (m.valid_until IS NULL OR m.valid_until > :held_at)",
    "live_at": "(m.expires_at IS NULL OR m.expires_at > :live_at)",
    "expired_at": "m.expires_at <= :expired_at",
    "created_before": "m.created_at < :created_before",
    "created_after": "m.created_at >= :created_after",
}
"""The conditions by field of the filter, which is also the name of the parameter."""
MAX_SPELLING_PARTS = 8
"""Spellings of a category or a service that are listed one by one; more are sorted together."""
_SUPERSEDED = {None: "", True: " AND m.valid_until IS NOT NULL", False: " AND m.valid_until IS NULL"}

AMONG = "IN ({})"
"""SQL that selects keys among the results of a subquery."""
_OPERATIONAL = "SELECT o.document FROM operational o WHERE o.namespace = :namespace"
_NOT_OPERATIONAL = "NOT EXISTS (SELECT 1 FROM operational o WHERE o.namespace = m.namespace AND o.document = m.key)"


def one_of(column: str, values: Iterable[str]) -> tuple[str, dict[str, Param]]:
    """Returns the condition that a column has one of these values, at least one. For a single one, engines plan it like
    ``=``. The parameters are named after the column."""
    params: dict[str, Param] = {
        f"{column.rpartition('.')[2]}_{number}": one for number, one in enumerate(sorted(values))
    }
    return f"{column} IN ({', '.join(f':{name}' for name in params)})", params


def about_services(column: str, services: Collection[str]) -> tuple[str, dict[str, Param]]:
    """Returns the condition that a column has one of these services; NULL stands for ``GENERAL``."""
    named = [one for one in services if one != GENERAL]
    if len(named) == len(services):
        return one_of(column, named)
    if not named:
        return f"{column} IS NULL", {}
    condition, params = one_of(column, named)
    return f"({column} IS NULL OR {condition})", params


def _operational_condition(where: Filter, among: str) -> tuple[str, dict[str, Param]]:
    """Returns the condition on operational memories."""
    plain = f" AND {_NOT_OPERATIONAL}" if where.operational is False else ""
    if where.services is None:
        return (f" AND m.key {among.format(_OPERATIONAL)}" if where.operational else plain), {}
    about, params = about_services("o.service", where.services)
    return f" AND m.key {among.format(f'{_OPERATIONAL} AND {about}')}{plain}", params


def _param(value: str | datetime) -> Param:
    if isinstance(value, datetime):
        return to_micros(value)
    return SOURCE[value] if isinstance(value, Source) else value


def _attributes(where: Filter, among: str = AMONG) -> tuple[str, dict[str, Param]]:
    """Returns the conditions of a filter except visibility: `` AND ...`` for each part that is set."""
    sql: list[str] = []
    params: dict[str, Param] = {}
    for name, condition in _CONDITIONS.items():
        value = getattr(where, name)
        if value is not None:
            sql.append(f" AND {condition}")
            params[name] = _param(value)
    if where.categories is not None:
        categories, named = one_of("m.category", where.categories)
        sql.append(f" AND {categories}")
        params |= named
    operational, named = _operational_condition(where, among)
    return "".join(sql) + _SUPERSEDED[where.superseded] + operational, params | named


def condition(where: Filter) -> tuple[str, dict[str, Param]]:
    """Returns the whole filter, to be appended to ``m.namespace = :namespace``."""
    seen, own = _visible(where.visibility)
    rest, params = _attributes(where)
    return seen + rest, own | params


def parts(where: Filter, *, common_tag: bool = False, among: str = AMONG) -> list[tuple[str, dict[str, Param]]]:
    """Returns a filter as disjoint conditions, each of which an index can scan in order; for lists and counts.

    ``common_tag``: many memories have the tag, so that skipping those without it is faster than sorting those with it.
    """
    if where.categories is not None and 1 < len(where.categories) <= MAX_SPELLING_PARTS:
        each = (replace(where, categories=frozenset({one})) for one in sorted(where.categories))
        return [part for one in each for part in parts(one, common_tag=common_tag, among=among)]
    rest, params = _attributes(replace(where, project=None), among)
    if common_tag:
        rest = rest.replace(_RARE_TAG, _COMMON_TAG)
    projects: list[tuple[str, dict[str, Param]]] = [("", {})]
    if where.project is not None:
        projects = [(" AND m.project = :project", {"project": where.project}), (" AND m.project IS NULL", {})]
    return [
        (visible + project + rest, own | named | params)
        for visible, own in _disjoint_visibility(where.visibility)
        for project, named in projects
    ]


def begins_with(column: str, prefix: str) -> tuple[str, dict[str, Param]]:
    """Returns a range of ids as a condition that indexes support. The prefix is not empty."""
    return f" AND {column} >= :first AND {column} < :end", {
        "first": prefix,
        "end": prefix[:-1] + chr(ord(prefix[-1]) + 1),
    }


def after_position(columns: str, after: tuple[datetime, str] | None) -> tuple[str, dict[str, Param]]:
    """Returns the condition on what lies behind a position, newest first. ``columns``: its instant and its id."""
    if after is None:
        return "", {}
    return f" AND ({columns}) < (:after_at, :after_id)", {"after_at": to_micros(after[0]), "after_id": after[1]}


@dataclass(frozen=True, slots=True)
class Facts:
    settings: Mapping[str, str]
    models: Mapping[str, ModelKey]
    """By fingerprint."""


class SqlReader(ABC):
    """Reads through a connection that is inside a transaction. A dialect adds its statements and runs them."""

    SQL: ClassVar[Mapping[str, str]]
    """The named statements of this dialect."""
    dialect: ClassVar[str]
    """The name of the dialect. Indexes with their own SQL have one file for each."""
    TABLES: ClassVar[tuple[Table[Any], ...]] = ()
    """The tables of one capability."""
    among: ClassVar[str] = AMONG
    """SQL that selects a key among the results of a subquery."""

    _facts: Facts | None = None

    @property
    @abstractmethod
    def namespace(self) -> int: ...

    @abstractmethod
    def rows(self, sql: str, params: Params | None = None) -> list[Any]:
        """Runs one statement and fetches all its rows. ``:namespace`` is always bound."""

    def deferred(self, sql: str, params: Params | None = None) -> Deferred[list[Any]]:
        """Like ``rows``, but a server may answer as late as the call of the result."""
        found = self.rows(sql, params)
        return lambda: found

    @abstractmethod
    def stream(self, sql: str, params: Params | None = None) -> Iterator[Any]:
        """Runs one statement and yields its rows, for results that may not fit into memory."""

    @abstractmethod
    def array(self, keys: Collection[int] | Collection[str]) -> Param:
        """Encodes a set as the parameter of a statement."""

    @abstractmethod
    def vector(self, vector: Vector) -> Param:
        """Encodes a vector as the parameter of a statement; ``floats`` decodes it."""

    @abstractmethod
    def floats(self, vectors: Sequence[bytes]) -> NDArray[np.float32]:
        """Decodes vectors of one dimension into an array (n, dimension)."""

    @contextmanager
    def unrestricted(self) -> Generator[None]:
        """Suspends row-level security, for indexes that hold the data of all viewers. Never return these rows."""
        yield

    def row(self, statement: str, /, **params: Param) -> Any:
        """Runs a named statement and returns its first row, or None."""
        found = self.rows(self.SQL[statement], params)
        return found[0] if found else None

    def column(self, statement: str) -> list[Any]:
        """Runs a named statement and returns the first column, also of rows that row-level security hides."""
        with self.unrestricted():
            return [value for value, *_ in self.rows(self.SQL[statement])]

    def read_one(self, columns: Columns[V], statement: str, /, **params: Param) -> V | None:
        """Runs a named statement and returns the value of its first row, or None."""
        found = self.rows(self.SQL[statement], params)
        return columns.read(found[0]) if found else None

    def read_all(self, columns: Columns[V], statement: str, /, **params: Param) -> list[V]:
        """Runs a named statement and returns the values of its rows."""
        return columns.read_all(self.rows(self.SQL[statement], params))

    def setting(self, name: str) -> str | None:
        return self.facts().settings.get(name)

    def facts(self) -> Facts:
        """Returns all settings and models. They are read once per view, since most calls need several of them."""
        if self._facts is None:
            self._facts = self.read_facts()
        return self._facts

    def read_facts(self) -> Facts:
        found = self.rows(self.SQL["facts"])
        return Facts(
            settings={name: value for name, value, model in found if model is None},
            models={name: ModelKey(model) for name, _, model in found if model is not None},
        )


class SqlWriter(ChangeRecorder, SqlReader):
    """Writes through a connection. The store begins and ends the transaction."""

    @abstractmethod
    def count(self, name: str, params: Params) -> int:
        """Runs a named statement that returns no rows; returns how many rows it changed."""

    @abstractmethod
    def run_many(self, sql: str, each: Sequence[Params]) -> None:
        """Runs one statement that returns no rows, once for each set of parameters."""

    @abstractmethod
    def claim(self, what: bytes) -> None:
        """Prevents concurrent transactions from deciding about the same thing (``memories.ports.MemoryWrites``)."""

    @abstractmethod
    def savepoint(self) -> AbstractContextManager[object]:
        """An error inside rolls back only its statements. A caller that handles it can continue the transaction."""

    @abstractmethod
    def number_from(self, table: str, last: int) -> None:
        """Makes the engine assign keys greater than ``last`` to new rows of a table."""

    def run(self, name: str, params: Params) -> Any:
        """Runs a named statement; returns the first value of its first row, or None."""
        found = self.rows(self.SQL[name], params)
        return found[0][0] if found else None

    def run_each(self, name: str, each: Sequence[Params]) -> None:
        """Runs a named statement that returns no rows, once for each set of parameters."""
        self.run_many(self.SQL[name], each)

    def import_rows(self, table: str, each: Sequence[dict[str, Param]]) -> None:
        """Inserts rows with their keys into a table."""
        self.run_each(f"{table}_import", each)
        if each:
            self.number_from(table, max(cast(int, one["key"]) for one in each))

    def facts(self) -> Facts:
        """Reads the facts again each time: this transaction may have changed them."""
        return self.read_facts()

    def set_setting(self, name: str, value: str) -> None:
        self.run("setting_put", {"name": name, "value": value})

    def acquire_lease(self, name: str, holder: str, now: datetime, lease: timedelta) -> bool:
        params = {"name": name, "holder": holder, "now": to_micros(now), "lease": lease // MICROSECOND}
        return self.run("lease", params) is not None

    def log_change(self, kind: ChangeKind, document: DocumentKey) -> None:
        """Appends to the change log, which indexes follow."""
        self.run("change_insert", {"kind": kind, "document": document})

    def log_changes(self, kind: ChangeKind, documents: Collection[DocumentKey]) -> None:
        self.run_each("change_insert", [{"kind": kind, "document": document} for document in documents])


class Autocommit(Protocol):
    @property
    def namespace(self) -> int: ...

    def rows(self, sql: str, params: Params | None = None) -> list[Any]:
        """Like ``SqlView.rows``."""
        ...

    def run(self, sql: str, stopping: Callable[[], bool]) -> bool:
        """Runs a statement that may take hours. Returns False if ``stopping`` came first: then the server continues
        alone, and this connection can no longer be used."""
        ...


@runtime_checkable
class HasAutocommit(Protocol):
    """A store that lends connections in autocommit mode."""

    def autocommit(self) -> AbstractContextManager[Autocommit]: ...
