"""The log of events: telling what happened, reading it, and taking out what should not stand there."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from hivelore.core.access import session_owner_filter, visible_session, visible_to
from hivelore.core.agents import LeadSees, Role, Viewer
from hivelore.core.clock import Clock
from hivelore.core.labels import SESSION_LENGTH, clean_line
from hivelore.core.redaction import Redactor
from hivelore.core.text import Clean
from hivelore.errors import Forbidden, Invalid, NotFound, TooLarge
from hivelore.events.model import TEXT_LENGTH, Event, EventFilter, EventPage, Level, LoggedId
from hivelore.events.repetition import REPEAT_WINDOW
from hivelore.memories.model import Memory, MemoryId
from hivelore.memories.normalizer import CLOCK_SLACK, to_utc
from hivelore.observations.model import GENERAL, SERVICE_LENGTH
from hivelore.storage.ports import MemoryStore, Transaction

ID_SHOWN = 100
"""Characters of an unknown id that an error repeats."""


class EventLog:
    def __init__(
        self,
        store: MemoryStore,
        redactor: Redactor,
        clock: Clock,
        lead_sees: LeadSees,
        event_id: Callable[[datetime], LoggedId],
    ) -> None:
        self._store = store
        self._redactor = redactor
        self._clock = clock
        self._lead_sees = lead_sees
        self._event_id = event_id

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
        """Keep what happened, ``at`` (now) and told by ``viewer``; what the same session has told already
        (``events.repetition``) is answered as it was told first. Raises Invalid."""
        event = self.build(level, text, viewer, service=service, session=session, at=at)

        def work(tx: Transaction) -> Event:
            known = tx.same_event(event, REPEAT_WINDOW)
            if known is None:
                tx.log_events([event])
            return known or event

        return self._store.write(work, deadline)

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
        """The same without keeping it: for whoever logs it in the unit of what it tells of. ``memory``: which it tells
        of, so that it is as private and goes with it."""
        now = self._clock.now()
        happened = to_utc(at, "at") or now
        if happened > now + CLOCK_SLACK:
            raise Invalid("at lies in the future.", field="at")
        about = clean_line(self._redactor, service, "service", SERVICE_LENGTH)
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
        """That a memory about running things is new (C39), not kept yet."""
        service = None if memory.operational is None else memory.operational.service
        about = memory.category if service is None else f"{memory.category}:{service}"
        text = f"New memory recorded: [{about}] {memory.content}"[:TEXT_LENGTH]
        return self.build(Level.INFO, text, viewer, service=service, session=memory.session, memory=memory.id)

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
        """What happened, of ``level`` or graver; ``service`` ``GENERAL``: what is about none by name.
        ``session``: workers find their own."""
        during = clean_line(self._redactor, session, "session", SESSION_LENGTH)
        where = EventFilter(
            seen=visible_to(viewer, self._lead_sees),
            level=level,
            service=clean_line(self._redactor, service, "service", SERVICE_LENGTH),
            session=during,
            actor=None if during is None else session_owner_filter(viewer),
            since=to_utc(since, "since"),
            until=to_utc(until, "until"),
        )
        with self._store.read(deadline, sees=where.seen) as view:
            found = view.events(where, after, limit + 1)
        page, last = found[:limit], found[limit - 1] if len(found) > limit else None
        told = tuple(replace(one, session=visible_session(viewer, one.actor, one.session)) for one in page)
        return EventPage(events=told, next=None if last is None else f"{last.at.isoformat()}~{last.id}")

    def forget(self, event: LoggedId, viewer: Viewer, deadline: float | None = None) -> None:
        """Take one out of the log. Raises Forbidden for all but operators, NotFound."""
        if viewer.role is not Role.OPERATOR:
            raise Forbidden("Only an operator's key takes events out of the log; they go by themselves with time.")
        # What no database takes for a text is no id either.
        if not event.isprintable() or not self._store.write(lambda tx: tx.drop_event(event), deadline):
            raise NotFound(f"No event {event[:ID_SHOWN]!r}; it may be gone already. List the events for their ids.")

    def _clean_text(self, text: str) -> Clean:
        if len(text) > TEXT_LENGTH:
            raise TooLarge(f"The text has {len(text):,} characters; at most {TEXT_LENGTH:,}.", field="text")
        clean = Clean(self._redactor.clean(text, field="text").strip())
        if not clean:
            raise Invalid("The text is empty: say what happened.", field="text")
        return clean
