"""Making one memory of two that say the same, as a part of a unit of work.

The newer one stays, with the words of the better one, and all that was seen of both. The older one is what it took the
place of: recalled no more, but in the history, and as it was for whoever asks about the time before.
"""

from dataclasses import replace
from datetime import datetime

from hivelore.core.access import Effect, Permission, may_affect
from hivelore.core.agents import Viewer
from hivelore.core.audit import AuditEntry
from hivelore.core.text import Clean
from hivelore.errors import Conflict, Forbidden
from hivelore.feedback.model import Usefulness, UsefulnessBounds, usefulness_factor
from hivelore.feedback.recalls import count_usage
from hivelore.indexing.model import Stored
from hivelore.indexing.writer import IndexWriter
from hivelore.maintenance.merge_rules import may_merge, preferred_wording
from hivelore.memories.model import Action, Memory
from hivelore.memories.normalizer import MAX_TAGS
from hivelore.observations.confidence import Lifecycle
from hivelore.observations.model import Observation, ObservationKind, Operational
from hivelore.observations.records import add_observations
from hivelore.storage.ports import Transaction


def merge(
    tx: Transaction,
    index_writer: IndexWriter,
    older: Stored,
    newer: Stored,
    viewer: Viewer,
    now: datetime,
    lifecycle: Lifecycle,
) -> None:
    """Raises Forbidden where the viewer may not change both, Conflict where they may not become one any more."""
    for one in (older.memory, newer.memory):
        if may_affect(viewer, Effect.EDIT, one) is not Permission.ALLOWED:
            raise Forbidden(f"You may not change memory {one.id}: an operator merges the two.")
    if not may_merge(older.memory, newer.memory, now):
        raise Conflict("These two cannot become one any more: one has expired or was replaced. Reject the proposal.")
    words = preferred_wording(_with_usefulness(tx, older), _with_usefulness(tx, newer))
    chunks = None
    if words.content != newer.memory.content:
        chunks = [stored.chunk for stored in tx.chunks(older.key)]
    index_writer.change(
        tx, newer, _merged_memory(older.memory, newer.memory, words, viewer, now), chunks, Action.EDITED
    )
    _combine_observations(tx, older, newer, viewer, now, lifecycle)
    detail = Clean(f"merged: {older.memory.id} into {newer.memory.id}")
    for one in (older.memory, newer.memory):
        tx.record_audit(
            AuditEntry(
                at=now,
                actor=viewer.agent,
                interface=viewer.interface,
                action=Action.EDITED,
                memory=one.id,
                detail=detail,
            )
        )


def _with_usefulness(tx: Transaction, stored: Stored) -> tuple[Memory, Usefulness]:
    use = count_usage(tx.evidence(stored.key))
    return stored.memory, Usefulness(usefulness_factor(use, UsefulnessBounds()), use)


def _merged_memory(older: Memory, newer: Memory, words: Memory, viewer: Viewer, now: datetime) -> Memory:
    ends = [one.expires_at for one in (older, newer) if one.expires_at is not None]
    origin = replace(
        newer.provenance,
        actor=viewer.agent,
        interface=viewer.interface,
        trust=words.provenance.trust,
        reason=Clean(f"It said the same as {older.id}."),
    )
    return replace(
        newer,
        content=words.content,
        name=words.name,
        summary=words.summary,
        tags=tuple(dict.fromkeys((*newer.tags, *older.tags)))[:MAX_TAGS],
        metadata={**older.metadata, **newer.metadata},
        expires_at=max(ends) if len(ends) == 2 else None,
        supersedes=older.id,
        operational=_known_of_both(older.operational, newer.operational),
        version=newer.version + 1,
        updated_at=now,
        provenance=origin,
    )


def _known_of_both(older: Operational | None, newer: Operational | None) -> Operational | None:
    if older is None or newer is None:
        return newer
    return replace(newer, tier=min(older.tier, newer.tier), persistent=older.persistent or newer.persistent)


def _combine_observations(
    tx: Transaction, older: Stored, newer: Stored, viewer: Viewer, now: datetime, lifecycle: Lifecycle
) -> None:
    tx.add_evidence({newer.key: tx.evidence(older.key)})
    was, known = older.memory.operational, newer.memory.operational
    if known is None:
        return
    seen = as_reinforcements(tx, older)
    if was is not None and was.persistent and not known.persistent:
        seen.append(
            Observation(at=now, kind=ObservationKind.MADE_PERSISTENT, actor=viewer.agent, interface=viewer.interface)
        )
    add_observations(tx, newer, seen, lifecycle)


def as_reinforcements(tx: Transaction, other: Stored) -> list[Observation]:
    """The observations of a memory as they are of the one that it is merged into."""
    memory = other.memory
    first = Observation(
        at=memory.created_at,
        kind=ObservationKind.REINFORCED,
        actor=memory.provenance.actor,
        interface=memory.provenance.interface,
        session=memory.session,
        text=memory.content,
    )
    kinds = (ObservationKind.REINFORCED, ObservationKind.CONTRADICTED, ObservationKind.DISPROVED)
    return [first, *(one for one in tx.observations(other.key) if one.kind in kinds)]
