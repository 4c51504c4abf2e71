"""Decisions about edits: normalized fields, required review and the next version of the memory."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hivelore.core.access import Effect, Permission, may_affect, review_kind
from hivelore.core.agents import Viewer
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Forbidden
from hivelore.memories.drafts import Edit
from hivelore.memories.model import DEFAULT_CATEGORY, Action, Chunk, Lifetimes, Memory, Scope
from hivelore.memories.normalizer import Normalizer, to_utc
from hivelore.memories.summary import name_from_summary, summarise
from hivelore.review.model import ProposalKind


@dataclass(frozen=True, slots=True)
class PreparedEdit:
    """An edit after normalization and chunking."""

    fields: Mapping[str, Any]
    """The normalized fields of the edit."""
    chunks: Sequence[Chunk] | None
    """None: the content is unchanged."""
    reason: Clean | None

    def changes_to(self, memory: Memory) -> dict[str, Any]:
        """Returns the fields whose values differ from those of the memory."""
        return {name: value for name, value in self.fields.items() if getattr(memory, name) != value}


def normalize_edit(edit: Edit, normalizer: Normalizer) -> dict[str, Any]:
    """Returns the normalized fields of an edit."""
    cleaners: dict[str, Callable[[Any], Any]] = {
        "content": normalizer.content,
        "name": normalizer.name,
        "summary": lambda text: normalizer.field(text, "summary"),
        "category": lambda category: normalizer.category(category) or DEFAULT_CATEGORY,
        "tags": normalizer.tags,
        "project": normalizer.project,
        "source_path": lambda path: normalizer.field(path, "sourcePath"),
        "metadata": normalizer.metadata,
        "expires_at": lambda at: to_utc(at, "expiresAt"),
        "subject": normalizer.subject,
        "supersedes": normalizer.memory_reference,
        "valid_from": normalizer.valid_from,
        "scope": lambda scope: scope,
    }
    return {name: cleaners[name](value) for name, value in edit.changed_fields().items()}


def next_version(before: Memory, change: PreparedEdit, viewer: Viewer, now: datetime, lifetimes: Lifetimes) -> Memory:
    """Returns the memory after the edit."""
    given, changes = change.fields, change.changes_to(before)
    if "content" in changes:
        old, new = summarise(before.content), summarise(str(changes["content"]))
        if "summary" not in given and before.summary == old:
            changes["summary"] = Clean(new)
        if "name" not in given and before.name == name_from_summary(old):
            changes["name"] = Clean(name_from_summary(new))
        if "expires_at" not in given:
            changes["expires_at"] = lifetimes.expiry(before.source, now)
    if changes.get("summary", before.summary) is None:
        changes["summary"] = Clean(summarise(str(changes.get("content", before.content))))
    provenance = replace(before.provenance, actor=viewer.agent, interface=viewer.interface, reason=change.reason)
    return replace(before, **changes, version=before.version + 1, updated_at=now, provenance=provenance)


def edit_action(changes: Mapping[str, Any]) -> Action:
    match changes.get("scope"):
        case Scope.SWARM:
            return Action.PROMOTED
        case Scope.AGENT:
            return Action.DEMOTED
        case _:
            return Action.EDITED


def _effect(changes: Mapping[str, Any]) -> Effect:
    return {Action.PROMOTED: Effect.PROMOTE, Action.DEMOTED: Effect.DEMOTE}.get(edit_action(changes), Effect.EDIT)


def required_review(before: Memory, changes: Mapping[str, Any], viewer: Viewer) -> ProposalKind | None:
    """Returns the kind of proposal that the changes require; None if the viewer may make them directly. Raises
    Forbidden if the viewer may not even propose them."""
    effects = {_effect(changes), *([Effect.EDIT] if len(changes) > 1 else [])}
    rulings = {effect: may_affect(viewer, effect, before) for effect in effects}
    if Permission.REFUSED in rulings.values():
        raise Forbidden(f"You may not {_effect(changes)} memory {before.id}: it belongs to {describe_owner(before)}.")
    return next((review_kind(effect, before) for effect, one in rulings.items() if one is Permission.PROPOSED), None)


def describe_owner(memory: Memory) -> str:
    return "the swarm" if memory.owner is None else "another agent"
