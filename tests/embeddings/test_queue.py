"""The embedding queue: nothing is lost, nothing blocks, and models are never mixed."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread, current_thread

import pytest

from hivelore.core.jobs import JobState
from hivelore.core.text import Clean
from hivelore.embeddings import queue
from hivelore.embeddings.active_model import SERVING, ActiveModel, EmbeddingModel
from hivelore.embeddings.queue import BATCH, FIRST_RETRY_PAUSE, NEWEST, REUSED, EmbeddingQueue
from hivelore.errors import Conflict, Forbidden, Invalid, Unavailable
from hivelore.indexes.vectors.brute_force import ExactVectors
from hivelore.indexing.model import ModelKey, Vector
from hivelore.memories.drafts import Draft, Edit
from support.clocks import SteppingClock
from support.embedders import FaultyEmbedder
from support.hashing_embedder import HashingEmbedder
from support.memories import EVERYTHING
from support.stores import KEYWORDS, STORES
from support.waiting import until
from support.world import AS_ADA, AS_OPERATOR, World, hashing


def _world(world: World, embedder: FaultyEmbedder | HashingEmbedder | None) -> World:
    """Another process on the same store, with another embedder."""
    return World(world.store, world.keywords, world.clock, embedder=embedder)


def _write(world: World, *texts: str) -> None:
    for text in texts:
        world.memory_service.remember(Draft(content=text), AS_ADA)


@contextmanager
def _in_background(embedding: EmbeddingQueue) -> Generator[None]:
    """Simulates a service without writes: the thread is never woken."""
    stop = Event()
    thread = Thread(target=embedding.run, args=(stop, 3_600.0))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        embedding.wake()
        thread.join()


def _pending(world: World, model: ModelKey) -> int:
    with world.store.read() as view:
        return view.count_pending(model)


def _taken_up(world: World) -> str | None:
    with world.store.read() as view:
        return view.setting(REUSED)


def _active_model(world: World) -> str | None:
    with world.store.read() as view:
        return view.setting(SERVING)


def test_a_memory_written_during_an_outage_is_embedded_later(world: World) -> None:
    down = _world(world, FaultyEmbedder(hashing(), down_for=1))
    _write(down, *(f"note number {number}" for number in range(150)))
    with pytest.raises(Unavailable):
        down.embedding.step()
    assert down.embedding.pending() == 150
    down.embed()
    assert down.embedding.pending() == 0


def test_a_thousand_memories_written_during_an_outage_are_embedded_after_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "FIRST_OUTAGE_PAUSE", 0.001)
    monkeypatch.setattr(queue, "LONGEST_OUTAGE_PAUSE", 0.01)
    provider = FaultyEmbedder(hashing(), down_for=None)
    down = _world(world, provider)
    _write(down, "note r0")
    with _in_background(down.embedding):
        _write(down, *(f"note r{number}" for number in range(1, 1_000)))
        assert down.embedding.pending() == 1_000
        until(lambda: down.embedding.last_error is not None)
        assert down.found("r777") == ["note r777"]
        provider.down_for = 0
        assert down.embedding.wait(200)
    stats = down.reading.stats(AS_ADA)
    assert (stats.pending_embeddings, stats.failed, down.embedding.last_error) == (0, 0, None)
    assert sorted(text for text in provider.embedded if text != "memory") == sorted(f"note r{n}" for n in range(1_000))


def test_a_new_memory_does_not_wait_for_a_large_import(world: World) -> None:
    provider = FaultyEmbedder(hashing())
    busy = _world(world, provider)
    _write(busy, *(f"line {number}" for number in range(3 * BATCH)), "fresh")
    assert busy.embedding.step() == BATCH
    assert "fresh" in provider.embedded
    oldest = [f"line {number}" for number in range(BATCH - NEWEST)]
    assert [text for text in provider.embedded if text in oldest] == oldest


def test_old_passages_are_embedded_although_new_ones_keep_coming(world: World) -> None:
    provider = FaultyEmbedder(hashing())
    busy = _world(world, provider)
    _write(busy, *(f"old {number}" for number in range(2 * BATCH)))
    for turn in range(3):
        _write(busy, *(f"new {turn} {number}" for number in range(BATCH)))
        busy.embedding.step()
    assert {f"old {number}" for number in range(2 * BATCH)} <= set(provider.embedded)


def test_a_refused_text_blocks_no_other(world: World) -> None:
    poisoned = _world(world, FaultyEmbedder(hashing(), poison=("poison",)))
    _write(poisoned, "good one", "poison", "good two")
    poisoned.embed()
    stats = poisoned.reading.stats(AS_ADA)
    assert (stats.pending_embeddings, stats.failed) == (0, 1)
    assert "poison" in poisoned.found("poison")


def test_a_text_refused_for_a_while_is_embedded_later_by_any_process(world: World) -> None:
    refusing = FaultyEmbedder(hashing(), poison=("kettle",))
    first = _world(world, refusing)
    _write(first, "The kettle boils.", "good one")
    first.embed()
    assert (first.embedding.pending(), first.embedding.failing()) == (0, 1)
    for pause in (FIRST_RETRY_PAUSE, timedelta(minutes=2)):
        calls = refusing.calls
        first.embed()
        assert refusing.calls == calls
        world.clock.advance(pause)
        first.embed()
        assert (refusing.calls > calls, first.embedding.failing()) == (True, 1)
    again = _world(world, hashing())
    again.embed()
    assert again.embedding.failing() == 1
    world.clock.advance(timedelta(minutes=8))
    again.embed()
    assert again.embedding.failing() == 0
    assert again.recall("The kettle boils.").hits[0].score.vector == 1.0


def test_a_provider_that_does_not_name_the_refused_text_blocks_no_other(world: World) -> None:
    class Vague(FaultyEmbedder):
        def embed_documents(self, texts: Sequence[Clean]) -> Sequence[Vector]:
            try:
                return super().embed_documents(texts)
            except Invalid:
                raise Invalid("One of these texts cannot be embedded.") from None

    vague = _world(world, Vague(hashing(), poison=("poison",)))
    _write(vague, "good one", "poison one", "good two", "poison two")
    vague.embed()
    stats = vague.reading.stats(AS_ADA)
    assert (stats.pending_embeddings, stats.failed) == (0, 2)
    assert vague.recall("good two").hits[0].score.vector == 1.0


def test_the_queue_is_the_same_for_the_next_process(world: World) -> None:
    _write(world, "left behind")
    again = _world(world, hashing())
    assert again.embedding.pending() == 1
    again.embed()
    assert again.recall("left behind").hits[0].score.vector == 1.0


def test_an_edit_never_leaves_an_old_vector_on_new_text(world: World) -> None:
    memory = world.remember("alpha beta gamma")
    world.memory_service.edit(memory.id, Edit(content="delta epsilon zeta"), AS_ADA)
    assert world.embedding.pending() == 1
    assert all(hit.score.vector == 0 for hit in world.recall("delta").hits)


def test_another_model_of_the_same_dimension_starts_from_nothing(world: World) -> None:
    world.remember("alpha")
    other = _world(world, HashingEmbedder(64, salt="other"))
    assert other.embedding.pending() == 1
    assert other.recall("alpha").hits[0].score.vector == 0.0
    other.embed()
    assert other.recall("alpha").hits[0].score.vector == 1.0


def test_the_old_model_stays_active_until_the_new_one_is_complete(world: World) -> None:
    for number in range(3):
        world.remember(f"alpha {number}")
    old, new = hashing(), HashingEmbedder(32, salt="new")
    before = EmbeddingModel(old, ExactVectors(old.fingerprint, old.dimension))
    wanted = EmbeddingModel(new, ExactVectors(new.fingerprint, new.dimension))
    active_model = ActiveModel(wanted, before=before)
    embedding = EmbeddingQueue(world.store, active_model, world.clock)
    assert active_model.current is before
    while embedding.step():
        assert active_model.current is before or embedding.pending() == 0
    assert active_model.current is wanted
    assert not active_model.swapping


def test_the_first_model_is_active_before_it_is_complete_and_no_later_one_is(world: World) -> None:
    _write(world, *(f"alpha {number}" for number in range(BATCH + 1)))
    assert _active_model(world) is None
    world.embedding.step()
    assert _active_model(world) == hashing().fingerprint
    other = _world(world, HashingEmbedder(64, salt="other"))
    other.embedding.step()
    assert other.embedding.pending() == 1
    assert _active_model(world) == hashing().fingerprint
    other.embed()
    assert _active_model(world) == HashingEmbedder(64, salt="other").fingerprint


def test_a_query_is_answered_by_the_model_that_embedded_it(world: World) -> None:
    world.remember("alpha")
    world.remember("beta")
    old, new = hashing(), HashingEmbedder(64, salt="new")
    active_model = ActiveModel(
        EmbeddingModel(new, ExactVectors(new.fingerprint, new.dimension)),
        before=EmbeddingModel(old, ExactVectors(old.fingerprint, old.dimension)),
    )
    question = active_model.embed_query(Clean("alpha"))
    embedding = EmbeddingQueue(world.store, active_model, world.clock)
    while embedding.step():
        pass
    assert not active_model.swapping
    with world.store.read() as view:
        (near,) = active_model.nearest(view, question, EVERYTHING, 1, ()).nearest
    assert near.cosine == pytest.approx(1.0)


def test_returning_to_an_earlier_model_embeds_only_what_came_since(world: World) -> None:
    world.remember("alpha")
    other = _world(world, HashingEmbedder(64, salt="other"))
    other.embed()
    _write(world, "beta")
    other.embed()
    provider = FaultyEmbedder(hashing())
    back = _world(world, provider)
    back.embed()
    assert provider.embedded == ["beta"]
    assert back.recall("alpha").hits[0].score.vector == 1.0


def test_vectors_of_a_reused_model_are_adopted_in_batches_and_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "REUSE_BATCH", 2)
    for number in range(5):
        world.remember(f"alpha {number}")
    _world(world, HashingEmbedder(64, salt="other")).embedding.step()
    killed = _world(world, hashing())
    assert (killed.embedding.reuse_vectors(), _taken_up(killed)) == (2, "")
    back = _world(world, hashing())
    assert [back.embedding.reuse_vectors() for _ in range(4)] == [2, 2, 1, 0]
    assert _taken_up(back) == hashing().fingerprint
    assert _world(world, hashing()).embedding.reuse_vectors() == 0
    assert (back.embedding.pending(), back.found("alpha 3")[0]) == (0, "alpha 3")


def test_vectors_of_a_model_are_adopted_before_new_ones_are_made(world: World) -> None:
    world.remember("alpha")
    other = _world(world, HashingEmbedder(64, salt="other"))
    other.embedding.step()
    assert _taken_up(other) == ""
    provider = FaultyEmbedder(hashing(), down_for=None)
    back = _world(world, provider)
    _write(world, "beta")
    with _in_background(back.embedding):
        until(lambda: back.embedding.last_error is not None)
        assert _taken_up(back) == hashing().fingerprint


def test_vectors_of_an_inactive_model_are_dropped(world: World) -> None:
    for number in range(5):
        world.remember(f"alpha {number}")
    other = _world(world, HashingEmbedder(64, salt="other"))
    with world.store.read() as view:
        old = view.model_keys()[hashing().fingerprint]
        assert view.count_pending(old) == 0
    with _in_background(other.embedding):
        assert other.embedding.wait(200)
        until(lambda: _pending(other, old) == 5)
    assert other.embedding.pending() == 0
    assert other.recall("alpha 3").hits[0].score.vector == 1.0


def test_without_the_active_model_searches_use_keywords_and_say_so(world: World) -> None:
    world.remember("alpha")
    new = HashingEmbedder(32, salt="new")
    active_model = ActiveModel(EmbeddingModel(new, ExactVectors(new.fingerprint, new.dimension)), incomplete=True)
    asked = active_model.embed_query(Clean("alpha"))
    assert asked.vector is None
    assert asked.missing_reason is not None
    assert "changed" in asked.missing_reason


def test_a_complete_reembedding_keeps_the_old_vectors_active_and_counts(world: World) -> None:
    for number in range(5):
        world.remember(f"alpha {number}")
    job = world.reembedder.begin(AS_OPERATOR, everything=True)
    assert (job.state, job.total) == (JobState.RUNNING, 5)
    assert world.reembedder.begin(AS_OPERATOR).id == job.id
    assert world.recall("alpha").hits[0].score.vector == 1.0
    again = _world(world, hashing())
    again.embed()
    seen = world.reembedder.status(job.id, AS_OPERATOR)
    assert (seen.state, seen.done) == (JobState.DONE, 5)


def test_a_job_that_ended_unobserved_is_not_joined(world: World) -> None:
    world.remember("alpha")
    ended = world.reembedder.begin(AS_OPERATOR, everything=True)
    world.embed()
    job = world.reembedder.begin(AS_OPERATOR, everything=True)
    assert (job.id != ended.id, job.state, job.total) == (True, JobState.RUNNING, 1)
    seen = world.reembedder.status(ended.id, AS_OPERATOR)
    assert (seen.state, seen.done) == (JobState.DONE, 1)


def test_a_cancelled_job_leaves_the_old_vectors_in_place(world: World) -> None:
    world.remember("alpha")
    job = world.reembedder.begin(AS_OPERATOR, everything=True)
    assert world.reembedder.cancel(job.id, AS_OPERATOR).state is JobState.CANCELLED
    assert world.embedding.pending() == 0


def test_failed_passages_are_tried_again_at_once_on_request(world: World) -> None:
    poisoned = _world(world, FaultyEmbedder(hashing(), poison=("poison",)))
    _write(poisoned, "poison")
    poisoned.embed()
    mended = _world(world, hashing())
    assert mended.embedding.pending() == 0
    assert mended.reembedder.begin(AS_OPERATOR).total == 1
    mended.embed()
    assert mended.reading.stats(AS_ADA).failed == 0


def test_failures_are_cleared_in_batches(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hivelore.embeddings.reembed.QUEUE_BATCH", 2)
    poisoned = _world(world, FaultyEmbedder(hashing(), poison=("poison",)))
    _write(poisoned, *(f"poison {number}" for number in range(5)))
    poisoned.embed()
    mended = _world(world, hashing())
    job = mended.reembedder.begin(AS_OPERATOR)
    assert (job.total, mended.reading.stats(AS_ADA).failed) == (5, 0)
    assert mended.reembedder.begin(AS_OPERATOR).id == job.id


def test_only_operators_reembed(world: World) -> None:
    with pytest.raises(Forbidden):
        world.reembedder.begin(AS_ADA)


def test_without_a_model_reembedding_is_a_conflict(clock: SteppingClock, tmp_path: Path) -> None:
    world = World(STORES["reference"].open(tmp_path, clock), KEYWORDS["exact"].index(), clock)
    with pytest.raises(Conflict):
        world.reembedder.begin(AS_OPERATOR)


def test_a_batch_that_keeps_failing_is_tried_one_by_one(world: World) -> None:
    class Fragile(FaultyEmbedder):
        """Fails, as if it were down, for any batch with a certain text in it."""

        def embed_documents(self, texts: Sequence[Clean]) -> Sequence[Vector]:
            if any("fragile" in text for text in texts):
                raise Unavailable("500")
            return super().embed_documents(texts)

    other = _world(world, Fragile(hashing()))
    _write(other, "good one", "fragile", "good two")
    for _ in range(20):
        with suppress(Unavailable):
            other.embed()
        world.clock.advance(timedelta(hours=1))
    stats = other.reading.stats(AS_ADA)
    assert (stats.pending_embeddings, stats.failed) == (0, 1)


class _ThreadRecorder(HashingEmbedder):
    """Records the threads that embed queries, and blocks each call until it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: list[Thread] = []
        self.go = Event()

    def embed_query(self, text: Clean) -> Vector:
        if not self.go.wait(60.0):
            raise Unavailable("Nobody let it go.")
        self.threads.append(current_thread())
        return super().embed_query(text)


