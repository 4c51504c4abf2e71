"""What a change is to a memory: which verb it stands for, and whether it may be done."""

from collections.abc import Mapping
from typing import Any

from hivelore.domain.agent import Viewer
from hivelore.domain.memory import Action, Memory, Scope
from hivelore.errors import Forbidden
from hivelore.policies.access import Verb, may_change


def action(changes: Mapping[str, Any]) -> Action:
    match changes.get("scope"):
        case Scope.SWARM:
            return Action.PROMOTED
        case Scope.AGENT:
            return Action.DEMOTED
        case _:
            return Action.EDITED


def verb_of(changes: Mapping[str, Any]) -> Verb:
    return {Action.PROMOTED: Verb.PROMOTE, Action.DEMOTED: Verb.DEMOTE}.get(action(changes), Verb.EDIT)


def permit(before: Memory, changes: Mapping[str, Any], viewer: Viewer) -> None:
    verb = verb_of(changes)
    if not may_change(viewer, before, verb) or (len(changes) > 1 and not may_change(viewer, before, Verb.EDIT)):
        raise Forbidden(f"You may not {verb} memory {before.id}: it belongs to {owner_of(before)}.")


def owner_of(memory: Memory) -> str:
    return "the swarm" if memory.owner is None else "another agent"
