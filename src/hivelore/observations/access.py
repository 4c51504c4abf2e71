"""Who may do what to what is known about running things, besides observing it (X19, X22)."""

from hivelore.core.agents import Role, Viewer


def may_set_confidence(viewer: Viewer) -> bool:
    """Whether ``viewer`` may keep a memory about running things with a confidence of its own, compared with nothing:
    who has an operator's key, also where it speaks for an agent, as in an import. What agents observe is compared with
    what is known, and is as sure as that is."""
    return viewer.role is Role.OPERATOR or viewer.acting