def _thread_recorder(*, concurrently: bool = True, processors: int = 2) -> tuple[_ThreadRecorder, ActiveModel]:
    embedder = _ThreadRecorder()
    model = EmbeddingModel(
        embedder, ExactVectors(embedder.fingerprint, embedder.dimension), embed_concurrently=concurrently
    )
    return embedder, ActiveModel(model, processors=processors)


def test_a_query_is_embedded_in_another_thread() -> None:
    embedder, active_model = _thread_recorder()
    with active_model.query_embedding(Clean("where")) as embedded:
        embedder.go.set()
        assert embedded().vector is not None
    active_model.close()
    assert embedder.threads != [current_thread()]


@pytest.mark.parametrize(("concurrently", "processors"), [(False, 2), (True, 1)])
def test_otherwise_it_is_embedded_before_anything_else_begins(concurrently: bool, processors: int) -> None:
    embedder, active_model = _thread_recorder(concurrently=concurrently, processors=processors)
    embedder.go.set()
    with active_model.query_embedding(Clean("where")):
        assert embedder.threads == [current_thread()]
    active_model.close()


def test_concurrent_queries_leave_no_spare_processor() -> None:
    embedder, active_model = _thread_recorder(processors=2)
    embedder.go.set()
    with active_model.query_embedding(Clean("where")) as first:
        first()
        with active_model.query_embedding(Clean("when")):
            assert embedder.threads[1] == current_thread()
    with pytest.raises(ZeroDivisionError), active_model.query_embedding(Clean("who")):
        raise ZeroDivisionError
    with active_model.query_embedding(Clean("why")) as last:
        last()
    assert embedder.threads[3] != current_thread()
    active_model.close()


def test_after_its_end_a_query_is_embedded_by_the_calling_thread() -> None:
    embedder, active_model = _thread_recorder()
    embedder.go.set()
    active_model.close()
    with active_model.query_embedding(Clean("where")) as embedded:
        assert embedded().vector is not None
    assert embedder.threads == [current_thread()]
