"""What a memory that is being told takes the place of: found, checked, and put in order of time."""

from dataclasses import replace
from datetime import timedelta

from hivelore.domain.agent import Viewer
from hivelore.domain.index import Stored
from hivelore.domain.memory import Memory, MemoryId
from hivelore.domain.search import Visibility
from hivelore.domain.text import Clean
from hivelore.errors import Forbidden, Invalid, NotFound
from hivelore.policies.access import Effect, Ruling, may_affect, needs_review
from hivelore.policies.identity import nearest_record
from hivelore.policies.validity import may_supersede
from hivelore.ports import Transaction
from hivelore.services.linking import neighbours

_LEAST = timedelta(microseconds=1)


def succeeding(
    tx: Transaction, memory: Memory, viewer: Viewer, seen: Visibility, *, named: bool, has_time: bool
) -> Memory:
    """A memory with the place in time that it is to take. ``named``: what it supersedes was just said, maybe by an
    external id. Without a time of its own (``has_time``) it is newer than that and than all that is known of its topic,
    whatever clocks say. Raises NotFound, Forbidden or Invalid."""
    if memory.subject is None and not named:
        return memory
    if memory.home is None and needs_review(viewer, memory):
        raise Forbidden("This text came from a tool or the web: it takes the place of nothing that is shared.")
    replaced = _replaced(tx, memory, seen) if named and memory.supersedes is not None else None
    if replaced is None and named and _would_end(tx, memory):
        memory = replace(memory, supersedes=None)  # It is not for the caller's eyes, so not for their words either.
    if replaced is not None:
        memory = replace(memory, supersedes=replaced.memory.id)
        _refuse_place(memory, replaced.memory)
    if not has_time:
        newest = None if memory.topic is None else tx.fact_at(memory.topic, None)
        known = [one.memory.holds_since for one in (newest, replaced) if one is not None and one.memory.id != memory.id]
        if known and max(known) >= memory.holds_since:
            memory = replace(memory, valid_from=max(max(known) + _LEAST, memory.updated_at))
    is_from_elsewhere = memory.external_id is not None  # In whatever order that comes, it stands as it did there.
    if replaced is not None and not is_from_elsewhere and replaced.memory.holds_since > memory.holds_since:
        since = replaced.memory.holds_since.isoformat()
        raise Invalid(
            f"Memory {replaced.memory.id} holds since {since}: what takes its place holds later (validFrom).",
            field="supersedes",
        )
    return memory


def displaced(tx: Transaction, memory: Memory, viewer: Viewer) -> list[Stored]:
    """The memories that somebody else has to decide about before ``memory`` takes the place that it says. Raises
    Forbidden where nobody can be asked."""
    found: list[Stored] = []
    for one in neighbours(tx, memory):
        ruling = may_affect(viewer, Effect.SUPERSEDE, one.memory)
        if ruling is Ruling.REFUSED:
            raise Forbidden(f"You may not supersede memory {one.memory.id}: it belongs to another. Its owner may.")
        if ruling is Ruling.PROPOSED:
            found.append(one)
    return found


def _replaced(tx: Transaction, memory: Memory, seen: Visibility) -> Stored | None:
    """None: it is not there yet, as it may be of memories that come from elsewhere."""
    told = str(memory.supersedes)
    if told == memory.external_id:
        raise Invalid("A memory cannot take its own place.", field="supersedes")
    shelves = dict.fromkeys((memory.home, memory.owner))  # What is shared may take the place of a private one.
    records = [tx.with_external_id(shelf, Clean(told)) for shelf in shelves]
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


def _refuse_place(memory: Memory, replaced: Memory) -> None:
    if replaced.id == memory.id or replaced.supersedes == memory.id:
        raise Invalid("A memory cannot take its own place.", field="supersedes")
    if not may_supersede(memory, replaced):
        raise Invalid(
            f"Memory {replaced.id} lies on another shelf, where this one is not seen: share it (scope swarm).",
            field="supersedes",
        )
