"""The verb ``agent``: agents, their keys and their profiles."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from hivelore.cli import output
from hivelore.cli.connection import call, path
from hivelore.cli.options import ActingAgent, AsJson, Limit50, Number, Reviewer, future, given, whole_number
from hivelore.cli.output import Column, Json
from hivelore.core.text import counted
from hivelore.errors import Invalid, TooLarge

_AGENTS = "/api/agents"
LARGEST_FILE = 1_000_000
"""Most bytes of a file that are read; more than a field may have."""

Agent = Annotated[str, Parameter(help="Agent, by name or id.", name="agent")]
Role = Annotated[str | None, Parameter(help="What the agent does, like 'frontend developer'.", metavar="TEXT")]
Description = Annotated[str | None, Parameter(help="More about what it does.", metavar="TEXT")]
Capability = Annotated[
    tuple[str, ...], Parameter(name="--capability", help="What it can do; repeat for several.", metavar="TEXT")
]

app = App(
    name="agent",
    help="Agents: add, list, revoke, join, show, edit, history, diff, restore, reset.",
)


@app.command
def add(
    name: Annotated[str, Parameter(help="New name, or the name of an agent without a valid key.")],
    /,
    *,
    role: Annotated[
        Literal["worker", "lead"], Parameter(help="A lead may also change shared memories and see those of workers.")
    ] = "worker",
    expires: Annotated[
        str | None, Parameter(help="When the key expires: 30d, 2026-12-31 (default: never).", metavar="WHEN")
    ] = None,
    json: AsJson = False,
) -> None:
    """Add an agent and print its key.

    The key is shown only once. An agent whose keys were all revoked or have expired gets a new key and keeps its
    memories.

    Example: hivelore agent add reviewer --role worker --expires 30d
    """
    body = {"name": name, "role": role, "expiresAt": future(expires, "expires")}
    issued = call("POST", _AGENTS, operator=True, body=body)
    output.result(issued, json, issued["key"])
    if not json:
        output.note(f"This is the key of {issued['agent']['name']}; it is shown only once. Set it as HIVELORE_KEY.")


@app.command(name="list")
def list_agents(*, json: AsJson = False) -> None:
    """List agents and their keys, without secrets.

    Example: hivelore agent list
    """
    columns = (
        Column("role"),
        Column("id", kind="id"),
        Column("keys", _describe_keys),
        Column("does", _describe_work),
        Column("name"),
    )
    output.page(call("GET", _AGENTS, operator=True), "agents", json, columns, empty="No agents.")


def _describe_work(agent: Json) -> str:
    return "-" if agent["profile"] is None else output.shortened(agent["profile"]["role"], 60)


def _describe_keys(agent: Json) -> str:
    """Only operators see keys."""
    return "; ".join(map(_describe_key, agent["keys"])) or "no key" if "keys" in agent else "-"


def _describe_key(key: Json) -> str:
    if key["revokedAt"] is not None:
        return f"{key['id']} revoked"
    if key["expiresAt"] is None:
        return str(key["id"])
    until = datetime.fromisoformat(key["expiresAt"]).astimezone(UTC)
    return f"{key['id']} {'expired' if until <= output.now() else 'until'} {until.date().isoformat()}"


@app.command
def revoke(
    agent_or_key: Annotated[str, Parameter(help="Name or id of an agent (all its keys), or id of one key.")],
    /,
    *,
    json: AsJson = False,
) -> None:
    """Revoke keys permanently. The memories and the profile of the agent stay.

    Example: hivelore agent revoke reviewer
    """
    if not agent_or_key.strip():
        raise Invalid("Say which key: an agent's name or id, or a key's id.")
    answer = call("DELETE", path(_AGENTS, agent_or_key), operator=True)
    output.result(answer, json, f"Revoked {counted(answer['revoked'], 'key')}.")


@app.command
def join(
    *,
    name: Annotated[str | None, Parameter(help="Name, for an agent whose name is its id.", metavar="TEXT")] = None,
    role: Role = None,
    description: Description = None,
    capability: Capability = (),
    agent: ActingAgent = None,
    json: AsJson = False,
) -> None:
    """Create the profile of an agent with default texts.

    A profile that exists does not change.

    Example: hivelore agent join --role reviewer --capability python
    """
    body = given(name=name, role=role, description=description, capabilities=list(capability) or None)
    done = call("POST", f"{_AGENTS}/join", agent=agent, body=body)
    how = "Joined: " if done["isNew"] else "Had joined before: "
    output.result(done, json, how, (done["profile"]["name"], "bold"))


@app.command
def show(which: Agent, /, *, agent: Reviewer = None, json: AsJson = False) -> None:
    """Show the profile of an agent: who it is, how it works, and its notes.

    Example: hivelore agent show local
    """
    found = call("GET", path(_AGENTS, which, "profile"), agent=agent, operator=True)
    if json:
        output.print_json(found)
        return
    texts = {name: found.pop(name) for name in ("soul", "identity", "notes")}
    output.show_fields(found)
    for name, text in texts.items():
        output.say()
        output.say((name, "bold"))
        for line in text.split("\n"):
            output.say(line)


@app.command
def edit(
    which: Agent,
    /,
    *,
    name: Annotated[str | None, Parameter(help="New name.", metavar="TEXT")] = None,
    role: Role = None,
    description: Description = None,
    capability: Capability = (),
    soul: Annotated[Path | None, Parameter(help="File with the new soul.", metavar="FILE")] = None,
    identity: Annotated[Path | None, Parameter(help="File with the new identity.", metavar="FILE")] = None,
    notes: Annotated[Path | None, Parameter(help="File with the new notes.", metavar="FILE")] = None,
    if_version: Annotated[
        int | None, Parameter(help="Version that you read.", converter=whole_number, metavar="N")
    ] = None,
    agent: Reviewer = None,
    json: AsJson = False,
) -> None:
    """Change the profile of an agent. Only the given fields change.

    Example: hivelore agent edit local --role "keeper of this machine"
    """
    texts = {"soul": soul, "identity": identity, "notes": notes}
    body = given(
        name=name,
        role=role,
        description=description,
        capabilities=list(capability) or None,
        **{field: _read_file(file) for field, file in texts.items() if file is not None},
    )
    if not body:
        raise Invalid("Say what to change: 'hivelore agent edit --help' lists the options.")
    done = call("PUT", path(_AGENTS, which, "profile"), agent=agent, operator=True, body=body, version=if_version)
    output.result(done, json, (done["name"], "bold"), f" is now at version {done['version']}.")


@app.command
def history(
    which: Agent,
    /,
    *,
    limit: Limit50 = 20,
    before: Annotated[Number, Parameter(help="Only versions before this one.", metavar="N")] = None,
    agent: Reviewer = None,
    json: AsJson = False,
) -> None:
    """Show the versions of a profile, newest first.

    Example: hivelore agent history local
    """
    query = {"limit": limit, "before": before}
    found = call("GET", path(_AGENTS, which, "profile", "history"), agent=agent, operator=True, query=query)
    columns = (
        Column("version", _describe_version),
        Column("written", "at", "age"),
        Column("by", "actor", "id", "operator"),
        Column("through", "interface"),
        Column("bytes"),
        Column("changed", _list_changes),
    )
    output.page(found, "versions", json, columns, empty="The agent has not joined: its profile has no versions.")


def _list_changes(version: Json) -> str:
    return ", ".join(version["changed"])


def _describe_version(version: Json) -> str:
    mark = " (current)" if version["isCurrent"] else f" (conflicts with {version['follows']})"
    return f"{version['number']}{mark if version['isCurrent'] or version['isConflict'] else ''}"


@app.command
def diff(
    which: Agent,
    older: Annotated[Number, Parameter(name="from", help="Older version (default: the one that it follows).")] = None,
    newer: Annotated[Number, Parameter(name="to", help="Newer version (default: the current one).")] = None,
    /,
    *,
    agent: Reviewer = None,
    json: AsJson = False,
) -> None:
    """Compare two versions of a profile.

    Example: hivelore agent diff local
    """
    query = {"from": older, "to": newer}
    output.difference(
        call("GET", path(_AGENTS, which, "profile", "diff"), agent=agent, operator=True, query=query), json
    )


@app.command
def restore(
    which: Agent,
    version: Annotated[int, Parameter(help="Version to restore.", converter=whole_number)],
    /,
    *,
    agent: Reviewer = None,
    json: AsJson = False,
) -> None:
    """Make the texts of an earlier version current again.

    Example: hivelore agent restore local 1
    """
    body = {"version": version}
    done = call("POST", path(_AGENTS, which, "profile", "restore"), agent=agent, operator=True, body=body)
    output.result(done, json, (done["name"], "bold"), f" is now at version {done['version']}.")


@app.command
def reset(which: Agent, /, *, json: AsJson = False) -> None:
    """Give an agent the default profile, without setup script and configuration. Memories and keys stay.

    Example: hivelore agent reset local
    """
    done = call("POST", path(_AGENTS, which, "reset"), operator=True)
    entries = counted(done["entries"], "configuration entry", "configuration entries")
    parts = ["the profile"] * done["profile"] + ["the setup script"] * done["setupScript"]
    shown = ", ".join([*parts, entries] if done["entries"] else parts) or "nothing"
    output.result(done, json, "Deleted: ", (shown, "bold"))
    if not json:
        for warning in done["warnings"]:
            output.note(warning)
        output.note("'hivelore batches' lists the changes, and 'hivelore undo ID' reverts each of them.")


def prompt(
    *,
    repo: Annotated[str | None, Parameter(help="Repository, for its guidelines.", metavar="NAME")] = None,
    task: Annotated[str | None, Parameter(help="Task, by id.", metavar="ID")] = None,
    agent: Annotated[str | None, Parameter(help="Agent, by name or id (default: local).", metavar="NAME")] = None,
    json: AsJson = False,
) -> None:
    """Print the system prompt of an agent; --json shows its parts and their tokens.

    Example: hivelore prompt --agent local
    """
    query = {"repo": repo, "task": task}
    found = call("GET", path(_AGENTS, agent or "me", "prompt"), operator=agent is not None, query=query)
    if json:
        output.print_json(found)
    else:
        output.say_fenced(found["text"].removesuffix("\n"))


def _read_file(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            data = opened.read(LARGEST_FILE + 1)
        if len(data) > LARGEST_FILE:
            raise TooLarge(f"{file} has more than {LARGEST_FILE:,} bytes.")
        return data.decode()
    except UnicodeDecodeError as error:
        raise Invalid(f"{file} is not UTF-8 (byte {error.start}).") from None
    except OSError as error:
        raise Invalid(f"{file} cannot be read ({error.strerror}).") from None
