"""The list of open proposals by harm: groups by memory, and pages.

The order changes while somebody reads page after page: agents are given memories, proposals are made and decided. So a
cursor names the proposals that were shown, and the next page begins with the most harmful other one: no proposal is
skipped or shown twice, whatever happens in between. To keep cursors short, the rest of a very long list follows newest
first.
"""

import binascii
from base64 import b64decode, urlsafe_b64encode
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b

from hivelore.core.paging import Position, cursor_of, invalid_cursor, position_of
from hivelore.memories.model import MemoryId
from hivelore.review.harm import Harm
from hivelore.review.model import Proposal, ProposalGroup, ProposalId

MAX_RANKED = 500
"""Proposals listed by harm; the rest follows newest first."""
_DIGEST = 6
"""Bytes that stand for a proposal in a cursor. They are unique in any list that somebody may read."""
_REST = "~"
_ALL = datetime.max.replace(tzinfo=UTC), _REST
"""A position before any proposal."""


def group_by_memory(
    harms: Sequence[tuple[Proposal, Harm]],
) -> tuple[Sequence[Proposal], Mapping[ProposalId, ProposalGroup]]:
    """Returns the proposals with those about the same memory together, and the group of each.

    The most harmful proposal is the first of its group and decides the place of the group; equally harmful ones are
    ordered by age, oldest first. A proposal about several memories belongs to the one with the most proposals, among
    equals to the one that it names first. One about a setup script has no group.
    """
    ranked = [one for one, _ in sorted(harms, key=_rank)]
    about = Counter(each.memory for one in ranked for each in one.memories)
    members: dict[MemoryId | ProposalId, list[Proposal]] = {}
    groups: dict[ProposalId, ProposalGroup] = {}
    for one in ranked:
        if one.script is not None:
            members[one.id] = [one]
            continue
        memory = max((each.memory for each in one.memories), key=about.__getitem__)
        members.setdefault(memory, []).append(one)
        groups[one.id] = ProposalGroup(memory, about[memory] - 1)
    return [one for proposals in members.values() for one in proposals], groups


def _rank(ranked: tuple[Proposal, Harm]) -> tuple[int, float, datetime, ProposalId]:
    proposal, harm = ranked
    return -harm.urgency, -harm.weight, proposal.at, proposal.id


@dataclass(frozen=True, slots=True)
class ListPosition:
    """The part of a list that was shown."""

    shown: frozenset[bytes] = frozenset()
    """Digests of the proposals shown by harm."""
    rest: Position | None = None
    """Position of the last proposal shown of the rest; None as long as the list is by harm."""

    def cursor(self) -> str:
        digests = urlsafe_b64encode(b"".join(sorted(self.shown))).decode()
        return digests if self.rest is None else f"{digests}{_REST}{cursor_of(*self.rest)}"


FIRST_PAGE = ListPosition()


def parse_position(cursor: str | None) -> ListPosition:
    """Reads a cursor; None: the first page. Raises Invalid."""
    if cursor is None:
        return FIRST_PAGE
    digests, separator, rest = cursor.partition(_REST)
    try:
        shown = b64decode(digests, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise invalid_cursor() from None
    if not shown or len(shown) % _DIGEST:
        raise invalid_cursor()
    parts = frozenset(shown[at : at + _DIGEST] for at in range(0, len(shown), _DIGEST))
    return ListPosition(parts, position_of(rest) if separator else None)


def cut_list(
    ranked: Sequence[Proposal], position: ListPosition, limit: int
) -> tuple[Sequence[Proposal], ListPosition | None]:
    """Returns the page after a position, and the position after that page if more follow. ``ranked``: all open
    proposals, as ``group_by_memory`` orders them now."""
    unseen = [one for one in ranked if _digest(one) not in position.shown]
    if position.rest is None:
        page = unseen[:limit]
        shown = position.shown.union(map(_digest, page))
        after = ListPosition(shown, _ALL if len(shown) >= MAX_RANKED else None)
    else:
        rest = position.rest
        unseen = sorted((one for one in unseen if _age(one) < rest), key=_age, reverse=True)
        page = unseen[:limit]
        after = ListPosition(position.shown, _age(page[-1]) if page else None)
    return page, after if len(unseen) > limit else None


def _digest(proposal: Proposal) -> bytes:
    return blake2b(proposal.id.encode(), digest_size=_DIGEST).digest()


def _age(proposal: Proposal) -> Position:
    return proposal.at, proposal.id
