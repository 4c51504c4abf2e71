"""Events and cooldowns of the reference store."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from heapq import nlargest, nsmallest

from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.events.model import Cooldown, Event, EventFilter, Level, LoggedId
from hivelore.memories.stored import DocumentKey
from hivelore.observations.model import GENERAL
from support.reference.state import LoggedEvent, State

_LEVELS = list(Level)


def events(state: State, where: EventFilter, after: tuple[datetime, LoggedId] | None, limit: int) -> Sequence[Event]:
    found = (
        one.event
        for one in state.events.values()
        if (after is None or _age(one.event) < after) and _counts(one.event, where) and _is_seen(state, one, where)
    )
    return nlargest(limit, found, key=_age)


def about(state: State, document: DocumentKey) -> Sequence[Event]:
    return sorted((one.event for one in state.events.values() if one.document == document), key=_age, reverse=True)


def services(state: State) -> Collection[Clean]:
    return {one.event.service for one in state.events.values() if one.event.service is not None}


def same(state: State, event: Event, within: timedelta, limit: int) -> Sequence[Event]:
    def says(one: Event) -> tuple[object, ...]:
        return one.session, one.level, one.text, one.memory is None

    found = (
        one.event
        for one in state.events.values()
        if says(one.event) == says(replace(event, memory=None)) and abs(one.event.at - event.at) < within
    )
    own_first = nsmallest(limit, found, key=lambda one: (one.service != event.service, *_age(one)))
    return () if event.session is None else own_first


def _counts(event: Event, where: EventFilter) -> bool:
    return (
        (where.level is None or _LEVELS.index(event.level) >= _LEVELS.index(where.level))
        and (where.services is None or (event.service or GENERAL) in where.services)
        and (where.session is None or event.session == where.session)
        and (where.actor is None or event.actor == where.actor)
        and (where.since is None or event.at >= where.since)
        and (where.until is None or event.at < where.until)
        and (where.prefix is None or event.id.startswith(where.prefix))
    )


def _is_seen(state: State, one: LoggedEvent, where: EventFilter) -> bool:
    if one.document is None:
        return True
    memory = state.documents[one.document].memory
    return where.seen.admits(memory.owner, memory.scope)


def logged(state: State, entries: Sequence[tuple[Event, DocumentKey | None]]) -> State:
    """Returns the state with new events. ``entries`` contain the key of the memory of each event, if it exists."""
    kept = state.events
    for event, document in entries:
        if event.id not in kept and (event.memory is None or document is not None):
            kept = kept.put(event.id, LoggedEvent(event, document))
    return replace(state, events=kept)


def dropped(state: State, events: Iterable[LoggedId]) -> State:
    kept = state.events
    for event in events:
        kept = kept.drop(event)
    return replace(state, events=kept)


def forgotten(state: State, document: DocumentKey) -> State:
    """Returns the state without the events about a memory."""
    return dropped(state, [event for event, one in state.events.items() if one.document == document])


def too_old(state: State, before: datetime, keep: int, limit: int) -> Sequence[LoggedId]:
    ages = [_age(one.event) for one in state.events.values()]
    newest = set(nlargest(keep, ages))
    return [event for _, event in nsmallest(limit, (age for age in ages if age[0] < before or age not in newest))]


def _age(event: Event) -> tuple[datetime, LoggedId]:
    return event.at, event.id


def cooldowns(state: State, at: datetime) -> Sequence[Cooldown]:
    holding = (one for one in state.cooldowns.values() if one.until > at)
    return sorted(holding, key=lambda one: (one.service, one.action))
