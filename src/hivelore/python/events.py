"""What a hive offers of what happens while services are run: events and cooldowns."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime

from hivelore.events.model import Cooldown, Event, EventPage, Level


class EventMethods(ABC):
    """Everybody in the swarm sees all of it, but for events that tell of a memory they may not see."""

    @abstractmethod
    def record_event(
        self,
        text: str,
        *,
        level: Level | str = Level.INFO,
        service: str | None = None,
        session: str | None = None,
        at: datetime | None = None,
    ) -> Event:
        """Tell what happened; durable when this returns. ``at``: when, else now. What the same session told within an
        hour is answered as it was told then."""

    @abstractmethod
    def events(
        self,
        *,
        limit: int = 50,
        after: str | None = None,
        level: Level | str | None = None,
        service: str | None = None,
        session: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> EventPage:
        """What happened, newest first; ``after`` is the ``next`` of the page before. ``level``: that or graver;
        ``service`` ``general``: about no service by name; ``until``: before this."""

    @abstractmethod
    def forget_event(self, event: str) -> None:
        """Take one out of the log, for operators. What is not taken out goes after HIVELORE_EVENT_DAYS."""

    @abstractmethod
    def set_cooldown(
        self,
        service: str,
        action: str,
        *,
        minutes: int | None = None,
        until: datetime | None = None,
        reason: str | None = None,
        session: str | None = None,
    ) -> Cooldown:
        """Let an action of a service rest for some ``minutes``, or ``until`` an instant; a year at most, for a
        worker a day. Set again, it counts once more and ends no sooner; the same of the same session within an hour
        changes nothing."""

    @abstractmethod
    def cooldowns(self, *, service: str | None = None) -> Sequence[Cooldown]:
        """What is to rest now, of one service or of all, by service, then action."""

    @abstractmethod
    def clear_cooldowns(self, service: str, action: str | None = None) -> int:
        """Let an action of a service be taken again, or all of its actions, for leads and operators, and for
        workers what nobody else has set. Answers how many rested."""
