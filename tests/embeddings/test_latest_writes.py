"""One's own latest memories are found by meaning at once: a search waits for their vectors."""

import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from time import monotonic

import pytest

from hivelore.core.agents import AgentId, Viewer
from hivelore.core.redaction import Redactor
from hivelore.core.text import Clean
from hivelore.embeddings.active_model import ActiveModel, EmbeddingModel
from hivelore.embeddings.latest_writes import MOST, LatestWrites
from hivelore.embeddings.queue import LATEST_WAIT, EmbeddingQueue
from hivelore.errors import Unavailable
from hivelore.indexes.vectors.brute_force import ExactVectors
from hivelore.indexing.model import ModelKey, Vector
from hivelore.memories.drafts import Draft, Edit
from hivelore.memories.model import Memory, MemoryId
from hivelore.runtime.clock import SystemClock
from hivelore.search.handlers import query_of
from hivelore.search.model import Query
from hivelore.search.operations import SearchMemories
from support.clocks import SteppingClock
from support.hashing_embedder import HashingEmbedder
from support.reference.keywords import ReferenceKeywords
from support.reference.store import ReferenceStore
from support.stores import KEYWORDS, STORES
from support.world import ADA, AS_ADA, AS_BOB, World, hashing

NOTICE = "of your latest memories"


def write(world: World, text: str, viewer: Viewer = AS_ADA) -> Memory:
    """Stores a memory without embedding it."""
    return world.memory_service.remember(Draft(content=Clean(text)), viewer).memory


@contextmanager
def running(queue: EmbeddingQueue) -> Generator[None]:
    stop = threading.Event()
    thread = threading.Thread(target=queue.run, args=(stop, 60.0))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        queue.wake()
        thread.join()


class HaltedEmbedder(HashingEmbedder):
    """Embeds documents once it may go on."""

    def __init__(self) -> None:
        super().__init__(64)
        self.may_go_on = threading.Event()

    def embed_documents(self, texts: Sequence[Clean]) -> list[Vector]:
        self.may_go_on.wait()
        return super().embed_documents(texts)


@pytest.fixture
def halted(clock: SteppingClock) -> Generator[tuple[World, EmbeddingQueue, HaltedEmbedder]]:
    """A world whose documents are not embedded, and a queue on the real clock that tries."""
    embedder = HaltedEmbedder()
    world = World(ReferenceStore(clock), ReferenceKeywords(), clock, embedder=embedder)
    queue = EmbeddingQueue(world.store, world.active_model, SystemClock())
    with running(queue):
        yield world, queue, embedder
        embedder.may_go_on.set()


def test_a_memory_is_found_by_meaning_right_after_it_was_written(world: World) -> None:
    with running(world.embedding):
        for number in range(5):
            memory = write(world, f"The lamp of room {number} needs a bulb.")
            answer = world.recall(f"lamp of room {number}", awaits_latest=True)
            (hit,) = [hit for hit in answer.hits if hit.memory.id == memory.id]
            assert hit.evidence.cosine is not None
            assert NOTICE not in answer.message


def test_the_answer_says_how_many_are_not_embedded(world: World) -> None:
    write(world, "The lamp of the hall.")
    assert "1 of your latest memories is not embedded yet and is found by its words only." in (
        world.recall("lamp", awaits_latest=True).message
    )
    write(world, "The lamp of the attic.")
    answer = world.recall("lamp", awaits_latest=True)
    assert answer.message == (
        "2 memories found. 2 of your latest memories are not embedded yet and are found by their words only."
    )
    assert NOTICE not in world.recall("lamp").message
    assert NOTICE not in world.recall("lamp", AS_BOB, awaits_latest=True).message
    world.embed()
    assert NOTICE not in world.recall("lamp", awaits_latest=True).message


def test_after_a_bulk_write_the_answer_says_at_least_how_many_are_not_embedded(world: World) -> None:
    for number in range(MOST + 5):
        write(world, f"The lamp of room {number}.")
    assert world.embedding.wait_for_latest(AS_ADA) == MOST
    assert f" At least {MOST} of your latest memories are not embedded yet and are found by their words only." in (
        world.recall("lamp", awaits_latest=True).message
    )


def test_an_edited_text_is_one_of_the_latest_memories(world: World) -> None:
    memory = world.remember("The lamp of the hall.")
    assert world.embedding.wait_for_latest(AS_ADA) == 0
    world.memory_service.edit(memory.id, Edit(content="The sofa of the attic."), AS_ADA)
    assert world.embedding.wait_for_latest(AS_ADA) == 1
    world.embed()
    assert world.embedding.wait_for_latest(AS_ADA) == 0


def test_an_observation_is_one_of_the_latest_memories(world: World) -> None:
    world.observe("Jellyfin takes 60 seconds to start.")
    assert world.embedding.wait_for_latest(AS_ADA) == 0


