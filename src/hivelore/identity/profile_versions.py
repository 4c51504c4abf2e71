"""Steps in a transaction that change a profile."""

from datetime import datetime

from hivelore.core.agents import Agent, AgentId, Viewer
from hivelore.core.values import replace
from hivelore.errors import Conflict
from hivelore.identity.profile import ProfileContent, ProfileHead, ProfileVersion
from hivelore.identity.profile_limits import last_dropped
from hivelore.storage.ports import Transaction, View


def current_version(view: View, head: ProfileHead | None) -> ProfileVersion | None:
    """Returns the current version of a profile; None if there is no profile."""
    return None if head is None else view.profile_version(head.agent, head.version)


def append_version(
    tx: Transaction, agent: Agent, content: ProfileContent, viewer: Viewer, at: datetime, *, is_conflict: bool = False
) -> ProfileVersion:
    """Adds a version, which becomes current unless it is a conflict, and drops the oldest beyond the limits. Raises
    Conflict if another agent has the new name."""
    is_renamed = not is_conflict and content.name != agent.name
    if is_renamed and tx.agent_named(content.name) is not None:
        raise Conflict(
            f"Another agent has the name {content.name!r} now. Rename that agent first ('hivelore agent edit NAME "
            "--name OTHER')."
        )
    head = tx.profile(agent.id)
    version = ProfileVersion(
        agent=agent.id,
        number=1 if head is None else head.last + 1,
        at=at,
        actor=viewer.agent,
        interface=viewer.interface,
        content=content,
        follows=None if head is None else head.version,
        is_conflict=is_conflict,
    )
    tx.put_profile_version(version)
    if head is not None and is_conflict:
        head = replace(head, last=version.number)
    else:
        head = _head_of(version)
        if is_renamed:
            tx.put_agent(replace(agent, name=content.name))
    tx.put_profile(head)
    if last := last_dropped(tx.profile_version_sizes(agent.id), head.version):
        tx.drop_profile_versions(agent.id, last, head.version)
    return version


def _head_of(version: ProfileVersion) -> ProfileHead:
    content = version.content
    return ProfileHead(
        agent=version.agent,
        version=version.number,
        last=version.number,
        updated_at=version.at,
        role=content.role,
        description=content.description,
        capabilities=content.capabilities,
    )


def known_agent(view: View, agent: AgentId) -> Agent:
    """Returns an agent that was resolved before; agents are never deleted."""
    found = view.agent(agent)
    assert found is not None
    return found
