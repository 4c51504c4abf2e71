"""Groups of observations in the store: reads them from memories, and stores new and changed ones."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime

from hivelore.core.agents import SERVICE_VIEWER, Interface, Viewer
from hivelore.core.audit import AuditEntry
from hivelore.core.clock import Clock
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.indexing.writer import IndexWriter
from hivelore.links.judge import are_equal
from hivelore.memories.chunking import chunk
from hivelore.memories.drafts import Draft
from hivelore.memories.model import Action, Memory, MemoryId, Provenance, Scope, Version
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
from hivelore.review.model import Decision, Proposal
from hivelore.review.outdated import REASON as OUTDATED
from hivelore.search.model import Filter, Visibility
from hivelore.storage.ports import Transaction, View

MAX_COMPARED = 500
"""Newest memories of a service and category that are compared."""
MAX_REJUDGED = 2_000
"""Observations of a service and category that are judged again; beyond it, older memories stay as they are."""
REJUDGED = Clean("The observations were judged again.")
"""The reason of the worker that judges observations again."""


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
    keys = [one.key for one in found] if is_late(found, at) else []
    return _fix_merged(view, _groups(found, view.observations_of(keys), view.kept(keys)))


def load_all_groups(view: View, where: Filter) -> Mapping[MemoryId, KnownGroup]:
    """Returns the groups of all projects with the observations of the newest ones, ``MAX_REJUDGED`` at most. Of others,
    only the beginnings are read, and they stay as they are."""
    found = _newest(view, where, lambda _: True)
    counts = view.observation_counts([one.key for one in found])
    keys, left = list[DocumentKey](), MAX_REJUDGED
    for one in sorted(found, key=lambda each: each.key, reverse=True):
        left -= counts.get(one.key, 0)
        if left < 0:
            break
        keys.append(one.key)
    others = {one.key for one in found}.difference(keys)
    known = _fix_merged(view, _groups(found, view.observations_of(keys), view.kept(keys) | others))
    return {
        id_: replace(one, group=replace(one.group, is_reported=False)) if one.stored.key in others else one
        for id_, one in known.items()
    }


def _fix_merged(view: View, known: Mapping[MemoryId, KnownGroup]) -> Mapping[MemoryId, KnownGroup]:
    """Fixes the groups that a reviewer made of two."""
    found = view.contradictions_about([one.stored.key for one in known.values()])
    merged = {
        each.memory
        for one in found
        if one.decided is not None and one.decided.how is Decision.MERGED
        for each in one.memories
    }
    return {
        id_: replace(one, group=replace(one.group, is_fixed=True)) if id_ in merged else one
        for id_, one in known.items()
    }


def settled_pairs(view: View, known: Mapping[MemoryId, KnownGroup]) -> Set[frozenset[Clean]]:
    """Returns the pairs of texts that a reviewer decided about, also those that a memory had when it was decided."""
    decided = [
        one
        for one in view.contradictions_about([one.stored.key for one in known.values()])
        if one.decided is not None and not is_withdrawn(one) and all(each.memory in known for each in one.memories)
    ]
    edited = {
        known[each.memory].stored.key
        for one in decided
        for each in one.memories
        if known[each.memory].stored.memory.version != each.version
    }
    histories = view.histories(edited)
    settled = set[frozenset[Clean]]()
    for one in decided:
        texts = [_text_of(known[each.memory].stored, each.version, histories) for each in one.memories]
        if len(texts) == 2 and not are_equal(*texts):
            settled.add(frozenset(texts))
    return settled


def _text_of(stored: Stored, version: int, histories: Mapping[DocumentKey, Sequence[Version]]) -> Clean:
    """Returns the text of a version of a memory, or the present one if that version is not known any more."""
    versions = histories.get(stored.key, ())
    return next((one.content for one in versions if one.number == version), stored.memory.content)


def is_withdrawn(proposal: Proposal) -> bool:
    """Returns True if the service closed a proposal because of what changed, which is no decision."""
    decided = proposal.decided
    return decided is not None and decided.interface is Interface.SERVICE and decided.reason in (REJUDGED, OUTDATED)


def texts_of(known: Iterable[KnownGroup]) -> Set[Clean]:
    """Returns the texts of groups and their observations."""
    return {
        text
        for one in known
        for text in (one.group.text, *(each.text for each in one.group.supporting))
        if text is not None
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
    found: Sequence[Stored], seen: Mapping[DocumentKey, Sequence[Observation]], kept: Set[DocumentKey]
) -> Mapping[MemoryId, KnownGroup]:
    groups = {one.key: _build_group(one.memory, seen.get(one.key, ())) for one in found}
    groups |= {key: replace(groups[key], is_fixed=True, is_kept=True) for key in kept}
    return {one.memory.id: KnownGroup(one, groups[one.key]) for one in found}


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
        ``merged`` memories are those of other groups now. ``build`` makes the memory of a new group."""
        homes = {id(group): self._put_group(tx, group, known, build, viewer) for group in groups}
        for memory, group in merged:
            home = homes.get(id(group))
            if home is None:
                assert group.memory is not None
                home = known[group.memory].stored
            self._merge(tx, known[memory].stored, home, viewer)
        return homes

    def build_template(self, memory: Memory) -> NormalizedDraft:
        """Returns a new memory of the same service and category. These are names that are stored already, so they are
        not validated again."""
        assert memory.operational is not None
        held = Held(base=Confidence(self._lifecycle.default), since=memory.created_at)
        draft = Draft(
            content=memory.content, scope=Scope.SWARM, created_at=memory.created_at, operational=Operational.of(held)
        )
        fresh = self._normalizer.normalize(draft, SERVICE_VIEWER)
        named = Operational.of(held, service=memory.operational.service)
        return replace(fresh, memory=replace(fresh.memory, category=memory.category, operational=named))

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
