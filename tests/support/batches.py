"""Batches for tests: plain examples, and strategies for all valid ones."""

from collections.abc import Sequence
from datetime import datetime
from itertools import count
from typing import TypedDict, Unpack

from hypothesis import strategies as st

from hivelore.changes.model import Batch, BatchFilter, BatchId, BatchKind, Preimage
from hivelore.core.agents import AgentId, Interface
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.memories.stored import Stored
from hivelore.storage.change_recorder import capture_state
from hivelore.storage.ports import MemoryStore
from support.clocks import START
from support.memories import ADA, EVERYTHING, agents, instants, texts

ALL_BATCHES = BatchFilter(seen=EVERYTHING.visibility)

_numbers = count(1)


class Parts(TypedDict, total=False):
    kind: BatchKind
    at: datetime
    changes: int
    is_private: bool
    reason: Clean | None
    undoes: BatchId | None
    undone_at: datetime | None


def a_batch(**parts: Unpack[Parts]) -> Batch:
    """Returns an edit by Ada; ids ascend in the order of calls."""
    number = BatchId(f"b{next(_numbers):06}")
    plain = Batch(
        id=number, kind=BatchKind.EDITED, at=START, actor=ADA, interface=Interface.CLI, changes=1, is_private=True
    )
    return replace(plain, **parts)


def a_preimage(store: MemoryStore, stored: Stored, after: str = "m", owner: AgentId | None = ADA) -> Preimage:
    """Returns the pre-image of a memory in its current state."""
    with store.read() as view:
        return Preimage(stored.key, stored.memory.id, capture_state(view, stored.key), after, owner)


def put_batch(store: MemoryStore, batch: Batch, preimages: Sequence[Preimage] = ()) -> None:
    store.write(lambda tx: tx.put_batch(batch, preimages))


def batches_of(store: MemoryStore, where: BatchFilter = ALL_BATCHES) -> list[Batch]:
    with store.read() as view:
        return list(view.batches(where, None, 1_000))


def preimages_of(store: MemoryStore, batch: Batch) -> list[Preimage]:
    with store.read() as view:
        return list(view.preimages(batch.id))


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    undone_at = draw(st.none() | instants)
    return Batch(
        id=BatchId(f"b{next(_numbers):06}"),
        kind=draw(st.sampled_from(BatchKind)),
        at=draw(instants),
        actor=draw(st.none() | agents),
        interface=draw(st.sampled_from(Interface)),
        reason=draw(st.none() | texts),
        changes=draw(st.integers(0, 2**31 - 1)),
        is_private=draw(st.booleans()),
        undoes=draw(st.none() | st.just(BatchId("b000000"))),
        undone_at=undone_at,
        undone_by=draw(st.none() | agents) if undone_at is not None else None,
    )
