"""What an agent is told of running things before it begins: the surest first, as far as they have room (C17, C19)."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hivelore.domain.operational import GENERAL, Confidence
from hivelore.domain.text import in_one_line
from hivelore.policies.tokens import estimate

_ROUND = str.maketrans("[]", "()")
"""Nobody is to end the brackets early and go on with a confidence of his own."""


@dataclass(frozen=True, slots=True)
class Line:
    service: str | None
    category: str
    text: str
    confidence: Confidence


@dataclass(frozen=True, slots=True)
class Block:
    text: str
    """Empty where nothing is told."""
    included: int
    total: int
    """Of all that might have been told."""
    tokens: int
    """Estimated; of the whole text, headings included."""


def block(lines: Sequence[Line], budget: int, characters: int | None = None) -> Block:
    """``lines`` are all that are active, in the order in which they are to be preferred where they are equally sure.
    ``budget``: in tokens. ``characters``: no more than so many in all.

    A line that is too long for what is left is passed over, so none takes the room of a surer one."""
    heading = _heading(len(lines), len(lines), budget)
    left, room = budget - estimate(heading), math.inf if characters is None else characters - len(heading)
    groups: dict[str, list[Line]] = {}
    for one in sorted(lines, key=lambda line: -line.confidence):
        group = one.service or GENERAL
        new = [_shown(one)] if group in groups else [_group_heading(group), _shown(one)]
        cost, length = sum(map(estimate, new)), sum(len(line) + 2 for line in new)
        if cost <= left and length <= room:
            groups.setdefault(group, []).append(one)
            left, room = left - cost, room - length
    included = sum(map(len, groups.values()))
    if not included:
        return Block("", 0, len(lines), 0)
    tokens = budget - left
    parts = [
        "\n".join((_group_heading(group), *map(_shown, groups[group]))) for group in sorted(groups, key=_place(groups))
    ]
    return Block("\n\n".join((_heading(included, len(lines), tokens), *parts)), included, len(lines), tokens)


def _place(groups: Mapping[str, Sequence[Line]]) -> Callable[[str], tuple[bool, float, str]]:
    """Where a group stands: by its surest line, then by name; what holds for all comes last."""
    return lambda group: (group == GENERAL, -groups[group][0].confidence, group)


def _heading(included: int, total: int, tokens: int) -> str:
    return f"## Operational Memory ({included:,} of {total:,} memories, ~{tokens:,} tokens)"


def _group_heading(group: str) -> str:
    return f"### {in_one_line(group)}"


def _shown(line: Line) -> str:
    """In one line, whatever it holds."""
    category = in_one_line(line.category).translate(_ROUND)
    return f"- [{category}] {in_one_line(line.text)} (confidence: {round(line.confidence, 2)})"
