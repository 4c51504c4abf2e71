"""The event log: records, lists and deletes events."""

from collections.abc import Callable
from datetime import datetime

from hivelore.core.access import session_owner_filter, visible_session, visible_to
from hivelore.core.agents import LeadSees, Viewer
from hivelore.core.clock import Clock
from hivelore.core.id_prefix import resolve_id
from hivelore.core.paging import cut_page
from hivelore.core.redaction import Redactor
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Invalid, NotFound, TooLarge
from hivelore.events.model import REPEAT_WINDOW, TEXT_LENGTH, Event, EventFilter, EventPage, Level, LoggedId
from hivelore.memories.model import Memory, MemoryId
from hivelore.memories.normalizer import (
    CLOCK_SLACK,
    SESSION_LENGTH,
    clean_line,
    clean_service,
    clean_service_filter,
    to_utc,
)
from hivelore.observations.model import GENERAL
from hivelore.observations.naming import Naming
from hivelore.storage.ports import MemoryStore, Transaction, View

ID_SHOWN = 100
"""Characters of an unknown id shown in an error."""
MAX_COMPARED = 200
"""Events of the same session and text whose services are compared with that of a new event. Those under its own
spelling come first. So a text about more services is a repetition only under the same spelling."""


class EventLog:
    def __init__(
        self,
        store: MemoryStore,
        redactor: Redactor,
        clock: Clock,
        lead_sees: LeadSees,
        event_id: Callable[[datetime], LoggedId],
        naming: Naming,
    ) -> None:
        self._store = store
        self._redactor = redactor
        self._clock = clock
        self._lead_sees = lead_sees
        self._event_id = event_id
        self._naming = naming

    def record(
        self,
        level: Level,
        text: str,
        viewer: Viewer,
        *,
        service: str | None = None,
        session: str | None = None,
        at: datetime | None = None,
        deadline: float | None = None,
    ) -> Event:
        """Stores an event. Returns the earlier one for a repetition. Raises Invalid."""
        event = self.build(level, text, viewer, service=service, session=session, at=at)

        def put_event(tx: Transaction) -> Event:
            known = self._repeated(tx, event)
            if known is None:
                tx.log_events([event])
            return known or event

        return self._store.write(put_event, deadline)

    def build(
        self,
        level: Level,
        text: str,
        viewer: Viewer,
        *,
        service: str | None = None,
        session: str | None = None,
        at: datetime | None = None,
        memory: MemoryId | None = None,
    ) -> Event:
        """Returns an event without storing it, for callers that store it in their own transaction. ``memory``: the
        memory that the event is about; it determines visibility and deletion."""
        now = self._clock.now()
        happened = to_utc(at, "at") or now
        if happened > now + CLOCK_SLACK:
            raise Invalid("at lies in the future.", field="at")
        about = clean_service(self._redactor, self._naming, service)
        return Event(
            id=self._event_id(now),
            at=happened,
            level=level,
            text=self._clean_text(text),
            actor=viewer.agent,
            interface=viewer.interface,
            service=None if about == GENERAL else about,
            session=clean_line(self._redactor, session, "session", SESSION_LENGTH),
            memory=memory,
        )

    def build_memory_event(self, memory: Memory, viewer: Viewer) -> Event:
        """Returns an event that reports a new operational memory (C39), without storing it."""
        service = None if memory.operational is None else memory.operational.service
        about = memory.category if service is None else f"{memory.category}:{service}"
        text = f"New memory recorded: [{about}] {memory.content}"[:TEXT_LENGTH]
        event = self.build(Level.INFO, text, viewer, session=memory.session, memory=memory.id)
        return replace(event, service=service)  # A stored name, which may be older than the rules for new ones.

    def page(
        self,
        viewer: Viewer,
        after: tuple[datetime, LoggedId] | None,
        limit: int,
        *,
        level: Level | None = None,
        service: str | None = None,
        session: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        deadline: float | None = None,
    ) -> EventPage:
        """Returns a page of events with at least ``level``. ``service``: in any spelling; ``GENERAL``: events about no
        service. ``session``: workers find only their own sessions."""
        about = clean_service_filter(self._redactor, self._naming, service)
        during = clean_line(self._redactor, session, "session", SESSION_LENGTH)
        where = EventFilter(
            seen=visible_to(viewer, self._lead_sees),
            level=level,
            session=during,
            actor=None if during is None else session_owner_filter(viewer),
            since=to_utc(since, "since"),
            until=to_utc(until, "until"),
        )
        with self._store.read(deadline, sees=where.seen) as view:
            if about is not None:
                where = replace(where, services=self._naming.services_like(about, view.event_services()))
            found = view.events(where, after, limit + 1)
        page, cursor = cut_page(found, limit, lambda event: (event.at, event.id))
        events = tuple(replace(one, session=visible_session(viewer, one.actor, one.session)) for one in page)
        return EventPage(events=events, next=cursor)

    def resolve(self, text: str, viewer: Viewer) -> LoggedId:
        """Returns the id of the event that a caller means: the whole id, or at least eight characters of its beginning.
        Raises Invalid if several visible events begin with them."""

        def find_ids(prefix: str, limit: int) -> list[LoggedId]:
            where = EventFilter(seen=visible_to(viewer, self._lead_sees), prefix=prefix)
            with self._store.read(sees=where.seen) as view:
                return [event.id for event in view.events(where, None, limit)]

        return LoggedId(resolve_id(text, find_ids, "event"))

    def forget(self, event: LoggedId, deadline: float | None = None) -> None:
        """Deletes an event. Raises NotFound."""
        # An id with control characters is never valid, and databases reject it.
        if not event.isprintable() or not self._store.write(lambda tx: tx.drop_event(event), deadline):
            raise NotFound(f"No event {event[:ID_SHOWN]!r}. It may have been deleted. List the events for their ids.")

    def _repeated(self, view: View, event: Event) -> Event | None:
        """Returns the earliest event that this one repeats, also under another spelling of the service."""
        key = self._naming.service_key
        service = key(event.service or GENERAL)
        same = view.same_events(event, REPEAT_WINDOW, MAX_COMPARED)
        repeated = (one for one in same if key(one.service or GENERAL) == service)
        return min(repeated, key=lambda one: (one.at, one.id), default=None)

    def _clean_text(self, text: str) -> Clean:
        if len(text) > TEXT_LENGTH:
            raise TooLarge(f"The text has {len(text):,} characters; at most {TEXT_LENGTH:,}.", field="text")
        clean = Clean(self._redactor.clean(text, field="text").strip())
        if not clean:
            raise Invalid("The text is empty. Describe what happened.", field="text")
        return clean
