"""Noting what was observed of an operational memory, as a part of the unit of work in which it is seen."""

from collections.abc import Sequence
from dataclasses import replace

from hivelore.core.agents import Viewer
from hivelore.indexing.model import Stored
from hivelore.observations.confidence import Lifecycle, replay
from hivelore.observations.model import Observation, ObservationKind
from hivelore.storage.ports import Transaction


def record_creation(tx: Transaction, stored: Stored, viewer: Viewer) -> None:
    """Of a memory that is operational from now on: as sure as it was said to be, since when it was said to be."""
    memory = stored.memory
    if memory.operational is None:
        return
    held = memory.operational.held
    first = Observation(
        at=held.since,
        kind=ObservationKind.CREATED,
        actor=viewer.agent,
        interface=viewer.interface,
        session=memory.session,
        text=memory.content,
        to=held.base,
    )
    tx.observe(stored.key, replace(held, is_off=False), first)
    if held.is_off:
        off = Observation(
            at=held.since, kind=ObservationKind.SWITCHED_OFF, actor=viewer.agent, interface=viewer.interface
        )
        tx.observe(stored.key, held, off)


def replace_observations(tx: Transaction, stored: Stored, seen: Sequence[Observation], lifecycle: Lifecycle) -> Stored:
    """Replace all that was observed of a memory; the memory as it is then."""
    known = stored.memory.operational
    assert known is not None
    *_, last = replay(known, seen, lifecycle)
    tx.put_observations(stored.key, last.after.held, seen)
    return Stored(stored.key, replace(stored.memory, operational=replace(known, held=last.after.held)))


def add_observations(tx: Transaction, stored: Stored, seen: Sequence[Observation], lifecycle: Lifecycle) -> Stored:
    """Of one that is known; the memory as it is then: as if all had arrived in the order in which it was seen."""
    known = stored.memory.operational
    assert known is not None
    *_, last = replay(known, [*tx.observations(stored.key), *seen], lifecycle)
    held = last.after.held
    for one in seen:
        tx.observe(stored.key, held, one)
    return Stored(stored.key, replace(stored.memory, operational=replace(known, held=held)))
