"""How versions of memories and what is different between them look as JSON (``wire``)."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from hivelore.core.agents import Interface
from hivelore.core.text import Clean
from hivelore.memories.codec import Object, instant, read_instant
from hivelore.memories.model import Action, MemoryId, Scope, Version
from hivelore.search.model import Difference, History, UndoneChange


def version(value: Version) -> Object:
    return {
        "version": value.number,
        "at": instant(value.at),
        "action": value.action.value,
        "actor": value.actor,
        "door": value.interface.value,
        "reason": value.reason,
        "scope": value.scope.value,
        "name": value.name,
        "content": value.content,
        "summary": value.summary,
        "category": value.category,
        "tags": list(value.tags),
        "project": value.project,
        "expiresAt": instant(value.expires_at),
        "subject": value.subject,
        "validFrom": instant(value.valid_from),
    }


def read_version(data: Mapping[str, Any]) -> Version:
    return Version(
        number=data["version"],
        at=datetime.fromisoformat(data["at"]).astimezone(UTC),
        action=Action(data["action"]),
        actor=data["actor"],
        interface=Interface(data["door"]),
        reason=data["reason"],
        scope=Scope(data["scope"]),
        name=Clean(data["name"]),
        content=Clean(data["content"]),
        summary=Clean(data["summary"]),
        category=Clean(data["category"]),
        tags=tuple(Clean(tag) for tag in data["tags"]),
        project=data["project"],
        expires_at=read_instant(data["expiresAt"]),
        subject=data["subject"],
        valid_from=read_instant(data["validFrom"]),
    )


def history(value: History) -> Object:
    return {
        "versions": [version(one) for one in value.versions],
        "supersedes": value.supersedes,
        "supersededBy": list(value.superseded_by),
        "takenBack": [_taken_back(one) for one in value.taken_back],
    }


def _taken_back(value: UndoneChange) -> Object:
    return {"at": instant(value.at), "actor": value.actor, "door": value.interface.value, "change": value.change}


def _read_taken_back(data: Mapping[str, Any]) -> UndoneChange:
    at = datetime.fromisoformat(data["at"]).astimezone(UTC)
    return UndoneChange(at=at, actor=data["actor"], interface=Interface(data["door"]), change=data["change"])


def read_history(data: Mapping[str, Any]) -> History:
    return History(
        versions=tuple(read_version(one) for one in data["versions"]),
        supersedes=data["supersedes"],
        superseded_by=tuple(MemoryId(one) for one in data["supersededBy"]),
        taken_back=tuple(_read_taken_back(one) for one in data.get("takenBack", ())),
    )


def difference(value: Difference) -> Object:
    return {"from": value.older, "to": value.newer, "fields": dict(value.fields)}


def read_difference(data: Mapping[str, Any]) -> Difference:
    return Difference(older=data["from"], newer=data["to"], fields=data["fields"])
