"""Valid time of memories: a memory ends when its successor begins (docs/decisions/0016).

Links are updated in whatever order memories arrive, change and disappear. Only this module sets ``valid_until`` and,
for facts of one topic, ``supersedes``.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from hivelore.core.access import Effect, Permission, may_affect, needs_review
from hivelore.core.agents import Viewer
from hivelore.core.id_prefix import canonical_id, match_prefix
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Forbidden, Invalid, NotFound
from hivelore.memories.model import Memory, MemoryId, Topic
from hivelore.memories.record_lookup import nearest_record
from hivelore.memories.stored import Stored
from hivelore.memories.validity import end_of_validity, may_supersede, order_by_supersession
from hivelore.search.model import Filter, Visibility
from hivelore.storage.ports import Transaction, View

MAX_SAME_INSTANT = 20
"""Number of facts of one topic and instant that are ordered on either side; further ones keep their order of arrival.
"""


def has_same_placement(before: Memory, after: Memory) -> bool:
    """Returns True if home, topic, start of validity and superseded memory are equal."""
    return _placement(before) == _placement(after)


def _placement(memory: Memory) -> tuple[object, ...]:
    return memory.home, memory.topic, memory.holds_since, memory.supersedes


def may_have_links(memory: Memory) -> bool:
    """Returns True if a new memory can have links to others."""
    return any(part is not None for part in (memory.subject, memory.supersedes, memory.external_id))


def link(tx: Transaction, stored: Stored) -> Stored:
    """Links a newly stored memory to its predecessors and successors and returns it. Raises Invalid if this creates a
    cycle."""
    memory = stored.memory
    if memory.external_id is not None:
        _resolve_references(tx, memory)
    older, newer = adjacent_facts(tx, stored)
    named = None if memory.supersedes is None else tx.get(memory.supersedes)
    if named is not None and _is_ordered_by_time(memory, named.memory):
        memory = replace(memory, supersedes=None)
    if older is not None and memory.supersedes is None:
        memory = replace(memory, supersedes=older.memory.id)
    if newer is not None:
        passed = None if older is None else older.memory.id
        if newer.memory.supersedes in (None, passed, memory.supersedes):
            tx.set_validity(newer.key, newer.memory.valid_until, memory.id)
    if memory.supersedes != stored.memory.supersedes:
        tx.set_validity(stored.key, memory.valid_until, memory.supersedes)
    if older is not None:
        _update_end(tx, older, memory)
    if named is not None and (older is None or older.key != named.key):
        recompute_ends(tx, [named.memory.id])
    placed = _update_end(tx, Stored(stored.key, memory), None if newer is None else newer.memory)
    _check_acyclic(tx, placed)
    return placed


def adjacent_facts(view: View, stored: Stored) -> tuple[Stored | None, Stored | None]:
    """Returns the facts of the same topic just before and just after a memory. Facts with the same start follow their
    ``supersedes`` links, then creation time and key."""
    if stored.memory.topic is None:
        return None, None
    before, row, after = _same_instant(view, stored)
    place = row.index(stored)
    # A fact that ended at its own start is not the last one of its instant; likewise for the first one.
    if before is not None and before.memory.valid_until == before.memory.holds_since:
        before = _same_instant(view, before)[1][-1]
    passed = None if before is None else before.memory.id
    if after is not None and after.memory.supersedes not in (None, passed, stored.memory.id):
        after = _same_instant(view, after)[1][0]
    return (row[place - 1] if place else before), (row[place + 1] if place + 1 < len(row) else after)


def _same_instant(view: View, stored: Stored) -> tuple[Stored | None, list[Stored], Stored | None]:
    """Returns the facts of the topic with the same start in order, and their neighbours before and after."""
    before, after = view.adjacent_facts(stored.key)
    row = {stored.memory.id: stored}
    for _ in range(MAX_SAME_INSTANT):
        if before is not None and before.memory.holds_since == stored.memory.holds_since:
            row[before.memory.id] = before
            before, _ = view.adjacent_facts(before.key)
        if after is not None and after.memory.holds_since == stored.memory.holds_since:
            row[after.memory.id] = after
            _, after = view.adjacent_facts(after.key)
    came = sorted(row.values(), key=lambda one: (one.memory.created_at, one.key))
    return before, [row[one.id] for one in order_by_supersession([one.memory for one in came])], after


def placement_neighbours(view: View, memory: Memory) -> list[Stored]:
    """Returns the memories whose validity may change when ``memory`` is stored: the superseded one and the adjacent
    facts of its topic. ``link`` never changes others."""
    named = None if memory.supersedes is None else view.get(memory.supersedes)
    found = [] if named is None or not may_supersede(memory, named.memory) else [named]
    if memory.topic is not None:
        for side, neighbour in enumerate(view.facts_around(memory.topic, memory.holds_since)):
            other = neighbour
            while other is not None and other.memory.id == memory.id:
                other = view.adjacent_facts(other.key)[side]
            if other is not None:
                before, row, after = _same_instant(view, other)
                is_same = other.memory.holds_since == memory.holds_since
                found += [*row, *(one for one in (before, after) if is_same and one is not None)]
    return list({one.key: one for one in found if one.memory.id != memory.id}.values())


def fact_at(tx: Transaction, topic: Topic, at: datetime | None) -> Stored | None:
    """Returns the last fact of the topic with a start at or before ``at``; None for the last of all."""
    last = tx.fact_at(topic, at)
    return None if last is None else _same_instant(tx, last)[1][-1]


def unlink(tx: Transaction, stored: Stored, after: Memory | None) -> set[MemoryId]:
    """Removes links to a memory that is about to be deleted (``after`` None) or moved. Returns the memories whose end
    must be recomputed afterwards."""
    memory = stored.memory
    older, _ = adjacent_facts(tx, stored)
    for one in tx.successors_of(memory.id):
        by_topic = one.memory.topic is not None and one.memory.topic == memory.topic
        if after is None or by_topic or _is_ordered_by_time(one.memory, after) or not may_supersede(one.memory, after):
            tx.set_validity(one.key, one.memory.valid_until, memory.supersedes)
    concerned = {memory.supersedes, None if older is None else older.memory.id}
    return {one for one in concerned if one is not None}


def retained_supersedes(tx: Transaction, before: Memory, after: Memory) -> MemoryId | None:
    """Returns the ``supersedes`` link that remains valid when a memory moves: an explicit one, or a link to a private
    predecessor when the memory becomes shared."""
    if after.supersedes is None or after.supersedes != before.supersedes:
        return after.supersedes
    replaced = tx.get(after.supersedes)
    if replaced is None:
        return after.supersedes
    by_topic = before.topic is not None and replaced.memory.topic == before.topic
    is_about_the_same = (before.project, before.subject) == (after.project, after.subject)
    is_shared_now = before.home is not None and after.home is None and is_about_the_same
    keeps = may_supersede(after, replaced.memory) and (not by_topic or is_shared_now)
    return after.supersedes if keeps else None


def recompute_ends(tx: Transaction, memories: Iterable[MemoryId]) -> None:
    """Recomputes ``valid_until`` of the existing memories among these."""
    for memory in memories:
        stored = tx.get(memory)
        if stored is not None:
            _, newer = adjacent_facts(tx, stored)
            _update_end(tx, stored, None if newer is None else newer.memory)


def _update_end(tx: Transaction, stored: Stored, newer: Memory | None) -> Stored:
    """``newer``: the next fact of the topic."""
    memory = stored.memory
    successors = [one.memory for one in tx.successors_of(memory.id)]
    end = end_of_validity(memory, successors if newer is None else [*successors, newer])
    if end == memory.valid_until:
        return stored
    tx.set_validity(stored.key, end, memory.supersedes)
    return Stored(stored.key, replace(memory, valid_until=end))


def _check_acyclic(tx: Transaction, stored: Stored) -> None:
    """Raises Invalid if the successors of a memory lead back to it."""
    if stored.memory.valid_until is None or not _has_links_outside_topic(tx, stored.memory):
        return
    seen: set[MemoryId] = set()
    left = _successors(tx, stored)
    while left:
        one = left.pop()
        if one.memory.id == stored.memory.id:
            raise Invalid(
                "A memory cannot supersede itself or one of its successors. To restore a fact, store it again.",
                field="supersedes",
            )
        if one.memory.id not in seen:
            seen.add(one.memory.id)
            left += _successors(tx, one)


def _has_links_outside_topic(tx: Transaction, memory: Memory) -> bool:
    """Returns True for links to memories of other topics. Facts of one topic cannot form a cycle."""
    replaced = None if memory.supersedes is None else tx.get(memory.supersedes)
    named = [*tx.successors_of(memory.id), *([] if replaced is None else [replaced])]
    return any(memory.topic is None or one.memory.topic != memory.topic for one in named)


def _successors(tx: Transaction, stored: Stored) -> list[Stored]:
    _, newer = adjacent_facts(tx, stored)
    return [*tx.successors_of(stored.memory.id), *([] if newer is None else [newer])]


def _is_ordered_by_time(one: Memory, other: Memory) -> bool:
    """Returns True if valid time alone determines the order of two facts, regardless of ``supersedes``."""
    return one.topic is not None and one.topic == other.topic and one.holds_since != other.holds_since


def _resolve_references(tx: Transaction, memory: Memory) -> None:
    """Replaces references to the external id of a memory by its id, for memories of the same owner that arrived
    earlier."""
    for one in tx.successors_of(str(memory.external_id)):
        if one.memory.owner == memory.owner and may_supersede(one.memory, memory):
            older = adjacent_facts(tx, one)[0] if _is_ordered_by_time(one.memory, memory) else Stored(one.key, memory)
            tx.set_validity(one.key, one.memory.valid_until, None if older is None else older.memory.id)


_SMALLEST_STEP = timedelta(microseconds=1)


def resolve_placement(
    tx: Transaction, memory: Memory, viewer: Viewer, seen: Visibility, *, named: bool, has_time: bool
) -> Memory:
    """Returns the memory with its resolved temporal fields. Raises NotFound, Forbidden or Invalid.

    ``named``: the caller specified ``supersedes``, possibly as an external id. Without an explicit time (``has_time``),
    the memory starts after the superseded memory and after all facts of its topic.
    """
    if memory.subject is None and not named:
        return memory
    if memory.home is None and needs_review(viewer, memory):
        raise Forbidden("Text from a tool or the web cannot supersede shared memories.")
    replaced = find_superseded(tx, memory, seen) if named and memory.supersedes is not None else None
    if replaced is None and named and _would_end(tx, memory):
        memory = replace(memory, supersedes=None)  # The caller may not see it, so may not end it.
    if replaced is not None:
        memory = replace(memory, supersedes=replaced.memory.id)
        _check_supersession(memory, replaced.memory)
    if not has_time:
        newest = None if memory.topic is None else tx.fact_at(memory.topic, None)
        known = [one.memory.holds_since for one in (newest, replaced) if one is not None and one.memory.id != memory.id]
        if known and max(known) >= memory.holds_since:
            memory = replace(memory, valid_from=max(max(known) + _SMALLEST_STEP, memory.updated_at))
    is_from_elsewhere = memory.external_id is not None  # Imports keep their original order.
    if replaced is not None and not is_from_elsewhere and replaced.memory.holds_since > memory.holds_since:
        since = replaced.memory.holds_since.isoformat()
        raise Invalid(
            f"Memory {replaced.memory.id} is valid since {since}: its successor must start later (validFrom).",
            field="supersedes",
        )
    return memory


def displaced_for_review(tx: Transaction, memory: Memory, viewer: Viewer) -> list[Stored]:
    """Returns the memories that require a review before ``memory`` may displace them. Raises Forbidden if not
    permitted."""
    found: list[Stored] = []
    for one in placement_neighbours(tx, memory):
        ruling = may_affect(viewer, Effect.SUPERSEDE, one.memory)
        if ruling is Permission.REFUSED:
            raise Forbidden(f"You may not supersede memory {one.memory.id}: it belongs to another. Its owner may.")
        if ruling is Permission.PROPOSED:
            found.append(one)
    return found


def find_superseded(tx: Transaction, memory: Memory, seen: Visibility) -> Stored | None:
    """Returns the memory that ``supersedes`` names: by its id, the beginning of it, or its external id. None if an
    imported memory refers to one that has not arrived yet. Raises NotFound, or Invalid for an ambiguous beginning."""
    reference = str(memory.supersedes)
    if reference == memory.external_id:
        raise Invalid("A memory cannot supersede itself.", field="supersedes")
    homes = dict.fromkeys((memory.home, memory.owner))  # A shared memory may supersede a private one.
    records = [tx.memories_with_external_id(home, Clean(reference)) for home in homes]
    found = [tx.get(MemoryId(canonical_id(reference))), *(nearest_record(one, memory.project) for one in records)]
    if memory.external_id is not None:
        # An imported memory refers to an imported one first.
        found.append(found.pop(0))
    for one in found:
        if one is not None and seen.admits(one.memory.owner, one.memory.scope):
            return one
    if memory.external_id is not None:
        return None
    whole = match_prefix(
        reference, lambda prefix, limit: tx.ids_from(prefix, Filter(visibility=seen), limit), "supersedes"
    )
    if whole is not None:
        return tx.get(MemoryId(whole))
    raise NotFound(
        f"No memory {reference!r} to supersede: it may have been forgotten. Search again for its current id."
    )


def _would_end(tx: Transaction, memory: Memory) -> bool:
    """Returns True if the superseded memory exists under this id and would end."""
    named = None if memory.supersedes is None else tx.get(memory.supersedes)
    return named is not None and may_supersede(memory, named.memory)


def _check_supersession(memory: Memory, replaced: Memory) -> None:
    if replaced.id == memory.id or replaced.supersedes == memory.id:
        raise Invalid("A memory cannot supersede itself.", field="supersedes")
    if not may_supersede(memory, replaced):
        raise Invalid(
            f"Not everyone who can see memory {replaced.id} can see this one. Share it (scope swarm).",
            field="supersedes",
        )
