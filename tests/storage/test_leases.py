"""Several services on one store: each text is embedded by one of them, and one of them looks after the indexes."""

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from hivelore.core.text import Clean
from hivelore.embeddings import queue
from hivelore.embeddings.queue import BATCH, EmbeddingQueue
from hivelore.errors import Unavailable
from hivelore.indexes.keywords.postings.engine import Postings
from hivelore.indexing.model import Vector
from hivelore.indexing.rebuild import IndexRebuild
from hivelore.indexing.writer import IndexWriter
from hivelore.memories.drafts import Draft
from hivelore.storage.leader_lease import RENEWED, LeaderLease
from hivelore.storage.ports import MemoryStore, Transaction
from support.clocks import SteppingClock
from support.embedders import FaultyEmbedder
from support.stores import STORES
from support.world import AS_ADA, World, hashing

NO_TIME = timedelta()


class Interrupted(FaultyEmbedder):
    """Something else happens while it embeds."""

    meanwhile: Callable[[], object] = staticmethod(lambda: None)

    def embed_documents(self, texts: Sequence[Clean]) -> Sequence[Vector]:
        self.meanwhile()
        return super().embed_documents(texts)


class Service(World):
    def __init__(self, store: MemoryStore, clock: SteppingClock) -> None:
        self.embedder = Interrupted(hashing())
        super().__init__(store, Postings(), clock, embedder=self.embedder)


@pytest.fixture
def clock() -> SteppingClock:
    return SteppingClock()


@pytest.fixture
def services(tmp_path: Path, clock: SteppingClock) -> Generator[tuple[Service, Service]]:
    kind = STORES["postgres"]
    with closing(kind.open(tmp_path, clock)) as one, closing(kind.open(tmp_path, clock)) as other:
        yield Service(one, clock), Service(other, clock)


def write(service: Service, size: int) -> list[str]:
    notes = [f"note number {number}" for number in range(size)]
    for note in notes:
        service.memory_service.remember(Draft(content=note), AS_ADA)
    return sorted(notes)


def release_all(service: Service) -> None:
    def release_all(tx: Transaction) -> None:
        model = tx.model_key(service.embedder.fingerprint)
        assert model is not None
        tx.release_passages([one.passage for one in tx.queued_passages(model, service.clock.now(), 100)])

    service.store.write(release_all)


# Embedding.


def test_two_processes_never_embed_the_same_passage(services: tuple[Service, Service]) -> None:
    one, other = services
    notes = write(one, BATCH + 10)
    settled: list[int] = []
    one.embedder.meanwhile = lambda: settled.append(other.embedding.step())
    assert one.embedding.step() == BATCH
    assert settled == [10]
    assert sorted(one.embedder.embedded + other.embedder.embedded) == notes
    assert other.embedding.pending() == 0


def test_a_long_queue_wakes_other_processes(services: tuple[Service, Service]) -> None:
    one, other = services
    asked: list[int] = []
    busy = EmbeddingQueue(
        one.store, one.active_model, one.clock, ask_for_help=lambda: asked.append(other.embedding.step())
    )
    write(one, BATCH - 1)
    assert (busy.step(), asked) == (BATCH - 1, [])
    write(one, 2 * BATCH + 9)  # Of which it has the first ones.
    assert (busy.step(), asked) == (BATCH, [10])


def test_a_failed_passage_is_embedded_by_another_process_at_once(services: tuple[Service, Service]) -> None:
    one, other = services
    notes = write(one, 3)
    one.embedder.down_for = None
    with pytest.raises(Unavailable):
        one.embedding.step()
    assert other.embedding.step() == 3
    assert sorted(other.embedder.embedded) == notes


def test_passages_of_a_killed_process_are_embedded_after_their_lease(
    services: tuple[Service, Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def kill() -> None:
        raise Killed

    one, other = services
    notes = write(one, 3)
    one.embedder.meanwhile = kill
    for lease, embedded in ((queue.LEASE, []), (NO_TIME, notes)):
        monkeypatch.setattr(queue, "LEASE", lease)
        with pytest.raises(Killed):
            one.embedding.step()
        other.embedding.step()
        assert sorted(other.embedder.embedded) == embedded
        release_all(one)


# Leading.


def leader(service: Service, clock: SteppingClock, name: str) -> LeaderLease:
    return LeaderLease(service.store, clock, name)


def test_one_leads_until_it_steps_back(services: tuple[Service, Service], clock: SteppingClock) -> None:
    one, other = (leader(service, clock, name) for service, name in zip(services, "ab", strict=True))
    assert (one.is_leader(), other.is_leader()) == (True, False)
    clock.advance(timedelta(seconds=RENEWED))
    assert (other.is_leader(), one.is_leader()) == (False, True)
    one.release_lease()
    clock.advance(timedelta(seconds=RENEWED))
    assert (other.is_leader(), one.is_leader()) == (True, False)


def test_another_process_takes_over_from_a_killed_leader(
    services: tuple[Service, Service], clock: SteppingClock
) -> None:
    assert LeaderLease(services[0].store, clock, "killed", lease=NO_TIME).is_leader()
    assert leader(services[1], clock, "other").is_leader()


def test_the_only_process_leads_without_a_lease(tmp_path: Path, clock: SteppingClock) -> None:
    with closing(STORES["sqlite"].open(tmp_path, clock)) as store:
        assert LeaderLease(store, clock, "a").is_leader()
        assert LeaderLease(store, clock, "b").is_leader()


# Indexing again.


def test_a_follower_sees_the_progress_of_the_leader(services: tuple[Service, Service], clock: SteppingClock) -> None:
    one, other = (
        IndexRebuild(service.store, service.keywords, (), IndexWriter(service.keywords), clock) for service in services
    )
    write(services[0], 3)
    one.begin()
    other.begin()
    assert (one.is_complete(), other.is_complete()) == (False, False)
    assert other.remaining == 3
    one.run_step()
    assert not other.is_complete()
    other.refresh()
    assert other.is_complete()


def test_a_late_process_does_not_repeat_finished_work(
    services: tuple[Service, Service], clock: SteppingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = (
        IndexRebuild(service.store, service.keywords, (), IndexWriter(service.keywords), clock) for service in services
    )
    write(services[0], 1)
    write_late = services[1].store.write

    def late(work: Callable[[Transaction], bool]) -> bool:
        one.begin()
        one.run_step()
        return write_late(work)

    monkeypatch.setattr(services[1].store, "write", late)
    other.begin()
    assert (one.is_complete(), other.is_complete()) == (True, True)
