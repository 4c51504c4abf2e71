"""Several services on one database whose clocks differ by an hour: what has a time is off by as much, and no more."""

from collections.abc import Generator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from hivelore.core.agents import Interface, Role
from hivelore.errors import Unauthenticated
from hivelore.indexes.keywords.postings.engine import Postings
from hivelore.indexing.model import BEGINNING, ChangeKind
from hivelore.memories.drafts import Draft, Edit
from hivelore.storage.leader_lease import RENEWED, LeaderLease
from hivelore.storage.ports import MemoryStore
from support.clocks import START, SteppingClock
from support.embedders import FaultyEmbedder
from support.stores import STORES, read_changes
from support.world import AS_ADA, World, hashing

APART = timedelta(hours=1)


class Service(World):
    def __init__(self, store: MemoryStore, clock: SteppingClock, first_id: int) -> None:
        self.embedder = FaultyEmbedder(hashing())
        super().__init__(store, Postings(), clock, embedder=self.embedder, first_id=first_id)


@pytest.fixture
def services(tmp_path: Path) -> Generator[tuple[Service, Service]]:
    """The clock of the second one is ahead; since when they run differs too."""
    clocks = SteppingClock(START), SteppingClock(START + APART, monotonic=77_000.0)
    kind = STORES["postgres"]
    with closing(kind.open(tmp_path, clocks[0])) as one, closing(kind.open(tmp_path, clocks[1])) as other:
        yield Service(one, clocks[0], 1), Service(other, clocks[1], 1_001)


@pytest.fixture(params=["behind first", "ahead first"])
def both(request: pytest.FixtureRequest, services: tuple[Service, Service]) -> tuple[Service, Service]:
    behind, ahead = services
    return (behind, ahead) if request.param == "behind first" else (ahead, behind)


def test_one_replica_leads_despite_different_clocks(both: tuple[Service, Service]) -> None:
    one, other = (LeaderLease(service.store, service.clock, name) for service, name in zip(both, "ab", strict=True))
    for _ in range(3):
        assert (one.is_leader(), other.is_leader()) == (True, False)
        for service in both:
            service.clock.advance(timedelta(seconds=RENEWED))
    one.release_lease()
    assert other.is_leader()


def test_a_passage_is_embedded_by_one_replica(both: tuple[Service, Service]) -> None:
    one, other = both
    one.memory_service.remember(Draft(content="leased"), AS_ADA)
    model = one.store.write(lambda tx: tx.register_model(one.embedder.fingerprint, one.embedder.dimension))
    lease = timedelta(minutes=1)
    taken = one.store.write(lambda tx: tx.lease_passages(model, one.clock.now(), 9, lease=lease))
    assert len(taken) == 1
    assert other.embedding.step() == 0
    one.store.write(lambda tx: tx.release_passages([passage.passage for passage in taken]))
    assert other.embedding.step() == 1


def test_a_new_key_is_good_and_a_revoked_one_is_not_on_both(both: tuple[Service, Service]) -> None:
    one, other = both
    issued = one.agents.add("eve", Role.WORKER)
    for service in both:
        assert service.agents.viewer(issued.text, Interface.REST).role is Role.WORKER
    other.agents.revoke("eve")
    for service in both:
        with pytest.raises(Unauthenticated, match="was revoked"):
            service.agents.viewer(issued.text, Interface.REST)


def test_a_key_and_a_memory_expire_earlier_or_later_by_the_difference(services: tuple[Service, Service]) -> None:
    behind, ahead = services
    end = START + 2 * APART
    key = behind.agents.add("eve", Role.WORKER, expires_at=end).text
    behind.remember("a note about ants", expires_at=end)

    def good(service: Service) -> bool:
        found = service.found("ants") == ["a note about ants"]
        try:
            service.agents.viewer(key, Interface.REST)
        except Unauthenticated:
            assert not found
            return False
        assert found
        return True

    assert (good(behind), good(ahead)) == (True, True)
    for service in services:
        service.clock.advance(APART)
    assert (good(behind), good(ahead)) == (True, False)
    for service in services:
        service.clock.advance(APART)
    assert (good(behind), good(ahead)) == (False, False)


def test_changes_are_listed_in_the_order_of_their_commits(both: tuple[Service, Service]) -> None:
    one, other = both
    memory = one.memory_service.remember(Draft(content="first"), AS_ADA).memory
    moment = BEGINNING
    for number, service in enumerate((other, one, other), start=2):
        with service.store.read() as view:
            assert view.change_cursor().number > moment.number
            moment = view.change_cursor()
        service.memory_service.edit(memory.id, Edit(content=f"edit {number}"), AS_ADA, version=number - 1)
        for each in both:
            assert each.reading.get(memory.id, AS_ADA).content == f"edit {number}"
    with one.store.read() as view, other.store.read() as same:
        stored = view.get(memory.id)
        assert stored is not None
        assert [version.number for version in view.history(stored.key)] == [1, 2, 3, 4]
        assert [change.kind for change in read_changes(view)] == [ChangeKind.CREATED, *[ChangeKind.CONTENT] * 3]
        assert read_changes(same) == read_changes(view)
