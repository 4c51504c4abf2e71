"""Stored observations of operational memories, and their groups (``observations.groups``), within a transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from hivelore.core.agents import Viewer
from hivelore.core.audit import AuditEntry
from hivelore.core.clock import Clock
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.indexing.writer import IndexWriter
from hivelore.memories.chunking import chunk
from hivelore.memories.model import Action, Memory, MemoryId, Provenance
from hivelore.memories.normalizer import NormalizedDraft, Normalizer
from hivelore.memories.stored import DocumentKey, Stored
from hivelore.memories.summary import name_from_summary, summarise
from hivelore.observations.confidence import REPORTED, Lifecycle, order_key, replay
from hivelore.observations.groups import Group, Placement
from hivelore.observations.model import DEFAULT_TIER, Observation, ObservationKind
from hivelore.search.model import Filter
from hivelore.storage.ports import Transaction, View


def record_creation(tx: Transaction, stored: Stored, viewer: Viewer) -> None:
    """Records the creation of an operational memory with its confidence and time."""
    memory = stored.memory
    if memory.operational is None:
        return
    held = memory.operational.held
    first = Observation(
        at=held.since,
        kind=ObservationKind.CREATED,
        actor=viewer.agent,
        interface=viewer.interface,
        session=memory.session,
        text=memory.content,
        to=held.base,
    )
    tx.add_observation(stored.key, replace(held, is_off=False), first)
    if held.is_off:
        off = Observation(
            at=held.since, kind=ObservationKind.SWITCHED_OFF, actor=viewer.agent, interface=viewer.interface
        )
        tx.add_observation(stored.key, held, off)


def replace_observations(tx: Transaction, stored: Stored, seen: Sequence[Observation], lifecycle: Lifecycle) -> Stored:
    """Replaces all observations of a memory and returns it with the new confidence."""
    known = stored.memory.operational
    assert known is not None
    *_, last = replay(known, seen, lifecycle)
    tx.replace_observations(stored.key, last.after.held, seen)
    return Stored(stored.key, replace(stored.memory, operational=known.with_confidence(last.after.held)))


def add_observations(tx: Transaction, stored: Stored, seen: Sequence[Observation], lifecycle: Lifecycle) -> Stored:
    """Adds observations and returns the memory as if all had arrived in order of time."""
    known = stored.memory.operational
    assert known is not None
    *_, last = replay(known, [*tx.observations(stored.key), *seen], lifecycle)
    held = last.after.held
    for one in seen:
        tx.add_observation(stored.key, held, one)
    return Stored(stored.key, replace(stored.memory, operational=known.with_confidence(held)))


MAX_COMPARED = 500
"""Newest memories of a service and category that are compared."""


@dataclass(frozen=True, slots=True)
class KnownGroup:
    stored: Stored
    group: Group


def newest_memories(view: View, where: Filter) -> Mapping[DocumentKey, Memory]:
    """Returns memories that an observation may match or contradict."""
    keys = sorted(view.matching_keys(where), reverse=True)[:MAX_COMPARED]
    found = view.memories_of(keys, where)
    # In a project, memories for all projects match too; an observation for all projects matches only those.
    return {
        key: one
        for key, one in found.items()
        if one.operational is not None and (where.project is not None or one.project is None)
    }


def load_groups(view: View, where: Filter, at: datetime) -> Mapping[MemoryId, KnownGroup]:
    """Returns groups by memory. If nothing was observed since ``at``, only their beginnings are read; the rest cannot
    matter."""
    found = newest_memories(view, where)
    is_late = any(one.operational is not None and one.operational.held.since >= at for one in found.values())
    seen = view.observations_of(found if is_late else ())
    return {one.id: KnownGroup(Stored(key, one), _build_group(one, seen.get(key, ()))) for key, one in found.items()}


def _build_group(memory: Memory, seen: Sequence[Observation]) -> Group:
    known = memory.operational
    assert known is not None
    first = next((one for one in seen if one.kind is ObservationKind.CREATED), _creation(memory))
    is_decided = any(one.kind not in REPORTED for one in seen)
    is_edited = memory.content != first.text or memory.supersedes is not None or memory.subject is not None
    return Group(
        memory=memory.id,
        text=memory.content,
        project=memory.project,
        first=first,
        reinforcements=tuple(one for one in seen if one.kind is ObservationKind.REINFORCED),
        other_observations=tuple(
            one for one in seen if one.kind not in (ObservationKind.CREATED, ObservationKind.REINFORCED)
        ),
        is_fixed=is_decided or is_edited or known.persistent or known.tier < DEFAULT_TIER,
    )


def _creation(memory: Memory) -> Observation:
    assert memory.operational is not None
    return Observation(
        at=memory.created_at,
        kind=ObservationKind.CREATED,
        actor=memory.provenance.actor,
        interface=memory.provenance.interface,
        session=memory.session,
        text=memory.content,
        to=memory.operational.held.base,
    )


class GroupStore:
    def __init__(self, index_writer: IndexWriter, normalizer: Normalizer, lifecycle: Lifecycle, clock: Clock) -> None:
        self._index_writer = index_writer
        self._normalizer = normalizer
        self._lifecycle = lifecycle
        self._clock = clock

    def put(
        self,
        tx: Transaction,
        placed: Placement,
        known: Mapping[MemoryId, KnownGroup],
        seen: NormalizedDraft,
        viewer: Viewer,
    ) -> Stored:
        """Stores changed groups and returns the memory that ``seen`` belongs to."""
        homes = {id(group): self._put_group(tx, group, known, seen, viewer) for group in placed.groups}
        for memory, home in placed.merged:
            self._merge(tx, known[memory].stored, homes[id(home)], viewer)
        return homes[id(placed.target)]

    def _put_group(
        self, tx: Transaction, group: Group, known: Mapping[MemoryId, KnownGroup], seen: NormalizedDraft, viewer: Viewer
    ) -> Stored:
        rows = [group.first, *group.reinforcements, *group.other_observations]
        if group.memory is None:
            fresh = self._build_memory(group, seen)
            return replace_observations(
                tx, self._index_writer.add(tx, fresh.memory, fresh.chunks), rows, self._lifecycle
            )
        stored, was = known[group.memory].stored, known[group.memory].group
        if order_key(group.first) != order_key(was.first):
            return replace_observations(
                tx, self._replace_beginning(tx, stored, self._build_memory(group, seen), viewer), rows, self._lifecycle
            )
        before = {was.first, *was.reinforcements, *was.other_observations}
        if before <= set(rows):
            return add_observations(tx, stored, [one for one in rows if one not in before], self._lifecycle)
        return replace_observations(tx, stored, rows, self._lifecycle)

    def _build_memory(self, group: Group, seen: NormalizedDraft) -> NormalizedDraft:
        """Builds the memory of a group from its first observation."""
        first = group.first
        if order_key(first) == (seen.memory.created_at, seen.memory.content, *order_key(first)[2:]):
            return seen
        line = summarise(group.text)
        assert seen.memory.operational is not None
        memory = replace(
            seen.memory,
            id=self._normalizer.new_id(),
            owner=first.actor,
            session=first.session,
            project=group.project,
            created_at=first.at,
            content=group.text,
            name=Clean(name_from_summary(line)),
            summary=Clean(line),
            provenance=Provenance(actor=first.actor, interface=first.interface),
            operational=replace(seen.memory.operational, tier=DEFAULT_TIER),
        )
        return NormalizedDraft(memory, chunk(group.text), seen.draft)

    def _replace_beginning(self, tx: Transaction, stored: Stored, fresh: NormalizedDraft, viewer: Viewer) -> Stored:
        """Replaces the beginning of a memory by an earlier observation."""
        was, now = stored.memory, self._clock.now()
        memory = replace(
            fresh.memory,
            id=was.id,
            version=was.version + 1,
            updated_at=now,
            tags=was.tags,
            metadata=was.metadata,
            accessed_at=was.accessed_at,
            access_count=was.access_count,
        )
        self._record(tx, memory, Action.EDITED, "it was seen earlier", viewer)
        return self._index_writer.change(tx, stored, memory, fresh.chunks, Action.EDITED)

    def _merge(self, tx: Transaction, stored: Stored, home: Stored, viewer: Viewer) -> None:
        """Removes a memory whose observations moved to another."""
        tx.add_evidence({home.key: tx.evidence(stored.key)})
        self._index_writer.drop(tx, stored)
        self._record(tx, stored.memory, Action.FORGOTTEN, f"its observations are those of {home.memory.id}", viewer)

    def _record(self, tx: Transaction, memory: Memory, action: Action, what: str, viewer: Viewer) -> None:
        now, detail = self._clock.now(), Clean(what)
        tx.record_audit(
            AuditEntry(
                at=now, actor=viewer.agent, interface=viewer.interface, action=action, memory=memory.id, detail=detail
            )
        )
