"""What an agent is told of running things before it begins: the surest first, as far as they have room (C17, C19)."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from hivelore.core.sanitizer import harmless
from hivelore.core.text import Harmless, in_one_line
from hivelore.core.token_count import estimate
from hivelore.memories.model import Memory, MemoryId
from hivelore.observations.model import GENERAL
from hivelore.observations.outcomes import RatedMemory

_BRACKETS = str.maketrans("[]", "()")
"""Nobody is to end the brackets early and go on with a confidence of his own."""


@dataclass(frozen=True, slots=True)
class Block:
    text: Harmless
    """Empty where nothing is told."""
    included: int
    total: int
    """Of all that might have been told."""
    tokens: int
    """Estimated; of the whole text, headings included."""
    memories: tuple[Memory, ...] = ()
    """Those that are included, as they stand in the text."""


NO_BLOCK = Block(Harmless(""), 0, 0, 0)


def build_block(
    memories: Sequence[RatedMemory],
    budget: int,
    characters: int | None = None,
    known: Collection[tuple[MemoryId, int]] = (),
) -> Block:
    """``memories`` are all that are active, in the order in which they are to be preferred where they are equally sure.
    ``budget``: in tokens. ``characters``: no more than so many in all. ``known``: what the reader was told before, in
    these versions; it counts, and is not told again.

    A line that is too long for what is left is passed over, so none takes the room of a surer one."""
    total = len(memories)
    heading = _heading(total, total, budget)
    left, room = budget - estimate(heading), math.inf if characters is None else characters - len(heading)
    groups: dict[str, list[RatedMemory]] = {}
    new_ones = (one for one in memories if (one.memory.id, one.memory.version) not in known)
    for one in sorted(new_ones, key=lambda one: -one.confidence):
        group = _service_group(one.memory)
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
    told = tuple(one.memory for group in order for one in groups[group])
    text = harmless("\n\n".join((_heading(included, total, tokens), *parts)))
    return Block(text, included, total, tokens, told)


def _service_group(memory: Memory) -> str:
    return GENERAL if memory.operational is None else memory.operational.service or GENERAL


def _group_order(groups: Mapping[str, Sequence[RatedMemory]]) -> Callable[[str], tuple[bool, float, str]]:
    """Where a group stands: by its surest line, then by name; what holds for all comes last."""
    return lambda group: (group == GENERAL, -groups[group][0].confidence, group)


def _heading(included: int, total: int, tokens: int) -> str:
    return f"## Operational Memory ({included:,} of {total:,} memories, ~{tokens:,} tokens)"


def _group_heading(group: str) -> str:
    return harmless(f"### {in_one_line(group)}")


def _format_line(one: RatedMemory) -> str:
    """In one line, whatever it holds."""
    category = in_one_line(one.memory.category).translate(_BRACKETS)
    return harmless(f"- [{category}] {in_one_line(one.memory.content)} (confidence: {round(one.confidence, 2)})")
