"""Order of memories in chains of updates: what holds now comes before what it replaced."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

K = TypeVar("K")

MOST_SUCCESSORS = 3
"""Latest successors of a memory that a result contains because of it."""


def successors_first(items: Iterable[K], updated_by: Mapping[K, Sequence[K]]) -> list[K]:
    """Returns the items and their successors without repetitions, each item behind those that update it, otherwise in
    the given order. ``updated_by``: the successors of an item, latest first. In a cycle, the order is that of the first
    item of it."""
    order: dict[K, None] = {}
    begun = set[K]()
    for item in items:
        stack = [item]
        while stack:
            top = stack[-1]
            left = [] if top in begun else [one for one in updated_by.get(top, ()) if one not in begun]
            begun.add(top)
            if left:
                stack += reversed(left)
            else:
                order.setdefault(stack.pop())
    return list(order)
