"""Views of a SQL store: everything that SQLite and PostgreSQL read alike."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hivelore.indexing.model import Change, ChangeCursor
from hivelore.memories.whole import Counts
from hivelore.storage.sql.changes import ChangeJournalReader
from hivelore.storage.sql.columns import Table
from hivelore.storage.sql.events import EventReader
from hivelore.storage.sql.feedback import USEFULNESS, FeedbackReader
from hivelore.storage.sql.folders import FileReader
from hivelore.storage.sql.identity import IdentityReader
from hivelore.storage.sql.maintenance import JobReader
from hivelore.storage.sql.memories import MEMORY_COLUMNS
from hivelore.storage.sql.observations import OPERATIONAL, ObservationReader
from hivelore.storage.sql.review import ReviewReader
from hivelore.storage.sql.sessions import SessionReader
from hivelore.storage.sql.statements import Dialect, TableColumns, load_dialect


class SqlView(
    ChangeJournalReader,
    EventReader,
    FeedbackReader,
    FileReader,
    IdentityReader,
    JobReader,
    ObservationReader,
    ReviewReader,
    SessionReader,
):
    """Implements ``storage.ports.View`` except for the change log."""

    @abstractmethod
    def change_cursor(self) -> ChangeCursor: ...

    @abstractmethod
    def changes(self, since: ChangeCursor) -> Iterator[tuple[ChangeCursor, Sequence[Change]]]: ...

    def counts(self) -> Counts:
        """Columns memories, past versions, characters of each, then the other counts by name."""
        memories, past, characters, of_past, *others = map(int, self.row("counts"))
        names = (name for name in Counts.__slots__ if name not in ("memories", "versions", "characters"))
        return Counts(
            memories=memories,
            versions=memories + past,
            characters=characters + of_past,
            **dict(zip(names, others, strict=True)),
        )


def load_statements(dialect: Dialect) -> Mapping[str, str]:
    """Returns the statements of a store in a dialect."""
    tables: dict[str, TableColumns] = {table.name: table for each in SqlView.__mro__ for table in _tables(each)}
    places = {
        "memory_columns": MEMORY_COLUMNS,
        "operational_columns": OPERATIONAL.listed("o"),
        "usefulness_columns": USEFULNESS.listed("u"),
    }
    return load_dialect(dialect, tables, places)


def _tables(reader: type) -> tuple[Table[Any], ...]:
    return vars(reader).get("TABLES", ())
