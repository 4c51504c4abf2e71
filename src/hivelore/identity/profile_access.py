"""Permissions on profiles: whose texts a caller may read and change (X22)."""

from hivelore.core.agents import AgentId, LeadSees, Role, Viewer


def may_use(viewer: Viewer, agent: AgentId, lead_sees: LeadSees) -> bool:
    """Returns True if the viewer may read and change soul, identity and notes of an agent.

    Agents may use their own profile, operators every one, and leads those of workers whose private memories they see.
    """
    if viewer.role is Role.OPERATOR or viewer.agent == agent:
        return True
    return viewer.role is Role.LEAD and lead_sees is LeadSees.ALL


def may_rename(viewer: Viewer, agent: AgentId, name: str) -> bool:
    """Returns True if the viewer, who may use the profile of an agent, may change its name, too.

    Others know an agent by its name. So it chooses a name only if it has none yet but its id.
    """
    return viewer.role is not Role.WORKER or name == agent
