"""When a memory holds, and how it was (docs/decisions/0016)."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from hivelore.memories.model import Memory, MemoryId, Version


def end_of_validity(memory: Memory, successors: Iterable[Memory]) -> datetime | None:
    """When the first of those that took its place began to hold; not before it began itself."""
    began = min((one.holds_since for one in successors), default=None)
    return None if began is None else max(began, memory.holds_since)


def order_by_supersession(facts: Sequence[Memory]) -> list[Memory]:
    """Facts that hold since one instant, handed in as they came: each behind the one whose place it took."""
    told = {one.id: one for one in facts}
    turn: dict[MemoryId, Memory] = {}
    for fact in facts:
        line: dict[MemoryId, Memory] = {}
        one: Memory | None = fact
        while one is not None and one.id not in turn and one.id not in line:
            line[one.id] = one
            one = None if one.supersedes is None else told.get(one.supersedes)
        turn |= {each.id: each for each in reversed(line.values())}
    return list(turn.values())


def may_supersede(newer: Memory, older: Memory) -> bool:
    """Whether everybody who sees the older one sees what would take its place."""
    return newer.home is None or newer.home == older.home


def state_at(memory: Memory, history: Sequence[Version], at: datetime) -> Memory:
    """A memory in the version that stood at an instant, or in its first one where all of it was written later.
    ``history`` is oldest first. What is no part of a version is as it is now."""
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
