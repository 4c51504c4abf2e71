"""Authority over repositories (X22): all agents see them, and leads and operators change them."""

from hivelore.core.agents import AgentId, Role, Viewer


def may_change(viewer: Viewer) -> bool:
    """Returns True if the viewer may register, change and remove repositories."""
    return viewer.role is not Role.WORKER


def report_owner(viewer: Viewer) -> AgentId | None:
    """Returns the only agent that sees a report of the viewer; None: all see it. Instructions of a repository reach the
    prompts of other agents, so those that a worker reports reach its own prompt only."""
    return viewer.agent if viewer.role is Role.WORKER else None
