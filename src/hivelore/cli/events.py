"""The verbs ``events`` and ``cooldowns``: the event log, and actions on services that must wait."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from hivelore.cli import connection, output
from hivelore.cli.options import ActingAgent, After, AsJson, future, now, past, read_text, whole_number

events = App(name="events", help="Log of events on services: list, add, forget.")
cooldowns = App(name="cooldowns", help="Actions on services that must wait: list, set, clear.")

_EVENTS = "/api/events"
_COOLDOWNS = "/api/cooldowns"
_COOLDOWN_COLUMNS = ("service", "action", "until", "set", "reason")
Level = Literal["info", "warning", "error", "critical"]
Session = Annotated[str | None, Parameter(name="--session", help="Session of the agent.")]


@events.command(name="list")
def list_events(
    *,
    limit: Annotated[int, Parameter(alias="-n", help="Most results, 1 to 500.", converter=whole_number)] = 50,
    after: After = None,
    level: Annotated[Level | None, Parameter(help="Only events of this level or a higher one.")] = None,
    service: Annotated[str | None, Parameter(help="Only this service; general: events without a service.")] = None,
    session_id: Session = None,
    since: Annotated[str | None, Parameter(help="Happened since: 7d, 2026-01-31.", metavar="WHEN")] = None,
    until: Annotated[str | None, Parameter(help="Happened before.", metavar="WHEN")] = None,
    agent: ActingAgent = None,
    json: AsJson = False,
) -> None:
    """List events, newest first.

    Example: hivelore events list --level warning --since 7d
    """
    query = {
        "limit": limit,
        "after": after,
        "level": level,
        "service": service,
        "session": session_id,
        "since": past(since, "since"),
        "until": past(until, "until"),
    }
    with connection.client(agent) as client:
        page = client.call("GET", _EVENTS, query=query)
    if json:
        output.as_json(page)
        return
    at = now()
    rows = [
        [
            event["id"],
            output.age(event["at"], at),
            event["level"],
            event["service"] or "general",
            event["actor"] or "operator",
            event["text"],
        ]
        for event in page["events"]
    ]
    if rows:
        output.table(["id", "at", "level", "service", "actor", "text"], rows)
    else:
        output.note("No events found.")
    if page["next"] is not None:
        output.note("There are more: --limit shows up to 500, --after continues.")


@events.command(name="add")
def add_event(
    *text: Annotated[str, Parameter(help="Description of the event; - reads it from stdin.")],
    level: Annotated[Level, Parameter(help="How serious it is.")] = "info",
    service: Annotated[str | None, Parameter(help="Service it is about.")] = None,
    session_id: Session = None,
    at: Annotated[str | None, Parameter(help="When it happened: 10m (ago), 2026-01-31.", metavar="WHEN")] = None,
    agent: ActingAgent = None,
    json: AsJson = False,
) -> None:
    """Add an event to the log.

    Example: hivelore events add The backup is late --level warning --service backup
    """
    words = read_text(text, "what happened")
    body = {"text": words, "level": level, "service": service, "session": session_id, "at": past(at, "at")}
    with connection.client(agent) as client:
        event = client.call("POST", _EVENTS, body=body)
    if json:
        output.as_json(event)
    else:
        output.say(event["id"])
        if event["text"] != words.strip():
            output.note("Text that looks like a secret was masked.")


@events.command(name="forget")
def forget_event(
    event: Annotated[str, Parameter(name="id", help="Id of the event; 'events list' shows it.")],
    /,
    *,
    json: AsJson = False,
) -> None:
    """Delete an event from the log; for operators.

    Example: hivelore events forget ID
    """
    with connection.operator() as client:
        client.call("DELETE", connection.path(_EVENTS, event))
    if json:
        output.as_json({"forgotten": 1})
    else:
        output.say(f"Forgotten: {event}.")


@cooldowns.command(name="list")
def list_cooldowns(
    *,
    service: Annotated[str | None, Parameter(help="Only this service.")] = None,
    agent: ActingAgent = None,
    json: AsJson = False,
) -> None:
    """List cooldowns that are active now.

    Example: hivelore cooldowns list --service jellyfin
    """
    with connection.client(agent) as client:
        found = client.call("GET", _COOLDOWNS, query={"service": service})
    if json:
        output.as_json(found)
    elif found["cooldowns"]:
        output.table(_COOLDOWN_COLUMNS, [_row(cooldown) for cooldown in found["cooldowns"]])
    else:
        output.note("No cooldown is active.")


@cooldowns.command(name="set")
def set_cooldown(
    service: Annotated[str, Parameter(help="Service.")],
    action: Annotated[str, Parameter(help="Action that must wait.")],
    /,
    until: Annotated[str, Parameter(help="End: 30m, 2h, 2026-01-31T12:00Z.", metavar="WHEN")],
    *,
    reason: Annotated[str | None, Parameter(help="Reason.")] = None,
    session_id: Session = None,
    agent: ActingAgent = None,
    json: AsJson = False,
) -> None:
    """Make an action on a service wait.

    Setting it again raises its count and never moves its end forward. To end it sooner, clear it.

    Example: hivelore cooldowns set jellyfin restart 30m
    """
    body = {
        "service": service,
        "action": action,
        "until": future(until, "until"),
        "reason": reason,
        "session": session_id,
    }
    with connection.client(agent) as client:
        cooldown = client.call("PUT", _COOLDOWNS, body=body)
    if json:
        output.as_json(cooldown)
    else:
        output.table(_COOLDOWN_COLUMNS, [_row(cooldown)])


@cooldowns.command(name="clear")
def clear_cooldowns(
    service: Annotated[str, Parameter(help="Service.")],
    action: Annotated[str | None, Parameter(help="Action (default: all of the service).")] = None,
    /,
    *,
    json: AsJson = False,
) -> None:
    """End cooldowns now; for operators.

    Example: hivelore cooldowns clear jellyfin restart
    """
    with connection.operator() as client:
        cleared = client.call("DELETE", _COOLDOWNS, query={"service": service, "action": action})["cleared"]
    if json:
        output.as_json({"cleared": cleared})
    else:
        output.say(f"Cleared: {cleared}.")


def _row(cooldown: Mapping[str, Any]) -> list[str]:
    until = f"{datetime.fromisoformat(cooldown['until']):%Y-%m-%d %H:%M} UTC ({output.age(cooldown['until'], now())})"
    count = cooldown["count"]
    times = f"{count:,} time{'s' if count > 1 else ''}"
    return [cooldown["service"], cooldown["action"], until, times, cooldown["reason"] or ""]
