"""Bringing the events and cooldowns of one store to another, for a move."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from hivelore.events.model import Cooldown, Event, EventFilter
from hivelore.search.model import EVERYTHING
from hivelore.storage.ports import MemoryStore, Transaction, View

PAGE = 1_000
_ALL_EVENTS = EventFilter(seen=EVERYTHING.visibility)
_ALL_TIME = datetime.min.replace(tzinfo=UTC)


def copy_events(view: View, target: MemoryStore) -> None:
    """See that the target has those of ``view``, and no others. Those that tell of a memory come after it."""
    with target.read() as there:
        copied = {event.id for page in event_pages(there) for event in page}
        known = {(one.service, one.action): one for one in all_cooldowns(there)}
    for page in event_pages(view):
        missing = [event for event in page if event.id not in copied]
        if missing:
            target.write(lambda tx, missing=missing: tx.log_events(missing))
        copied.difference_update(event.id for event in page)
    wanted = {(one.service, one.action): one for one in all_cooldowns(view)}

    def work(tx: Transaction) -> None:
        for event in copied:
            tx.drop_event(event)
        for service, action in known.keys() - wanted.keys():
            tx.drop_cooldown(service, action)
        for place, one in wanted.items():
            if known.get(place) != one:
                tx.put_cooldown(one)

    target.write(work)


def event_pages(view: View) -> Iterable[Sequence[Event]]:
    """All of them in pages, newest first."""
    page = view.events(_ALL_EVENTS, None, PAGE)
    while page:
        yield page
        page = view.events(_ALL_EVENTS, (page[-1].at, page[-1].id), PAGE)


def all_cooldowns(view: View) -> Sequence[Cooldown]:
    """All of them, those too that are over."""
    return view.cooldowns(_ALL_TIME)
