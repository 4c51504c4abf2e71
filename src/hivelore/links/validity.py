"""Whether an update ends the valid time of what it updates, and who decides that (X22, X23)."""

from collections.abc import Sequence
from itertools import pairwise

from msgspec import UNSET

from hivelore.core.access import Effect, Permission, may_affect
from hivelore.core.agents import Viewer
from hivelore.links.decisions import end_reason, may_compare, may_update, stated_at
from hivelore.links.model import Link, LinkKind
from hivelore.memories.drafts import Edit
from hivelore.memories.model import Memory, MemoryId, Trust, Version

CERTAIN = 0.99
"""Least certainty of an update that may change valid time: a wrong order misleads less than a wrong end. Chosen in
docs/decisions/0028-facts-that-change.md."""


def is_certain(link: Link) -> bool:
    """Returns True for an update that may change valid time."""
    return link.kind is LinkKind.UPDATES and link.counts and link.certainty >= CERTAIN


def may_end(older: Memory, newer: Memory, history: Sequence[Version]) -> bool:
    """Returns True if a certain update of two memories may end the valid time of the older one, whoever decides it.
    ``history``: the versions of the newer memory, oldest first. An end that was removed again is not made again."""
    return (
        may_compare(newer, older)
        and may_update(older, newer)
        and older.operational is None
        and newer.operational is None
        and older.valid_until is None
        and newer.supersedes is None
        and outlives(newer, older)
        and stated_at(newer, history) > older.holds_since
        and not has_ended(history, older.id)
    )


def outlives(newer: Memory, older: Memory) -> bool:
    """Returns False if the newer memory expires before the older one. If it ended that one, both would be lost."""
    if newer.expires_at is None:
        return True
    return older.expires_at is not None and newer.expires_at >= older.expires_at


def may_decide_alone(older: Memory, newer: Memory, author: Viewer | None) -> bool:
    """Returns True if an update needs no review: its author may edit the older memory, and wrote it without a tool or
    the web. ``author``: None if unknown."""
    is_stated = newer.provenance.trust in (Trust.OPERATOR, Trust.AGENT)
    return author is not None and is_stated and may_affect(author, Effect.EDIT, older) is Permission.ALLOWED


def stating_version(history: Sequence[Version]) -> Version:
    """Returns the version that first had the present text. ``history``: oldest first."""
    stating = history[-1]
    for version in reversed(history):
        if version.content != stating.content:
            break
        stating = version
    return stating


def ending(older: Memory, newer: Memory, history: Sequence[Version]) -> Edit:
    """Returns the edit of the newer memory that ends the valid time of the older one when the update was stated."""
    stated = stated_at(newer, history)
    since = UNSET if stated == newer.holds_since else stated
    return Edit(supersedes=older.id, valid_from=since, reason=end_reason(older.id))


def removal_of_end(older: MemoryId, newer: Memory, history: Sequence[Version]) -> Edit:
    """Returns the edit of the newer memory that removes what ``ending`` changed. A start of validity that was set since
    then stays."""
    since = UNSET
    for before, after in pairwise(history):
        if after.reason == end_reason(older) and after.valid_from != before.valid_from:
            since = before.valid_from if newer.valid_from == after.valid_from else UNSET
    return Edit(supersedes=None, valid_from=since, reason=f"The link to {older} was rejected.")


def has_ended(history: Sequence[Version], older: MemoryId) -> bool:
    """Returns True if ``ending`` made a version of a memory."""
    return any(one.reason == end_reason(older) for one in history)
