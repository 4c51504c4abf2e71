"""The verb ``review``: the inbox of proposals, and decisions about them."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from hivelore.cli import connection, output
from hivelore.cli.options import After, AsJson, now, whole_number
from hivelore.python.client import Client

_REVIEW = "/api/review"
Id = Annotated[str, Parameter(name="id", help="Id of the proposal.")]
Reason = Annotated[str | None, Parameter(help="Reason; the proposing agent can read it.", metavar="TEXT")]
Reviewer = Annotated[
    str | None, Parameter(help="Agent to act for, by id or name (default: the operator).", metavar="NAME")
]

app = App(name="review", help="Proposals of agents: list, show, accept, reject, merge.")


@app.command(name="list")
def list_proposals(
    *,
    status: Literal["open", "decided", "all"] = "open",
    kind: Literal["contradiction", "sharing", "operational", "duplicate", "supersession"] | None = None,
    limit: Annotated[int, Parameter(alias="-n", help="Most results, 1 to 100.", converter=whole_number)] = 20,
    after: After = None,
    agent: Reviewer = None,
    json: AsJson = False,
) -> None:
    """List proposals, newest first.

    Example: hivelore review list --status all
    """
    query = {"limit": limit, "after": after, "status": status, "kind": kind}
    with connect_as_reviewer(agent) as client:
        page = client.call("GET", _REVIEW, query=query)
    if json:
        output.as_json(page)
        return
    at = now()
    names: Mapping[str, str] = page["names"]
    rows = [
        [
            proposal["id"],
            output.age(proposal["at"], at),
            proposal["kind"],
            "open" if proposal["decided"] is None else proposal["decided"]["how"],
            " / ".join(output.shortened(names.get(each["id"], each["id"]), 60) for each in proposal["memories"]),
        ]
        for proposal in page["proposals"]
    ]
    output.table(["id", "proposed", "kind", "status", "about"], rows)
    if page["dropped"]:
        output.note(
            f"{page['dropped']:,} proposals were dropped: one agent had too many open proposals of the same weight."
        )
    if page["next"] is not None:
        output.note("There are more: --limit shows up to 100, --after continues.")


@app.command
def show(proposal: Id, /, *, agent: Reviewer = None, json: AsJson = False) -> None:
    """Show a proposal with the memories it is about.

    Example: hivelore review show ID
    """
    with connect_as_reviewer(agent) as client:
        detail = client.call("GET", connection.path(_REVIEW, proposal))
    if json:
        output.as_json(detail)
        return
    found = detail["proposal"]
    _show_proposal(found)
    for concerned, memory in zip(found["memories"], detail["memories"], strict=True):
        _show_memory(memory, concerned["version"] if found["decided"] is None else None)


@app.command
def accept(proposal: Id, /, *, reason: Reason = None, agent: Reviewer = None, json: AsJson = False) -> None:
    """Apply a proposal.

    For a contradiction, the older memory loses confidence. For a duplicate, the two memories become one.

    Example: hivelore review accept ID --reason "measured it"
    """
    _decide(proposal, "accept", reason, agent, json)


@app.command
def reject(proposal: Id, /, *, reason: Reason = None, agent: Reviewer = None, json: AsJson = False) -> None:
    """Reject a proposal; nothing changes.

    Example: hivelore review reject ID --reason "both are true"
    """
    _decide(proposal, "reject", reason, agent, json)


@app.command
def merge(proposal: Id, /, *, reason: Reason = None, agent: Reviewer = None, json: AsJson = False) -> None:
    """Merge the two memories of a proposal.

    The older memory gains confidence and takes the text of the newer one, which is removed.

    Example: hivelore review merge ID
    """
    _decide(proposal, "merge", reason, agent, json)


def _decide(proposal: str, decision: str, reason: str | None, agent: str | None, json: bool) -> None:
    with connect_as_reviewer(agent) as client:
        done = client.call("POST", connection.path(_REVIEW, proposal, decision), body={"reason": reason})
    if json:
        output.as_json(done)
    else:
        output.say(f"{done['decided']['how'].capitalize()}: ", (done["id"], "bold"))


def connect_as_reviewer(agent: str | None) -> AbstractContextManager[Client]:
    """Connect as ``agent``, or as the operator: people decide, not the local agent."""
    return connection.operator() if agent is None else connection.client(agent)


def _show_proposal(proposal: Mapping[str, Any]) -> None:
    output.say((f"{proposal['kind']} ", "bold"), proposal["id"])
    by = f"{proposal['actor'] or 'an operator'} ({proposal['interface']})"
    fields: dict[str, Any] = {
        "proposed": f"{output.age(proposal['at'], now())} by {by}",
        "session": proposal["session"],
        "why": proposal["why"],
    }
    if proposal["wanted"] is not None:
        fields["change"] = _describe_change(proposal["wanted"])
    decided = proposal["decided"]
    if decided is not None:
        reason = f": {decided['reason']}" if decided["reason"] else ""
        by = f"{decided['actor'] or 'the operator'} ({decided['interface']})"
        fields["decided"] = f"{decided['how']} {output.age(decided['at'], now())} by {by}{reason}"
    for name, value in fields.items():
        if value is not None:
            output.field(name, value, width=15)


def _describe_change(wanted: Mapping[str, Any]) -> str:
    changes = wanted.get("edit") or wanted.get("change")
    return "; ".join(f"{name}: {value}" for name, value in changes.items()) if changes else "forget it"


def _show_memory(memory: Mapping[str, Any], proposed_version: int | None) -> None:
    """``proposed_version``: version of the memory when the proposal was made; None once it is decided."""
    version = memory["version"]
    changed = "" if proposed_version in (None, version) else f", changed since: it was version {proposed_version}"
    output.say()
    output.say((memory["name"], "bold"))
    trust = memory["provenance"]["trust"]
    output.say((f"{memory['id']}  {memory['scope']}  trust {trust}  version {version}{changed}", "dim"))
    output.say(memory["content"])
