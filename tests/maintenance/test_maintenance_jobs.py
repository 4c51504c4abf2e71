"""Maintenance jobs: one at a time, with progress, cancelled between two steps, and never left running."""

from collections.abc import Generator
from datetime import timedelta
from typing import Any

import pytest

from hivelore.core.agents import Viewer
from hivelore.core.jobs import Job, JobId, JobState
from hivelore.core.progress import Progress, Stopped
from hivelore.errors import Conflict, Forbidden, Invalid, NotFound, Unavailable
from hivelore.maintenance import jobs as maintenance_jobs
from hivelore.maintenance import service
from hivelore.maintenance.duplicates import Duplicates
from hivelore.maintenance.jobs import LATEST, MaintenanceJobs
from hivelore.maintenance.model import MaintenancePlan
from hivelore.memories.model import Memory
from support.batches import batches_of
from support.clocks import START
from support.held_maintenance import Held, held
from support.pair_readers import TableReader
from support.stores import present
from support.waiting import until
from support.world import AS_ADA, AS_LEA, AS_OPERATOR, World, hashing

MERGE = MaintenancePlan(merge=True)
NOBODY = JobId("00000000-0000-7000-8000-000000000000")


@pytest.fixture(autouse=True)
def quick_beats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maintenance_jobs, "HEARTBEAT_SECONDS", 0.01)


@pytest.fixture
def jobs(world: World) -> Generator[MaintenanceJobs]:
    yield world.maintenance_jobs
    world.maintenance_jobs.close()


@pytest.fixture
def barrier(jobs: MaintenanceJobs) -> Generator[Held]:
    with held() as barrier:
        yield barrier


def twins(world: World) -> tuple[Memory, Memory]:
    return world.remember("The heron sleeps.", session="s1"), world.remember("the heron  sleeps", session="s2")


def running(jobs: MaintenanceJobs, barrier: Held, **more: Any) -> Job:
    job = jobs.begin(MERGE, AS_OPERATOR, **more)
    assert barrier.reached.wait(10)
    return job


def kept(world: World, job: JobId) -> Job:
    with world.store.read() as view:
        found = view.job(job)
    assert found is not None
    return found


def test_a_job_ends_with_the_result_of_maintenance(world: World, jobs: MaintenanceJobs) -> None:
    twins(world)
    job = jobs.begin(MERGE, AS_OPERATOR)
    ended = jobs.wait(job.id, AS_OPERATOR)
    assert (ended.state, ended.kind, ended.error) == (JobState.DONE, "maintenance", None)
    assert ended.done == ended.total > 0
    assert jobs.result(job.id, AS_OPERATOR) == world.maintenance.preview(MERGE, AS_OPERATOR)
    applied = jobs.begin(MERGE, AS_OPERATOR, apply=True)
    assert jobs.wait(applied.id, AS_OPERATOR).state is JobState.DONE
    assert jobs.result(applied.id, AS_OPERATOR).proposed == 1
    with pytest.raises(NotFound, match="latest"):
        jobs.result(job.id, AS_OPERATOR)


def test_progress_is_visible_in_this_process_and_in_others(world: World, jobs: MaintenanceJobs, barrier: Held) -> None:
    job = running(jobs, barrier)
    seen = jobs.status(job.id, AS_OPERATOR)
    assert (seen.state, seen.done, seen.total) == (JobState.RUNNING, 3, 10)
    until(lambda: kept(world, job.id).total == 10)
    with pytest.raises(Conflict, match="running"):
        jobs.result(job.id, AS_OPERATOR)
    barrier.let_go.set()
    assert jobs.wait(job.id, AS_OPERATOR).state is JobState.DONE


def test_the_same_request_joins_the_job_and_another_is_a_conflict(
    world: World, jobs: MaintenanceJobs, barrier: Held
) -> None:
    job = running(jobs, barrier)
    assert jobs.begin(MERGE, AS_OPERATOR).id == job.id
    with pytest.raises(Conflict, match=job.id):
        jobs.begin(MERGE, AS_OPERATOR, apply=True)
    with pytest.raises(Conflict, match=job.id):
        jobs.begin(MaintenancePlan(vacuum=True), AS_OPERATOR)
    jobs.cancel(job.id, AS_OPERATOR)
    barrier.let_go.set()
    assert jobs.wait(jobs.begin(MaintenancePlan(vacuum=True), AS_OPERATOR).id, AS_OPERATOR).state is JobState.DONE


def test_a_cancelled_job_does_nothing_more(world: World, jobs: MaintenanceJobs, barrier: Held) -> None:
    twins(world)
    job = running(jobs, barrier, apply=True)
    assert jobs.cancel(job.id, AS_OPERATOR).state is JobState.CANCELLED
    jobs.close()
    assert jobs.status(job.id, AS_OPERATOR).state is JobState.CANCELLED
    assert jobs.cancel(job.id, AS_OPERATOR).state is JobState.CANCELLED
    with pytest.raises(Conflict, match="cancelled"):
        jobs.result(job.id, AS_OPERATOR)
    barrier.let_go.set()
    assert len(world.maintenance.preview(MERGE, AS_OPERATOR).alike) == 1


def test_another_process_joins_and_cancels_a_job_of_a_shared_store(
    world: World, jobs: MaintenanceJobs, barrier: Held
) -> None:
    job = running(jobs, barrier)
    other = world.another_process()
    joined = other.begin(MERGE, AS_OPERATOR)
    assert (joined.id == job.id) is world.store.is_shared
    assert other.cancel(joined.id, AS_OPERATOR).state is JobState.CANCELLED
    other.close()
    until(lambda: not jobs._running)


