"""Evidence of use, the usefulness counts of memories, and the recall log.

Usefulness counts have a separate table: few memories have them, and they change often. A recall is one compact row
with memories by key; keys are never reused, so a forgotten memory leaves no id behind.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from struct import pack, unpack

from msgspec.structs import asdict

from hivelore.feedback.model import UsageCounts
from hivelore.feedback.recalls import (
    Aspect,
    Evidence,
    Recall,
    RecalledMemory,
    RecallFilter,
    Sign,
    count_usage,
    merge_evidence,
)
from hivelore.indexing.model import ChangeKind
from hivelore.memories.model import Memory, MemoryId
from hivelore.memories.stored import DocumentKey
from hivelore.search.model import Filter, RecallId, RetrievalMode, Score
from hivelore.storage.sql.memories import MemoryReader, read_stored
from hivelore.storage.sql.statements import (
    INSTANT,
    INTERFACES,
    PLAIN,
    ROLES,
    Codec,
    Param,
    Row,
    SqlWriter,
    Table,
    after_position,
    codes,
    condition,
    from_micros,
    plain,
    to_micros,
)

_NO_AGENT = ""
"""Stands in the agent column, which is part of the primary key."""


def _read_agent(agent: str) -> str | None:
    return None if agent == _NO_AGENT else agent


ASPECT = {Aspect.USE: 1, Aspect.RATING: 2, Aspect.OUTCOME: 3}
EVIDENCE = Table(
    Evidence,
    "evidence",
    "document agent session aspect",
    agent=Codec(_read_agent),
    session=PLAIN,
    sign=codes(
        {
            Sign.UNUSED: 1,
            Sign.REPEATED: 2,
            Sign.OPENED: 3,
            Sign.CITED: 4,
            Sign.APPLIED: 5,
            Sign.USELESS: 6,
            Sign.USEFUL: 7,
            Sign.FAILED: 8,
            Sign.SUCCEEDED: 9,
        }
    ),
    at=INSTANT,
    recall=PLAIN,
)
USEFULNESS = Table(UsageCounts, "usefulness", "document", **dict.fromkeys(UsageCounts.__struct_fields__, PLAIN))
RECALL = Table(
    Recall,
    "recall",
    "",
    "documents parts",
    id=PLAIN,
    at=INSTANT,
    agent=PLAIN,
    role=ROLES,
    interface=INTERFACES,
    **plain("project session question"),
    path=codes({RetrievalMode.HYBRID: 1, RetrievalMode.KEYWORDS: 2, RetrievalMode.RECENT: 3}),
    candidates=PLAIN,
)
SCORE_PARTS = (
    "total",
    "similarity",
    "keyword",
    "vector",
    "prior",
    "recency",
    "access",
    "update",
    "confidence",
    "usefulness",
)
"""The parts of a score in the column ``parts``: for each hit 32-bit floats, relevance and fits first. New parts are
appended; old rows have fewer."""
_FORGOTTEN = DocumentKey(0)
_WITHHELD = RecalledMemory(MemoryId(""), 0, Score(total=0.0, similarity=0.0), 0.0, False)
_BYTES = 4


def evidence_params(document: DocumentKey, value: Evidence) -> dict[str, Param]:
    own = {"document": document, "agent": value.agent or _NO_AGENT, "aspect": ASPECT[value.sign.aspect]}
    return {**EVIDENCE.params(value), **own}


def recall_params(recall: Recall, keys: Mapping[MemoryId, DocumentKey]) -> dict[str, Param]:
    """``keys`` are those of the memories that exist."""
    hits = {hit.rank: hit for hit in recall.hits}
    documents: list[str] = []
    floats: list[float] = []
    for rank in range(1, len(hits) + recall.withheld + 1):
        hit = hits.get(rank, _WITHHELD)
        documents.append(str(keys.get(hit.memory, _FORGOTTEN)))
        floats += (hit.relevance, hit.fits, *(getattr(hit.score, part) for part in SCORE_PARTS))
    joined = f",{','.join(documents)}," if documents else ""
    return {**RECALL.params(recall), "documents": joined, "parts": pack(f"<{len(floats)}f", *floats)}


def read_recall(row: Row, seen: Mapping[DocumentKey, MemoryId]) -> Recall:
    """Columns of ``RECALL``, documents and parts. Hits that are not ``seen`` are withheld."""
    keys, parts = recalled_documents(row), row[-1]
    floats = unpack(f"<{len(parts) // _BYTES}f", parts)
    width = len(floats) // len(keys) if keys else 0
    hits: list[RecalledMemory] = []
    for place, key in enumerate(keys):
        if key in seen:
            relevance, fits, *scores = floats[place * width : (place + 1) * width]
            score = Score(**dict(zip(SCORE_PARTS, scores, strict=False)))
            hits.append(RecalledMemory(seen[key], place + 1, score, relevance, bool(fits)))
    return RECALL.read(row, hits=tuple(hits), withheld=len(keys) - len(hits))


def recalled_documents(row: Row) -> list[DocumentKey]:
    """Returns the documents of a row of ``read_recall``, best first."""
    return split_documents(row[-2])


def split_documents(column: str) -> list[DocumentKey]:
    return [DocumentKey(int(key)) for key in column.split(",") if key]


def recall_condition(
    where: RecallFilter, document: DocumentKey | None, gave: str, after: tuple[datetime, RecallId] | None
) -> tuple[str, dict[str, Param]]:
    """Returns a filter of recalls, to be appended to ``r.namespace = :namespace``. ``document`` is the key of its
    memory, ``gave`` the statement ``recall_gave`` of the dialect."""
    sql, params = after_position("r.at, r.id", after)
    if where.agent is not None:
        sql, params["agent"] = f"{sql} AND r.agent = :agent", where.agent
    elif not where.operators:
        sql += " AND r.agent IS NOT NULL"
    if where.since is not None:
        sql, params["since"] = f"{sql} AND r.at >= :since", to_micros(where.since)
    if document is not None:
        sql, params["having"] = f"{sql} AND {gave}", f",{document},"
    return sql, params


class FeedbackReader(MemoryReader):
    """Implements ``feedback.ports.FeedbackReads``."""

    TABLES = (EVIDENCE, RECALL, USEFULNESS)

    def evidence(self, document: DocumentKey) -> Sequence[Evidence]:
        return self.evidence_of([document]).get(document, ())

    def evidence_of(self, documents: Collection[DocumentKey]) -> Mapping[DocumentKey, Sequence[Evidence]]:
        found: dict[DocumentKey, list[Evidence]] = {}
        for row in self.rows(self.SQL["evidence_of"], {"documents": self.array(documents)}):
            found.setdefault(row[0], []).append(EVIDENCE.read(row[1:]))
        return {key: merge_evidence(seen, ()) for key, seen in found.items()}

    def most_used(self, where: Filter, limit: int) -> Sequence[tuple[Memory, UsageCounts]]:
        sql, params = condition(where)
        rows = self.rows(self.SQL["memory_most_used"].replace("{where}", sql), {**params, "limit": limit})
        width = len(USEFULNESS.names)
        stored = read_stored([row[:-width] for row in rows])
        counts = [UsageCounts(*row[-width:]) for row in rows]
        return [(one.memory, use) for one, use in zip(stored, counts, strict=True)]

    def recalls(self, where: RecallFilter, after: tuple[datetime, RecallId] | None, limit: int) -> Sequence[Recall]:
        given = None if where.memory is None else self.get(where.memory)
        if where.memory is not None and (
            given is None or not where.seen.admits(given.memory.owner, given.memory.scope)
        ):
            return []
        document = None if given is None else given.key
        sql, params = recall_condition(where, document, self.SQL["recall_returned"], after)
        found = self.rows(self.SQL["recalls"].replace("{recall_filter}", sql), {**params, "limit": limit})
        keys = {key for row in found for key in recalled_documents(row)}
        seen = self.rank_features_of(keys, Filter(visibility=where.seen))
        ids = {key: features.id for key, features in seen.items()}
        return [read_recall(row, ids) for row in found]

    def recall_times(
        self, documents: Collection[DocumentKey], since: datetime, limit: int
    ) -> Mapping[DocumentKey, Sequence[datetime]]:
        wanted, found = frozenset(documents), dict[DocumentKey, list[datetime]]()
        for at, returned in self.rows(self.SQL["recall_documents"], {"since": to_micros(since), "limit": limit}):
            for key in split_documents(returned):
                if key in wanted:
                    found.setdefault(key, []).append(from_micros(at))
        return found


class FeedbackWriter(FeedbackReader, SqlWriter):
    """Implements ``feedback.ports.FeedbackWrites``."""

    def add_evidence(self, found: Mapping[DocumentKey, Sequence[Evidence]]) -> None:
        self.record_state(*found)
        known = self.evidence_of(found)
        for key, new in found.items():
            before = known.get(key, ())
            now = merge_evidence(before, new)
            if now != before and self.row("memory_exists", key=key) is not None:
                self.put_evidence(key, before, now)
                self.log_change(ChangeKind.ATTRIBUTES, key)

    def put_evidence(self, document: DocumentKey, before: Sequence[Evidence], now: Sequence[Evidence]) -> None:
        """Replaces the stored evidence."""
        kept = {one.occasion for one in now}
        dropped = [evidence_params(document, one) for one in before if one.occasion not in kept]
        self.run_each("evidence_drop", dropped)
        self.run_each("evidence_put", [evidence_params(document, one) for one in now if one not in before])
        if now:
            self.run("usefulness_put", {**asdict(count_usage(now)), "document": document})

    def drop_evidence(self, key: DocumentKey) -> None:
        if self.count("evidence_delete", {"document": key}):
            self.run("usefulness_delete", {"document": key})
            self.log_change(ChangeKind.ATTRIBUTES, key)

    def log_recalls(self, entries: Sequence[Recall]) -> None:
        given = {hit.memory for entry in entries for hit in entry.hits}
        keys = self.keys_of(given)
        self.run_each("recall_insert", [recall_params(entry, keys) for entry in entries])

    def drop_recalls(self, recalls: Collection[RecallId], since: datetime) -> None:
        self.run_each("recall_drop", [{"id": one, "since": to_micros(since)} for one in recalls])

    def prune_recalls(self, before: datetime, keep: int, limit: int) -> int:
        oldest_kept = self.row("recall_nth", newer=keep - 1)
        at, number = max((to_micros(before), ""), oldest_kept or (to_micros(before), ""))
        return self.count("recalls_prune", {"at": at, "id": number, "limit": limit})
