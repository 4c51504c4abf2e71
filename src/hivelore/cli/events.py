"""The verbs ``events`` and ``cooldowns``: what happened while services were run, and what is to rest."""

from typing import Annotated, Literal

from cyclopts import App, Parameter
from msgspec import to_builtins

from hivelore.cli import connection, output
from hivelore.cli.clock import now
from hivelore.cli.options import AsJson, Speaker, moment, text_of, whole
from hivelore.events.model import Cooldown, Level
from hivelore.observations.model import GENERAL
from hivelore.python.remote import RemoteHive

events = App(name="events", help="What happened while services were run: list, add, forget.")
cooldowns = App(name="cooldowns", help="Actions on services that are to rest: list, set, clear.")

Grave = Literal["info", "warning", "error", "critical"]
InSession = Annotated[str | None, Parameter(name="--session", help="In which session of an agent.")]


@events.command(name="list")
def list_events(
    *,
    limit: Annotated[int, Parameter(alias="-n", help="1 to 500.", converter=whole)] = 50,
    after: Annotated[str | None, Parameter(help="Go on behind a page: its `next` (--json).")] = None,
    level: Annotated[Grave | None, Parameter(help="Only what is that grave, or graver.")] = None,
    service: Annotated[str | None, Parameter(help="Only about this one; general: about none by name.")] = None,
    session_id: InSession = None,
    since: Annotated[str | None, Parameter(help="Happened since: 7d, 2026-01-31.", metavar="WHEN")] = None,
    until: Annotated[str | None, Parameter(help="Happened before.", metavar="WHEN")] = None,
    agent: Speaker = None,
    json: AsJson = False,
) -> None:
    """List what happened, newest first.

    Example: hivelore events list --level warning --since 7d
    """
    with connection.hive(agent) as hive:
        page = hive.events(
            limit=limit,
            after=after,
            level=None if level is None else Level(level),
            service=service,
            session=session_id,
            since=None if since is None else moment(since, now(), past=True, field="since"),
            until=None if until is None else moment(until, now(), past=True, field="until"),
        )
    if json:
        output.as_json(to_builtins(page))
        return
    at = now()
    rows = [
        [one.id, output.age(one.at, at), one.level, one.service or GENERAL, one.actor or "operator", one.text]
        for one in page.events
    ]
    if rows:
        output.table(["id", "at", "level", "service", "actor", "text"], rows)
    else:
        output.note("No such event is in the log.")
    if page.next is not None:
        output.note("There are more: --limit shows up to 500, --after goes on.")


@events.command(name="add")
def add_event(
    *text: Annotated[str, Parameter(help="What happened; - reads it from stdin.")],
    level: Annotated[Grave, Parameter(help="How grave it is.")] = "info",
    service: Annotated[str | None, Parameter(help="What it is about.")] = None,
    session_id: InSession = None,
    at: Annotated[str | None, Parameter(help="When it happened: 10m (ago), 2026-01-31.", metavar="WHEN")] = None,
    agent: Speaker = None,
    json: AsJson = False,
) -> None:
    """Tell what happened.

    Example: hivelore events add The backup is late --level warning --service backup
    """
    words = text_of(text, "what happened")
    with connection.hive(agent) as hive:
        event = hive.record_event(
            words,
            level=Level(level),
            service=service,
            session=session_id,
            at=None if at is None else moment(at, now(), past=True, field="at"),
        )
    if json:
        output.as_json(to_builtins(event))
    else:
        output.say(event.id)
        if event.text != words.strip():
            output.note("What looks like a secret was masked.")


@events.command(name="forget")
def forget_event(
    event: Annotated[str, Parameter(name="id", help="Which event; a list shows the ids.")],
    /,
    *,
    json: AsJson = False,
) -> None:
    """Take an event out of the log, for operators.

    Example: hivelore events forget ID
    """
    with connection.operator() as client:
        RemoteHive(client).forget_event(event)
    if json:
        output.as_json({"forgotten": 1})
    else:
        output.say(f"Forgotten: {event}.")


@cooldowns.command(name="list")
def list_cooldowns(
    *,
    service: Annotated[str | None, Parameter(help="Only of this one.")] = None,
    agent: Speaker = None,
    json: AsJson = False,
) -> None:
    """List what is to rest now.

    Example: hivelore cooldowns list --service jellyfin
    """
    with connection.hive(agent) as hive:
        found = hive.cooldowns(service=service)
    if json:
        output.as_json({"cooldowns": to_builtins(found)})
    elif found:
        output.table(["service", "action", "until", "set", "reason"], [_row(one) for one in found])
    else:
        output.note("Nothing is to rest.")


@cooldowns.command(name="set")
def set_cooldown(
    service: Annotated[str, Parameter(help="Of which service, ...")],
    action: Annotated[str, Parameter(help="... which action.")],
    /,
    *,
    until: Annotated[str, Parameter(help="Until when: 30m, 2h, 2026-01-31T12:00Z.", metavar="WHEN")],
    reason: Annotated[str | None, Parameter(help="Why.")] = None,
    session_id: InSession = None,
    agent: Speaker = None,
    json: AsJson = False,
) -> None:
    """Let an action of a service rest.

    Set again, it counts once more and ends no sooner; to end it sooner, clear it.

    Example: hivelore cooldowns set jellyfin restart --until 30m
    """
    end = moment(until, now(), field="until")
    with connection.hive(agent) as hive:
        known = hive.set_cooldown(service, action, until=end, reason=reason, session=session_id)
    if json:
        output.as_json(to_builtins(known))
    else:
        output.table(["service", "action", "until", "set", "reason"], [_row(known)])


@cooldowns.command(name="clear")
def clear_cooldowns(
    service: Annotated[str, Parameter(help="Of which service, ...")],
    action: Annotated[str | None, Parameter(help="... which action. Else: all of them.")] = None,
    /,
    *,
    json: AsJson = False,
) -> None:
    """Let an action of a service be taken again, for operators.

    Example: hivelore cooldowns clear jellyfin restart
    """
    with connection.operator() as client:
        cleared = RemoteHive(client).clear_cooldowns(service, action)
    if json:
        output.as_json({"cleared": cleared})
    else:
        output.say(f"Cleared: {cleared}.")


def _row(one: Cooldown) -> list[str]:
    until = f"{one.until:%Y-%m-%d %H:%M} UTC ({output.age(one.until, now())})"
    return [one.service, one.action, until, f"{one.count:,} time{'s' if one.count > 1 else ''}", one.reason or ""]
