"""Verbs about operational memory: observe, observations, curate, context."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from cyclopts import Parameter, Token

from hivelore.cli import connection, output
from hivelore.cli.connection import call, path
from hivelore.cli.options import (
    ActingAgent,
    AsJson,
    Number,
    Reason,
    SearchProject,
    Session,
    given,
    past,
    read_text,
    resolve_project,
    whole_number,
)
from hivelore.cli.output import Column, Json
from hivelore.errors import Invalid

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


def _parse_tier(_: Any, tokens: Sequence[Token]) -> int:
    tier = whole_number(_, tokens)
    if tier not in _TIERS:
        raise ValueError(f"--tier is 1 to {_TIERS[-1]}, not {tier}.")
    return tier


Tier = Annotated[int, Parameter(help="Permission tier of the agent, 1 to 3.", converter=_parse_tier)]


def _confidence(memory: Json) -> str:
    return f"{round(memory['confidence'], 2):g}"


def _status(memory: Json) -> str:
    return "active" if memory["active"] else "inactive"


_COLUMNS = (
    Column("id", kind="id"),
    Column("service", missing="general"),
    Column("category"),
    Column("confidence", _confidence),
    Column("status", _status),
    Column("observation"),
)


def observe(
    *text: Annotated[str, Parameter(help="Observation in one line; - reads it from stdin.")],
    category: Annotated[
        str, Parameter(help="timing, dependency, behavior, remediation, maintenance or another category.")
    ],
    service: Service = None,
    session_id: Session = None,
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
    done = call("POST", _MEMORIES, agent=agent, body=body)
    memory = done["memory"]
    short = output.short_id(memory["id"])
    output.result(done, json, _EFFECTS[done["effect"]], " ", (short, "bold"), f": {_describe(memory)}")
    for reason in () if json else done["why"]:
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
    query = {"service": service, "category": category, "status": status}
    if of is not None:
        found = _all_pages(agent, f"{path(_MEMORIES, of)}/observations", {}, "observations", "timeline")
        sure = {point["at"]: point["confidence"] for point in found["timeline"]}

        def confidence_at(seen: Json) -> str:
            return f"{sure[seen['at']]:g}" if seen["at"] in sure else ""

        columns = (
            Column("at"),
            Column("kind"),
            Column("confidence", confidence_at),
            Column("session"),
            Column("text"),
        )
        output.page(found, "observations", json, columns, empty="No observations of this memory are stored.")
    else:
        empty = "No operational memories match. 'hivelore observe' reports an observation."
        output.page(_all_pages(agent, _MEMORIES, query, "memories"), "memories", json, _COLUMNS, empty=empty)


def _all_pages(agent: str | None, place: str, query: Json, *names: str) -> dict[str, list[Json]]:
    def pages() -> Iterator[Json]:
        after: str | None = None
        while True:
            page = client.call("GET", place, query={**query, "limit": _PAGE, "after": after})
            yield page
            if (after := page["next"]) is None:
                return

    found: dict[str, list[Json]] = {name: [] for name in names}
    with connection.client(agent) as client:
        for page in pages():
            for name in names:
                found[name] += page[name]
    return found


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
    reason: Reason = None,
    json: AsJson = False,
) -> None:
    """Correct an operational memory.

    Example: hivelore curate ID --confidence 0.9 --reason "I timed it"
    """
    if active and inactive:
        raise Invalid("Choose one of --active and --inactive.")
    changes = given(
        observation=text,
        category=category,
        service=service,
        project=only_in,
        confidence=confidence,
        active=active if active or inactive else None,
        persistent=None if persistent is None else persistent == "yes",
    )
    if bool(changes) == delete:
        raise Invalid("Say what to change, like --confidence 0.9 or --inactive; or --delete alone.")
    place = path(_MEMORIES, memory)
    if delete:
        call("DELETE", place, operator=True)
        output.result({"deleted": 1}, json, "Deleted.")
    else:
        done = call("PUT", place, operator=True, body=changes | {"reason": reason})
        output.result(done, json, f"{_status(done)}, {_confidence(done)}: {_describe(done)}")


def context(
    *,
    service: Annotated[
        str | None, Parameter(help="This service, and memories for all services.", metavar="NAME")
    ] = None,
    budget: Annotated[Number, Parameter(help="Approximate token budget (default: HIVELORE_MEMORY_BUDGET).")] = None,
    tier: Annotated[Number, Parameter(help="Tier of the agent.")] = None,
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
    block = call("GET", "/api/operational-context", agent=agent, project=resolve_project(project), query=query)
    if json:
        output.print_json(block)
    elif parts := [block[name] for name in ("environment", "text") if block[name]]:
        output.say_fenced("\n\n".join(parts))


def _describe(memory: Json) -> str:
    about = memory["category"] if memory["service"] is None else f"{memory['category']}:{memory['service']}"
    return f"[{about}] {memory['observation']}"
