"""The verb ``agent``: agents and their keys."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from hivelore.cli import connection, output
from hivelore.cli.options import AsJson, future, now
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
    with connection.operator() as client:
        issued = client.call("POST", _AGENTS, body=body)
    if json:
        output.as_json(issued)
        return
    output.say(issued["key"])
    output.note(f"This is the key of {issued['agent']['name']}; it is shown only once. Set it as HIVELORE_KEY.")


@app.command(name="list")
def list_agents(*, json: AsJson = False) -> None:
    """List agents and their keys, without secrets.

    Example: hivelore agent list
    """
    with connection.operator() as client:
        answer = client.call("GET", _AGENTS)
    if json:
        output.as_json(answer)
        return
    rows: list[list[str]] = []
    for agent in answer["agents"]:
        # Only operators see keys.
        keys = "; ".join(map(_describe_key, agent["keys"])) or "no key" if "keys" in agent else "-"
        rows.append([agent["role"], agent["id"], keys, agent["name"]])
    output.table(["role", "id", "keys", "name"], rows)


def _describe_key(key: dict[str, Any]) -> str:
    if key["revokedAt"] is not None:
        return f"{key['id']} revoked"
    if key["expiresAt"] is None:
        return str(key["id"])
    until = datetime.fromisoformat(key["expiresAt"]).astimezone(UTC)
    return f"{key['id']} {'expired' if until <= now() else 'until'} {until.date().isoformat()}"


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
    with connection.operator() as client:
        answer = client.call("DELETE", connection.path(_AGENTS, agent_or_key))
    if json:
        output.as_json(answer)
    else:
        output.say(f"Revoked: {answer['revoked']}.")
