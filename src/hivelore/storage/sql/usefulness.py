"""What was seen of the use of memories as it lies in tables, and the counts of it that a recall reads.

The counts have a table of their own: few memories have any, and those of the candidates are read with them at once.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from hivelore.core.text import Clean
from hivelore.feedback.model import UNKNOWN, Use
from hivelore.feedback.recalls import Evidence, use_of
from hivelore.indexing.model import DocumentKey
from hivelore.storage.sql.codes import ASPECT, SIGN, SIGN_OF
from hivelore.storage.sql.instants import from_micros, to_micros
from hivelore.storage.sql.where import Param

USE_COLUMNS = ", ".join(f"u.{name}" for name in Use._fields)
_NO_AGENT = ""
"""In the column of the agent, which is part of the key."""


def read_use(row: Sequence[Any]) -> Use:
    """A row of ``USE_COLUMNS``, all NULL where nothing is known."""
    return UNKNOWN if row[0] is None else Use(*row)


def use_params(document: DocumentKey, value: Use) -> dict[str, Param]:
    return {"document": document, **value._asdict()}


def read_evidence(row: Sequence[Any]) -> Evidence:
    """Columns agent, session, sign, at and recall."""
    return Evidence(
        agent=row[0] or None, session=Clean(row[1]), sign=SIGN_OF[row[2]], at=from_micros(row[3]), recall=row[4]
    )


def evidence_params(document: DocumentKey, value: Evidence) -> dict[str, Param]:
    return {
        "document": document,
        "agent": value.agent or _NO_AGENT,
        "session": value.session,
        "aspect": ASPECT[value.sign.aspect],
        "sign": SIGN[value.sign],
        "at": to_micros(value.at),
        "recall": value.recall,
    }


def evidence_statements(
    document: DocumentKey, before: Sequence[Evidence], now: Sequence[Evidence]
) -> Iterator[tuple[str, dict[str, Param]]]:
    """The statements, each with its parameters, that leave what counts now in the place of what was there."""
    kept = {one.occasion for one in now}
    for one in before:
        if one.occasion not in kept:
            yield "evidence_drop", evidence_params(document, one)
    for one in now:
        if one not in before:
            yield "evidence_put", evidence_params(document, one)
    if now:
        yield "usefulness_put", use_params(document, use_of(now))
