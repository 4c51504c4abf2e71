"""Sets, lists and clears cooldowns."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from hivelore.core.access import visible_session
from hivelore.core.agents import Viewer
from hivelore.core.clock import Clock
from hivelore.core.redaction import Redactor
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Conflict, Forbidden, Invalid
from hivelore.events import cooldown_rules
from hivelore.events.model import ACTION_LENGTH, MAX_COOLDOWN, REASON_LENGTH, Cooldown
from hivelore.memories.normalizer import SESSION_LENGTH, clean_line, clean_service, clean_service_filter, to_utc
from hivelore.observations.naming import Naming
from hivelore.storage.ports import MemoryStore, Transaction

MAX_ACTIVE = 1_000
"""Maximum active cooldowns."""
_MINUTE = timedelta(minutes=1)


class Cooldowns:
    def __init__(self, store: MemoryStore, redactor: Redactor, clock: Clock, naming: Naming) -> None:
        self._store = store
        self._redactor = redactor
        self._clock = clock
        self._naming = naming

    def set(
        self,
        service: str,
        action: str,
        viewer: Viewer,
        *,
        minutes: int | None = None,
        until: datetime | None = None,
        reason: str | None = None,
        session: str | None = None,
        at: datetime | None = None,
        deadline: float | None = None,
    ) -> Cooldown:
        """Sets a cooldown for ``minutes`` or ``until`` an instant and returns the resulting one. An active cooldown is
        extended, never shortened; a repetition by the same session changes nothing (``events.cooldown_rules``). ``at``:
        start, if not now; a cooldown that has already ended is not stored. Raises Invalid, or Conflict if too many are
        active."""
        now = self._clock.now()
        since = now if at is None else min(at, now)
        new = Cooldown(
            service=_required(clean_service(self._redactor, self._naming, service), "service"),
            action=self._required_action(action),
            until=_end(minutes, until, since, cooldown_rules.max_duration(viewer)),
            set_at=since,
            actor=viewer.agent,
            interface=viewer.interface,
            session=clean_line(self._redactor, session, "session", SESSION_LENGTH),
            reason=clean_line(self._redactor, reason, "reason", REASON_LENGTH),
        )

        def put_cooldown(tx: Transaction) -> Cooldown:
            tx.claim(f"cooldown of {self._naming.service_key(new.service)} {new.action}".encode())
            before = self._same(tx.cooldowns(since), new)
            # An extended cooldown keeps its spelling.
            known = cooldown_rules.combine(before, new if before is None else replace(new, service=before.service))
            if known == before or known.until <= now:
                return known
            if before is None or before.until <= now:
                _check_limits(tx.cooldowns(now), viewer)
            tx.put_cooldown(known)
            return known

        return self._store.write(put_cooldown, deadline)

    def active(self, service: str | None = None, deadline: float | None = None) -> Sequence[Cooldown]:
        """Returns the active cooldowns of one service or all, by service, then action."""
        only = clean_service_filter(self._redactor, self._naming, service)
        with self._store.read(deadline) as view:
            found = view.cooldowns(self._clock.now())
        return [one for one in found if only is None or self._is_about(one, only)]

    def list_visible(
        self, viewer: Viewer, service: str | None = None, deadline: float | None = None
    ) -> Sequence[Cooldown]:
        """Returns the active cooldowns without sessions that the viewer may not see."""
        return [
            replace(one, session=visible_session(viewer, one.actor, one.session))
            for one in self.active(service, deadline)
        ]

    def format_for_agent(self, service: str | None = None, deadline: float | None = None) -> str:
        """Returns the active cooldowns as text for an agent; empty if there are none."""
        return cooldown_rules.format_cooldowns(self.active(service, deadline), self._clock.now())

    def clear(self, service: str, action: str | None, viewer: Viewer, deadline: float | None = None) -> int:
        """Ends the cooldown of an action; ``action`` None: all of the service that the viewer may clear. Returns their
        number. Raises Forbidden if the viewer may not clear any active one."""
        name = _required(clean_service_filter(self._redactor, self._naming, service), "service")
        only = None if action is None else self._required_action(action)
        now = self._clock.now()

        def remove_cooldowns(tx: Transaction) -> int:
            chosen = [one for one in tx.cooldowns(now) if self._is_about(one, name) and only in (None, one.action)]
            cleared = [one for one in chosen if cooldown_rules.may_clear(viewer, one)]
            if chosen and not cleared:
                raise Forbidden(
                    "Another agent has also set this cooldown. Wait, or ask a lead or an operator to clear it."
                )
            for one in cleared:
                tx.drop_cooldown(one.service, one.action)
            return len(cleared)

        return self._store.write(remove_cooldowns, deadline)

    def _same(self, known: Sequence[Cooldown], new: Cooldown) -> Cooldown | None:
        """Returns the cooldown of the same action and service, in any spelling; of several, the one that ends last."""
        same = (one for one in known if one.action == new.action and self._is_about(one, new.service))
        return max(same, key=lambda one: one.until, default=None)

    def _is_about(self, cooldown: Cooldown, service: Clean) -> bool:
        return self._naming.service_key(cooldown.service) == self._naming.service_key(service)

    def _required_action(self, text: str) -> Clean:
        return _required(clean_line(self._redactor, text, "action", ACTION_LENGTH), "action")


def _required(name: Clean | None, field: str) -> Clean:
    if name is None:
        raise Invalid(f"The {field} is empty. A cooldown needs a service and an action.", field=field)
    return name


def _check_limits(holding: Sequence[Cooldown], viewer: Viewer) -> None:
    if len(holding) >= MAX_ACTIVE:
        raise Conflict(f"{MAX_ACTIVE:,} cooldowns are active. Wait, or ask a lead or an operator to clear some.")
    if not cooldown_rules.may_set_another(viewer, holding):
        raise Conflict(f"{cooldown_rules.MAX_ACTIVE_PER_WORKER} of your cooldowns are active. Wait, or clear some.")


def _end(minutes: int | None, until: datetime | None, now: datetime, longest: timedelta) -> datetime:
    if (minutes is None) == (until is None):
        raise Invalid("Provide either minutes or until.", field="minutes")
    if minutes is not None:
        if not 1 <= minutes <= longest // _MINUTE:
            raise Invalid(f"minutes is 1 to {longest // _MINUTE:,}{_worker_hint(longest)}.", field="minutes")
        return now + minutes * _MINUTE
    end = to_utc(until, "until")
    assert end is not None
    if not now < end <= now + longest:
        most = f"{longest.days} days" if longest.days > 1 else "24 hours"
        ahead = f"at most {most} ahead{_worker_hint(longest)}"
        raise Invalid(f"until must be in the future, {ahead}.", field="until")
    return end


def _worker_hint(longest: timedelta) -> str:
    is_short = longest < MAX_COOLDOWN
    return " for a worker's key; a lead or an operator may set a longer one" if is_short else ""
