"""Transcript files: which ones a viewer may name, and reading the end of them."""

import errno
import os
import re
import stat
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from hivelore.core.agents import AgentId, Viewer
from hivelore.errors import NotFound

MAX_TRANSCRIPT_BYTES = 8_000_000
"""Bytes read from the end of a transcript; tool output fills most of them."""
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def may_read_transcript(
    viewer: Viewer, path: str, session: str, local: AgentId | None, begun: Mapping[AgentId, datetime | None]
) -> bool:
    """Returns True if the transcript is the viewer's own. The local agent and an operator acting for an agent may name
    any file, because they can read these files anyway. Others may name the file of a session that this service first
    saw with their key (``begun``)."""
    if viewer.acting or (viewer.agent is not None and viewer.agent == local):
        return True
    return _first_agents(begun) == {viewer.agent} and is_session_file(path, session)


def _first_agents(begun: Mapping[AgentId, datetime | None]) -> set[AgentId]:
    times = [at for at in begun.values() if at is not None]
    if not times or len(times) < len(begun):
        return set(begun)
    return {agent for agent, at in begun.items() if at == min(times)}


def is_session_file(path: str, session: str) -> bool:
    """Returns True if a file name belongs to a session or its sub-agents: the name is or ends with the session id, or a
    folder of the path is that id."""
    file = PurePosixPath(path)
    if file.stem == session:
        return True
    if not _UUID.fullmatch(session) or ".." in file.parts:
        return False
    return file.stem.endswith(f"-{session}") or session in file.parent.parts


def read_last_lines(path: Path, most: int) -> tuple[list[str], bool]:
    """Returns the last complete lines within ``most`` bytes, and True if earlier lines are missing. Raises OSError,
    also if the file is not a regular one."""
    with _open_regular(path) as file:
        start = max(os.fstat(file.fileno()).st_size - most, 0)
        file.seek(start)
        lines = file.read(most).decode(errors="replace").split("\n")
    return (lines[1:] if start else lines), bool(start)


def read_first_line(path: Path, most: int) -> str:
    """Returns the first line, or its first ``most`` bytes. Raises OSError like ``read_last_lines``."""
    with _open_regular(path) as file:
        return file.readline(most).decode(errors="replace")


@contextmanager
def _open_regular(path: Path) -> Generator[BinaryIO]:
    # Not blocking: opening a pipe would wait for a writer.
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        yield file


class TranscriptFiles:
    """Implements ``sessions.ports.Transcripts``. Any key may name any path, so only JSONL files inside ``folders``,
    with links resolved, are opened."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders

    def read_end(self, path: str, most: int) -> tuple[Sequence[str], bool]:
        try:
            real = Path(path).resolve()
            if real.suffix != ".jsonl" or not any(real.is_relative_to(folder.resolve()) for folder in self._folders):
                raise NotFound("The transcript is outside the folders in HIVELORE_TRANSCRIPTS.")
            return read_last_lines(real, most)
        except (OSError, ValueError, RuntimeError) as error:
            raise NotFound(f"The transcript cannot be read ({error}).") from error
