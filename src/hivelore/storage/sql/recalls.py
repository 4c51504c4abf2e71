"""The recall log as it lies in a table: one compact row for each recall, with memories by their key.

A key is never used twice, so what was forgotten leaves no id behind: its key leads nowhere.
"""

from collections.abc import Mapping, Sequence
from struct import pack, unpack
from typing import Any

from hivelore.feedback.recalls import Recall, RecalledMemory
from hivelore.indexing.model import DocumentKey
from hivelore.memories.model import MemoryId
from hivelore.search.model import Score
from hivelore.storage.sql.codes import DOOR_OF, INTERFACE, PATH, PATH_OF, ROLE, ROLE_OF
from hivelore.storage.sql.instants import from_micros, to_micros
from hivelore.storage.sql.where import Param

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
"""Of a score, in the order of the column ``parts``, where fit and fits come before them: 32-bit floats, hit by hit. New
ones stand at the end; rows of before have fewer."""
_FORGOTTEN = DocumentKey(0)
_NOTHING = RecalledMemory(MemoryId(""), 0, Score(0.0, 0.0), 0.0, False)
"""In the place of what is not told any more."""
_BYTES = 4


def recall_params(recall: Recall, keys: Mapping[MemoryId, DocumentKey]) -> dict[str, Param]:
    """``keys``: of those memories that are there."""
    hits = {hit.rank: hit for hit in recall.hits}
    documents: list[str] = []
    floats: list[float] = []
    for rank in range(1, len(hits) + recall.withheld + 1):
        hit = hits.get(rank, _NOTHING)
        documents.append(str(keys.get(hit.memory, _FORGOTTEN)))
        floats += (hit.fit, hit.fits, *(getattr(hit.score, part) for part in SCORE_PARTS))
    return {
        "id": recall.id,
        "at": to_micros(recall.at),
        "agent": recall.agent,
        "role": ROLE[recall.role],
        "door": INTERFACE[recall.interface],
        "project": recall.project,
        "session": recall.session,
        "question": recall.question,
        "path": PATH[recall.path],
        "candidates": recall.candidates,
        "documents": f",{','.join(documents)}," if documents else "",
        "parts": pack(f"<{len(floats)}f", *floats),
    }


def recalled_documents(row: Sequence[Any]) -> list[DocumentKey]:
    """Of a row as ``recall`` takes it: what was given, best first."""
    return [DocumentKey(int(key)) for key in row[10].split(",") if key]


def read_recall(row: Sequence[Any], seen: Mapping[DocumentKey, MemoryId]) -> Recall:
    """Columns id, at, agent, role, door, project, session, question, path, candidates, documents and parts."""
    keys = recalled_documents(row)
    floats = unpack(f"<{len(row[11]) // _BYTES}f", row[11])
    width = len(floats) // len(keys) if keys else 0
    hits = tuple(
        _read_hit(seen[key], rank, floats[(rank - 1) * width : rank * width])
        for rank, key in enumerate(keys, start=1)
        if key in seen
    )
    return Recall(
        id=row[0],
        at=from_micros(row[1]),
        agent=row[2],
        role=ROLE_OF[row[3]],
        interface=DOOR_OF[row[4]],
        project=row[5],
        session=row[6],
        question=row[7],
        path=PATH_OF[row[8]],
        candidates=row[9],
        hits=hits,
        withheld=len(keys) - len(hits),
    )


def _read_hit(memory: MemoryId, rank: int, floats: Sequence[float]) -> RecalledMemory:
    fit, fits, *parts = floats
    return RecalledMemory(memory, rank, Score(**dict(zip(SCORE_PARTS, parts, strict=False))), fit, bool(fits))
