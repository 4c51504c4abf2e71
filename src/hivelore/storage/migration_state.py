"""How far a move has come, as its target keeps it, and which target will do."""

import json
from dataclasses import asdict, dataclass

from hivelore.errors import Conflict, Invalid
from hivelore.indexing.model import ChangeCursor
from hivelore.memories.whole import Counts
from hivelore.storage.ports import View

MOVE = "move"
"""The setting of a target with all of that."""
INCARNATION = "incarnation"


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationState:
    """How far a move has come: the target has the memories up to the key ``upto``, as ``shown`` shows them."""

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
        """That of a target; None where nothing was ever moved to it."""
        text = view.setting(MOVE)
        if not text:
            return None
        told = json.loads(text)
        shown = told.pop("shown")
        return cls(**told, shown=None if shown is None else ChangeCursor(shown["upto"], tuple(shown["open"])))


def refuse_unfinished(view: View) -> None:
    """Raises Conflict for a store that is not complete yet, since a move to it goes on or was interrupted."""
    stand = MigrationState.of(view)
    if stand is not None and stand.finished_at is None:
        raise Conflict(
            f"A move to this database began at {stand.began_at} and is not finished. "
            "Run the same 'hivelore move' again, or choose another database."
        )


def origin_of(view: View) -> str:
    """By what the targets of a source know it. Raises Conflict where it is not complete itself."""
    refuse_unfinished(view)
    return view.setting(INCARNATION) or ""


def fitting(view: View, origin: str) -> MigrationState | None:
    """How far the move of this source to a target has come; None where it can begin. Raises Conflict where the target
    is in use, or where another swarm moves or has moved to it, Invalid where both are the same."""
    if view.setting(INCARNATION) == origin:
        raise Invalid("Source and target are the same database.")
    stand = MigrationState.of(view)
    if stand is None:
        _refuse_full(view.counts())
    elif stand.origin != origin:
        raise Conflict("Another swarm was moved to the target, or has begun to be. Choose an empty database.")
    return stand


def _refuse_full(counts: Counts) -> None:
    told = counts.audit or counts.recalls or counts.events or counts.cooldowns or counts.jobs
    if counts.memories or counts.agents or counts.keys or told:
        raise Conflict(
            f"The target is in use: it has {counts.memories} memories, {counts.agents} agents and {counts.keys} keys. "
            "Choose an empty database or a new file."
        )


def known(view: View) -> MigrationState:
    stand = MigrationState.of(view)
    if stand is None:
        raise Conflict("Somebody has emptied the target meanwhile. Begin again.")
    return stand
