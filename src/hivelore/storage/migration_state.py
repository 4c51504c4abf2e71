"""Progress of a migration, as its target stores it, and the check that a target is suitable."""

import json
from dataclasses import asdict, dataclass

from hivelore.errors import Conflict, Invalid
from hivelore.indexing.model import ChangeCursor
from hivelore.memories.whole import Counts
from hivelore.storage.ports import View

MOVE = "move"
"""The setting of the target that holds the progress."""
INCARNATION = "incarnation"


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationState:
    """Progress of a migration. The target has the memories up to the key ``upto`` as of the cursor ``shown``."""

    origin: str
    """The incarnation of the source."""
    began_at: str
    shown: ChangeCursor | None = None
    upto: int = 0
    finished_at: str | None = None

    @property
    def text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, view: View) -> "MigrationState | None":
        """Reads the progress from a target; None if no migration to it ever began."""
        text = view.setting(MOVE)
        if not text:
            return None
        fields = json.loads(text)
        shown = fields.pop("shown")
        return cls(**fields, shown=None if shown is None else ChangeCursor(shown["upto"], tuple(shown["open"])))


def refuse_unfinished(view: View) -> None:
    """Raises Conflict for a store that is incomplete, because a migration to it is running or was interrupted."""
    state = MigrationState.of(view)
    if state is not None and state.finished_at is None:
        raise Conflict(
            f"A move to this database began at {state.began_at} and is not finished. "
            "Run the same 'hivelore move' again, or choose another database."
        )


def origin_of(view: View) -> str:
    """Returns the incarnation of a source, by which targets identify it. Raises Conflict if it is incomplete."""
    refuse_unfinished(view)
    return view.setting(INCARNATION) or ""


def fitting(view: View, origin: str) -> MigrationState | None:
    """Returns the progress of the migration from ``origin`` to this target; None if it can begin.

    Raises Conflict if the target is in use or belongs to a migration of another swarm, and Invalid if source and target
    are the same database."""
    if view.setting(INCARNATION) == origin:
        raise Invalid("Source and target are the same database.")
    state = MigrationState.of(view)
    if state is None:
        _refuse_full(view.counts())
    elif state.origin != origin:
        raise Conflict("Another swarm was moved to the target, or has begun to be. Choose an empty database.")
    return state


def _refuse_full(counts: Counts) -> None:
    has_logs = counts.audit or counts.recalls or counts.events or counts.cooldowns or counts.jobs
    if counts.memories or counts.agents or counts.keys or has_logs:
        raise Conflict(
            f"The target is in use: it has {counts.memories} memories, {counts.agents} agents and {counts.keys} keys. "
            "Choose an empty database or a new file."
        )


def known(view: View) -> MigrationState:
    state = MigrationState.of(view)
    if state is None:
        raise Conflict("The target was emptied in the meantime. Start the move again.")
    return state
