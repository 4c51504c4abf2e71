"""Verbs about running things: observe, observations, curate, context, ingest-stream."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from hivelore.cli import connection, exits, output
from hivelore.cli.clock import now
from hivelore.cli.options import AsJson, InProject, Speaker, moment, project_meant, text_of, whole
from hivelore.cli.stream import Format, Kept, StreamIngest, lines_of
from hivelore.errors import Invalid
from hivelore.observations import observation_codec as wire
from hivelore.observations.model import TIERS
from hivelore.python.client import Client

_PAGE = 500
Service = Annotated[str | None, Parameter(help="What it is about; general: what holds for all.", metavar="NAME")]
Category = Annotated[str, Parameter(help="Like timing, dependency, behavior, remediation or maintenance.")]
SessionName = Annotated[str | None, Parameter(name="--session", help="In which session it was seen.", metavar="NAME")]
Tier = Annotated[
    int, Parameter(help="How much the agent may do, 1 to 3.", converter=whole, validator=Number(gte=1, lte=TIERS[-1]))
]


def observe(
    *text: Annotated[str, Parameter(help="What was seen, in a line; - reads it from stdin.")],
    category: Category,
    service: Service = None,
    session_id: SessionName = None,
    tier: Tier = 1,
    at: Annotated[str | None, Parameter(help="When, if not now: 2026-01-31T12:00Z, or 2h for so long ago.")] = None,
    only_in: Annotated[str | None, Parameter(help="The one project it holds for; else all.", metavar="PROJECT")] = None,
    agent: Speaker = None,
    json: AsJson = False,
) -> None:
    """Tell what you saw of running things.

    Seen again it gets surer, and what says the opposite gets less sure.

    Example: hivelore observe Takes 60s to start --category timing
    """
    body = wire.told(
        observation=text_of(text, "what you saw"),
        category=category,
        service=service,
        session=session_id,
        tier=tier,
        at=None if at is None else moment(at, now(), past=True, field="at"),
        project=only_in,
    )
    with connection.client(agent) as client:
        done = client.call("POST", "/memories", body=body)
    if json:
        output.as_json(done)
        return
    memory = done["memory"]
    output.say(_EFFECTS[done["effect"]], " ", (memory["id"], "bold"), f": {_shown(memory)}")
    for reason in done["why"]:
        output.note(reason)


_EFFECTS = {
    "new": "New:",
    "reinforced": "Seen again:",
    "contradicted": "New, and against what was known:",
    "uncertain": "New, and perhaps known or against what was known:",
    "known": "Known, and told before:",
}


def observations(
    *,
    service: Service = None,
    category: Annotated[str | None, Parameter(help="Only these.")] = None,
    status: Annotated[Literal["all", "active", "inactive"], Parameter(help="Inactive ones are not told.")] = "all",
    of: Annotated[str | None, Parameter(help="All that was ever observed of this one.", metavar="ID")] = None,
    agent: Speaker = None,
    json: AsJson = False,
) -> None:
    """List what is known about running things, newest first.

    Example: hivelore observations --service jellyfin --status active
    """
    with connection.client(agent) as client:
        if of is not None:
            _tell_life(list(_pages(client, f"/memories/{connection.segment(of)}/observations", {})), json=json)
            return
        query = {"service": service, "category": category, "status": status}
        memories = [one for page in _pages(client, "/memories", query) for one in page["memories"]]
    if json:
        output.as_json({"memories": memories})
        return
    if not memories:
        output.note("Nothing is known yet.")
        return
    rows = [
        (one["id"], one["service"] or "general", one["category"], _sure(one), _status(one), one["observation"])
        for one in memories
    ]
    output.table(("id", "service", "category", "confidence", "status", "observation"), rows)


def _pages(client: Client, path: str, query: Mapping[str, str | None]) -> Iterator[Mapping[str, Any]]:
    after: str | None = None
    while True:
        page = client.call("GET", path, query={**query, "limit": _PAGE, "after": after})
        yield page
        after = page["next"]
        if after is None:
            return


def _tell_life(pages: Sequence[Mapping[str, Any]], *, json: bool) -> None:
    life = {name: [one for page in pages for one in page[name]] for name in ("observations", "timeline")}
    if json:
        output.as_json(life)
        return
    sure = {point["at"]: point["confidence"] for point in life["timeline"]}
    rows = [
        (
            one["at"],
            one["kind"],
            f"{sure[one['at']]:g}" if one["at"] in sure else "",
            one["session"] or "",
            one["text"] or "",
        )
        for one in life["observations"]
    ]
    output.table(("at", "kind", "confidence", "session", "text"), rows)


def curate(
    memory: Annotated[str, Parameter(name="id", help="Which one.")],
    /,
    *,
    text: Annotated[str | None, Parameter(help="The new text; how sure it is stays.")] = None,
    category: str | None = None,
    service: Annotated[str | None, Parameter(help="general: it holds for all.", metavar="NAME")] = None,
    only_in: Annotated[
        str | None, Parameter(help="The one project it holds for, '' for all.", metavar="PROJECT")
    ] = None,
    confidence: Annotated[float | None, Parameter(help="How sure it is, 0 to 1.")] = None,
    active: Annotated[bool, Parameter(help="Bring it back into use.")] = False,
    inactive: Annotated[bool, Parameter(help="Take it out of use until it is seen again.")] = False,
    persistent: Annotated[Literal["yes", "no"] | None, Parameter(help="Whether time leaves it as it is.")] = None,
    delete: Annotated[bool, Parameter(help="Delete it for good.")] = False,
    reason: Annotated[str | None, Parameter(help="Why; kept with it.")] = None,
    json: AsJson = False,
) -> None:
    """Correct what is known about running things.

    Example: hivelore curate ID --confidence 0.9 --reason "I timed it"
    """
    if active and inactive:
        raise Invalid("Say --active or --inactive, not both.")
    given: dict[str, Any] = {
        "observation": text,
        "category": category,
        "service": service,
        "project": only_in,
        "confidence": confidence,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    if active or inactive:
        changes["active"] = active
    if persistent is not None:
        changes["persistent"] = persistent == "yes"
    if bool(changes) == delete:
        raise Invalid("Say what to change, like --confidence 0.9 or --inactive; or --delete alone.")
    path = f"/memories/{connection.segment(memory)}"
    with connection.operator() as client:
        done = client.call("DELETE", path) if delete else client.call("PUT", path, body=changes | {"reason": reason})
    if json:
        output.as_json({"deleted": 1} if delete else done)
    else:
        output.say("Deleted." if delete else f"{_status(done)}, {_sure(done)}: {_shown(done)}")


def context(
    *,
    service: Annotated[str | None, Parameter(help="Of this one, and what holds for all.", metavar="NAME")] = None,
    budget: Annotated[
        int | None, Parameter(help="Tokens, about. Else: HIVELORE_MEMORY_BUDGET.", converter=whole)
    ] = None,
    tier: Annotated[int | None, Parameter(help="For an agent of this tier.", converter=whole)] = None,
    model: Annotated[str | None, Parameter(help="For this model.", metavar="NAME")] = None,
    project: InProject = None,
    agent: Speaker = None,
    json: AsJson = False,
) -> None:
    """Print what an agent is to know before it begins.

    What must wait, and what is known about running things; nothing where there is neither. Made for:
    claude -p "..." --append-system-prompt "$(hivelore context)"

    Example: hivelore context --service jellyfin --budget 1000
    """
    query = {"service": service, "budget": budget, "tier": tier, "model": model}
    with connection.client(agent, project_meant(project)) as client:
        block = client.call("GET", "/api/operational-context", query=query)
    if json:
        output.as_json(block)
    elif parts := [block[name] for name in ("environment", "text") if block[name]]:
        output.say_fenced("\n\n".join(parts))


def ingest_stream(
    *,
    session_id: Annotated[
        str | None, Parameter(name="--session", help="Else as the stream says.", metavar="NAME")
    ] = None,
    tier: Tier = 1,
    format_: Annotated[Format, Parameter(name="--format")] = "auto",
    tee: Annotated[bool, Parameter(help="Print all that is read, too.")] = False,
    agent: Speaker = None,
    json: AsJson = False,
) -> int:
    """Keep what an agent says in markers, while it says it.

    Lines like [MEMORY:timing:jellyfin] Takes 60s to start, [EVENT:warning] The backup is late and
    [COOLDOWN:jellyfin:restart] 30, in Claude Code's stream-json (claude -p "..." --output-format stream-json --verbose)
    or in plain text, on stdin. Not in code blocks and quotations, nor in what Hivelore told the agent.

    Example: hivelore ingest-stream --session nightly --tee
    """
    with ExitStack() as links:
        ingesting = StreamIngest(lambda: links.enter_context(connection.client(agent)), session_id, tier, format_)
        for line in lines_of(sys.stdin.buffer, _print if tee else _pass_over):
            ingesting.read(line)
    _tell_kept(ingesting.kept, json=json, quiet=tee)
    return exits.LEFT_OUT if ingesting.kept.lost else 0


def _print(read: bytes) -> None:
    sys.stdout.buffer.write(read)
    sys.stdout.buffer.flush()


def _pass_over(_: bytes) -> None:
    pass


def _tell_kept(kept: Kept, *, json: bool, quiet: bool) -> None:
    if json and not quiet:
        output.as_json(kept.counts())
        return
    told = ", ".join(f"{count} {name}" for name, count in kept.counts().items() if count)
    output.note(f"Kept: {told}." if told else "No markers.")


def _shown(memory: Mapping[str, Any]) -> str:
    about = memory["category"] if memory["service"] is None else f"{memory['category']}:{memory['service']}"
    return f"[{about}] {memory['observation']}"


def _sure(memory: Mapping[str, Any]) -> str:
    return f"{round(memory['confidence'], 2):g}"


def _status(memory: Mapping[str, Any]) -> str:
    return "active" if memory["active"] else "inactive"
