"""Operational block: text about running services for the session-start context, highest confidence first (C17, C19)."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from hivelore.core.sanitizer import sanitize
from hivelore.core.text import Harmless, in_one_line
from hivelore.core.token_count import estimate
from hivelore.core.values import replace
from hivelore.memories.model import Memory, MemoryId
from hivelore.observations.model import GENERAL
from hivelore.observations.naming import DEFAULT_NAMING, Naming
from hivelore.observations.outcomes import RatedMemory

_BRACKETS = str.maketrans("[]", "()")
"""Replaced, so that text cannot close the brackets and forge a confidence."""


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
    """Included memories, in the order of the text."""


NO_BLOCK = Block(Harmless(""), 0, 0, 0)


def build_block(
    memories: Sequence[RatedMemory],
    budget: int,
    characters: int | None = None,
    known: Collection[tuple[MemoryId, int]] = (),
    naming: Naming = DEFAULT_NAMING,
) -> Block:
    """Builds the block from active memories; their order breaks ties of confidence. ``budget``: tokens. ``characters``:
    limit on the whole text. ``known``: memories in versions the reader already has; they count in the total but are not
    repeated.

    A line that does not fit is skipped; smaller ones after it may still fit.
    """
    total = len(memories)
    heading = _heading(total, total, budget)
    left, room = budget - estimate(heading), math.inf if characters is None else characters - len(heading)
    groups: dict[str, list[RatedMemory]] = {}
    names = _first_spellings((one.memory for one in memories), naming)
    new_ones = (one for one in memories if (one.memory.id, one.memory.version) not in known)
    for one in sorted(new_ones, key=lambda one: -one.confidence):
        group = names[naming.service_key(_service_group(one.memory))]
        new = [_format_line(one)] if group in groups else [_group_heading(group), _format_line(one)]
        cost, length = sum(map(estimate, new)), sum(len(line) + 2 for line in new)
        if cost <= left and length <= room:
            groups.setdefault(group, []).append(one)
            left, room = left - cost, room - length
    included = sum(map(len, groups.values()))
    if not included:
        return replace(NO_BLOCK, total=total)
    tokens, order = budget - left, sorted(groups, key=_group_order(groups))
    parts = ["\n".join((_group_heading(group), *map(_format_line, groups[group]))) for group in order]
    included_memories = tuple(one.memory for group in order for one in groups[group])
    text = sanitize("\n\n".join((_heading(included, total, tokens), *parts)))
    return Block(text, included, total, tokens, included_memories)


def _service_group(memory: Memory) -> str:
    return GENERAL if memory.operational is None else memory.operational.service or GENERAL


def _first_spellings(memories: Iterable[Memory], naming: Naming) -> Mapping[str, str]:
    """Returns the name of each service by its key: the spelling of its oldest memory."""
    names: dict[str, str] = {GENERAL: GENERAL}
    for memory in sorted(memories, key=lambda one: (one.created_at, one.id)):
        service = _service_group(memory)
        names.setdefault(naming.service_key(service), service)
    return names


def _group_order(groups: Mapping[str, Sequence[RatedMemory]]) -> Callable[[str], tuple[bool, float, str]]:
    """Sorts groups by their highest confidence, then by name; GENERAL comes last."""
    return lambda group: (group == GENERAL, -groups[group][0].confidence, group)


def _heading(included: int, total: int, tokens: int) -> str:
    return f"## Operational Memory ({included:,} of {total:,} memories, ~{tokens:,} tokens)"


def _group_heading(group: str) -> str:
    return sanitize(f"### {in_one_line(group)}")


def _format_line(one: RatedMemory) -> str:
    """Formats a memory in one line."""
    category = in_one_line(one.memory.category).translate(_BRACKETS)
    return sanitize(f"- [{category}] {in_one_line(one.memory.content)} (confidence: {round(one.confidence, 2)})")
