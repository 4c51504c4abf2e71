"""The verb ``config``: configuration entries and their secrets."""

import sys
from getpass import getpass
from typing import Annotated, Literal

from cyclopts import App, Parameter

from hivelore.cli import exits, output
from hivelore.cli.connection import call, path
from hivelore.cli.options import STDIN, ActingAgent, After, AsJson, Limit100, Limit500, Reviewer, given, read_stdin
from hivelore.cli.output import Column, Json
from hivelore.configuration.env_text import export_line
from hivelore.core.text import counted
from hivelore.errors import Invalid

_CONFIG = "/api/config"
_SLOW = 600.0
"""Seconds to wait for a rotation of all secrets."""


def _scope(one: Json) -> str:
    return one["scope"] if one["scopeId"] is None else f"{one['scope']} {one['scopeName'] or one['scopeId']}"


def _overrides(one: Json) -> str:
    return ", ".join(one["overrides"])


def _changed(one: Json) -> str:
    return ", ".join(one["changed"])


def _number(one: Json) -> str:
    return f"{one['number']}{' (current)' if one['isCurrent'] else ''}"


_COLUMNS = (
    Column("key"),
    Column("value"),
    Column("scope", _scope),
    Column("id", kind="id"),
    Column("set", "lastUpdatedAt", "age"),
    Column("file", "envPath"),
    Column("description"),
)
Scope = Annotated[
    Literal["global", "agent", "repo"] | None, Parameter(help="Scope of the entry: global, agent or repo.")
]
ScopeId = Annotated[
    str | None,
    Parameter(help="Agent, by name or id (default: the one acted for), or repository, by name or id.", metavar="NAME"),
]
Repo = Annotated[str | None, Parameter(help="Repository, by name or id.", metavar="NAME")]
Entry = Annotated[str, Parameter(name="id", help="Id of the entry.")]

app = App(name="config", help="Configuration of agents: list, set, delete, reveal, history, env, rotate-key.")


@app.command(name="list")
def list_entries(
    *,
    scope: Scope = None,
    scope_id: ScopeId = None,
    limit: Limit500 = 500,
    after: After = None,
    agent: Reviewer = None,
    json: AsJson = False,
) -> None:
    """List configuration entries, with secrets masked, and lines of .env files that could not be written.

    Example: hivelore config list --scope global
    """
    query = {"scope": scope, "scopeId": scope_id, "limit": limit, "after": after}
    found = call("GET", _CONFIG, agent=agent, operator=True, query=query)
    output.page(found, "entries", json, _COLUMNS, empty="No configuration entries.", more=f"--after {found['next']}")
    if not json:
        for one in found["problems"]:
            output.note(f"{one['key']} in {one['path']} of {one['workspace']}: {one['problem']}")


@app.command(name="set")
def set_entry(
    key: Annotated[str, Parameter(help="Name of the variable, like API_URL.")],
    value: Annotated[
        str | None, Parameter(help="Value; - reads it from stdin. Without it, the terminal asks for it.")
    ] = None,
    /,
    *,
    scope: Scope = "global",
    scope_id: ScopeId = None,
    secret: Annotated[bool | None, Parameter(negative="--no-secret", help="Encrypt the value, and mask it.")] = None,
    env_path: Annotated[
        str | None, Parameter(help="Keep it in this .env file of the workspace, too; '' for none.", metavar="PATH")
    ] = None,
    description: Annotated[str | None, Parameter(help="What it is for; '' for none.", metavar="TEXT")] = None,
    agent: Reviewer = None,
    json: AsJson = False,
) -> None:
    """Set a configuration entry.

    Other users of this machine can see the arguments of a command. Leave the value of a secret out, or use -.

    Example: hivelore config set API_URL https://api.example.com
    """
    body = {
        "key": key,
        "value": _read_value(value),
        "scope": scope,
        **given(scopeId=scope_id, isSecret=secret, envPath=env_path, description=description),
    }
    done = call("PUT", _CONFIG, agent=agent, operator=True, body=body)
    output.result(done, json, "Set: ", (done["key"], "bold"), f" in {_scope(done)}")
    if done["warning"] and not json:
        output.note(done["warning"])


