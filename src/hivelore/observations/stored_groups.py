"""Groups of observations in the store: reads them from memories, and stores new and changed ones."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from hivelore.core.agents import SERVICE_VIEWER, Viewer
from hivelore.core.audit import AuditEntry
from hivelore.core.clock import Clock
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.indexing.writer import IndexWriter
from hivelore.memories.chunking import chunk
from hivelore.memories.drafts import Draft
from hivelore.memories.model import Action, Memory, MemoryId, Provenance, Scope
from hivelore.memories.normalizer import NormalizedDraft, Normalizer
from hivelore.memories.stored import DocumentKey, Stored
from hivelore.memories.summary import name_from_summary, summarise
from hivelore.observations.confidence import REPORTED, Lifecycle, order_key, replay
from hivelore.observations.groups import Group
from hivelore.observations.model import (
    DEFAULT_TIER,
    GENERAL,
    Confidence,
    Held,
    Observation,
    ObservationKind,
    Operational,
)
from hivelore.observations.naming import Naming
from hivelore.observations.records import add_observations
from hivelore.search.model import Filter, Visibility
from hivelore.storage.ports import Transaction, View

MAX_COMPARED = 500
"""Newest memories of a service and category that are compared."""


@dataclass(frozen=True, slots=True)
class KnownGroup:
    """A stored memory and its observations."""

    stored: Stored
    group: Group


def comparable(view: View, memory: Memory, naming: Naming, visibility: Visibility) -> Filter:
    """Returns the filter for the memories of the same service and category."""
    assert memory.operational is not None
    return Filter(
        visibility=visibility,
        categories=naming.categories_like(memory.category, view.categories()),
        services=naming.services_like(memory.operational.service or GENERAL, view.services()),
        superseded=False,
    )


def claim_of(memory: Memory, naming: Naming) -> bytes:
    """Returns what a transaction claims that places observations of the same service and category."""
    assert memory.operational is not None
    service = naming.service_key(memory.operational.service or GENERAL)
    return f"seen of {service} {naming.category_key(memory.category)}".encode()


def load_groups(view: View, where: Filter, at: datetime) -> Mapping[MemoryId, KnownGroup]:
    """Returns the groups that an observation may match or contradict. If nothing was observed since ``at``, only their
    beginnings are read; the rest cannot matter."""
    # In a project, memories for all projects match too; an observation for all projects matches only those.
    found = _newest(view, where, lambda one: where.project is not None or one.project is None)
    seen = view.observations_of([one.key for one in found] if is_late(found, at) else ())
    return _groups(found, seen)


def load_all_groups(view: View, where: Filter) -> Mapping[MemoryId, KnownGroup]:
    """Returns the groups of all projects with all observations."""
    found = _newest(view, where, lambda _: True)
    keys = [one.key for one in found]
    kept = view.kept(keys)
    known = _groups(found, view.observations_of(keys))
    return {
        id_: replace(one, group=replace(one.group, is_fixed=True, is_kept=True)) if one.stored.key in kept else one
        for id_, one in known.items()
    }


def is_late(known: Sequence[Stored], at: datetime) -> bool:
    """Returns True if anything was observed at ``at`` or later."""
    states = (one.memory.operational for one in known)
    return any(state is not None and state.held.since >= at for state in states)


def _newest(view: View, where: Filter, fits: Callable[[Memory], bool]) -> list[Stored]:
    keys = sorted(view.matching_keys(where), reverse=True)[:MAX_COMPARED]
    found = view.memories_of(keys, where).items()
    return [Stored(key, one) for key, one in found if one.operational is not None and fits(one)]


def _groups(
    found: Sequence[Stored], seen: Mapping[DocumentKey, Sequence[Observation]]
) -> Mapping[MemoryId, KnownGroup]:
    return {one.memory.id: KnownGroup(one, _build_group(one.memory, seen.get(one.key, ()))) for one in found}


def _build_group(memory: Memory, seen: Sequence[Observation]) -> Group:
    known = memory.operational
    assert known is not None
    first = next((one for one in seen if one.kind is ObservationKind.CREATED), None) or Observation(
        at=memory.created_at,
        kind=ObservationKind.CREATED,
        actor=memory.provenance.actor,
        interface=memory.provenance.interface,
        session=memory.session,
        text=memory.content,
        to=known.held.base,
    )
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
        is_kept=is_edited,
        is_reported=known.tier >= DEFAULT_TIER,
    )


class GroupWriter:
    """Stores groups within a transaction."""

    def __init__(self, index_writer: IndexWriter, normalizer: Normalizer, lifecycle: Lifecycle, clock: Clock) -> None:
        self._index_writer = index_writer
        self._normalizer = normalizer
        self._lifecycle = lifecycle
        self._clock = clock

    def put(
        self,
        tx: Transaction,
        groups: Sequence[Group],
        merged: Sequence[tuple[MemoryId, Group]],
        known: Mapping[MemoryId, KnownGroup],
        build: Callable[[Group], NormalizedDraft],
        viewer: Viewer,
    ) -> Mapping[int, Stored]:
        """Stores new and changed groups, and returns their memories by the ``id`` of the group. The observations of
        ``merged`` memories are those of other groups now. ``build`` makes the memory of a group that starts anew."""
        homes = {id(group): self._put_group(tx, group, known, build, viewer) for group in groups}
        for memory, group in merged:
            home = homes.get(id(group))
            if home is None:
                assert group.memory is not None
                home = known[group.memory].stored
            self._merge(tx, known[memory].stored, home, viewer)
        return homes

    def build_template(self, memory: Memory) -> NormalizedDraft:
        """Returns a new memory of the same service and category."""
        assert memory.operational is not None
        held = Held(base=Confidence(self._lifecycle.default), since=memory.created_at)
        draft = Draft(
            content=memory.content,
            scope=Scope.SWARM,
            category=memory.category,
            created_at=memory.created_at,
            operational=Operational.of(held, service=memory.operational.service),
        )
        return self._normalizer.normalize(draft, SERVICE_VIEWER)

    def build_memory(self, group: Group, template: NormalizedDraft) -> NormalizedDraft:
        """Returns the memory of a group that starts with its first observation."""
        first, line = group.first, summarise(group.text)
        assert template.memory.operational is not None
        memory = replace(
            template.memory,
            id=self._normalizer.new_id(),
            owner=first.actor,
            session=first.session,
            project=group.project,
            created_at=first.at,
            content=group.text,
            name=Clean(name_from_summary(line)),
            summary=Clean(line),
            provenance=Provenance(actor=first.actor, interface=first.interface),
            operational=replace(template.memory.operational, tier=DEFAULT_TIER),
        )
        return NormalizedDraft(memory, chunk(group.text), template.draft)

    def _put_group(
        self,
        tx: Transaction,
        group: Group,
        known: Mapping[MemoryId, KnownGroup],
        build: Callable[[Group], NormalizedDraft],
        viewer: Viewer,
    ) -> Stored:
        rows = [group.first, *group.reinforcements, *group.other_observations]
        if group.memory is None:
            fresh = build(group)
            return self._replace_observations(tx, self._index_writer.add(tx, fresh.memory, fresh.chunks), rows)
        stored, was = known[group.memory].stored, known[group.memory].group
        if order_key(group.first) != order_key(was.first):
            return self._replace_observations(tx, self._replace_beginning(tx, stored, build(group), viewer), rows)
        before = {was.first, *was.reinforcements, *was.other_observations}
        if before <= set(rows):
            return add_observations(tx, stored, [one for one in rows if one not in before], self._lifecycle)
        return self._replace_observations(tx, stored, rows)

    def _replace_observations(self, tx: Transaction, stored: Stored, seen: Sequence[Observation]) -> Stored:
        """Replaces all observations of a memory and returns it with the new confidence."""
        known = stored.memory.operational
        assert known is not None
        *_, last = replay(known, seen, self._lifecycle)
        tx.replace_observations(stored.key, last.after.held, seen)
        return Stored(stored.key, replace(stored.memory, operational=known.with_confidence(last.after.held)))

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
        tx.record_audit(AuditEntry.by_viewer(viewer, action, memory.id, self._clock.now(), Clean(what)))
