"""Linking memories in time: each ends where what took its place begins (docs/decisions/0016), in whatever order they
come, change and go. The one place that decides ``valid_until`` and, for facts of one topic, ``supersedes``."""

from collections.abc import Iterable
from dataclasses import replace

from hivelore.domain.index import Stored
from hivelore.domain.memory import Memory, MemoryId
from hivelore.policies.validity import ends, may_supersede
from hivelore.ports import Transaction


def stays(before: Memory, after: Memory) -> bool:
    """Whether a memory keeps its place in time."""
    return _place(before) == _place(after)


def _place(memory: Memory) -> tuple[object, ...]:
    return memory.home, memory.topic, memory.holds_since, memory.supersedes


def has_place(memory: Memory) -> bool:
    """Whether a new memory may be linked to others at all."""
    return any(part is not None for part in (memory.subject, memory.supersedes, memory.external_id))


def link(tx: Transaction, stored: Stored) -> Stored:
    """See that a memory that was just put in its place is where it belongs between the others; as it is then."""
    memory = stored.memory
    older, newer = _beside(tx, stored)
    if memory.external_id is not None:
        _be_found(tx, memory)
    if older is not None and memory.supersedes is None:
        memory = replace(memory, supersedes=older.memory.id)
    if newer is not None:
        passed = None if older is None else older.memory.id
        if newer.memory.supersedes in (None, passed, memory.supersedes):
            tx.link(newer.key, newer.memory.valid_until, memory.id)
    if memory.supersedes != stored.memory.supersedes:
        tx.link(stored.key, memory.valid_until, memory.supersedes)
    if older is not None:
        _settled(tx, older, memory)
    if memory.supersedes is not None and (older is None or older.memory.id != memory.supersedes):
        settle(tx, [memory.supersedes])
    return _settled(tx, Stored(stored.key, memory), None if newer is None else newer.memory)


def loosen(tx: Transaction, stored: Stored, after: Memory | None) -> set[MemoryId]:
    """See that nothing is linked to a memory that is about to go (``after`` None) or to take another place. Answers
    what is to be settled once it has."""
    memory = stored.memory
    older, _ = _beside(tx, stored)
    for one in tx.superseding(memory.id):
        by_topic = memory.topic is not None and one.memory.topic == memory.topic
        if after is None or by_topic or not may_supersede(one.memory, after):
            tx.link(one.key, one.memory.valid_until, memory.supersedes)
    concerned = {memory.supersedes, None if older is None else older.memory.id}
    return {one for one in concerned if one is not None}


def kept(tx: Transaction, before: Memory, after: Memory) -> MemoryId | None:
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


def settle(tx: Transaction, memories: Iterable[MemoryId]) -> None:
    """Compute anew when these end, as far as they are there."""
    for memory in memories:
        stored = tx.get(memory)
        if stored is not None:
            _, newer = _beside(tx, stored)
            _settled(tx, stored, None if newer is None else newer.memory)


def _settled(tx: Transaction, stored: Stored, newer: Memory | None) -> Stored:
    """``newer``: the next one of its topic."""
    memory = stored.memory
    successors = [one.memory for one in tx.superseding(memory.id)]
    end = ends(memory, successors if newer is None else [*successors, newer])
    if end == memory.valid_until:
        return stored
    tx.link(stored.key, end, memory.supersedes)
    return Stored(stored.key, replace(memory, valid_until=end))


def _beside(tx: Transaction, stored: Stored) -> tuple[Stored | None, Stored | None]:
    return (None, None) if stored.memory.topic is None else tx.facts_beside(stored.key)


def _be_found(tx: Transaction, memory: Memory) -> None:
    """Let those of the same owner that name it by its external id, since they came before it, name it by its id."""
    for one in tx.superseding(str(memory.external_id)):
        if one.memory.owner == memory.owner and may_supersede(one.memory, memory):
            tx.link(one.key, one.memory.valid_until, memory.id)
