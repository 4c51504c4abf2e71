"""The verb ``review``: what waits for a decision, and deciding."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from hivelore.cli import connection, output
from hivelore.cli.clock import now
from hivelore.cli.options import AsJson, whole
from hivelore.memories.drafts import Edit
from hivelore.memories.model import Memory
from hivelore.observations.outcomes import Change
from hivelore.python.remote import RemoteHive
from hivelore.review import proposal_codec as wire
from hivelore.review.model import Deletion, Proposal, Wanted

Which = Annotated[str, Parameter(name="id", help="Which proposal.")]
Why = Annotated[str | None, Parameter(help="Why; told to who proposed it.", metavar="TEXT")]
Reviewer = Annotated[
    str | None, Parameter(help="As whom: the id or name of an agent. Else: the operator.", metavar="NAME")
]

app = App(name="review", help="What others propose: list, show, accept, reject, merge.")


@app.command(name="list")
def list_proposals(
    *,
    status: Literal["open", "decided", "all"] = "open",
    kind: Literal["contradiction", "sharing", "operational", "duplicate", "supersession"] | None = None,
    limit: Annotated[int, Parameter(alias="-n", help="1 to 100.", converter=whole)] = 20,
    after: Annotated[str | None, Parameter(help="Go on behind a page: its `next` (--json).")] = None,
    agent: Reviewer = None,
    json: AsJson = False,
) -> None:
    """List proposals, newest first.

    Example: hivelore review list --status all
    """
    with as_reviewer(agent) as hive:
        page = hive.review(limit=limit, after=after, status=status, kind=kind)
    if json:
        output.as_json(wire.page(page))
        return
    at = now()
    rows = [
        [
            one.id,
            output.age(one.at, at),
            one.kind.value,
            "open" if one.decided is None else one.decided.how.value,
            " / ".join(output.shortened(page.names.get(each.memory, each.memory), 60) for each in one.memories),
        ]
        for one in page.proposals
    ]
    output.table(["id", "proposed", "kind", "status", "about"], rows)
    if page.dropped:
        output.note(f"{page.dropped:,} proposals were dropped so far: too many of one agent waited that weigh as much.")
    if page.next is not None:
        output.note("There are more: --limit shows up to 100, --after goes on.")


@app.command
def show(proposal: Which, /, *, agent: Reviewer = None, json: AsJson = False) -> None:
    """Show a proposal with the memories it is about.

    Example: hivelore review show ID
    """
    with as_reviewer(agent) as hive:
        case = hive.proposal(proposal)
    if json:
        output.as_json(wire.case(case))
        return
    _show(case.proposal)
    for then, memory in zip(case.proposal.memories, case.memories, strict=True):
        _show_memory(memory, then.version if case.proposal.decided is None else None)


@app.command
def accept(proposal: Which, /, *, reason: Why = None, agent: Reviewer = None, json: AsJson = False) -> None:
    """Do what is proposed.

    Of a contradiction: the older memory is less sure from now on. Of a duplicate: the two become one.

    Example: hivelore review accept ID --reason "measured it"
    """
    _decide(proposal, "accept", reason, agent, json)


@app.command
def reject(proposal: Which, /, *, reason: Why = None, agent: Reviewer = None, json: AsJson = False) -> None:
    """Leave everything as it is.

    Example: hivelore review reject ID --reason "both are true"
    """
    _decide(proposal, "reject", reason, agent, json)


@app.command
def merge(proposal: Which, /, *, reason: Why = None, agent: Reviewer = None, json: AsJson = False) -> None:
    """Make one of two memories.

    The older one is surer from now on and keeps the words of the newer one, which goes.

    Example: hivelore review merge ID
    """
    _decide(proposal, "merge", reason, agent, json)


def _decide(
    proposal: str, decision: Literal["accept", "reject", "merge"], reason: str | None, agent: str | None, json: bool
) -> None:
    with as_reviewer(agent) as hive:
        done = hive.decide(proposal, decision, reason=reason)
    if json:
        output.as_json(wire.proposal(done))
        return
    assert done.decided is not None
    output.say(f"{done.decided.how.value.capitalize()}: ", (done.id, "bold"))


@contextmanager
def as_reviewer(agent: str | None) -> Generator[RemoteHive]:
    """Deciding is for people: without an agent that is named, the operator speaks for nobody."""
    with connection.operator() if agent is None else connection.client(agent) as client:
        yield RemoteHive(client)


def _show(proposal: Proposal) -> None:
    output.say((f"{proposal.kind} ", "bold"), proposal.id)
    fields: dict[str, Any] = {
        "proposed": f"{output.age(proposal.at, now())} by {proposal.actor or 'an operator'} ({proposal.interface})",
        "session": proposal.session,
        "why": proposal.why,
    }
    if proposal.wanted is not None:
        fields["wanted"] = _told(proposal.wanted)
    decided = proposal.decided
    if decided is not None:
        why = f": {decided.reason}" if decided.reason else ""
        by = decided.actor or "the operator"
        fields["decided"] = f"{decided.how} {output.age(decided.at, now())} by {by} ({decided.interface}){why}"
    for name, value in fields.items():
        if value is not None:
            output.say((f"{name:15}", "dim"), str(value))


def _told(wanted: Wanted) -> str:
    match wanted:
        case Deletion():
            return "to forget it"
        case Edit() | Change():
            return "; ".join(f"{name}: {value}" for name, value in wanted.changed_fields().items())


def _show_memory(memory: Memory, version: int | None) -> None:
    """``version``: when it was proposed, as long as that is open."""
    output.say()
    output.say((memory.name, "bold"))
    since = "" if version in (None, memory.version) else f", changed since: it was version {version}"
    trust = memory.provenance.trust
    output.say((f"{memory.id}  {memory.scope}  trust {trust}  version {memory.version}{since}", "dim"))
    output.say(memory.content)
