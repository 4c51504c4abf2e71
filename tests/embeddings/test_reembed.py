"""Complete re-embedding: passages are queued in batches, and a killed process resumes."""

from collections.abc import Callable
from typing import TypeVar

import pytest

from hivelore.core.jobs import Job, JobState
from hivelore.embeddings import reembed
from hivelore.storage.ports import Transaction
from support.world import AS_OPERATOR, World

T = TypeVar("T")
COUNT = 8


class Killed(Exception):
    """The process ends here."""


Kill = Callable[[int], None]
"""Starts a complete re-embedding in a process that is killed before one of its next writes."""


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reembed, "QUEUE_BATCH", 3)


@pytest.fixture
def filled(world: World) -> World:
    for number in range(COUNT):
        world.remember(f"alpha {number}")
    return world


@pytest.fixture
def killed_after(filled: World, monkeypatch: pytest.MonkeyPatch) -> Kill:
    def killed_after(writes: int) -> None:
        write, left = filled.store.write, iter(range(writes))

        def mortal(work: Callable[[Transaction], T], deadline: float | None = None) -> T:
            if next(left, None) is None:
                raise Killed
            return write(work, deadline)

        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(filled.store, "write", mortal)
            with pytest.raises(Killed):
                filled.reembedder.begin(AS_OPERATOR, everything=True)

    return killed_after


def the_job(world: World) -> Job:
    with world.store.read() as view:
        (job,) = view.jobs()
    return world.reembedder.status(job.id, AS_OPERATOR)


def test_everything_is_queued_in_batches(filled: World) -> None:
    job = filled.reembedder.begin(AS_OPERATOR, everything=True)
    assert (job.state, job.total, filled.embedding.pending()) == (JobState.RUNNING, COUNT, COUNT)
    filled.embed()
    seen = filled.reembedder.status(job.id, AS_OPERATOR)
    assert (seen.state, seen.done, seen.total) == (JobState.DONE, COUNT, COUNT)


BEGINNING = 4
"""Writes before the first passage is queued."""


@pytest.mark.parametrize("writes", range(BEGINNING))
def test_a_process_killed_before_the_job_is_stored_started_none(filled: World, killed_after: Kill, writes: int) -> None:
    killed_after(writes)
    filled.reembedder.resume()
    with filled.store.read() as view:
        assert list(view.jobs()) == []
    assert filled.embedding.pending() == 0


@pytest.mark.parametrize("pieces", [0, 1, 2])
def test_a_killed_process_resumes_where_it_was(filled: World, killed_after: Kill, pieces: int) -> None:
    killed_after(BEGINNING + pieces)
    filled.embed()
    assert the_job(filled).state is JobState.RUNNING
    filled.reembedder.resume()
    assert filled.embedding.pending() == COUNT - 3 * pieces
    filled.embed()
    job = the_job(filled)
    assert (job.state, job.done, job.total) == (JobState.DONE, COUNT, COUNT)


def test_a_second_call_joins_and_queues_the_rest(filled: World, killed_after: Kill) -> None:
    killed_after(BEGINNING + 1)
    job = filled.reembedder.begin(AS_OPERATOR, everything=True)
    assert (job.total, filled.embedding.pending()) == (COUNT, COUNT)
    assert the_job(filled).id == job.id


def test_a_cancelled_job_queues_no_more(filled: World, killed_after: Kill) -> None:
    killed_after(BEGINNING + 1)
    cancelled = filled.reembedder.cancel(the_job(filled).id, AS_OPERATOR)
    assert (cancelled.state, filled.embedding.pending()) == (JobState.CANCELLED, 0)
    filled.reembedder.resume()
    assert filled.embedding.pending() == 0


def test_cancelling_empties_the_queue(filled: World) -> None:
    job = filled.reembedder.begin(AS_OPERATOR, everything=True)
    filled.reembedder.cancel(job.id, AS_OPERATOR)
    assert filled.embedding.pending() == 0


def test_without_memories_it_is_done_at_once(world: World) -> None:
    assert world.reembedder.begin(AS_OPERATOR, everything=True).state is JobState.DONE


def test_resuming_without_a_job_changes_nothing(filled: World) -> None:
    filled.reembedder.resume()
    assert filled.embedding.pending() == 0
