"""The routes of events and cooldowns (C06, C42)."""

from fastapi import APIRouter, Response
from starlette.responses import Response as RawResponse

from hivelore.api.requests import EventListing, listed_events
from hivelore.events import event_codec as wire
from hivelore.events.model import Level, LoggedId
from hivelore.http.context import Asking
from hivelore.http.pools import Lane
from hivelore.http.rest import event_answers as answers
from hivelore.http.rest.event_models import CooldownRequest, EventRequest
from hivelore.http.rest.memories import json
from hivelore.http.rest.models import Instant

router = APIRouter(prefix="/api", tags=["operations"])


@router.get("/events", response_model=answers.EventsAnswer)
async def events(
    caller: Asking,
    limit: int = 50,
    after: str | None = None,
    level: Level | None = None,
    service: str | None = None,
    session: str | None = None,
    since: Instant = None,
    until: Instant = None,
) -> Response:
    """What happened, of ``level`` or graver, newest first; ``service=general``: about no service by name. Hand ``next``
    back as ``after`` for the following page."""
    listing = EventListing(
        limit=limit, after=after, level=level, service=service, session=session, since=since, until=until
    )
    found = await caller.run(Lane.READ, lambda end: listed_events(caller.app.events, listing, caller.viewer, end))
    return json(wire.events(found))


@router.post("/events", status_code=201, response_model=answers.EventAnswer)
async def record(request: EventRequest, caller: Asking) -> Response:
    """Tell what happened. What the same session told within an hour is answered as it was told then."""
    event = await caller.run(
        Lane.WRITE,
        lambda end: caller.app.events.record(
            request.level,
            request.text,
            caller.viewer,
            service=request.service,
            session=request.session,
            at=request.at,
            deadline=end,
        ),
    )
    return json(wire.event(event), 201)


@router.delete("/events/{event_id}", status_code=204)
async def forget_event(event_id: str, caller: Asking) -> Response:
    """Operators: take an event out of the log."""
    wanted = LoggedId(event_id.lower())
    await caller.run(Lane.WRITE, lambda end: caller.app.events.forget(wanted, caller.viewer, end))
    return RawResponse(status_code=204)


@router.get("/cooldowns", response_model=answers.CooldownsAnswer)
async def cooldowns(caller: Asking, service: str | None = None) -> Response:
    """What is to rest now, of one service or of all."""
    return json(
        wire.cooldowns(
            await caller.run(Lane.READ, lambda end: caller.app.cooldowns.list_visible(caller.viewer, service, end))
        )
    )


@router.put("/cooldowns", response_model=answers.CooldownAnswer)
async def set_cooldown(request: CooldownRequest, caller: Asking) -> Response:
    """Let an action of a service rest. Set again, it counts once more and ends no sooner; the same of the same session
    within an hour changes nothing. A worker lets it rest for 24 hours at most."""
    known = await caller.run(
        Lane.WRITE,
        lambda end: caller.app.cooldowns.set(
            request.service,
            request.action,
            caller.viewer,
            minutes=request.minutes,
            until=request.until,
            reason=request.reason,
            session=request.session,
            deadline=end,
        ),
    )
    return json(wire.cooldown(known))


@router.delete("/cooldowns", response_model=answers.ClearedAnswer)
async def clear_cooldowns(caller: Asking, service: str, action: str | None = None) -> Response:
    """Let an action of a service be taken again, or all of its actions: leads and operators, and workers what nobody
    else has set. Says how many rested."""
    cleared = await caller.run(
        Lane.WRITE, lambda end: caller.app.cooldowns.clear(service, action, caller.viewer, deadline=end)
    )
    return json({"cleared": cleared})
