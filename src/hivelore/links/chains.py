"""Chains of updates: which memories are the latest of one, and what holds now comes before what it replaced."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice, zip_longest
from typing import TypeVar

from hivelore.links.model import Successor
from hivelore.memories.stored import DocumentKey

K = TypeVar("K")
Later = Mapping[DocumentKey, Sequence[Successor]]
"""By memory, those that update it."""

MAX_FOLLOWED = 50
"""Memories besides the given ones whose updates are read."""
MOST_LATEST = 6
"""Latest successors of a memory that are read because of it."""
MOST_SUCCESSORS = 3
"""Latest successors of a memory that a result contains because of it."""


def follow_updates(documents: Iterable[DocumentKey], read: Callable[[Collection[DocumentKey]], Later]) -> Later:
    """Returns, by memory, the known memories that update it, directly or through others, the greatest first. Contains
    the given memories and those that were followed, without memories that nothing updates. A memory in a cycle is not
    among its own.

    ``read`` returns those that update each memory directly (``links.ports.LinkReads.updates_of``). It is called once
    for each step with the memories that the last step found, until nothing updates them; with ``MAX_FOLLOWED`` at most
    in all, first the greatest successor of each memory of a step.
    """
    newer: dict[DocumentKey, Sequence[Successor]] = {}
    level, followed, left = dict.fromkeys(documents), set[DocumentKey](), MAX_FOLLOWED
    while level:
        found = read(level)
        newer |= found
        followed |= level.keys()
        in_turns = zip_longest(*(found[key] for key in level if key in found))
        reached = dict.fromkeys(one.key for turn in in_turns for one in turn if one and one.key not in followed)
        level = dict.fromkeys(islice(reached, left))
        left -= len(level)
    return {key: later for key in newer if (later := _reach(key, newer))}


def _reach(document: DocumentKey, newer: Later) -> list[Successor]:
    found, left = dict[DocumentKey, Successor](), [document]
    while left:
        for one in newer.get(left.pop(), ()):
            if one.key != document and one.key not in found:
                found[one.key] = one
                left.append(one.key)
    return sorted(found.values(), reverse=True)


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
