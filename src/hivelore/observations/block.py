"""Operational block: text about running services for the session-start context, highest confidence first (C17, C19)."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from hivelore.core.sanitizer import sanitize
from hivelore.core.text import Harmless, in_one_line
from hivelore.core.token_count import estimate
from hivelore.core.values import replace
from hivelore.links.chains import successors_first
from hivelore.memories.model import Memory, MemoryId
from hivelore.observations.model import GENERAL
from hivelore.observations.naming import DEFAULT_NAMING, Naming
from hivelore.observations.outcomes import RatedMemory

_BRACKETS = str.maketrans("[]", "()")
"""Replaced, so that text cannot close the brackets and forge a confidence."""


@dataclass(frozen=True, slots=True)
class Update:
    """The latest memory that updates an operational one; it may be any memory."""

    memory: Memory
    at: datetime
    """When it was stated."""
    short_id: str
    """Beginning of its id."""


@dataclass(frozen=True, slots=True)
class Block:
    text: Harmless
    """Empty if nothing is included."""
    included: int
    total: int
    """Number of active memories."""
    tokens: int
    """Estimated tokens of the whole text, headings included."""
    memories: tuple[Memory, ...] = ()
    """Memories in the text, in its order. Memories that are included only because they update another one are not
    counted."""


NO_UPDATES: Mapping[MemoryId, Update] = {}
NO_BLOCK = Block(Harmless(""), 0, 0, 0)


def build_block(
    memories: Sequence[RatedMemory],
    budget: int,
    characters: int | None = None,
    known: Collection[tuple[MemoryId, int]] = (),
    naming: Naming = DEFAULT_NAMING,
    updates: Mapping[MemoryId, Update] = NO_UPDATES,
) -> Block:
    """Builds the block from active memories; their order breaks ties of confidence. ``budget``: tokens. ``characters``:
    limit on the whole text. ``known``: memories in versions the reader already has; they count in the total but are not
    repeated. ``updates``: by memory, what updates it.

    A line that does not fit is skipped; smaller ones after it may still fit. An updated memory is marked, and included
    only behind the memory that updates it, or if the reader knows that one.
    """
    total = len(memories)
    heading = _heading(total, total, budget)
    left, room = budget - estimate(heading), math.inf if characters is None else characters - len(heading)
    groups: dict[str, _Group] = {}
    names = _first_spellings((one.memory for one in memories), naming)
    new_ones = {one.memory.id: one for one in memories if (one.memory.id, one.memory.version) not in known}
    by_confidence = sorted(new_ones, key=lambda one: -new_ones[one].confidence)
    before = {one: [update.memory.id] for one, update in updates.items() if update.memory.id in new_ones}
    named = {update.memory.id: update for update in updates.values()}
    shown, included = {memory for memory, _ in known}, 0
    for one in map(new_ones.__getitem__, successors_first(by_confidence, before)):
        update, added = updates.get(one.memory.id), [one.memory]
        if update is not None and update.memory.id not in shown:
            if update.memory.id in new_ones:
                continue
            added.insert(0, update.memory)
        confidences = {one.memory.id: one.confidence}
        lines = [
            _format_line(each, confidences.get(each.id), named.get(each.id), updates.get(each.id)) for each in added
        ]
        name = names[naming.service_key(_service_group(one.memory))]
        group = groups.get(name, _Group())
        new = lines if group.lines else [_group_heading(name), *lines]
        cost, length = sum(map(estimate, new)), sum(len(line) + 2 for line in new)
        if cost <= left and length <= room:
            groups[name] = _Group(
                (*group.lines, *lines), (*group.memories, *added), max(group.confidence, one.confidence)
            )
            left, room, included = left - cost, room - length, included + 1
            shown |= {each.id for each in added}
    if not included:
        return replace(NO_BLOCK, total=total)
    tokens, order = budget - left, sorted(groups, key=_group_order(groups))
    parts = ["\n".join((_group_heading(name), *groups[name].lines)) for name in order]
    text = sanitize("\n\n".join((_heading(included, total, tokens), *parts)))
    return Block(text, included, total, tokens, tuple(one for name in order for one in groups[name].memories))


@dataclass(frozen=True, slots=True)
class _Group:
    """The lines of one service."""

    lines: tuple[str, ...] = ()
    memories: tuple[Memory, ...] = ()
    confidence: float = 0.0
    """The highest."""


def _service_group(memory: Memory) -> str:
    return GENERAL if memory.operational is None else memory.operational.service or GENERAL


def _first_spellings(memories: Iterable[Memory], naming: Naming) -> Mapping[str, str]:
    """Returns the name of each service by its key: the spelling of its oldest memory."""
    names: dict[str, str] = {GENERAL: GENERAL}
    for memory in sorted(memories, key=lambda one: (one.created_at, one.id)):
        service = _service_group(memory)
        names.setdefault(naming.service_key(service), service)
    return names


def _group_order(groups: Mapping[str, _Group]) -> Callable[[str], tuple[bool, float, str]]:
    """Sorts groups by their highest confidence, then by name; GENERAL comes last."""
    return lambda name: (name == GENERAL, -groups[name].confidence, name)


def _heading(included: int, total: int, tokens: int) -> str:
    return f"## Operational Memory ({included:,} of {total:,} memories, ~{tokens:,} tokens)"


def _group_heading(group: str) -> str:
    return sanitize(f"### {in_one_line(group)}")


def _format_line(memory: Memory, confidence: float | None, named: Update | None, update: Update | None) -> str:
    """Formats a memory in one line. ``confidence``: None for a memory that is no operational one. ``named``: the
    memory itself if others name it as what updates them. ``update``: what updates it."""
    about = [] if confidence is None else [f"confidence: {round(confidence, 2)}"]
    about += [] if named is None else [f"{named.short_id} {named.at:%Y-%m-%d}"]
    about += [] if update is None else [f"updated {update.at:%Y-%m-%d} by {update.short_id}"]
    category = in_one_line(memory.category).translate(_BRACKETS)
    return sanitize(f"- [{category}] {in_one_line(memory.content)} ({', '.join(about)})")
