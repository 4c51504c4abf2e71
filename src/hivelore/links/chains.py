"""Chains of updates: which memories are the latest of one, and what holds now comes before what it replaced."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from hivelore.memories.stored import DocumentKey

K = TypeVar("K")
Later = Mapping[DocumentKey, Sequence[DocumentKey]]
"""By memory, those that update it."""

MAX_STEPS = 8
"""Links that are followed in a chain of updates."""
MAX_FOLLOWED = 50
"""Memories besides the given ones whose updates are read."""
MOST_LATEST = 6
"""Memories that are known as the latest of a chain."""
MOST_SUCCESSORS = 3
"""Latest successors of a memory that a result contains because of it."""


def follow_updates(documents: Iterable[DocumentKey], read: Callable[[Collection[DocumentKey]], Later]) -> Later:
    """Returns, by memory, the memories that update it, directly or through others, at most ``MAX_STEPS`` links away:
    the ``MOST_LATEST`` with the greatest keys, greatest first. Contains the given memories and those that were
    followed, without memories that nothing updates. A memory in a cycle is not among its own.

    ``read`` returns those that update each memory directly (``links.ports.LinkReads.updates_of``). It is called once
    for each step with the memories that the last step found; of these, ``MAX_FOLLOWED`` at most in all, first those
    reached from the first memories.
    """
    newer: dict[DocumentKey, Sequence[DocumentKey]] = {}
    level, followed, left = dict.fromkeys(documents), set[DocumentKey](), MAX_FOLLOWED
    for _ in range(MAX_STEPS):
        if not level:
            break
        found = read(level)
        newer |= found
        followed |= level.keys()
        reached = dict.fromkeys(one for key in level for one in found.get(key, ()) if one not in followed)
        level = dict.fromkeys(islice(reached, left))
        left -= len(level)
    latest = {key: _greatest(key, some) for key, some in newer.items()}
    for _ in range(MAX_STEPS - 1):
        # The greatest of a union are among the greatest of its parts.
        longer = {
            key: _greatest(key, (*some, *(one for each in some for one in latest.get(each, ()))))
            for key, some in newer.items()
        }
        if longer == latest:
            break
        latest = longer
    return {key: some for key, some in latest.items() if some}


def _greatest(key: DocumentKey, some: Iterable[DocumentKey]) -> list[DocumentKey]:
    return sorted(set(some) - {key}, reverse=True)[:MOST_LATEST]


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
