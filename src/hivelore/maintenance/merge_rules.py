"""Which memories may become one, and whose words the one then has (N14)."""

from datetime import datetime

from hivelore.feedback.model import Usefulness
from hivelore.memories.model import Memory, Trust
from hivelore.memories.validity import may_supersede

_TRUST_ORDER = list(reversed(Trust))
"""The least relied on first."""


def may_merge(older: Memory, newer: Memory, now: datetime) -> bool:
    """Whether the newer one may take the place of the older one: both count now, for the same readers, and nothing else
    tells which of them holds. What comes from a file is as the file is."""
    return (
        older.id != newer.id
        and older.holds_since <= newer.holds_since
        and (older.owner, older.home, older.scope) == (newer.owner, newer.home, newer.scope)
        and (older.project, older.category) == (newer.project, newer.category)
        and may_supersede(newer, older)
        and _operational_key(older) == _operational_key(newer)
        and newer.supersedes is None
        and all(_is_unlinked_and_valid(one, now) for one in (older, newer))
    )


def _operational_key(memory: Memory) -> object:
    known = memory.operational
    return None if known is None else (True, known.service)


def _is_unlinked_and_valid(memory: Memory, now: datetime) -> bool:
    return memory.subject is None and memory.source_path is None and memory.valid_until is None and memory.is_live(now)


def preferred_wording(older: tuple[Memory, Usefulness], newer: tuple[Memory, Usefulness]) -> Memory:
    """Whose words stay: those that can be relied on more, were of more use, say more, or are newer."""
    return max((older, newer), key=_wording_rank)[0] if _wording_rank(older) != _wording_rank(newer) else newer[0]


def _wording_rank(one: tuple[Memory, Usefulness]) -> tuple[int, float, int]:
    memory, usefulness = one
    return _TRUST_ORDER.index(memory.provenance.trust), usefulness.factor, len(memory.content)
