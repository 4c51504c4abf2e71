"""The verbs ``events`` and ``cooldowns``: the event log, and actions on services that must wait."""

from datetime import datetime
from typing import Annotated, Literal

from cyclopts import App, Parameter

from hivelore.cli import output
from hivelore.cli.connection import call, path
from hivelore.cli.options import ActingAgent, After, AsJson, Limit500, Session, future, past, read_text
from hivelore.cli.output import Column, Json
from hivelore.core.text import counted

events = App(name="events", help="Log of events on services: list, add, forget.")
cooldowns = App(name="cooldowns", help="Actions on services that must wait: list, set, clear.")

_EVENTS = "/api/events"
_COOLDOWNS = "/api/cooldowns"
Level = Literal["info", "warning", "error", "critical"]

_EVENT_COLUMNS = (
    Column("id", kind="id"),
    Column("at", kind="age"),
    Column("level"),
    Column("service", missing="general"),
    Column("actor", kind="id", missing="operator"),
    Column("text"),
)


@events.command(name="list")
def list_events(
    *,
    limit: Limit500 = 50,
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
    answer = call("GET", _EVENTS, agent=agent, query=query)
    more = "--limit shows up to 500, --after continues"
    output.page(answer, "events", json, _EVENT_COLUMNS, empty="No events match.", more=more)


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
    event = call("POST", _EVENTS, agent=agent, body=body)
    output.result(event, json, output.short_id(event["id"]))
    if event["text"] != words.strip() and not json:
        output.note("Private text was removed, or a secret was masked.")


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
    call("DELETE", path(_EVENTS, event), operator=True)
    output.result({"forgotten": 1}, json, f"Forgotten: {event}.")


def _times(cooldown: Json) -> str:
    return counted(cooldown["count"], "time")


def _describe_end(cooldown: Json) -> str:
    return f"{datetime.fromisoformat(cooldown['until']):%Y-%m-%d %H:%M} UTC ({output.age(cooldown['until'])})"


_COOLDOWN_COLUMNS = (
    Column("service"),
    Column("action"),
    Column("until", _describe_end),
    Column("set", _times),
    Column("reason"),
)


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
    found = call("GET", _COOLDOWNS, agent=agent, query={"service": service})
    output.page(found, "cooldowns", json, _COOLDOWN_COLUMNS, empty="No cooldown is active.")


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
    end = future(until, "until")
    body = {"service": service, "action": action, "until": end, "reason": reason, "session": session_id}
    cooldown = call("PUT", _COOLDOWNS, agent=agent, body=body)
    if json:
        output.print_json(cooldown)
    else:
        output.show_table(_COOLDOWN_COLUMNS, [cooldown])


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
    answer = call("DELETE", _COOLDOWNS, operator=True, query={"service": service, "action": action})
    output.result(answer, json, f"Cleared {counted(answer['cleared'], 'cooldown')}.")
