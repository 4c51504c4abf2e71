"""Restores sessions of Claude Code on this host, and sends those of this host, with the key of their agent."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hivelore.errors import Busy, Conflict, Forbidden, Invalid, NotFound
from hivelore.local import endpoint, variables
from hivelore.local.claude_code_files import SUFFIX, is_session_id, project_folder_name
from hivelore.local.transcript_capture import Refused, Sender, capture_session, restoring
from hivelore.local.transcript_restore import KEPT, Restored, restore_file, restore_part
from hivelore.python.client import Client
from hivelore.stored_transcripts.keys import transcript_key

_TRANSCRIPTS = "/api/transcripts"
_PROGRAM = "claude-code"


@dataclass(frozen=True, slots=True)
class RestoredSession:
    session: str
    """The restored session. ``claude --resume`` takes it."""
    file: Path
    outcome: str
    """See ``local.transcript_restore``."""


def restore_session(
    client: Client,
    key: str,
    session: str,
    workspace: Path,
    home: Path,
    *,
    newest: bool = True,
    environment: Mapping[str, str] | None = None,
    stopping: Callable[[], bool] = lambda: False,
) -> RestoredSession:
    """Writes a session with its sub-agents where Claude Code finds it from a workspace. ``key``: the key of the
    session's own agent, which the client has. ``newest``: restores the newest session that continues it.
    ``environment``: that of Claude Code, by default that of this process. Raises NotFound, Forbidden, Invalid if Claude
    Code cannot resume the session, Conflict if a file has entries that are not stored, and Busy while the session is
    sent, or after ``stopping`` returned True."""
    found = client.call("GET", f"{_TRANSCRIPTS}/find", query={"sessionId": session, "newest": str(newest).lower()})
    one = found["session"]
    if not one["isExact"]:
        raise Forbidden(f"The session belongs to the agent {one['agentId']}. Use its key as HIVELORE_KEY.")
    if one["program"] != _PROGRAM or not is_session_id(one["sessionId"]):
        raise Invalid(f"Claude Code cannot resume it. 'hivelore handover {one['sessionId']}' prints a packet.")
    main = sessions_folder(workspace, environment) / f"{one['sessionId']}{SUFFIX}"
    with restoring(main, client.url, key, home) as state:

        def restore(part: Mapping[str, Any], file: Path, write: Callable[..., Restored]) -> Restored:
            sub_key, transcript, entries = part["subKey"] or "", part["id"], part["entries"]
            if state.is_whole(sub_key, file, transcript, entries):
                return Restored(KEPT)
            restored = write(file, _lines(client, part, stopping), main.parent)
            state.note(sub_key, file, restored, transcript, entries)
            return restored

        restored = restore(one, main, restore_file)
        for part in found["subKeys"]:
            restore(part, _part_file(main, part["subKey"]), restore_part)
    return RestoredSession(one["sessionId"], main, restored.outcome)


def save_session(
    client: Client, key: str, session: str, workspace: Path, home: Path, expired: Callable[[], bool] = lambda: False
) -> tuple[str, int]:
    """Sends what the transcript of a session of this host grew by, also if it was sent with the key of another agent
    before. ``session``: its id or the beginning of it. Returns the id and the number of new entries. Raises NotFound,
    Unavailable, and Conflict beyond the limits."""
    place = sessions_folder(workspace)
    files = sorted(place.glob(f"{session}*{SUFFIX}")) if session.replace("-", "").isalnum() else []
    if len(files) != 1:
        problem = "Several sessions begin" if files else "No session begins"
        raise NotFound(f"{problem} with {session!r} in {place}. Name the workspace with --folder.")
    with closing(Sender(client.url, key)) as sender:
        try:
            return files[0].stem, capture_session(files[0], sender, home, expired, with_any_key=True)
        except Refused as error:
            raise Conflict(str(error)) from None


def sessions_folder(workspace: Path, environment: Mapping[str, str] | None = None) -> Path:
    """Returns the folder with the sessions of a workspace on this host."""
    settings = endpoint.agent_homes(variables.environment() if environment is None else environment).get(_PROGRAM)
    if settings is None:
        raise NotFound("The settings folder of Claude Code is unknown. Set HOME or CLAUDE_CONFIG_DIR.")
    return settings / endpoint.SESSIONS[_PROGRAM] / project_folder_name(workspace)


def _lines(client: Client, one: Mapping[str, Any], stopping: Callable[[], bool]) -> Iterator[str]:
    """Yields the exact lines of a transcript, page by page. Raises Busy when ``stopping`` returns True."""
    query = {"projectKey": one["projectKey"], "sessionId": one["sessionId"], "subKey": one["subKey"]}
    after: int | None = 0
    while after is not None:
        if stopping():
            raise Busy("The session was not restored before this program was asked to stop. Try again.")
        page = client.call("GET", f"{_TRANSCRIPTS}/lines", query={**query, "after": after})
        yield from page["lines"]
        after = page["next"]


def _part_file(main: Path, sub_key: str) -> Path:
    """Returns the file of a sub-agent's transcript. Raises Invalid for one outside the folder of the session."""
    key = transcript_key(main.parent.name, main.name.removesuffix(SUFFIX), sub_key)
    return main.with_suffix("") / f"{key.sub_key}{SUFFIX}"
