"""Stores the observations of operational memories within a transaction."""

from collections.abc import Sequence

from hivelore.core.agents import Viewer
from hivelore.core.values import replace
from hivelore.memories.stored import Stored
from hivelore.observations.confidence import Lifecycle, replay
from hivelore.observations.model import Observation, ObservationKind
from hivelore.storage.ports import Transaction


def record_creation(tx: Transaction, stored: Stored, viewer: Viewer) -> None:
    """Records the creation of an operational memory with its confidence and time."""
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
    tx.add_observation(stored.key, replace(held, is_off=False), first)
    if held.is_off:
        off = Observation(
            at=held.since, kind=ObservationKind.SWITCHED_OFF, actor=viewer.agent, interface=viewer.interface
        )
        tx.add_observation(stored.key, held, off)


def add_observations(tx: Transaction, stored: Stored, seen: Sequence[Observation], lifecycle: Lifecycle) -> Stored:
    """Adds observations and returns the memory as if all had arrived in order of time."""
    known = stored.memory.operational
    assert known is not None
    *_, last = replay(known, [*tx.observations(stored.key), *seen], lifecycle)
    held = last.after.held
    for one in seen:
        tx.add_observation(stored.key, held, one)
    return Stored(stored.key, replace(stored.memory, operational=known.with_confidence(held)))
