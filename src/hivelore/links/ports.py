"""Ports of the links between memories."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from hivelore.core.text import Clean
from hivelore.links.model import LinkKind, StoredLink, Successor
from hivelore.memories.stored import DocumentKey


class LinkReads(Protocol):
    """Links between memories."""

    def links_of(self, documents: Collection[DocumentKey]) -> Sequence[StoredLink]:
        """Returns the links from and to any of these memories, rejected ones included, the latest judged first, then by
        the ids of source and target, and by kind in the order of ``LinkKind``."""
        ...

    def updates_of(self, documents: Collection[DocumentKey], at: datetime) -> Mapping[DocumentKey, Sequence[Successor]]:
        """Returns, by memory, the memories that update it directly, the greatest ``Successor`` first. If more than
        ``KEPT`` do, those that hold at this time are returned first, then the latest. Those of one owner beyond
        ``SHARE`` come after all others that hold, so that no owner displaces those of others. Memories that nothing
        updates are omitted. Rejected links do not count. ``links.chains.follow_updates`` follows chains."""
        ...

    def doubts_of(
        self, documents: Collection[DocumentKey], certainty: float, at: datetime
    ) -> Mapping[DocumentKey, Sequence[DocumentKey]]:
        """Returns, by memory, the memories that may update or contradict it (``links.model.DOUBTS``) with at least this
        certainty, the most certain first, then the latest. If more than ``KEPT`` do, those that hold at this time are
        returned first. Rejected links do not count, nor memories that ``links.decisions.may_update`` does not admit."""
        ...

    def later_among(
        self, documents: Collection[DocumentKey], certainty: float
    ) -> Mapping[DocumentKey, Sequence[DocumentKey]]:
        """Returns, by memory, all of the other given memories that update or contradict it, or may update it with at
        least this certainty, the greatest key first. Rejected links do not count. Looks up each pair, so it is for few
        memories."""
        ...

    def uncompared(self, model: Clean, limit: int) -> Sequence[DocumentKey]:
        """Returns up to ``limit`` memories whose current version was not compared by this model, the latest key first.
        Reads all memories if none is left."""
        ...

    def count_uncompared(self, model: Clean) -> int: ...


class LinkWrites(Protocol):
    """Links between memories. No call makes a new version of a memory. The links of a memory are deleted with it."""

    def put_link(self, link: StoredLink) -> None:
        """Inserts or replaces the link of this kind between these two memories, in this direction. Ignored if one of
        them does not exist."""
        ...

    def drop_link(self, source: DocumentKey, target: DocumentKey, kind: LinkKind) -> None:
        """Dropping twice is allowed."""
        ...

    def put_compared(self, document: DocumentKey, version: int, model: Clean) -> None:
        """Records that a version of a memory was compared with its neighbours. Ignored if the memory does not exist.
        The record is deleted with the memory."""
        ...


KEPT = 6
"""Memories that are returned for one that more update or contradict."""
SHARE = 3
"""Memories of one owner among these, while other owners have some."""
