"""The verbs ``session`` and ``handover``: sessions that another host continues."""

import shlex
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from hivelore.cli import connection, output
from hivelore.cli.connection import call
from hivelore.cli.options import After, AsJson, Limit500, whole_number
from hivelore.cli.output import Column, Json
from hivelore.core.text import counted
from hivelore.errors import NotFound
from hivelore.local import endpoint
from hivelore.local.transcript_restore import EXTENDED, KEPT, WRITTEN
from hivelore.python.session_files import restore_session, save_session

_TRANSCRIPTS = "/api/transcripts"
_SLOW = 600.0
"""Seconds to wait for the deletion or redaction of a long transcript."""
_OUTCOMES = {WRITTEN: "Restored", EXTENDED: "Extended", KEPT: "Already complete"}

Session = Annotated[str, Parameter(name="session", help="Session id, or its beginning.")]
Exact = Annotated[bool, Parameter(help="This session itself, not the newest one that continues it.", negative=())]
Owner = Annotated[str | None, Parameter(name="--agent", help="Agent of the session, by id or name.", metavar="NAME")]
Folder = Annotated[
    Path | None, Parameter(help="Workspace of the session (default: the working directory).", metavar="PATH")
]


def _size(one: Json) -> str:
    return f"{one['size'] / 1_000_000:.1f} MB"


_COLUMNS = (
    Column("session", "sessionId", kind="id"),
    Column("used", "updatedAt", "age"),
    Column("agent", "agentId", "id"),
    Column("host", "machine"),
    Column("folder"),
    Column("size", _size),
    Column("continues"),
)

app = App(name="session", help="Stored sessions: list, show, restore, save, delete.")


@app.command(name="list")
def list_sessions(
    *,
    limit: Limit500 = 50,
    after: After = None,
    agent: Owner = None,
    json: AsJson = False,
) -> None:
    """List sessions with a stored transcript, most recently used first.

    Example: hivelore session list
    """
    found = call("GET", _TRANSCRIPTS, operator=True, query={"limit": limit, "after": after, "agentId": agent})
    output.page(found, "sessions", json, _COLUMNS, empty="No stored sessions.", more=f"--after {found['next']}")


@app.command
def show(
    session: Session,
    /,
    *,
    after: Annotated[
        int, Parameter(help="Start after a page: the value of its `next` (--json).", converter=whole_number)
    ] = 0,
    exact: Exact = False,
    agent: Owner = None,
    json: AsJson = False,
) -> None:
    """Show the conversation of a session, with secrets masked.

    Example: hivelore session show ID
    """
    one = _find(session, agent, newest=not exact)["session"]
    path = connection.path(_TRANSCRIPTS, one["id"])
    found = call("GET", f"{path}/turns", operator=True, query={"after": after}, timeout=_SLOW)
    if json:
        output.print_json(found)
        return
    for turn in found["turns"]:
        tool = f" {turn['tool']} {turn['target'] or ''}" if turn["tool"] else ""
        output.say((f"{turn['speaker']}{tool}", "bold"), " (failed)" if turn["failed"] else "")
        output.say(turn["text"])
        output.say()
    if found["next"] is not None:
        output.note(f"More: --after {found['next']}")


@app.command
def restore(session: Session, /, *, folder: Folder = None, exact: Exact = False, json: AsJson = False) -> None:
    """Write the transcript of a session where Claude Code of this host finds it, and print how to continue it.

    Only the session's own agent can: its key is HIVELORE_KEY, else the one in the home folder. A file with entries
    that are not stored is not replaced.

    Example: hivelore session restore ID
    """
    workspace = (folder or Path.cwd()).resolve()
    if not workspace.is_dir():
        raise NotFound(f"There is no folder {workspace}. Name the workspace of the session with --folder.")
    with connection.own() as (client, key):
        done = restore_session(client, key, session, workspace, endpoint.home(), newest=not exact)
    command = f"claude --resume {done.session}"
    if workspace != Path.cwd():
        command = f"cd {shlex.quote(str(workspace))} && {command}"
    answer = {"sessionId": done.session, "file": str(done.file), "outcome": done.outcome, "command": command}
    output.result(answer, json, f"{_OUTCOMES[done.outcome]}: ", (str(done.file), "bold"))
    if not json:
        output.say(command)


@app.command
def save(session: Session, /, *, folder: Folder = None, json: AsJson = False) -> None:
    """Send the transcript of a session of this host to the service now.

    This is the exact conversation, with secrets and private text. HIVELORE_STORE_TRANSCRIPTS makes hooks do the same.

    Example: hivelore session save ID
    """
    with connection.own() as (client, key):
        whole, sent = save_session(client, key, session, (folder or Path.cwd()).resolve(), endpoint.home())
    answer = {"sessionId": whole, "sent": sent}
    output.result(answer, json, f"Sent {counted(sent, 'entry', 'entries')} of ", (whole, "bold"))


@app.command
def delete(session: Session, /, *, agent: Owner = None, json: AsJson = False) -> None:
    """Delete the stored transcripts of a session and its sub-agents permanently.

    Files of Claude Code on its hosts stay.

    Example: hivelore session delete ID
    """
    one = _find(session, agent, newest=False)["session"]
    query = {"sessionId": one["sessionId"], "agentId": one["agentId"]}
    done = call("DELETE", _TRANSCRIPTS, operator=True, query=query, timeout=_SLOW)
    output.result(done, json, f"Deleted {counted(done['deleted'], 'transcript')} of ", (one["sessionId"], "bold"))


def handover(
    session: Annotated[str, Parameter(name="id", help="Session or task, by id or its beginning.")],
    /,
    *,
    exact: Exact = False,
    agent: Owner = None,
    json: AsJson = False,
) -> None:
    """Print a hand-over packet of a session: goal, progress, decisions, files, last error and open questions.

    For an agent that cannot resume the session itself. Of a task, it has what was reported, and its newest stored
    session.

    Example: hivelore handover ID
    """
    query = {"sessionId": session, "newest": str(not exact).lower(), "agentId": agent}
    found = call("GET", f"{_TRANSCRIPTS}/handover", operator=True, query=query, timeout=_SLOW)
    if json:
        output.print_json(found)
    else:
        output.say_fenced(found["text"])


def _find(session: str, agent: str | None, *, newest: bool) -> Any:
    query = {"sessionId": session, "newest": str(newest).lower(), "agentId": agent}
    return call("GET", f"{_TRANSCRIPTS}/find", operator=True, query=query)
