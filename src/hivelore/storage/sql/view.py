"""Views of a SQL store: everything that SQLite and PostgreSQL read alike."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence

from hivelore.indexing.model import Change, ChangeCursor
from hivelore.memories.whole import Counts
from hivelore.storage.sql.changes import BATCH, PREIMAGE, ChangeJournalReader
from hivelore.storage.sql.events import COOLDOWN, EVENT, EventReader
from hivelore.storage.sql.feedback import EVIDENCE, RECALL, USEFULNESS, FeedbackReader
from hivelore.storage.sql.folders import FILE, FileReader
from hivelore.storage.sql.identity import AGENT, API_KEY, AUDIT, IdentityReader
from hivelore.storage.sql.maintenance import JOB, JobReader
from hivelore.storage.sql.memories import CHUNK, MEMORY, MEMORY_COLUMNS, PASSAGE, VERSION
from hivelore.storage.sql.observations import OPERATIONAL, ObservationReader
from hivelore.storage.sql.review import PROPOSAL, ReviewReader
from hivelore.storage.sql.sessions import HANDOVER, SESSION, SessionReader
from hivelore.storage.sql.statements import Dialect, load_dialect

_TABLES = (
    *(AGENT, API_KEY, AUDIT, BATCH, CHUNK, COOLDOWN, EVENT, EVIDENCE, FILE, HANDOVER, JOB, MEMORY, OPERATIONAL),
    *(PASSAGE, PREIMAGE, PROPOSAL, RECALL, SESSION, USEFULNESS, VERSION),
)


def load_statements(dialect: Dialect) -> Mapping[str, str]:
    """Returns the statements of a store in a dialect."""
    places = {
        "memory_columns": MEMORY_COLUMNS,
        "operational_columns": OPERATIONAL.listed("o"),
        "usefulness_columns": USEFULNESS.listed("u"),
    }
    return load_dialect(dialect, {table.name: table for table in _TABLES}, places)


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
