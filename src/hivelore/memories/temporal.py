"""Linking memories in time: each ends where what took its place begins (docs/decisions/0016), in whatever order they
come, change and go. The one place that decides ``valid_until`` and, for facts of one topic, ``supersedes``."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from hivelore.core.access import Effect, Permission, may_affect, needs_review
from hivelore.core.agents import Viewer
from hivelore.core.text import Clean
from hivelore.errors import Forbidden, Invalid, NotFound
from hivelore.indexing.model import Stored
from hivelore.memories.identity import nearest_record
from hivelore.memories.model import Memory, MemoryId, Topic
from hivelore.memories.validity import end_of_validity, may_supersede, order_by_supersession
from hivelore.search.model import Visibility
from hivelore.storage.ports import Transaction, View

MAX_SAME_INSTANT = 20
"""Of the facts of one topic and one instant, so many on either side are looked at; more stand as they came."""


def has_same_placement(before: Memory, after: Memory) -> bool:
    """Whether a memory keeps its place in time."""
    return _placement(before) == _placement(after)


def _placement(memory: Memory) -> tuple[object, ...]:
    return memory.home, memory.topic, memory.holds_since, memory.supersedes


def may_have_links(memory: Memory) -> bool:
    """Whether a new memory may be linked to others at all."""
    return any(part is not None for part in (memory.subject, memory.supersedes, memory.external_id))


def link(tx: Transaction, stored: Stored) -> Stored:
    """See that a memory that was just put in its place is where it belongs between the others; as it is then. Raises
    Invalid where it would take the place of what took its own."""
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
    """The facts of its topic just before and just after it; those of one instant each behind what it took the place of,
    else as they were created and came."""
    if stored.memory.topic is None:
        return None, None
    before, row, after = _same_instant(view, stored)
    place = row.index(stored)
    # What came last of its instant is not the last one where it ended at once, and so it is with the first one.
    if before is not None and before.memory.valid_until == before.memory.holds_since:
        before = _same_instant(view, before)[1][-1]
    passed = None if before is None else before.memory.id
    if after is not None and after.memory.supersedes not in (None, passed, stored.memory.id):
        after = _same_instant(view, after)[1][0]
    return (row[place - 1] if place else before), (row[place + 1] if place + 1 < len(row) else after)


def _same_instant(view: View, stored: Stored) -> tuple[Stored | None, list[Stored], Stored | None]:
    """The facts of its topic that hold since the same instant, in turn, and what came before and after these."""
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
    """The others whose place in time may change when ``memory`` takes the place that it says: what it supersedes, and
    of its topic what stands just before it and after it. More than ``link`` changes, never less."""
    named = None if memory.supersedes is None else view.get(memory.supersedes)
    found = [] if named is None or not may_supersede(memory, named.memory) else [named]
    if memory.topic is not None:
        for side, beside_it in enumerate(view.facts_around(memory.topic, memory.holds_since)):
            other = beside_it
            while other is not None and other.memory.id == memory.id:
                other = view.adjacent_facts(other.key)[side]
            if other is not None:
                before, row, after = _same_instant(view, other)
                is_same = other.memory.holds_since == memory.holds_since
                found += [*row, *(one for one in (before, after) if is_same and one is not None)]
    return list({one.key: one for one in found if one.memory.id != memory.id}.values())


def fact_at(tx: Transaction, topic: Topic, at: datetime | None) -> Stored | None:
    """Of what has this topic and holds since ``at`` or before, the last one; None: of all that has it."""
    last = tx.fact_at(topic, at)
    return None if last is None else _same_instant(tx, last)[1][-1]


def unlink(tx: Transaction, stored: Stored, after: Memory | None) -> set[MemoryId]:
    """See that nothing is linked to a memory that is about to go (``after`` None) or to take another place. Answers
    what is to be settled once it has."""
    memory = stored.memory
    older, _ = adjacent_facts(tx, stored)
    for one in tx.successors_of(memory.id):
        by_topic = one.memory.topic is not None and one.memory.topic == memory.topic
        if after is None or by_topic or _is_ordered_by_time(one.memory, after) or not may_supersede(one.memory, after):
            tx.set_validity(one.key, one.memory.valid_until, memory.supersedes)
    concerned = {memory.supersedes, None if older is None else older.memory.id}
    return {one for one in concerned if one is not None}


def retained_supersedes(tx: Transaction, before: Memory, after: Memory) -> MemoryId | None:
    """Whose place a memory still takes when it takes another place itself: what it was said to, and, when it is shared,
    what it took the place of among the private ones."""
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
    """Compute anew when these end, as far as they are there."""
    for memory in memories:
        stored = tx.get(memory)
        if stored is not None:
            _, newer = adjacent_facts(tx, stored)
            _update_end(tx, stored, None if newer is None else newer.memory)


def _update_end(tx: Transaction, stored: Stored, newer: Memory | None) -> Stored:
    """``newer``: the next one of its topic."""
    memory = stored.memory
    successors = [one.memory for one in tx.successors_of(memory.id)]
    end = end_of_validity(memory, successors if newer is None else [*successors, newer])
    if end == memory.valid_until:
        return stored
    tx.set_validity(stored.key, end, memory.supersedes)
    return Stored(stored.key, replace(memory, valid_until=end))


def _check_acyclic(tx: Transaction, stored: Stored) -> None:
    """Raises Invalid where following what took its place leads back to a memory: none of these would ever hold."""
    if stored.memory.valid_until is None or not _has_links_outside_topic(tx, stored.memory):
        return
    seen: set[MemoryId] = set()
    left = _successors(tx, stored)
    while left:
        one = left.pop()
        if one.memory.id == stored.memory.id:
            raise Invalid(
                "A memory cannot take its own place, nor that of what took its own. Tell anew what holds again.",
                field="supersedes",
            )
        if one.memory.id not in seen:
            seen.add(one.memory.id)
            left += _successors(tx, one)


def _has_links_outside_topic(tx: Transaction, memory: Memory) -> bool:
    """Whether it is linked to others than the facts of its topic, which time alone keeps in a row."""
    replaced = None if memory.supersedes is None else tx.get(memory.supersedes)
    named = [*tx.successors_of(memory.id), *([] if replaced is None else [replaced])]
    return any(memory.topic is None or one.memory.topic != memory.topic for one in named)


def _successors(tx: Transaction, stored: Stored) -> list[Stored]:
    _, newer = adjacent_facts(tx, stored)
    return [*tx.successors_of(stored.memory.id), *([] if newer is None else [newer])]


def _is_ordered_by_time(one: Memory, other: Memory) -> bool:
    """Whether time alone tells which of two facts came first, whatever one was said to take the place of."""
    return one.topic is not None and one.topic == other.topic and one.holds_since != other.holds_since


def _resolve_references(tx: Transaction, memory: Memory) -> None:
    """Let those of the same owner that name it by its external id, since they came before it, name it by its id."""
    for one in tx.successors_of(str(memory.external_id)):
        if one.memory.owner == memory.owner and may_supersede(one.memory, memory):
            older = adjacent_facts(tx, one)[0] if _is_ordered_by_time(one.memory, memory) else Stored(one.key, memory)
            tx.set_validity(one.key, one.memory.valid_until, None if older is None else older.memory.id)


_SMALLEST_STEP = timedelta(microseconds=1)


def resolve_placement(
    tx: Transaction, memory: Memory, viewer: Viewer, seen: Visibility, *, named: bool, has_time: bool
) -> Memory:
    """A memory with the place in time that it is to take. ``named``: what it supersedes was just said, maybe by an
    external id. Without a time of its own (``has_time``) it is newer than that and than all that is known of its topic,
    whatever clocks say. Raises NotFound, Forbidden or Invalid."""
    if memory.subject is None and not named:
        return memory
    if memory.home is None and needs_review(viewer, memory):
        raise Forbidden("This text came from a tool or the web: it takes the place of nothing that is shared.")
    replaced = _find_superseded(tx, memory, seen) if named and memory.supersedes is not None else None
    if replaced is None and named and _would_end(tx, memory):
        memory = replace(memory, supersedes=None)  # It is not for the caller's eyes, so not for their words either.
    if replaced is not None:
        memory = replace(memory, supersedes=replaced.memory.id)
        _check_supersession(memory, replaced.memory)
    if not has_time:
        newest = None if memory.topic is None else tx.fact_at(memory.topic, None)
        known = [one.memory.holds_since for one in (newest, replaced) if one is not None and one.memory.id != memory.id]
        if known and max(known) >= memory.holds_since:
            memory = replace(memory, valid_from=max(max(known) + _SMALLEST_STEP, memory.updated_at))
    is_from_elsewhere = memory.external_id is not None  # In whatever order that comes, it stands as it did there.
    if replaced is not None and not is_from_elsewhere and replaced.memory.holds_since > memory.holds_since:
        since = replaced.memory.holds_since.isoformat()
        raise Invalid(
            f"Memory {replaced.memory.id} holds since {since}: what takes its place holds later (validFrom).",
            field="supersedes",
        )
    return memory


def displaced_for_review(tx: Transaction, memory: Memory, viewer: Viewer) -> list[Stored]:
    """The memories that somebody else has to decide about before ``memory`` takes the place that it says. Raises
    Forbidden where nobody can be asked."""
    found: list[Stored] = []
    for one in placement_neighbours(tx, memory):
        ruling = may_affect(viewer, Effect.SUPERSEDE, one.memory)
        if ruling is Permission.REFUSED:
            raise Forbidden(f"You may not supersede memory {one.memory.id}: it belongs to another. Its owner may.")
        if ruling is Permission.PROPOSED:
            found.append(one)
    return found


def _find_superseded(tx: Transaction, memory: Memory, seen: Visibility) -> Stored | None:
    """None: it is not there yet, as it may be of memories that come from elsewhere."""
    told = str(memory.supersedes)
    if told == memory.external_id:
        raise Invalid("A memory cannot take its own place.", field="supersedes")
    shelves = dict.fromkeys((memory.home, memory.owner))  # What is shared may take the place of a private one.
    records = [tx.memories_with_external_id(index_writer, Clean(told)) for index_writer in shelves]
    found = [tx.get(MemoryId(told.lower())), *(nearest_record(one, memory.project) for one in records)]
    if memory.external_id is not None:
        # What comes from elsewhere means what came from there, though we may have that, too.
        found.append(found.pop(0))
    for one in found:
        if one is not None and seen.admits(one.memory.owner, one.memory.scope):
            return one
    if memory.external_id is not None:
        return None
    raise NotFound(
        f"No memory {told} to take the place of: it may have been forgotten. Search again for its current id."
    )


def _would_end(tx: Transaction, memory: Memory) -> bool:
    """Whether what it supersedes is there under this very id, and would end."""
    named = None if memory.supersedes is None else tx.get(memory.supersedes)
    return named is not None and may_supersede(memory, named.memory)


def _check_supersession(memory: Memory, replaced: Memory) -> None:
    if replaced.id == memory.id or replaced.supersedes == memory.id:
        raise Invalid("A memory cannot take its own place.", field="supersedes")
    if not may_supersede(memory, replaced):
        raise Invalid(
            f"Memory {replaced.id} lies on another shelf, where this one is not seen: share it (scope swarm).",
            field="supersedes",
        )
