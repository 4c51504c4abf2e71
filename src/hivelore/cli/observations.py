"""Verbs about operational memory: observe, observations, curate, context, ingest-stream."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from cyclopts import Parameter, Token

from hivelore.cli import connection, output
from hivelore.cli.options import ActingAgent, AsJson, SearchProject, past, read_text, resolve_project, whole_number
from hivelore.errors import Invalid
from hivelore.python.client import Client

_PAGE = 500
_MEMORIES = "/memories"
_TIERS = (1, 2, 3)
_EFFECTS = {
    "new": "New:",
    "reinforced": "Reinforced:",
    "contradicted": "New, contradicts an earlier observation:",
    "uncertain": "New, may repeat or contradict an earlier observation:",
    "known": "Known from this session:",
}

Service = Annotated[str | None, Parameter(help="Service; general: all services.", metavar="NAME")]
Category = Annotated[str, Parameter(help="timing, dependency, behavior, remediation, maintenance or another category.")]
SessionName = Annotated[str | None, Parameter(name="--session", help="Session of the agent.", metavar="NAME")]


def _parse_tier(_: Any, tokens: Sequence[Token]) -> int:
    tier = whole_number(_, tokens)
    if tier not in _TIERS:
        raise ValueError(f"--tier is 1 to {_TIERS[-1]}, not {tier}.")
    return tier


Tier = Annotated[int, Parameter(help="Permission tier of the agent, 1 to 3.", converter=_parse_tier)]


def observe(
    *text: Annotated[str, Parameter(help="Observation in one line; - reads it from stdin.")],
    category: Category,
    service: Service = None,
    session_id: SessionName = None,
    tier: Tier = 1,
    at: Annotated[str | None, Parameter(help="When (default: now): 2026-01-31T12:00Z, 2h (ago).")] = None,
    only_in: Annotated[str | None, Parameter(help="Project it holds for (default: all).", metavar="PROJECT")] = None,
    agent: ActingAgent = None,
    json: AsJson = False,
) -> None:
    """Report an observation about running a service.

    The same observation again raises the confidence; the opposite lowers it.

    Example: hivelore observe Takes 60s to start --category timing
    """
    body = {
        "observation": read_text(text, "what you observed"),
        "category": category,
        "service": service,
        "session": session_id,
        "tier": tier,
        "at": past(at, "at"),
        "project": only_in,
    }
    with connection.client(agent) as client:
        done = client.call("POST", _MEMORIES, body=body)
    if json:
        output.as_json(done)
        return
    memory = done["memory"]
    output.say(_EFFECTS[done["effect"]], " ", (memory["id"], "bold"), f": {_describe(memory)}")
    for reason in done["why"]:
        output.note(reason)


def observations(
    *,
    service: Service = None,
    category: Annotated[str | None, Parameter(help="Only this category.")] = None,
    status: Annotated[Literal["all", "active", "inactive"], Parameter(help="Inactive ones are not injected.")] = "all",
    of: Annotated[str | None, Parameter(help="All observations of this memory.", metavar="ID")] = None,
    agent: ActingAgent = None,
    json: AsJson = False,
) -> None:
    """List operational memories, newest first.

    Example: hivelore observations --service jellyfin --status active
    """
    with connection.client(agent) as client:
        if of is not None:
            pages = _pages(client, f"{connection.path(_MEMORIES, of)}/observations", {})
            _show_timeline(list(pages), json=json)
            return
        query = {"service": service, "category": category, "status": status}
        memories = [one for page in _pages(client, _MEMORIES, query) for one in page["memories"]]
    if json:
        output.as_json({"memories": memories})
        return
    if not memories:
        output.note("No operational memories found.")
        return
    rows = [
        (one["id"], one["service"] or "general", one["category"], _confidence(one), _status(one), one["observation"])
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


def _show_timeline(pages: Sequence[Mapping[str, Any]], *, json: bool) -> None:
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
    memory: Annotated[str, Parameter(name="id", help="Id of the memory.")],
    /,
    *,
    text: Annotated[str | None, Parameter(help="New text; the confidence stays.")] = None,
    category: str | None = None,
    service: Annotated[str | None, Parameter(help="general: all services.", metavar="NAME")] = None,
    only_in: Annotated[str | None, Parameter(help="Project it holds for, or '' for all.", metavar="PROJECT")] = None,
    confidence: Annotated[float | None, Parameter(help="Confidence, 0 to 1.")] = None,
    active: Annotated[bool, Parameter(help="Activate it.")] = False,
    inactive: Annotated[bool, Parameter(help="Deactivate it until it is observed again.")] = False,
    persistent: Annotated[Literal["yes", "no"] | None, Parameter(help="yes: the confidence does not decay.")] = None,
    delete: Annotated[bool, Parameter(help="Delete it permanently.")] = False,
    reason: Annotated[str | None, Parameter(help="Reason; stored in the history.")] = None,
    json: AsJson = False,
) -> None:
    """Correct an operational memory.

    Example: hivelore curate ID --confidence 0.9 --reason "I timed it"
    """
    if active and inactive:
        raise Invalid("Choose one of --active and --inactive.")
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
    path = connection.path(_MEMORIES, memory)
    with connection.operator() as client:
        done = client.call("DELETE", path) if delete else client.call("PUT", path, body=changes | {"reason": reason})
    if json:
        output.as_json({"deleted": 1} if delete else done)
    else:
        output.say("Deleted." if delete else f"{_status(done)}, {_confidence(done)}: {_describe(done)}")


def context(
    *,
    service: Annotated[
        str | None, Parameter(help="This service, and memories for all services.", metavar="NAME")
    ] = None,
    budget: Annotated[
        int | None,
        Parameter(help="Approximate token budget (default: HIVELORE_MEMORY_BUDGET).", converter=whole_number),
    ] = None,
    tier: Annotated[int | None, Parameter(help="Tier of the agent.", converter=whole_number)] = None,
    model: Annotated[str | None, Parameter(help="Name of the agent's model.", metavar="NAME")] = None,
    project: SearchProject = None,
    agent: ActingAgent = None,
    json: AsJson = False,
) -> None:
    """Print the operational context of an agent.

    That is its active cooldowns and operational memories; nothing if there are none. Use it like this:
    claude -p "..." --append-system-prompt "$(hivelore context)"

    Example: hivelore context --service jellyfin --budget 1000
    """
    query = {"service": service, "budget": budget, "tier": tier, "model": model}
    with connection.client(agent, resolve_project(project)) as client:
        block = client.call("GET", "/api/operational-context", query=query)
    if json:
        output.as_json(block)
    elif parts := [block[name] for name in ("environment", "text") if block[name]]:
        output.say_fenced("\n\n".join(parts))


def _describe(memory: Mapping[str, Any]) -> str:
    about = memory["category"] if memory["service"] is None else f"{memory['category']}:{memory['service']}"
    return f"[{about}] {memory['observation']}"


def _confidence(memory: Mapping[str, Any]) -> str:
    return f"{round(memory['confidence'], 2):g}"


def _status(memory: Mapping[str, Any]) -> str:
    return "active" if memory["active"] else "inactive"
