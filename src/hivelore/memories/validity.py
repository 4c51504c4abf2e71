"""Decisions about valid time (docs/decisions/0016)."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from hivelore.core.values import replace
from hivelore.memories.model import Memory, MemoryId, Version


def end_of_validity(memory: Memory, successors: Iterable[Memory]) -> datetime | None:
    """Returns the start of the earliest successor, but not before the memory's own start."""
    began = min((one.holds_since for one in successors), default=None)
    return None if began is None else max(began, memory.holds_since)


def order_by_supersession(facts: Sequence[Memory]) -> list[Memory]:
    """Orders facts with the same start, given by arrival: each follows the fact that it supersedes."""
    by_id = {one.id: one for one in facts}
    turn: dict[MemoryId, Memory] = {}
    for fact in facts:
        line: dict[MemoryId, Memory] = {}
        one: Memory | None = fact
        while one is not None and one.id not in turn and one.id not in line:
            line[one.id] = one
            one = None if one.supersedes is None else by_id.get(one.supersedes)
        turn |= {each.id: each for each in reversed(line.values())}
    return list(turn.values())


def may_supersede(newer: Memory, older: Memory) -> bool:
    """Returns True if everyone who can see the older memory can see the newer one."""
    return newer.home is None or newer.home == older.home


def state_at(memory: Memory, history: Sequence[Version], at: datetime) -> Memory:
    """Returns a memory in its version at an instant, or in its first version if all were written later. ``history`` is
    oldest first. Fields that are not part of a version keep their current values."""
    stood = [version for version in history if version.at <= at]
    version = stood[-1] if stood else history[0]
    if version.number == memory.version:
        return memory
    origin = replace(memory.provenance, actor=version.actor, interface=version.interface, reason=version.reason)
    return replace(
        memory,
        scope=version.scope,
        name=version.name,
        content=version.content,
        summary=version.summary,
        category=version.category,
        tags=version.tags,
        project=version.project,
        expires_at=version.expires_at,
        version=version.number,
        updated_at=version.at,
        provenance=origin,
    )
