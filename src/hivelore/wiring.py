"""Putting together the services of operational memory and of the review inbox, which share most of what they need."""

from collections.abc import Callable
from dataclasses import dataclass

from hivelore.config import Settings
from hivelore.ports import Clock, MemoryStore
from hivelore.services.drafting import Drafting
from hivelore.services.events import Events
from hivelore.services.observing import Observing
from hivelore.services.operations import Operations
from hivelore.services.proposing import Proposing
from hivelore.services.remember import Remembering
from hivelore.services.review import Reviewing
from hivelore.services.serving import Serving
from hivelore.services.shelving import Shelf
from hivelore.services.tally import Tally


@dataclass(frozen=True, slots=True)
class Parts:
    """What there is already."""

    store: MemoryStore
    shelf: Shelf
    drafting: Drafting
    proposing: Proposing
    remembering: Remembering
    serving: Serving
    events: Events
    clock: Clock
    written: Callable[[], None]
    """Is called after every write that may have left passages without vectors."""


def observing(settings: Settings, parts: Parts) -> Observing:
    return Observing(
        store=parts.store,
        shelf=parts.shelf,
        drafting=parts.drafting,
        serving=parts.serving,
        proposing=parts.proposing,
        events=parts.events,
        lifecycle=settings.lifecycle,
        matching=settings.reinforce,
        lead_sees=settings.lead_sees,
        clock=parts.clock,
        written=parts.written,
    )


def operations(settings: Settings, parts: Parts) -> Operations:
    return Operations(
        store=parts.store,
        shelf=parts.shelf,
        drafting=parts.drafting,
        remembering=parts.remembering,
        proposing=parts.proposing,
        events=parts.events,
        lifecycle=settings.lifecycle,
        lead_sees=settings.lead_sees,
        clock=parts.clock,
        written=parts.written,
    )


def reviewing(settings: Settings, parts: Parts, operations: Operations, tally: Tally) -> Reviewing:
    return Reviewing(
        store=parts.store,
        remembering=parts.remembering,
        operations=operations,
        drafting=parts.drafting,
        tally=tally,
        lifecycle=settings.lifecycle,
        lead_sees=settings.lead_sees,
        clock=parts.clock,
        written=parts.written,
    )
