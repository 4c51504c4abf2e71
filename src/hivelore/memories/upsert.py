"""Storing a memory again under the same key: merges the new draft with the stored memory."""

from typing import Any

from hivelore.core.access import Effect, Permission, becomes_owner, is_from_shared_folder, may_affect
from hivelore.core.agents import Interface, Viewer
from hivelore.core.values import replace
from hivelore.errors import Forbidden
from hivelore.memories.drafts import Draft
from hivelore.memories.edits import describe_owner
from hivelore.memories.model import Memory
from hivelore.memories.normalizer import NormalizedDraft
from hivelore.memories.stored import Stored
from hivelore.memories.summary import name_from_summary, summarise
from hivelore.memories.temporal import recompute_ends
from hivelore.storage.ports import Transaction


def merge_draft(tx: Transaction, known: Stored, prepared: NormalizedDraft, viewer: Viewer) -> tuple[Stored, Memory]:
    """Returns the stored memory and its next version; the same object if nothing changes. When the scan of a memory
    folder finds a file under the path of another agent's memory, only the id and the access counts are kept."""
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
    """Removes explicit ``supersedes`` links to the memory and returns it as it is then."""
    memory = stored.memory
    for one in tx.successors_of(memory.id):
        if one.memory.topic is None or one.memory.topic != memory.topic:
            tx.set_validity(one.key, one.memory.valid_until, None)
    recompute_ends(tx, [memory.id])
    return tx.get(memory.id) or stored


def updated_memory(before: Memory, prepared: NormalizedDraft) -> Memory:
    """Returns the next version of a memory that was stored again; the same object if nothing changes.

    Fields that the draft leaves out stay as they are. Its tags are added.
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
        del given["external_id"]  # An export of this memory uses its id as external id.
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
    """Returns the temporal fields to take from the draft. Repeating a fact does not change its valid time."""
    is_the_same_record = draft.external_id is not None or draft.source_path is not None
    fields = [field for field in ("subject", "supersedes") if getattr(draft, field) is not None]
    if draft.valid_from is not None and (is_the_same_record or before.subject is None):
        fields.append("valid_from")
    return fields


def differs_only_in_provenance(before: Memory, after: Memory) -> bool:
    """Returns True if only author, version, update time or expiry differ."""
    same = replace(after, version=before.version, updated_at=before.updated_at, provenance=before.provenance)
    return replace(same, expires_at=before.expires_at) == before


def without_placement(prepared: NormalizedDraft) -> NormalizedDraft:
    """Returns the draft without temporal fields, so that it neither becomes a fact nor moves an existing one."""
    draft = replace(prepared.draft, subject=None, supersedes=None, valid_from=None, created_at=None, project=None)
    return replace(prepared, memory=replace(prepared.memory, subject=None, supersedes=None), draft=draft)


def may_upsert(viewer: Viewer, known: Memory, prepared: NormalizedDraft) -> bool:
    """Returns True if the viewer may store the draft over this memory, or if it changes nothing."""
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
