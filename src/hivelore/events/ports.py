"""Ports of the event log, and of cooldowns."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from hivelore.core.text import Clean
from hivelore.events.model import Cooldown, Event, EventFilter, LoggedId
from hivelore.memories.stored import DocumentKey


class EventReads(Protocol):
    """The event log, and cooldowns."""

    def events(self, where: EventFilter, after: tuple[datetime, LoggedId] | None, limit: int) -> Sequence[Event]:
        """Returns a page of events, newest first, then by id. Events about a memory that ``where.seen`` does not admit
        are left out."""
        ...

    def events_about(self, document: DocumentKey) -> Sequence[Event]:
        """Returns the events about a memory, newest first, then by id."""
        ...

    def event_services(self) -> Collection[Clean]:
        """Returns each spelling of a service that an event has."""
        ...

    def same_events(self, event: Event, within: timedelta, limit: int) -> Sequence[Event]:
        """Returns the events of the same session, level and text, about any service, that are less than ``within``
        away: first those about the same spelling of the service, then oldest first. Events about a memory never match.
        Empty if ``event`` has no session."""
        ...

    def cooldowns(self, at: datetime) -> Sequence[Cooldown]:
        """Returns the cooldowns that are active at an instant, by service, then action."""
        ...


class EventWrites(Protocol):
    """The event log, and cooldowns."""

    def log_events(self, events: Sequence[Event]) -> None:
        """Appends to the event log. Ignores events with a known id, and events about a memory that does not exist."""
        ...

    def drop_event(self, event: LoggedId) -> bool:
        """Returns False if the event does not exist."""
        ...

    def prune_events(self, before: datetime, keep: int, limit: int) -> int:
        """Like ``FeedbackWrites.prune_recalls``, for events."""
        ...

    def put_cooldown(self, cooldown: Cooldown) -> None:
        """Inserts or replaces the cooldown of its service and action."""
        ...

    def drop_cooldown(self, service: Clean, action: Clean) -> None:
        """Dropping twice is allowed."""
        ...

    def prune_cooldowns(self, before: datetime, limit: int) -> int:
        """Deletes up to ``limit`` cooldowns that ended by ``before``. Returns how many."""
        ...
