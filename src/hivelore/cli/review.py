"""The verb ``review``: the inbox of proposals, and decisions about them."""

from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from hivelore.cli import output
from hivelore.cli.connection import call, path
from hivelore.cli.options import After, AsJson, Limit100, Reviewer
from hivelore.cli.output import Column, Json
from hivelore.core.text import counted

_REVIEW = "/api/review"
Id = Annotated[str, Parameter(name="id", help="Id of the proposal.")]
Reason = Annotated[str | None, Parameter(help="Reason; the proposing agent can read it.", metavar="TEXT")]

Kind = Literal[
    "contradiction", "sharing", "operational", "duplicate", "supersession", "update", "subject", "setup-script"
]

app = App(name="review", help="Proposals of agents: list, show, accept, reject, merge.")


@app.command(name="list")
def list_proposals(
    *,
    status: Literal["open", "decided", "all"] = "open",
    kind: Literal[
        "contradiction", "sharing", "operational", "duplicate", "supersession", "update", "subject", "setup-script"
    ]
    | None = None,
    order: Literal["harm", "newest"] | None = None,
    limit: Limit100 = 20,
    after: After = None,
    agent: Reviewer = None,
    json: AsJson = False,
) -> None:
    """List proposals: open ones by the harm of waiting, grouped by memory, others newest first.

    Example: hivelore review list --status all
    """
    query = {"limit": limit, "after": after, "status": status, "kind": kind, "order": order}
    answer = call("GET", _REVIEW, agent=agent, operator=True, query=query)
    names, groups = answer["names"], answer["groups"]
    short = output.short_ids(group["memory"] for group in groups.values())

    def group_title(proposal: Json) -> str:
        group = groups.get(proposal["id"])
        if group is None:
            return _describe_script(proposal["script"])
        number = counted(group["others"] + 1, "proposal")
        return f"{output.shortened(names[group['memory']], 60)} ({short[group['memory']]}, {number})"

    def about(proposal: Json) -> str:
        memories = [one["id"] for one in proposal["memories"]]
        if proposal["script"] is not None:
            return _describe_script(proposal["script"])
        if groups:
            memories.remove(groups[proposal["id"]]["memory"])
        return " / ".join(output.shortened(names.get(memory, memory), 60) for memory in memories)

    columns = (
        Column("id", kind="id"),
        Column("proposed", "at", "age"),
        Column("kind"),
        Column("status", _status),
        Column("other memories" if groups else "about", about),
    )
    empty = (
        "No proposal waits for a decision. --status all shows decided ones." if status == "open" else "No proposals."
    )
    more, title = "--limit shows up to 100, --after continues", group_title if groups else None
    output.page(answer, "proposals", json, columns, empty=empty, more=more, title=title)


def _describe_script(script: Json) -> str:
    return "global setup script" if script["agent"] is None else f"setup script of {script['agent']}"


def _status(proposal: Json) -> str:
    return proposal["decided"]["how"] if proposal["decided"] else "open"


@app.command
def show(proposal: Id, /, *, agent: Reviewer = None, json: AsJson = False) -> None:
    """Show a proposal with the memories it is about.

    Example: hivelore review show ID
    """
    detail = call("GET", path(_REVIEW, proposal), agent=agent, operator=True)
    if json:
        output.print_json(detail)
        return
    found = detail["proposal"]
    _show_proposal(found)
    for concerned, memory in zip(found["memories"], detail["memories"], strict=True):
        _show_memory(memory, concerned["version"] if found["decided"] is None else None)
    if detail["script"] is not None:
        output.say()
        output.say((f"{_describe_script(found['script'])}, version {found['script']['version']}", "bold"))
        output.say(detail["script"]["diff"] or "It says the same already.")


@app.command
def accept(proposal: Id, /, *, reason: Reason = None, agent: Reviewer = None, json: AsJson = False) -> None:
    """Apply a proposal.

    For a contradiction, the older memory loses confidence. For a duplicate, the two memories become one. For an update,
    the older memory ends when the newer one begins. For a subject, all memories get it. A setup script gets the
    proposed text.

    Example: hivelore review accept ID --reason "measured it"
    """
    _decide(proposal, "accept", reason, agent, json)


@app.command
def reject(proposal: Id, /, *, reason: Reason = None, agent: Reviewer = None, json: AsJson = False) -> None:
    """Reject a proposal. No memory changes; for an update, the link between the two is rejected.

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
    done = call("POST", path(_REVIEW, proposal, decision), agent=agent, operator=True, body={"reason": reason})
    output.result(done, json, f"{done['decided']['how'].capitalize()}: ", (output.short_id(done["id"]), "bold"))


def _show_proposal(proposal: Json) -> None:
    output.say((f"{proposal['kind']} ", "bold"), proposal["id"])
    decided = proposal["decided"]
    by = f"{proposal['actor'] or 'an operator'} ({proposal['interface']})"
    output.show_fields(
        {
            "proposed": f"{output.age(proposal['at'])} by {by}",
            "session": proposal["session"],
            "why": proposal["why"],
            "change": proposal["wanted"] and _describe_change(proposal["wanted"]),
            "decided": decided and _describe_decision(decided),
        },
        width=15,
    )


def _describe_change(wanted: Json) -> str:
    changes: dict[str, Any] = wanted.get("edit") or wanted.get("change") or {}
    return "; ".join(f"{name}: {value}" for name, value in changes.items()) or "forget it"


def _describe_decision(decided: Json) -> str:
    reason = f": {decided['reason']}" if decided["reason"] else ""
    by = f"{decided['actor'] or 'the operator'} ({decided['interface']})"
    return f"{decided['how']} {output.age(decided['at'])} by {by}{reason}"


def _show_memory(memory: Json, proposed_version: int | None) -> None:
    """``proposed_version``: version of the memory when the proposal was made; None once it is decided."""
    version = memory["version"]
    changed = "" if proposed_version in (None, version) else f", changed since: it was version {proposed_version}"
    output.say()
    output.say((memory["name"], "bold"))
    trust = memory["provenance"]["trust"]
    output.say((f"{memory['id']}  {memory['scope']}  trust {trust}  version {version}{changed}", "dim"))
    output.say(memory["content"])
