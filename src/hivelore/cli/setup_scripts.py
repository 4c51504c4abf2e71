"""The verb ``setup-script``: setup scripts of agents, their versions, and edits in start-up files."""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from hivelore.cli import connection, output
from hivelore.cli.connection import call, path
from hivelore.cli.options import STDIN, AsJson, Limit50, Number, read_stdin
from hivelore.cli.output import Column
from hivelore.cli.workspace import OwnFolder, agent_id
from hivelore.core.text import counted
from hivelore.errors import Invalid, TooLarge
from hivelore.local import endpoint
from hivelore.setup_scripts.script_text import RAW_BYTES, SCRIPT_BYTES

_GLOBAL = "/api/setup-script"
_AGENTS = "/api/agents"

Whose = Annotated[
    str | None, Parameter(name="--agent", help="Agent, by id or name (default: the global script).", metavar="NAME")
]
Reason = Annotated[str | None, Parameter(help="Reason; stored with the change.", metavar="TEXT")]

app = App(name="setup-script", help="Setup scripts: show, set, history, diff, restore, sync.")


@app.command
def show(*, agent: Whose = None, json: AsJson = False) -> None:
    """Show the global setup script, or that of an agent with the global one.

    Example: hivelore setup-script show --agent reviewer
    """
    answer = call("GET", _place(agent), operator=True)
    if json:
        output.print_json(answer)
        return
    if agent is None:
        _show("global", answer["version"], answer["setupScript"])
    else:
        _show("global", answer["globalVersion"], answer["globalSetupScript"])
        _show(agent, answer["version"], answer["setupScript"])


@app.command(name="set")
def set_script(
    file: Annotated[str, Parameter(help="File with the script; - reads it from stdin. Empty: remove it.")],
    /,
    *,
    agent: Whose = None,
    version: Annotated[Number, Parameter(help="Only if this is the current version; 0: there is none.")] = None,
    reason: Reason = None,
    json: AsJson = False,
) -> None:
    """Change a setup script. For the key of an agent it becomes a proposal.

    Example: hivelore setup-script set - --agent reviewer
    """
    text = read_stdin() if file == STDIN else _read(Path(file))
    body = {"setupScript": text, "version": version, "reason": reason}
    _report(call("PUT", _place(agent), operator=True, body=body), json)


@app.command
def history(
    *,
    agent: Whose = None,
    limit: Limit50 = 20,
    before: Annotated[Number, Parameter(help="Only versions with a smaller number.")] = None,
    json: AsJson = False,
) -> None:
    """List the versions of a setup script, newest first.

    Example: hivelore setup-script history --agent reviewer
    """
    query = {"agent": agent, "limit": limit, "before": before}
    answer = call("GET", f"{_GLOBAL}/history", operator=True, query=query)
    columns = (
        Column("version", "number"),
        Column("changed", "at", "age"),
        Column("by", "actor", "id", "operator"),
        Column("bytes", "size"),
        Column("reason"),
    )
    output.page(answer, "versions", json, columns, empty="There is no setup script.")


@app.command
def diff(
    older: Annotated[int, Parameter(help="Number of a version.")],
    newer: Annotated[int, Parameter(help="Number of another version.")],
    /,
    *,
    agent: Whose = None,
    json: AsJson = False,
) -> None:
    """Compare two versions of a setup script.

    Example: hivelore setup-script diff 1 2 --agent reviewer
    """
    query = {"agent": agent, "older": older, "newer": newer}
    answer = call("GET", f"{_GLOBAL}/diff", operator=True, query=query)
    output.result(answer, json, answer["diff"] or "Both versions are equal.")


@app.command
def restore(
    version: Annotated[int, Parameter(help="Number of the version.")],
    /,
    *,
    agent: Whose = None,
    reason: Reason = None,
    json: AsJson = False,
) -> None:
    """Make an earlier version of a setup script current again, as a new version.

    Example: hivelore setup-script restore 1 --agent reviewer
    """
    body = {"agent": agent, "version": version, "reason": reason}
    _report(call("POST", f"{_GLOBAL}/restore", operator=True, body=body), json)


@app.command
def sync(
    *,
    folder: Annotated[Path | None, Parameter(help="Folder of the file (default: the workspace).")] = None,
    agent: Annotated[
        str | None, Parameter(help="Agent that edited it, by id or name (default: local).", metavar="NAME")
    ] = None,
    own_folder: OwnFolder = False,
    json: AsJson = False,
) -> None:
    """Propose what an agent edited in the setup scripts of the start-up file.

    Example: hivelore setup-script sync
    """
    from hivelore.integrations import start_up_files

    place = folder or Path(endpoint.workspace(endpoint.home(), endpoint.given_workspace()))
    with connection.client(agent) as client:
        if own_folder:
            place = place / "agents" / agent_id(client)
        if not place.is_dir():
            raise Invalid(f"{place} is not a folder. 'hivelore workspace prepare' creates the workspace.")
        found = start_up_files.sync(place, client, output.note)
    output.result({"edited": found}, json, f"{counted(found, 'edited script')}.")


def _place(agent: str | None) -> str:
    return _GLOBAL if agent is None else f"{path(_AGENTS, agent)}/setup-script"


def _read(file: Path) -> str:
    try:
        with file.open("rb") as source:
            content = source.read(RAW_BYTES + 1)
    except OSError as error:
        raise Invalid(f"{file} cannot be read ({error.strerror}).") from None
    if len(content) > RAW_BYTES:
        raise TooLarge(f"{file} is too large: a setup script has at most {SCRIPT_BYTES:,} bytes.")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise Invalid(f"{file} is not UTF-8 text.") from None


def _show(whose: str, version: int, script: str | None) -> None:
    output.say((f"{whose}, version {version}" if script else f"{whose}: no setup script", "bold"))
    if script:
        output.say(script)


def _report(done: dict[str, Any], json: bool) -> None:
    what = f"Changed: version {done['version']}." if done["changed"] else "Unchanged."
    output.result(done, json, what)
