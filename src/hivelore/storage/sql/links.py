"""Links between memories. A row names its memories by key; their ids are joined when it is read."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from hivelore.core.text import Clean
from hivelore.links.model import DOUBTS, Link, LinkKind, StoredLink
from hivelore.links.ports import KEPT
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
    plain,
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


class LinkReader(SqlReader):
    """Implements ``links.ports.LinkReads``."""

    TABLES = (LINK,)

    def links_of(self, documents: Collection[DocumentKey]) -> Sequence[StoredLink]:
        return [_read_link(row) for row in self.rows(self.SQL["links_of"], {"documents": self.array(documents)})]

    def updates_of(self, documents: Collection[DocumentKey]) -> Mapping[DocumentKey, Sequence[DocumentKey]]:
        return self._later_than(documents, (LinkKind.UPDATES,), 0.0)

    def doubts_of(
        self, documents: Collection[DocumentKey], certainty: float
    ) -> Mapping[DocumentKey, Sequence[DocumentKey]]:
        return self._later_than(documents, DOUBTS, certainty)

    def doubts_among(self, documents: Collection[DocumentKey]) -> Mapping[DocumentKey, Sequence[DocumentKey]]:
        may_update, conflicts = (KIND[kind] for kind in DOUBTS)
        params = {"documents": self.array(set(documents)), "may_update": may_update, "conflicts": conflicts}
        return _by_target(self.rows(self.SQL["doubts_among"], params))

    def _later_than(
        self, documents: Collection[DocumentKey], kinds: Iterable[LinkKind], certainty: float
    ) -> Mapping[DocumentKey, Sequence[DocumentKey]]:
        """Reads each kind by itself, because the index has the links of one kind in order."""
        params = {"documents": self.array(set(documents)), "certainty": certainty, "kept": KEPT}
        found = [row for kind in kinds for row in self.rows(self.SQL["later_than"], {**params, "kind": KIND[kind]})]
        return {target: sources[:KEPT] for target, sources in _by_target(found).items()}

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
