"""Merges two duplicates within a transaction.

The newer memory stays, with the better wording and the observations and usage of both. It supersedes the older one,
which remains in the history and in searches about earlier times.
"""

from datetime import datetime

from hivelore.core.access import Effect, Permission, may_affect
from hivelore.core.agents import Viewer
from hivelore.core.audit import AuditEntry
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Conflict, Forbidden
from hivelore.feedback.model import Usefulness, UsefulnessBounds, usefulness_factor
from hivelore.feedback.recalls import count_usage
from hivelore.indexing.writer import IndexWriter
from hivelore.memories.model import Action, Memory, Trust
from hivelore.memories.normalizer import MAX_TAGS
from hivelore.memories.stored import Stored
from hivelore.memories.validity import may_supersede
from hivelore.observations.confidence import Lifecycle
from hivelore.observations.model import GENERAL, Observation, ObservationKind, Operational
from hivelore.observations.naming import Naming
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
    naming: Naming,
) -> None:
    """Raises Forbidden if the viewer may not change both, Conflict if they can no longer be merged."""
    for one in (older.memory, newer.memory):
        if may_affect(viewer, Effect.EDIT, one) is not Permission.ALLOWED:
            raise Forbidden(f"You may not change memory {one.id}. Ask an operator to merge the two.")
    if not may_merge(older.memory, newer.memory, now, naming):
        raise Conflict("These memories can no longer be merged: one expired or was superseded. Reject the proposal.")
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
        tx.record_audit(AuditEntry.by_viewer(viewer, Action.EDITED, one.id, now, detail))


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
    """Returns the observations of a memory, to be added to the memory that it is merged into."""
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


_TRUST_ORDER = list(reversed(Trust))
"""Least trusted first."""


def may_merge(older: Memory, newer: Memory, now: datetime, naming: Naming) -> bool:
    """Returns True if the newer memory may supersede the older one as its duplicate: both are valid, have the same
    readers, category and service in any spelling, and are not linked otherwise. Indexed files are never merged."""
    return (
        older.id != newer.id
        and older.holds_since <= newer.holds_since
        and (older.owner, older.home, older.scope) == (newer.owner, newer.home, newer.scope)
        and older.project == newer.project
        and naming.category_key(older.category) == naming.category_key(newer.category)
        and may_supersede(newer, older)
        and _operational_key(older, naming) == _operational_key(newer, naming)
        and newer.supersedes is None
        and all(_is_unlinked_and_valid(one, now) for one in (older, newer))
    )


def _operational_key(memory: Memory, naming: Naming) -> str | None:
    known = memory.operational
    return None if known is None else naming.service_key(known.service or GENERAL)


def _is_unlinked_and_valid(memory: Memory, now: datetime) -> bool:
    return memory.subject is None and memory.source_path is None and memory.valid_until is None and memory.is_live(now)


def preferred_wording(older: tuple[Memory, Usefulness], newer: tuple[Memory, Usefulness]) -> Memory:
    """Returns the memory with the better wording: more trusted, more useful, longer, or newer."""
    return max((older, newer), key=_wording_rank)[0] if _wording_rank(older) != _wording_rank(newer) else newer[0]


def _wording_rank(one: tuple[Memory, Usefulness]) -> tuple[int, float, int]:
    memory, usefulness = one
    return _TRUST_ORDER.index(memory.provenance.trust), usefulness.factor, len(memory.content)