@app.command
def delete(entry: Entry, /, *, agent: Reviewer = None, json: AsJson = False) -> None:
    """Delete a configuration entry, and its line in a .env file.

    Example: hivelore config delete ID
    """
    done = call("DELETE", path(_CONFIG, entry), agent=agent, operator=True)
    output.result(done, json, "Deleted: ", (done["key"], "bold"))
    if done["warning"] and not json:
        output.note(done["warning"])


@app.command
def resolved(*, repo: Repo = None, agent: ActingAgent = None, json: AsJson = False) -> None:
    """Show the entries that apply to an agent and a repository, with secrets masked.

    Repository scope takes precedence over agent scope, and that over global scope.

    Example: hivelore config resolved --repo shop
    """
    found = call("GET", f"{_CONFIG}/resolved", agent=agent, query={"repoId": repo})
    columns = (*_COLUMNS[:3], Column("replaces", _overrides), *_COLUMNS[3:])
    output.page(found, "entries", json, columns, empty="No configuration entries.")


@app.command
def reveal(entry: Entry, /, *, agent: Reviewer = None, json: AsJson = False) -> None:
    """Print the value of an entry, also of a secret; the audit trail records it.

    Example: hivelore config reveal ID
    """
    found = call("GET", f"{path(_CONFIG, entry)}/reveal", agent=agent, operator=True)
    if json:
        output.print_json(found)
    else:
        _print_exactly(found["value"])


@app.command
def history(entry: Entry, /, *, limit: Limit100 = 100, agent: Reviewer = None, json: AsJson = False) -> None:
    """Show the versions of an entry, and who read its value.

    Example: hivelore config history ID
    """
    found = call("GET", f"{path(_CONFIG, entry)}/history", agent=agent, operator=True, query={"limit": limit})
    if json:
        output.print_json(found)
        return
    columns = (
        Column("version", _number),
        Column("set", "at", "age"),
        Column("by", "actor", "id", "operator"),
        Column("changed", _changed),
        Column("value"),
    )
    output.show_table(columns, found["versions"])
    if found["reads"]:
        output.say()
        output.show_table((Column("read", "at", "age"), Column("by", "actor", "id", "operator")), found["reads"])


@app.command
def env(*, repo: Repo = None, agent: ActingAgent = None, json: AsJson = False) -> int:
    """Print the configuration of an agent as lines for a shell, with its secrets; the audit trail records it.

    Secrets that are left out are named on stderr. The exit code is 7 if one cannot be read.

    Example: hivelore config env --agent reviewer
    """
    found = call("GET", f"{_CONFIG}/env", agent=agent, query={"repoId": repo})
    if json:
        output.print_json(found)
    else:
        for key, value in found["variables"].items():
            _print_exactly(export_line(key, value))
    for one in found["withheld"]:
        output.note(f"{one['key']} is left out. {one['reason']}")
    return exits.LEFT_OUT if any(not one["isForbidden"] for one in found["withheld"]) else 0


@app.command(name="rotate-key")
def rotate_key(
    *,
    erase_lost: Annotated[bool, Parameter(help="Erase the secrets whose key is missing.")] = False,
    json: AsJson = False,
) -> None:
    """Encrypt all secrets with a new key, or continue an interrupted rotation.

    Example: hivelore config rotate-key
    """
    done = call("POST", f"{_CONFIG}/rotate-key", operator=True, body={"eraseLost": erase_lost}, timeout=_SLOW)
    output.result(done, json, f"Encrypted {counted(done['reencrypted'], 'value')} with the key ", (done["key"], "bold"))
    if json:
        return
    if done["erased"]:
        output.note(f"Erased {counted(done['erased'], 'value')} without a key.")
    for one in done["unreadable"]:
        output.note(f"{one['key']} in {_scope(one)}, version {one['version']}: {one['reason']}")
    if done["lost"]:
        output.note(
            f"{counted(done['lost'], 'value')} cannot be read and stayed as they are. Restore the key, or erase them "
            "with --erase-lost."
        )


def _read_value(value: str | None) -> str:
    if value == STDIN:
        return read_stdin()
    if value is not None:
        return value
    if not sys.stdin.isatty():
        raise Invalid("Say the value of the entry, or use - to read it from stdin.")
    return getpass("Value: ")


def _print_exactly(text: str) -> None:
    """Print a text for programs as it is, and for a terminal without control characters."""
    if sys.stdout.isatty():
        output.say(text)
    else:
        print(text)
