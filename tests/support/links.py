"""Links for tests: plain examples, and strategies for all valid ones."""

from collections.abc import Collection
from datetime import datetime
from typing import TypedDict, Unpack

from hypothesis import strategies as st

from hivelore.core.agents import AgentId
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.links.model import Link, LinkKind, StoredLink
from hivelore.memories.stored import DocumentKey, Stored
from hivelore.storage.ports import MemoryStore
from support.clocks import START
from support.memories import agents, instants, texts


class Parts(TypedDict, total=False):
    kind: LinkKind
    certainty: float
    why: Clean
    model: Clean
    at: datetime
    rejected_at: datetime | None
    rejected_by: AgentId | None


def a_link(source: Stored, target: Stored, **parts: Unpack[Parts]) -> StoredLink:
    """Returns a link of a later memory that updates an earlier one."""
    plain = Link(
        source=source.memory.id,
        target=target.memory.id,
        kind=LinkKind.UPDATES,
        certainty=0.9,
        why=Clean("npm -> pnpm"),
        model=Clean("pairs-2"),
        at=START,
    )
    return StoredLink(source.key, target.key, replace(plain, **parts))


@st.composite
def links(draw: st.DrawFn, source: Stored, target: Stored) -> StoredLink:
    """Generates links between two memories."""
    rejected_at = draw(st.none() | instants)
    return a_link(
        source,
        target,
        kind=draw(st.sampled_from(LinkKind)),
        certainty=draw(st.floats(0.0, 1.0)),
        why=draw(texts),
        model=draw(texts),
        at=draw(instants),
        rejected_at=rejected_at,
        rejected_by=None if rejected_at is None else draw(st.none() | agents),
    )


def put_links(store: MemoryStore, *some: StoredLink) -> None:
    for one in some:
        store.write(lambda tx, one=one: tx.put_link(one))


def drop(store: MemoryStore, one: StoredLink) -> None:
    store.write(lambda tx: tx.drop_link(one.source, one.target, one.link.kind))


def links_of(store: MemoryStore, *some: Stored) -> list[StoredLink]:
    with store.read() as view:
        return list(view.links_of([one.key for one in some]))


def updates_of(
    store: MemoryStore, some: Collection[Stored], at: datetime = START
) -> dict[DocumentKey, list[DocumentKey]]:
    with store.read() as view:
        found = view.updates_of([one.key for one in some], at)
    return {key: [one.key for one in newer] for key, newer in found.items()}


def doubts_of(
    store: MemoryStore, some: Collection[Stored], certainty: float, at: datetime = START
) -> dict[DocumentKey, list[DocumentKey]]:
    with store.read() as view:
        return {key: list(found) for key, found in view.doubts_of([one.key for one in some], certainty, at).items()}
