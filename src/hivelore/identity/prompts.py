"""Composes the system prompts of agents from their profiles and from sections of other capabilities."""

from collections.abc import Callable

from hivelore.core.agents import Agent, Viewer
from hivelore.errors import NotFound
from hivelore.identity.profiles import ProfileService
from hivelore.identity.prompt import Prompt, PromptSources, Section, compose

FindSection = Callable[[str, Agent, Viewer], Section | None]
"""Returns the section of a named repository or task for an agent; None if the caller may not see one of this name.
Raises NotFound or Invalid if it can say more about that."""


def no_section(_name: str, _agent: Agent, _viewer: Viewer) -> Section | None:
    """A ``FindSection`` that knows nothing."""
    return None


class PromptService:
    def __init__(
        self,
        profiles: ProfileService,
        memory: Callable[[], str],
        nonce: Callable[[], str],
        repo_section: FindSection = no_section,
        task_section: FindSection = no_section,
    ) -> None:
        """``memory`` returns the instructions for the enabled tools, ``nonce`` a number for a fence."""
        self._profiles = profiles
        self._memory = memory
        self._nonce = nonce
        self._repo_section = repo_section
        self._task_section = task_section

    def compose(
        self,
        agent: Agent,
        viewer: Viewer,
        *,
        repo: str | None = None,
        task: str | None = None,
        deadline: float | None = None,
    ) -> Prompt:
        """Returns the system prompt of an agent, whose profile the viewer may read. Raises NotFound for an unknown
        repository or task, and Invalid for an ambiguous one."""
        sources = PromptSources(
            agent=agent.id,
            role=agent.role,
            profile=self._profiles.read(agent, viewer, deadline),
            repo=_find(self._repo_section, "repository", repo, agent, viewer),
            task=_find(self._task_section, "task", task, agent, viewer),
            memory=self._memory(),
        )
        return compose(sources, self._nonce())


def _find(find: FindSection, kind: str, name: str | None, agent: Agent, viewer: Viewer) -> Section | None:
    if name is None:
        return None
    section = find(name, agent, viewer)
    if section is None:
        raise NotFound(f"No {kind} {name[:100]!r} is known here. Leave it out, or use another name.")
    return section
