"""The states of a memory as they lie in tables: the past ones in one of their own, the present one in that of the
memories."""

import orjson

from hivelore.core.text import Clean
from hivelore.indexing.model import DocumentKey
from hivelore.memories.model import Version
from hivelore.storage.sql.codes import ACTION, ACTION_OF, DOOR_OF, INTERFACE, SCOPE, SCOPE_OF
from hivelore.storage.sql.instants import from_micros, from_micros_or_none, to_micros, to_micros_or_none
from hivelore.storage.sql.rows import Row, to_json
from hivelore.storage.sql.where import Param


def read_version(row: Row) -> Version:
    return Version(
        number=row[0],
        at=from_micros(row[1]),
        action=ACTION_OF[row[2]],
        actor=row[3],
        interface=DOOR_OF[row[4]],
        reason=row[5],
        scope=SCOPE_OF[row[6]],
        name=row[7],
        content=row[8],
        summary=row[9],
        category=row[10],
        tags=tuple(Clean(tag) for tag in orjson.loads(row[11])),
        project=row[12],
        expires_at=from_micros_or_none(row[13]),
        subject=row[14],
        valid_from=from_micros_or_none(row[15]),
    )


def version_params(document: DocumentKey, value: Version) -> dict[str, Param]:
    return {
        "document": document,
        "number": value.number,
        "at": to_micros(value.at),
        "action": ACTION[value.action],
        "actor": value.actor,
        "door": INTERFACE[value.interface],
        "reason": value.reason,
        "scope": SCOPE[value.scope],
        "name": value.name,
        "content": value.content,
        "summary": value.summary,
        "category": value.category,
        "tags": to_json(value.tags),
        "project": value.project,
        "expires_at": to_micros_or_none(value.expires_at),
        "subject": value.subject,
        "valid_from": to_micros_or_none(value.valid_from),
    }
