"""Which memories are compared, in which order, and what link a verdict makes (X23)."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise

from hivelore.core.text import Clean
from hivelore.links.judge import DEFAULTS, Judgement, Verdict
from hivelore.links.model import LaterStatement, Link, LinkKind
from hivelore.memories.model import Memory, MemoryId, Trust, Version
from hivelore.memories.task_completion import OPEN_TASK

LONGEST = 1_500
"""Characters of a memory that is compared. A longer one makes many statements."""
KINDS = {
    Verdict.SAME: LinkKind.SAME_AS,
    Verdict.UPDATE: LinkKind.UPDATES,
    Verdict.CONFLICT: LinkKind.CONFLICTS_WITH,
    Verdict.UNCERTAIN: LinkKind.MAY_UPDATE,
}

_END = "It updates "
DOUBT_ORDERED = 0.6
"""Least certainty of a doubt because of which the later memory comes first in a result."""
DOUBT_INJECTED = 0.2
"""Least certainty of a doubt because of which a memory is injected together with an earlier one."""


def stated_at(memory: Memory, history: Sequence[Version] = ()) -> datetime:
    """Returns when a memory's statement was made, or since when it holds. ``history``: its versions, oldest first, if
    it has several: a statement is as new as its text. A start of validity that the end of another memory needed does
    not count, because nobody stated it."""
    if memory.valid_from is not None and not _is_set_by_end(memory.valid_from, history):
        return memory.valid_from
    at = memory.created_at
    for before, after in pairwise(history):
        if after.content != before.content:
            at = after.at
    return at


def _is_set_by_end(valid_from: datetime, history: Sequence[Version]) -> bool:
    """Returns True if a version that ended another memory set this start of validity."""
    set_by = None
    for before, after in pairwise(history):
        if after.valid_from == valid_from != before.valid_from:
            set_by = after
    return set_by is not None and is_end(set_by)


def end_reason(older: MemoryId) -> str:
    """Returns the reason of a version that ends the validity of an older memory: without its words, which stay when it
    is deleted."""
    return f"{_END}{older}."


def is_end(version: Version) -> bool:
    """Returns True for a version that ends the validity of another memory."""
    return version.reason is not None and version.reason.startswith(_END)


def is_comparable(memory: Memory) -> bool:
    """Returns True if a memory is short enough to be one statement, and is no task that is still to be done."""
    return len(memory.content) <= LONGEST and memory.category != OPEN_TASK


def may_compare(one: Memory, other: Memory) -> bool:
    """Returns True if two memories may be linked: the same viewers see them, and they are of the same project, or one
    of no project."""
    return (
        one.home == other.home
        and (one.project == other.project or None in (one.project, other.project))
        and not (one.topic is not None and one.topic == other.topic)  # Their valid time has their order.
        and is_comparable(other)
    )


def may_update(older: Memory, newer: Memory) -> bool:
    """Returns False if the newer memory should not rank before the older one: if it is of one project and the older
    one of all, or if its origin is less reliable."""
    origins = list(Trust)
    is_as_reliable = origins.index(newer.provenance.trust) <= origins.index(older.provenance.trust)
    return newer.project in (None, older.project) and is_as_reliable


def make_link(older: Memory, newer: Memory, judged: Judgement, model: Clean, now: datetime) -> Link | None:
    """Returns the link that a verdict makes; None for none."""
    kind, certainty = KINDS.get(judged.verdict), judged.certainty
    if judged.verdict is Verdict.DIFFERENT and judged.change >= DEFAULTS.weak_doubt:
        kind, certainty = LinkKind.MAY_UPDATE, judged.change
    if kind in (LinkKind.UPDATES, LinkKind.MAY_UPDATE) and not may_update(older, newer):
        kind = LinkKind.CONFLICTS_WITH if kind is LinkKind.UPDATES else None
    if kind is None:
        return None
    return Link(
        source=newer.id,
        target=older.id,
        kind=kind,
        certainty=certainty,
        why=Clean(judged.why),
        model=model,
        at=now,
    )


def choose_later(memory: MemoryId, at: datetime, choices: Iterable[Iterable[LaterStatement]]) -> LaterStatement | None:
    """Returns the statement that is shown with a memory stated at this time: the latest of the first ``choices`` that
    are later than the memory. None if no statement is later, as in a cycle of updates."""
    for some in choices:
        later = [one for one in some if (one.at, one.memory.id) > (at, memory)]
        if later:
            return max(later, key=lambda one: (one.at, one.memory.id))
    return None
