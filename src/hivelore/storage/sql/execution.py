"""Running named statements: what readers and writers of every capability build on, and what a dialect implements."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from hivelore.indexing.model import (
    ChangeKind,
    Deferred,
    ModelKey,
    Vector,
)
from hivelore.memories.stored import DocumentKey
from hivelore.storage.change_recorder import ChangeRecorder
from hivelore.storage.sql.columns import MICROSECOND, Columns, Table, to_micros
from hivelore.storage.sql.filters import AMONG
from hivelore.storage.sql.statements import Param, Params

V = TypeVar("V")


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
