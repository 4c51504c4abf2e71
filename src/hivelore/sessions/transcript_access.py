"""Whose transcript the service reads: whoever has a key may name any path."""

import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import PurePosixPath

from hivelore.core.agents import AgentId, Viewer

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def may_read_transcript(
    viewer: Viewer, path: str, session: str, local: AgentId | None, begun: Mapping[AgentId, datetime | None]
) -> bool:
    """Whether ``viewer`` hands over a session of their own. This machine's agent may name any, and so may an operator's
    key that speaks for an agent: who holds these reads the files anyway. Others name the file of a session that this
    service saw begin for them first, or where it is not known for whom first, for nobody else (``begun``)."""
    if viewer.acting or (viewer.agent is not None and viewer.agent == local):
        return True
    return _first_agents(begun) == {viewer.agent} and is_session_file(path, session)


def _first_agents(begun: Mapping[AgentId, datetime | None]) -> set[AgentId]:
    times = [at for at in begun.values() if at is not None]
    if not times or len(times) < len(begun):
        return set(begun)
    return {agent for agent, at in begun.items() if at == min(times)}


def is_session_file(path: str, session: str) -> bool:
    """Whether a file, by its name, is that of a session, or of a sub-agent in it: it is called after the session, ends
    with its id, or lies in a folder of that id."""
    file = PurePosixPath(path)
    if file.stem == session:
        return True
    if not _UUID.fullmatch(session) or ".." in file.parts:
        return False
    return file.stem.endswith(f"-{session}") or session in file.parent.parts
