"""Telling a memory again: what is new in it, and what stays."""

from dataclasses import replace
from typing import Any

from hivelore.core.access import Effect, Permission, becomes_owner, is_from_shared_folder, may_affect
from hivelore.core.agents import Interface, Viewer
from hivelore.errors import Forbidden
from hivelore.indexing.model import Stored
from hivelore.memories.drafts import Draft
from hivelore.memories.edits import describe_owner
from hivelore.memories.model import Memory
from hivelore.memories.normalizer import NormalizedDraft
from hivelore.memories.summary import name_from_summary, summarise
from hivelore.memories.temporal import recompute_ends
from hivelore.storage.ports import Transaction


def merge_draft(tx: Transaction, known: Stored, prepared: NormalizedDraft, viewer: Viewer) -> tuple[Stored, Memory]:
    """A memory that is told again, and its next version; the same object when nothing is new. What the scan of a
    memory folder finds under the path of another's memory keeps nothing of that but its id."""
    after = updated_memory(known.memory, prepared)
    if not becomes_owner(viewer, known.memory):
        return known, after
    if viewer.interface is Interface.SERVICE:
        known = _remove_explicit_successors(tx, known)
        return known, _replace_content(known.memory, prepared)
    return known, after if after is known.memory else replace(after, owner=prepared.memory.owner)


def _replace_content(before: Memory, prepared: NormalizedDraft) -> Memory:
    return replace(
        prepared.memory,
        id=before.id,
        version=before.version + 1,
        access_count=before.access_count,
        accessed_at=before.accessed_at,
    )


def _remove_explicit_successors(tx: Transaction, stored: Stored) -> Stored:
    """A memory whose place nothing takes any more because somebody said so."""
    memory = stored.memory
    for one in tx.successors_of(memory.id):
        if one.memory.topic is None or one.memory.topic != memory.topic:
            tx.set_validity(one.key, one.memory.valid_until, None)
    recompute_ends(tx, [memory.id])
    return tx.get(memory.id) or stored


def updated_memory(before: Memory, prepared: NormalizedDraft) -> Memory:
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
    for field in _placement_fields(before, draft):
        given[field] = getattr(new, field)
    if before.operational is None and new.operational is not None:
        given["operational"] = new.operational
    if new.external_id == before.id:
        del given["external_id"]  # Our own export of this memory: its id is no name that others gave it.
    if new.content != before.content and draft.summary is None:
        given["summary"] = new.summary
    if (
        new.content != before.content
        and draft.name is None
        and before.name == name_from_summary(summarise(before.content))
    ):
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


def _placement_fields(before: Memory, draft: Draft) -> list[str]:
    """What a new telling says of the place in time. To say a fact once more does not move it."""
    is_the_same_record = draft.external_id is not None or draft.source_path is not None
    told = [field for field in ("subject", "supersedes") if getattr(draft, field) is not None]
    if draft.valid_from is not None and (is_the_same_record or before.subject is None):
        told.append("valid_from")
    return told


def differs_only_in_provenance(before: Memory, after: Memory) -> bool:
    """Whether nothing but who says it and when would be new."""
    same = replace(after, version=before.version, updated_at=before.updated_at, provenance=before.provenance)
    return replace(same, expires_at=before.expires_at) == before


def without_placement(prepared: NormalizedDraft) -> NormalizedDraft:
    """The same without a place in time: where it is a new memory it is no fact, and where it is told of one that is
    known, that one stays where it is."""
    draft = replace(prepared.draft, subject=None, supersedes=None, valid_from=None, created_at=None, project=None)
    return replace(prepared, memory=replace(prepared.memory, subject=None, supersedes=None), draft=draft)


def may_upsert(viewer: Viewer, known: Memory, prepared: NormalizedDraft) -> bool:
    """Whether this may be told of a known memory: what changes nothing may always be."""
    return may_affect(viewer, Effect.REPLACE, known) is Permission.ALLOWED or updated_memory(known, prepared) is known


def check_upsert_allowed(known: Stored | None, prepared: NormalizedDraft, viewer: Viewer) -> None:
    """Raises Forbidden when the draft has the path or external id of a memory that the viewer may not replace."""
    if known is None or may_upsert(viewer, known.memory, prepared):
        return
    if is_from_shared_folder(known.memory):
        raise Forbidden(f"{known.memory.source_path} is a file of a memory folder: write to the file itself.")
    by, field = ("external id", "externalId") if prepared.memory.source_path is None else ("path", "sourcePath")
    owner = describe_owner(known.memory)
    raise Forbidden(
        f"Memory {known.memory.id} has this {by} and belongs to {owner}: you may not replace it. "
        f"Leave {field} out to store a separate memory, or ask a lead."
    )
