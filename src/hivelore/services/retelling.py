"""Telling a memory again: what is new in it, and what stays."""

from dataclasses import replace
from typing import Any

from hivelore.domain.draft import Draft
from hivelore.domain.memory import Memory
from hivelore.policies.summary import named_after, summarise
from hivelore.services.drafting import Prepared


def rewritten(before: Memory, prepared: Prepared) -> Memory:
    """The next version of a memory that was told again; the same object when nothing is new.

    What the new telling leaves out stays; its tags are added.
    """
    new, draft = prepared.memory, prepared.draft
    given: dict[str, Any] = {"content": new.content}
    if draft.created_at is not None:
        given["created_at"] = new.created_at
    if draft.metadata is not None:
        given["metadata"] = new.metadata
    if new.tags:
        given["tags"] = tuple(dict.fromkeys((*before.tags, *new.tags)))
    for field in ("name", "summary", "category", "project", "session", "author", "source_task_id", "external_id"):
        if getattr(draft, field) is not None:
            given[field] = getattr(new, field)
    for field in _placing(before, draft):
        given[field] = getattr(new, field)
    if before.operational is None and new.operational is not None:
        given["operational"] = new.operational
    if new.external_id == before.id:
        del given["external_id"]  # Our own export of this memory: its id is no name that others gave it.
    if new.content != before.content and draft.summary is None:
        given["summary"] = new.summary
    if new.content != before.content and draft.name is None and before.name == named_after(summarise(before.content)):
        given["name"] = new.name
    if all(getattr(before, name) == value for name, value in given.items()):
        return before
    return replace(
        before,
        **given,
        expires_at=new.expires_at,
        version=before.version + 1,
        updated_at=new.updated_at,
        provenance=new.provenance,
    )


def _placing(before: Memory, draft: Draft) -> list[str]:
    """What a new telling says of the place in time. To say a fact once more does not move it."""
    is_the_same_record = draft.external_id is not None or draft.source_path is not None
    told = [field for field in ("subject", "supersedes") if getattr(draft, field) is not None]
    if draft.valid_from is not None and (is_the_same_record or before.subject is None):
        told.append("valid_from")
    return told


def says_the_same(before: Memory, after: Memory) -> bool:
    """Whether nothing but who says it and when would be new."""
    same = replace(after, version=before.version, updated_at=before.updated_at, provenance=before.provenance)
    return replace(same, expires_at=before.expires_at) == before
