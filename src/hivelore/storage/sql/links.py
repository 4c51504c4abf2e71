"""Links between memories. A row names its memories by key; their ids are joined when it is read."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from hivelore.core.text import Clean
from hivelore.links.model import DOUBTS, Link, LinkKind, StoredLink, Successor
from hivelore.links.ports import KEPT, SHARE
from hivelore.memories.model import MemoryId
from hivelore.memories.stored import DocumentKey
from hivelore.storage.sql.statements import (
    INSTANT,
    PLAIN,
    Param,
    Row,
    SqlReader,
    SqlWriter,
    Table,
    codes,
    digest,
    from_micros,
    plain,
    to_micros,
)

KIND = {LinkKind.SAME_AS: 1, LinkKind.UPDATES: 2, LinkKind.CONFLICTS_WITH: 3, LinkKind.MAY_UPDATE: 4}
"""Codes in the order of ``LinkKind``, by which links are sorted."""
LINK = Table(
    Link,
    "link",
    "source target kind",
    kind=codes(KIND),
    **plain("certainty why model"),
    at=INSTANT,
    rejected_at=INSTANT,
    rejected_by=PLAIN,
)


def links_digest(document: DocumentKey) -> bytes:
    """Returns the digest by which a transaction claims the links of a memory."""
    return digest("links", str(document))


def _read_link(row: Row) -> StoredLink:
    """Columns keys of source and target, their ids, then those of ``LINK``."""
    source, target, source_id, target_id, *columns = row
    link = LINK.read(columns, source=MemoryId(source_id), target=MemoryId(target_id))
    return StoredLink(DocumentKey(source), DocumentKey(target), link)


def _place(source: DocumentKey, target: DocumentKey, kind: LinkKind) -> dict[str, Param]:
    return {"source": source, "target": target, "kind": KIND[kind]}


def _by_target(rows: Iterable[Row]) -> dict[DocumentKey, list[DocumentKey]]:
    """Returns the sources of links by target, the greatest key first. Columns target, source."""
    sources: dict[DocumentKey, set[DocumentKey]] = {}
    for target, source in rows:
        sources.setdefault(DocumentKey(target), set()).add(DocumentKey(source))
    return {target: sorted(some, reverse=True) for target, some in sources.items()}


def _read_successor(columns: Sequence[Any]) -> Successor:
    """Columns key, whether it holds, since when, id."""
    key, holds, since, memory = columns
    return Successor(bool(holds), from_micros(since), MemoryId(memory), DocumentKey(key))


def _most_certain(doubts: Iterable[tuple[float, Successor]]) -> list[DocumentKey]:
    kept = sorted(doubts, key=lambda one: (one[1].holds, one[0], one[1]), reverse=True)[:KEPT]
    return [one.key for _, one in sorted(kept, key=lambda one: (one[0], one[1].since, one[1].id), reverse=True)]


class LinkReader(SqlReader):
    """Implements ``links.ports.LinkReads``."""

    TABLES = (LINK,)

    def links_of(self, documents: Collection[DocumentKey]) -> Sequence[StoredLink]:
        return [_read_link(row) for row in self.rows(self.SQL["links_of"], {"documents": self.array(documents)})]

    def updates_of(self, documents: Collection[DocumentKey], at: datetime) -> Mapping[DocumentKey, Sequence[Successor]]:
        params = {"documents": self.array(set(documents)), "at": to_micros(at), "kept": KEPT, "share": SHARE}
        found: dict[DocumentKey, list[Successor]] = {}
        for target, *columns in self.rows(self.SQL["updates_of"], {**params, "kind": KIND[LinkKind.UPDATES]}):
            found.setdefault(DocumentKey(target), []).append(_read_successor(columns))
        return {target: sorted(some, reverse=True) for target, some in found.items()}

    def doubts_of(
        self, documents: Collection[DocumentKey], certainty: float, at: datetime
    ) -> Mapping[DocumentKey, Sequence[DocumentKey]]:
        may_update, conflicts = (KIND[kind] for kind in DOUBTS)
        params = {"may_update": may_update, "conflicts": conflicts, "certainty": certainty, "at": to_micros(at)}
        # A memory may be there twice, once for each kind.
        params |= {"documents": self.array(set(documents)), "kept": len(DOUBTS) * KEPT}
        found: dict[DocumentKey, dict[DocumentKey, tuple[float, Successor]]] = {}
        for target, certain, *columns in self.rows(self.SQL["doubts_of"], params):
            some, one = found.setdefault(DocumentKey(target), {}), _read_successor(columns)
            some[one.key] = max(some.get(one.key, (0.0, one)), (certain, one))
        return {target: _most_certain(some.values()) for target, some in found.items()}

    def later_among(
        self, documents: Collection[DocumentKey], certainty: float
    ) -> Mapping[DocumentKey, Sequence[DocumentKey]]:
        may_update, conflicts = (KIND[kind] for kind in DOUBTS)
        kinds = {"updates": KIND[LinkKind.UPDATES], "may_update": may_update, "conflicts": conflicts}
        params = {"documents": self.array(set(documents)), "certainty": certainty, **kinds}
        return _by_target(self.rows(self.SQL["later_among"], params))

    def uncompared(self, model: Clean, limit: int) -> Sequence[DocumentKey]:
        return [DocumentKey(key) for (key,) in self.rows(self.SQL["uncompared"], {"model": model, "limit": limit})]

    def count_uncompared(self, model: Clean) -> int:
        return self.row("uncompared_count", model=model)[0]


class LinkWriter(LinkReader, SqlWriter):
    """Implements ``links.ports.LinkWrites``."""

    def put_link(self, link: StoredLink) -> None:
        if all(self.row("memory_exists", key=key) is not None for key in (link.source, link.target)):
            self.run("link_put", {**LINK.params(link.link), "source": link.source, "target": link.target})

    def drop_link(self, source: DocumentKey, target: DocumentKey, kind: LinkKind) -> None:
        self.run("link_drop", _place(source, target, kind))

    def put_compared(self, document: DocumentKey, version: int, model: Clean) -> None:
        if self.row("memory_exists", key=document) is not None:
            self.run("compared_put", {"document": document, "version": version, "model": model})
