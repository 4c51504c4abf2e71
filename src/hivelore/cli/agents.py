"""The verb ``agent``: agents and their keys."""

from datetime import UTC, datetime
from typing import Annotated, Literal

from cyclopts import App, Parameter

from hivelore.cli import output
from hivelore.cli.connection import call, path
from hivelore.cli.options import AsJson, future
from hivelore.cli.output import Column, Json
from hivelore.core.text import counted
from hivelore.errors import Invalid

_AGENTS = "/api/agents"

app = App(name="agent", help="Agents and their keys: add, list, revoke.")


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
    columns = (Column("role"), Column("id", kind="id"), Column("keys", _describe_keys), Column("name"))
    output.page(call("GET", _AGENTS, operator=True), "agents", json, columns, empty="No agents.")


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
    """Revoke keys permanently.

    Example: hivelore agent revoke reviewer
    """
    if not agent_or_key.strip():
        raise Invalid("Say which key: an agent's name or id, or a key's id.")
    answer = call("DELETE", path(_AGENTS, agent_or_key), operator=True)
    output.result(answer, json, f"Revoked {counted(answer['revoked'], 'key')}.")