def test_a_job_whose_process_ended_has_failed(world: World, jobs: MaintenanceJobs, barrier: Held) -> None:
    """The process is stopped so that it writes nothing any more: the store is left as by one that was killed."""
    job = running(jobs, barrier)
    until(lambda: kept(world, job.id).total == 10)
    as_left = kept(world, job.id)
    jobs.close()
    world.store.write(lambda tx: tx.put_job(as_left))
    started = world.another_process()
    if world.store.is_shared:
        assert started.status(job.id, AS_OPERATOR).state is JobState.RUNNING
        world.clock.advance(maintenance_jobs.LOST_AFTER + timedelta(seconds=1))
    lost = started.status(job.id, AS_OPERATOR)
    assert (lost.state, lost.error) == (JobState.FAILED, maintenance_jobs.INTERRUPTED)
    with pytest.raises(Conflict, match="Start it again"):
        started.result(job.id, AS_OPERATOR)
    world.store.write(lambda tx: tx.put_job(as_left))
    barrier.let_go.set()
    again = started.begin(MERGE, AS_OPERATOR)
    assert again.id != job.id
    assert started.wait(again.id, AS_OPERATOR).state is JobState.DONE
    assert kept(world, job.id).state is JobState.FAILED


def test_a_process_that_ends_stops_its_job(world: World, jobs: MaintenanceJobs, barrier: Held) -> None:
    job = running(jobs, barrier)
    jobs.close()
    seen = jobs.status(job.id, AS_OPERATOR)
    assert (seen.state, seen.error) == (JobState.FAILED, maintenance_jobs.INTERRUPTED)
    with pytest.raises(Unavailable):
        jobs.begin(MERGE, AS_OPERATOR)


def test_the_error_of_a_failed_job_is_reported(
    world: World, jobs: MaintenanceJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = jobs.begin(MaintenancePlan(merge=True, purge_expired=True), AS_OPERATOR, apply=True, yes_delete=10**30)
    seen = jobs.wait(job.id, AS_OPERATOR)
    assert seen.state is JobState.FAILED
    assert "Nothing was done" in str(seen.error)
    with pytest.raises(Conflict, match="Nothing was done"):
        jobs.result(job.id, AS_OPERATOR)

    def broken(*_: object) -> None:
        raise TypeError("password: hunter2hunter2")

    monkeypatch.setattr(Duplicates, "find", broken)
    job = jobs.begin(MERGE, AS_OPERATOR)
    seen = jobs.wait(job.id, AS_OPERATOR)
    assert seen.state is JobState.FAILED
    assert "TypeError" in str(seen.error)
    assert "hunter2" not in str(seen.error)


def test_the_stored_result_has_no_text_of_a_memory(world: World, jobs: MaintenanceJobs) -> None:
    older, newer = twins(world)
    job = jobs.begin(MERGE, AS_OPERATOR)
    jobs.wait(job.id, AS_OPERATOR)
    with world.store.read() as view:
        latest = view.setting(LATEST) or ""
    assert older.id in latest
    assert "heron" not in latest
    (pair,) = jobs.result(job.id, AS_OPERATOR).alike
    assert pair.names == (older.name, newer.name)
    world.memory_service.forget(older.id, AS_ADA)
    assert jobs.result(job.id, AS_OPERATOR).alike == ()


def test_jobs_are_for_operators_and_of_one_kind(world: World, jobs: MaintenanceJobs) -> None:
    job = jobs.begin(MERGE, AS_OPERATOR)
    jobs.wait(job.id, AS_OPERATOR)

    def refused(viewer: Viewer) -> None:
        for call in (jobs.status, jobs.cancel, jobs.result):
            with pytest.raises(Forbidden):
                call(job.id, viewer)
        with pytest.raises(Forbidden):
            jobs.begin(MERGE, viewer)

    refused(AS_ADA)
    refused(AS_LEA)
    with pytest.raises(Invalid):
        jobs.begin(MERGE, AS_OPERATOR, yes_delete=1)
    with pytest.raises(NotFound):
        jobs.status(NOBODY, AS_OPERATOR)
    with pytest.raises(NotFound):
        world.reembedder.status(job.id, AS_OPERATOR)
    world.remember("alpha")
    with pytest.raises(NotFound):
        jobs.cancel(world.reembedder.begin(AS_OPERATOR, everything=True).id, AS_OPERATOR)


def test_the_comparison_stops_between_two_pairs(world: World) -> None:
    progress = Progress()
    reader = TableReader(before=lambda older, newer: progress.stop())
    world = World(world.store, world.keywords, world.clock, embedder=hashing(), reader=reader)
    for word in ("owls", "larks", "herons", "cranes"):
        world.remember(f"The pond beside the old mill is a place where the {word} sleep at night.", session=word)
    with pytest.raises(Stopped):
        world.maintenance.preview(MERGE, AS_OPERATOR, progress)
    assert len(reader.read) == 1


def test_a_stopped_purge_is_one_batch_and_can_be_undone(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "_PURGE_BATCH", 2)
    gone = [
        world.remember(f"The heron {number} leaves.", expires_at=START + timedelta(hours=1), session=str(number))
        for number in range(6)
    ]
    world.clock.advance(timedelta(hours=2))

    class TwoBatches(Progress):
        def advance(self, units: int = 1) -> None:
            if self.done >= 2:
                self.stop()
            super().advance(units)

    with pytest.raises(Stopped):
        world.maintenance.apply(MaintenancePlan(purge_expired=True), AS_OPERATOR, 6, TwoBatches())
    (batch,) = batches_of(world.store)
    world.clock.advance(timedelta(minutes=1))
    assert len(world.undo_service.undo(batch.id, AS_OPERATOR).memories) == 4
    for memory in gone:
        assert present(world.store, memory).memory == memory
