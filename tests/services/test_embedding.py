"""The embedding queue: nothing is lost, nobody is blocked, and two models never mix."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

from hivelore.adapters.hashing import HashingEmbedder
from hivelore.adapters.vectors.exact import ExactVectors
from hivelore.domain.draft import Draft, Edit
from hivelore.domain.index import Vector
from hivelore.domain.job import JobState
from hivelore.domain.text import Clean
from hivelore.errors import Conflict, Forbidden, Unavailable
from hivelore.services.embedding import Embedding, Model, Serving
from support.clocks import SteppingClock
from support.embedders import FaultyEmbedder
from support.stores import KEYWORDS, STORES
from support.world import AS_ADA, AS_OPERATOR, World, hashing


def _world(world: World, embedder: FaultyEmbedder | HashingEmbedder | None) -> World:
    """Another process on the same store, with another embedder."""
    keywords = KEYWORDS["exact" if world.store.name == "inmemory" else "fts5"].index()
    return World(world.store, keywords, world.clock, embedder=embedder)


def _write(world: World, *texts: str) -> None:
    for text in texts:
        world.remembering.remember(Draft(content=text), AS_ADA)


def test_what_was_written_while_the_provider_was_down_is_embedded_later(world: World) -> None:
    down = _world(world, FaultyEmbedder(hashing(), down_for=1))
    _write(down, *(f"note number {number}" for number in range(150)))
    with pytest.raises(Unavailable):
        down.embedding.step()
    assert down.embedding.pending() == 150
    down.embed()
    assert down.embedding.pending() == 0


def test_a_text_that_can_never_be_embedded_blocks_nobody(world: World) -> None:
    poisoned = _world(world, FaultyEmbedder(hashing(), poison=("poison",)))
    _write(poisoned, "good one", "poison", "good two")
    poisoned.embed()
    stats = poisoned.recalling.stats(AS_ADA)
    assert (stats.pending_embeddings, stats.failed) == (0, 1)
    assert "poison" in poisoned.found("poison")


def test_the_queue_is_the_same_for_whoever_opens_the_store_next(world: World) -> None:
    _write(world, "left behind")
    again = _world(world, hashing())
    assert again.embedding.pending() == 1
    again.embed()
    assert again.recall("left behind").hits[0].score.vector == 1.0


def test_an_edit_never_leaves_an_old_vector_on_new_text(world: World) -> None:
    memory = world.remember("alpha beta gamma")
    world.remembering.edit(memory.id, Edit(content="delta epsilon zeta"), AS_ADA)
    assert world.embedding.pending() == 1
    assert all(hit.score.vector == 0 for hit in world.recall("delta").hits)


def test_another_model_of_the_same_dimension_starts_from_nothing(world: World) -> None:
    world.remember("alpha")
    other = _world(world, HashingEmbedder(64, salt="other"))
    assert other.embedding.pending() == 1
    assert other.recall("alpha").hits[0].score.vector == 0.0
    other.embed()
    assert other.recall("alpha").hits[0].score.vector == 1.0


def test_the_old_model_serves_until_the_new_one_is_complete(world: World) -> None:
    for number in range(3):
        world.remember(f"alpha {number}")
    old, new = hashing(), HashingEmbedder(32, salt="new")
    before = Model(old, ExactVectors(old.fingerprint, old.dimension))
    wanted = Model(new, ExactVectors(new.fingerprint, new.dimension))
    serving = Serving(wanted, before=before)
    embedding = Embedding(world.store, serving, world.clock)
    assert serving.current is before
    while embedding.step():
        assert serving.current is before or embedding.pending() == 0
    assert serving.current is wanted
    assert not serving.swapping


def test_a_model_that_cannot_be_called_any_more_leaves_keywords_that_say_so(world: World) -> None:
    world.remember("alpha")
    new = HashingEmbedder(32, salt="new")
    serving = Serving(Model(new, ExactVectors(new.fingerprint, new.dimension)), incomplete=True)
    asked = serving.embed_query(Clean("alpha"))
    assert asked.vector is None
    assert asked.why_not is not None
    assert "changed" in asked.why_not


def test_embedding_everything_again_keeps_serving_and_counts(world: World) -> None:
    for number in range(5):
        world.remember(f"alpha {number}")
    job = world.reembedding.begin(AS_OPERATOR, everything=True)
    assert (job.state, job.total) == (JobState.RUNNING, 5)
    assert world.reembedding.begin(AS_OPERATOR).id == job.id
    assert world.recall("alpha").hits[0].score.vector == 1.0
    again = _world(world, hashing())
    again.embed()
    seen = world.reembedding.look(job.id, AS_OPERATOR)
    assert (seen.state, seen.done) == (JobState.DONE, 5)


def test_a_cancelled_job_leaves_the_old_vectors_in_place(world: World) -> None:
    world.remember("alpha")
    job = world.reembedding.begin(AS_OPERATOR, everything=True)
    assert world.reembedding.cancel(job.id, AS_OPERATOR).state is JobState.CANCELLED
    assert world.embedding.pending() == 0


def test_what_failed_for_good_is_tried_again_on_request(world: World) -> None:
    poisoned = _world(world, FaultyEmbedder(hashing(), poison=("poison",)))
    _write(poisoned, "poison")
    poisoned.embed()
    mended = _world(world, hashing())
    assert mended.embedding.pending() == 0
    assert mended.reembedding.begin(AS_OPERATOR).total == 1
    mended.embed()
    assert mended.recalling.stats(AS_ADA).failed == 0


def test_only_operators_embed_again(world: World) -> None:
    with pytest.raises(Forbidden):
        world.reembedding.begin(AS_ADA)


def test_there_is_nothing_to_embed_again_without_a_model(clock: SteppingClock, tmp_path: Path) -> None:
    world = World(STORES["inmemory"].open(tmp_path, clock), KEYWORDS["exact"].index(), clock)
    with pytest.raises(Conflict):
        world.reembedding.begin(AS_OPERATOR)


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
    stats = other.recalling.stats(AS_ADA)
    assert (stats.pending_embeddings, stats.failed) == (0, 1)
