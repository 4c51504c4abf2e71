"""The verb ``agent``: who may come in, and with which key."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from urllib.parse import quote

from cyclopts import App, Parameter

from hivelore.cli import connection, output
from hivelore.cli.clock import now
from hivelore.cli.options import AsJson, moment
from hivelore.errors import Invalid

app = App(name="agent", help="Agents and their keys: add, list, revoke.")


@app.command
def add(
    name: Annotated[str, Parameter(help="A new name, or that of an agent without a key that works.")],
    /,
    *,
    role: Annotated[
        Literal["worker", "lead"], Parameter(help="A lead also changes what is shared, and sees the workers' memories.")
    ] = "worker",
    expires: Annotated[
        str | None, Parameter(help="When the key stops working: 30d, 2026-12-31. Else: never.", metavar="WHEN")
    ] = None,
    json: AsJson = False,
) -> None:
    """Add an agent and print its key.

    The key is shown this one time. An agent whose keys were all revoked or have expired gets a new one and
    keeps its memories.

    Example: hivelore agent add reviewer --role worker --expires 30d
    """
    body: dict[str, Any] = {"name": name, "role": role}
    if expires is not None:
        body["expiresAt"] = moment(expires, now(), field="expires").isoformat()
    with connection.operator() as client:
        issued = client.call("POST", "/api/agents", body=body)
    if json:
        output.as_json(issued)
        return
    output.say(issued["key"])
    output.note(f"The key of {issued['agent']['name']}, shown this one time. Hand it over as HIVELORE_KEY.")


@app.command(name="list")
def list_agents(*, json: AsJson = False) -> None:
    """List agents and their keys, without secrets.

    Example: hivelore agent list
    """
    with connection.operator() as client:
        answer = client.call("GET", "/api/agents")
    if json:
        output.as_json(answer)
        return
    rows: list[list[str]] = []
    for agent in answer["agents"]:
        # Only operators are told of keys.
        keys = "; ".join(map(_told, agent["keys"])) or "no key" if "keys" in agent else "-"
        rows.append([agent["role"], agent["id"], keys, agent["name"]])
    output.table(["role", "id", "keys", "name"], rows)


def _told(key: dict[str, Any]) -> str:
    if key["revokedAt"] is not None:
        return f"{key['id']} revoked"
    if key["expiresAt"] is None:
        return str(key["id"])
    until = datetime.fromisoformat(key["expiresAt"]).astimezone(UTC)
    return f"{key['id']} {'expired' if until <= now() else 'until'} {until.date().isoformat()}"


@app.command
def revoke(
    agent_or_key: Annotated[str, Parameter(help="An agent (all its keys), or one key by its id.")],
    /,
    *,
    json: AsJson = False,
) -> None:
    """Take keys away for good.

    Example: hivelore agent revoke reviewer
    """
    if not agent_or_key.strip():
        raise Invalid("Say whose key: an agent's name or id, or a key's id.")
    with connection.operator() as client:
        answer = client.call("DELETE", f"/api/agents/{quote(agent_or_key, safe='')}")
    if json:
        output.as_json(answer)
    else:
        output.say(f"Revoked: {answer['revoked']}.")
