"""Authority over tasks (X22): who sees, assigns, claims and changes them."""

from hivelore.core.agents import Agent, AgentId, Role, Viewer
from hivelore.search.model import Visibility
from hivelore.tasks.model import FINISHED, Attempt, Lease, Task

POOL = ""
"""Queue of the tasks that a lead or an operator sent to any agent."""
FROM_WORKER = "*"
"""Begins the queues of the tasks that a worker sent, to any agent or to one. A lead takes none of them, not even if it
was a worker before: a worker would get the rights of the lead by the text of a task."""


def task_visibility(viewer: Viewer) -> Visibility:
    """Returns the tasks that a viewer may see: workers those they sent, those assigned to them, and those of the pool;
    leads and operators all, whatever private memories they see."""
    return Visibility(own=viewer.agent, swarm=True, others=viewer.role is not Role.WORKER)


def may_see(seen: Visibility, task: Task) -> bool:
    if seen.others or (seen.own is not None and seen.own in (task.assignee, task.creator)):
        return True
    return seen.swarm and task.assignee is None


def queue_of(assignee: AgentId | None, creator_role: Role) -> str:
    """Returns the queue of a task, which decides who may claim it."""
    queue = POOL if assignee is None else assignee
    return f"{FROM_WORKER}{queue}" if creator_role is Role.WORKER else queue


def queues_for(role: Role, agent: AgentId) -> tuple[str, str, str, str]:
    """Returns the queues from which an agent may claim tasks: its own, the pool, and the same from workers. Those of a
    lead repeat."""
    others = FROM_WORKER if role is Role.WORKER else ""
    return agent, POOL, f"{others}{agent}", f"{others}{POOL}"


def may_assign(viewer: Viewer, target: Agent) -> bool:
    """Returns True if the viewer may assign tasks to an agent. A worker may not use the rights of a lead."""
    return viewer.role is not Role.WORKER or target.role is Role.WORKER


def highest_priority(viewer: Viewer, highest: int) -> int:
    """Returns the highest priority that the viewer may give: a worker does not overtake the tasks of leads."""
    return 0 if viewer.role is Role.WORKER else highest


def may_manage(viewer: Viewer, task: Task) -> bool:
    """Returns True if the viewer may edit, pause, resume and cancel a task: who sent it, leads and operators."""
    return viewer.role is not Role.WORKER or (viewer.agent is not None and viewer.agent == task.creator)


def may_overrule(viewer: Viewer) -> bool:
    """Returns True if the viewer may store results and progress without a lease."""
    return viewer.role is not Role.WORKER


def sees_sessions(viewer: Viewer, agent: AgentId | None) -> bool:
    """Returns True if the viewer may see the ids of the sessions of an agent. With them, a worker could resume the
    conversation of another one, or put texts into it."""
    return viewer.role is not Role.WORKER or (agent is not None and viewer.agent == agent)


def works_on(viewer: Viewer, task: Task) -> bool:
    """Returns True if an unfinished task is not in the hands of another agent."""
    return task.state not in FINISHED and (task.lease is None or task.lease.agent == viewer.agent)


def holds(viewer: Viewer, lease: Lease | None, token: str | None) -> bool:
    """Returns True if the viewer works on a task under this lease. A lease that has ended is held until another agent
    claims the task. Without a token, its agent decides: the agent program of a runner has the key of the agent, but not
    the token."""
    if lease is None or viewer.agent != lease.agent:
        return False
    return token is None or token == lease.token


def held_before(viewer: Viewer, attempt: Attempt | None) -> bool:
    """Returns True if an attempt was made by the agent of the viewer."""
    return attempt is not None and viewer.agent == attempt.agent
