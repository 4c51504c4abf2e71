"""Authority over setup scripts, and their differences."""

from difflib import unified_diff

from hivelore.core.access import Permission
from hivelore.core.agents import AgentId, Role, Viewer
from hivelore.search.model import Visibility


def may_see(seen: Visibility, agent: AgentId | None) -> bool:
    """Returns True if a script is among what is seen. That of an agent is as private as its memories, the global one is
    shared."""
    if agent is None:
        return seen.swarm
    return seen.others or (seen.own is not None and seen.own == agent)


def may_change(viewer: Viewer, agent: AgentId | None, *, accepts_own: bool) -> Permission:
    """Returns the permission to change a script: operators change all; agents propose changes of their own and of the
    global one, leads of all (X15, X22). ``accepts_own``: agents may change their own."""
    if viewer.role is Role.OPERATOR:
        return Permission.ALLOWED
    if agent is not None and agent == viewer.agent:
        return Permission.ALLOWED if accepts_own else Permission.PROPOSED
    return Permission.PROPOSED if agent is None or viewer.role is Role.LEAD else Permission.REFUSED


def script_diff(older: str, newer: str, name: str, other: str) -> str:
    """Returns a unified diff; empty if both are equal."""
    return "\n".join(unified_diff(older.splitlines(), newer.splitlines(), name, other, lineterm=""))