def test_without_pending_memories_nothing_is_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    write(world, "The lamp of the hall.")
    world.clock.advance(timedelta(seconds=1))
    world.embed()

    def read(*_: object, **__: object) -> None:
        raise AssertionError("the store was read")

    monkeypatch.setattr(type(world.store), "read", read)
    assert world.embedding.wait_for_latest(AS_ADA) == 0
    assert world.embedding.wait_for_latest(AS_BOB) == 0


def test_a_memory_written_while_the_queue_looks_is_pending(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of this world stands still: the write has the time at which the queue began to look."""
    activate = world.embedding._activate_if_complete

    def activate_and_write(key: ModelKey) -> bool:
        is_complete = activate(key)
        write(world, "The lamp of the hall.")
        return is_complete

    monkeypatch.setattr(world.embedding, "_activate_if_complete", activate_and_write)
    assert world.embedding.step() == 0
    assert world.embedding.wait_for_latest(AS_ADA) == 1


def test_what_another_process_embedded_is_not_pending(world: World) -> None:
    write(world, "The lamp of the hall.")
    write(world, "The lamp of the attic.")
    other = EmbeddingQueue(world.store, world.active_model, world.clock)
    while other.step():
        pass
    assert world.embedding.wait_for_latest(AS_ADA) == 0


def test_forgotten_memories_are_not_pending(world: World) -> None:
    memory = write(world, "The lamp of the hall.")
    world.memory_service.forget(memory.id, AS_ADA)
    assert world.embedding.wait_for_latest(AS_ADA) == 0


def test_nobody_waits_for_older_writes(world: World) -> None:
    write(world, "The lamp of the hall.")
    world.clock.advance(timedelta(seconds=11))
    assert world.embedding.wait_for_latest(AS_ADA) == 0


def test_without_an_embedding_model_nothing_is_pending(clock: SteppingClock, tmp_path: Path) -> None:
    world = World(STORES["reference"].open(tmp_path, clock), KEYWORDS["exact"].index(), clock)
    write(world, "The lamp of the hall.")
    assert world.embedding.wait_for_latest(AS_ADA) == 0
    assert NOTICE not in world.recall("lamp", awaits_latest=True).message


def test_a_search_waits_at_most_a_moment(halted: tuple[World, EmbeddingQueue, HaltedEmbedder]) -> None:
    world, queue, embedder = halted
    queue.note_written(AS_ADA, [write(world, "The lamp of the hall.").id])
    began = monotonic()
    assert queue.wait_for_latest(AS_ADA) == 1
    assert LATEST_WAIT <= monotonic() - began < LATEST_WAIT + 2.0
    began = monotonic()
    assert queue.wait_for_latest(AS_ADA, deadline=monotonic() + 0.1) == 1
    assert monotonic() - began < LATEST_WAIT
    assert queue.wait_for_latest(AS_BOB) == 0
    embedder.may_go_on.set()
    while queue.wait_for_latest(AS_ADA):
        assert monotonic() - began < 10.0


def test_nobody_waits_for_a_provider_that_does_not_answer(clock: SteppingClock) -> None:
    class Down(HashingEmbedder):
        def embed_documents(self, texts: Sequence[Clean]) -> list[Vector]:
            raise Unavailable("The provider is down.")

    embedder = Down(64)
    model = EmbeddingModel(embedder, ExactVectors(embedder.fingerprint, embedder.dimension))
    world = World(ReferenceStore(clock), ReferenceKeywords(), clock, embedder=hashing())
    queue = EmbeddingQueue(world.store, ActiveModel(model), clock)
    with running(queue):
        queue.note_written(AS_ADA, [write(world, "The lamp of the hall.").id])
        while queue.last_error is None:
            pass
        assert queue.wait_for_latest(AS_ADA) == 1  # With this clock, waiting would not end.


def ids(count: int) -> list[MemoryId]:
    return [MemoryId(f"m{number}") for number in range(count)]


def test_only_the_latest_writes_of_each_agent_are_remembered() -> None:
    writes, bob = LatestWrites(), AgentId("bob")
    writes.add(ADA, ids(MOST + 5), 1.0)
    assert list(writes.of(ADA, 1.0)) == ids(MOST + 5)[5:]
    writes.add(ADA, ids(MOST + 5)[5:6], 2.0)
    assert list(writes.of(ADA, 2.0))[-1] == ids(6)[5]
    assert writes.of(bob, 2.0) == {}
    assert writes.of(ADA, 100.0) == {}


def test_a_memory_that_was_written_again_stays() -> None:
    writes = LatestWrites()
    (one,) = ids(1)
    writes.add(ADA, [one], 1.0)
    seen = writes.of(ADA, 1.0)
    writes.add(ADA, [one], 2.0)
    writes.remove(ADA, seen)
    writes.clear(before=2.0)
    assert writes.of(ADA, 2.0) == {one: 2.0}
    writes.clear(before=2.5)
    assert writes.of(ADA, 2.0) == {}


def test_searches_of_agents_wait_and_others_do_not() -> None:
    assert query_of(Redactor(b"a key for tests only"), SearchMemories(query="lamp")).awaits_latest
    assert not Query(text=Clean("lamp")).awaits_latest  # As for prompts, whose hook has little time.
