"""The service of tasks: races, authority, and what belongs to one transaction."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Barrier
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hivelore.core.agents import AgentId, Interface, Viewer
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Conflict, HiveloreError, Invalid
from hivelore.memories.drafts import Edit
from hivelore.memories.model import Memory, Source, Trust
from hivelore.search.model import EVERYTHING
from hivelore.tasks.model import (
    MAX_PROGRESS,
    MAX_UNFINISHED,
    CostGroup,
    ProgressKind,
    Task,
    TaskId,
    TaskProgress,
    TaskState,
    Usage,
    UsageTotal,
)
from hivelore.tasks.model import TaskFilter as Filter
from hivelore.tasks.service import GRACE, RENEWAL
from hivelore.tasks.undo import TaskUndo
from support.batches import batches_of
from support.clocks import SteppingClock
from support.laws import examples
from support.places import IN_MEMORY
from support.stores import KEYWORDS, STORES
from support.tasks import ALL_TASKS
from support.world import AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR, World

TEXT = "Renew the certificate of the proxy before it expires"


def together(*works: Callable[[], Any]) -> list[Any]:
    """Runs several calls at once. Returns their results or errors."""
    began = Barrier(len(works))

    def run(work: Callable[[], Any]) -> Any:
        began.wait()
        try:
            return work()
        except HiveloreError as error:
            return error

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(run, works))


def test_two_dependencies_completed_at_the_same_time_open_what_waits(world: World) -> None:
    for _ in range(5):
        first, second = (world.tasks.send(f"{TEXT} {number}", AS_LEA) for number in range(2))
        third = world.tasks.send(TEXT, AS_LEA, depends_on=[first.id, second.id])
        assert third.state is TaskState.WAITING
        together(*(lambda one=one: world.tasks.complete(one.id, "Done.", AS_LEA) for one in (first, second)))
        assert world.tasks.task(third.id, AS_LEA).state is TaskState.OPEN
        world.tasks.complete(third.id, "Done.", AS_LEA)


def test_a_task_sent_while_its_dependency_is_completed_does_not_wait_forever(world: World) -> None:
    for _ in range(5):
        first = world.tasks.send(TEXT, AS_LEA)
        _, second = together(
            lambda first=first: world.tasks.complete(first.id, "Done.", AS_LEA),
            lambda first=first: world.tasks.send(f"{TEXT} next", AS_LEA, depends_on=[first.id]),
        )
        assert world.tasks.task(second.id, AS_LEA).state is TaskState.OPEN
        world.tasks.complete(second.id, "Done.", AS_LEA)


@pytest.mark.parametrize("how", ["resume", "undo"])
def test_a_task_resumed_while_its_dependency_is_completed_does_not_wait_forever(world: World, how: str) -> None:
    for _ in range(15):
        first = world.tasks.send(TEXT, AS_LEA)
        second = world.tasks.send(f"{TEXT} next", AS_LEA, depends_on=[first.id])
        if how == "resume":
            world.tasks.pause(second.id, AS_LEA)
        else:
            world.tasks.cancel(second.id, AS_LEA)
        (batch, *_) = batches_of(world.store) if how == "undo" else (None,)
        together(
            lambda first=first: world.tasks.complete(first.id, "Done.", AS_LEA),
            lambda second=second, batch=batch: (
                world.tasks.resume(second.id, AS_LEA)
                if batch is None
                else world.undo_service.undo(batch.id, AS_OPERATOR)
            ),
        )
        assert world.tasks.task(second.id, AS_LEA).state is TaskState.OPEN
        world.tasks.complete(second.id, "Done.", AS_LEA)


def test_two_edits_at_once_close_no_cycle(world: World) -> None:
    for _ in range(10):
        one, two, three, four = (world.tasks.send(f"{TEXT} {number}", AS_LEA) for number in range(4))
        world.tasks.edit(one.id, AS_LEA, depends_on=[two.id])
        world.tasks.edit(three.id, AS_LEA, depends_on=[four.id])
        done = together(
            lambda two=two, three=three: world.tasks.edit(two.id, AS_LEA, depends_on=[three.id]),
            lambda four=four, one=one: world.tasks.edit(four.id, AS_LEA, depends_on=[one.id]),
        )
        assert sum(isinstance(each, Conflict) for each in done) == 1


def test_the_undo_of_an_edit_closes_no_cycle_and_depends_on_no_deleted_task(world: World) -> None:
    first = world.tasks.send(TEXT, AS_LEA)
    second = world.tasks.send(f"{TEXT} next", AS_LEA, depends_on=[first.id])
    world.tasks.edit(second.id, AS_LEA, depends_on=[])
    (batch,) = batches_of(world.store)
    world.tasks.edit(first.id, AS_LEA, depends_on=[second.id])
    with pytest.raises(Conflict, match="depend on itself"):
        world.undo_service.undo(batch.id, AS_OPERATOR)
    world.tasks.edit(first.id, AS_LEA, depends_on=[])
    world.tasks.delete(first.id, AS_OPERATOR)
    with pytest.raises(Conflict, match="deleted"):
        world.undo_service.undo(batch.id, AS_OPERATOR)


def test_the_same_client_id_sent_twice_at_once_makes_one_task(world: World) -> None:
    sent = together(*(lambda: world.tasks.send(TEXT, AS_LEA, client_id="c") for _ in range(4)))
    assert len({one.id for one in sent}) == 1


def test_a_result_is_stored_once_by_repeated_and_concurrent_calls(world: World) -> None:
    world.tasks.send(TEXT, AS_LEA)
    claimed = world.tasks.claim(AS_ADA).task
    assert claimed is not None
    assert claimed.lease is not None
    task, token = claimed.id, claimed.lease.token
    done = together(*(lambda: world.tasks.complete(task, "Done.", AS_ADA, token=token) for _ in range(4)))
    assert {one.state for one in done} == {TaskState.COMPLETED}
    with world.store.read() as view:
        memories = view.page(replace(EVERYTHING, source=Source.TASK_COMPLETION), None, 9)
    assert [(one.version, one.source_task_id) for one in memories] == [(2, claimed.id)]


def test_the_progress_of_a_task_is_bounded(world: World) -> None:
    task = world.tasks.send(TEXT, AS_LEA)
    for number in range(MAX_PROGRESS + 3):
        world.tasks.progress(task.id, f"Step {number}", AS_LEA)
    found = world.tasks.get(task.id, AS_LEA).progress
    assert [one.text for one in found][:1] == ["Step 3"]
    assert len(found) == MAX_PROGRESS


def test_n18_progress_leaves_no_history_of_the_memory(world: World) -> None:
    task = world.tasks.send(TEXT, AS_LEA)
    for number in range(5):
        world.tasks.progress(task.id, f"Step {number} of the renewal", AS_LEA)
    world.tasks.complete(task.id, "Renewed until June.", AS_LEA)
    with world.store.read() as view:
        (memory,) = view.page(replace(EVERYTHING, source=Source.TASK_COMPLETION), None, 9)
        stored = view.get(memory.id)
        assert stored is not None
        contents = [one.content for one in view.history(stored.key)]
    assert len(contents) == 2
    assert "Step 4" in contents[0]
    assert contents[1].startswith("Completed task")


def memory_of(world: World, task: Task) -> tuple[Memory, list[str]]:
    """Returns the memory of a task with the contents of all its versions."""
    with world.store.read() as view:
        (memory,) = (
            one
            for one in view.page(replace(EVERYTHING, source=Source.TASK_COMPLETION), None, 99)
            if one.source_task_id == task.id
        )
        stored = view.get(memory.id)
        assert stored is not None
        return memory, [one.content for one in view.history(stored.key)]


def test_x22_the_progress_of_a_worker_overwrites_nothing_that_an_operator_wrote(world: World) -> None:
    task = world.tasks.send(TEXT, AS_LEA)
    assert world.tasks.claim(AS_BOB).task is not None
    before, _ = memory_of(world, task)
    world.memory_service.edit(before.id, Edit(content="Mind: the proxy has two certificates."), AS_OPERATOR)
    (batch,) = batches_of(world.store)
    for number in range(2):
        world.tasks.progress(task.id, f"Step {number} of the renewal", AS_BOB)
    edited, contents = memory_of(world, task)
    assert edited.content == "Mind: the proxy has two certificates."
    assert (edited.provenance.interface, len(contents)) == (AS_OPERATOR.interface, 2)
    world.undo_service.undo(batch.id, AS_OPERATOR)
    assert memory_of(world, task)[0].content == before.content
    world.tasks.progress(task.id, "Step 3 of the renewal", AS_BOB)
    assert "Step 3" in memory_of(world, task)[0].content


def test_the_words_of_an_operator_stay_in_the_history_when_the_task_is_finished(world: World) -> None:
    task = world.tasks.send(TEXT, AS_LEA)
    world.memory_service.edit(memory_of(world, task)[0].id, Edit(content="Mind: it has two."), AS_OPERATOR)
    world.tasks.complete(task.id, "Renewed until June.", AS_LEA)
    _, contents = memory_of(world, task)
    assert contents[:2] == [f"Task: {TEXT}", "Mind: it has two."]
    assert "Renewed until June." in contents[2]


def test_a38_what_went_wrong_stays_in_the_history_of_a_task_that_is_resumed(world: World) -> None:
    task = world.tasks.send(TEXT, AS_LEA)
    world.tasks.fail(task.id, "The account has no access.", AS_LEA)
    world.tasks.resume(task.id, AS_LEA)
    for number in range(3):
        world.tasks.progress(task.id, f"Step {number} of the renewal", AS_LEA)
    _, contents = memory_of(world, task)
    assert len(contents) == 3
    assert "What went wrong:\n\nThe account has no access." in contents[1]
    assert "Step 2" in contents[2]


def test_a38_the_memory_of_a_trivial_task_follows_its_state(world: World) -> None:
    task = world.tasks.send("Say hi", AS_LEA)
    world.tasks.fail(task.id, "The account of the greeter has no access.", AS_LEA)
    assert memory_of(world, task)[0].content.startswith("Failed task: Say hi")
    world.tasks.resume(task.id, AS_LEA)
    assert memory_of(world, task)[0].content == "Task: Say hi"
    world.tasks.complete(task.id, "Hi.", AS_LEA)
    assert memory_of(world, task)[0].content == "Completed task: Say hi\n\nOutput:\n\nHi."


def test_a_worker_cannot_flood_the_swarm(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hivelore.tasks.service.MAX_UNFINISHED", 3)
    assert MAX_UNFINISHED == 1_000
    for number in range(3):
        world.tasks.send(f"Task {number}", AS_ADA)
    with pytest.raises(Conflict, match="unfinished"):
        world.tasks.send("Task 4", AS_ADA)
    world.tasks.send("Task 4", AS_BOB)


def test_secrets_in_texts_are_masked(world: World) -> None:
    token = "ghp_" + "a1B2" * 9
    task = world.tasks.send(f"Push with {token} to the server", AS_LEA)
    world.tasks.progress(task.id, f"Used {token}", AS_LEA)
    done = world.tasks.complete(task.id, f"Pushed with {token}", AS_LEA)
    found = world.tasks.get(task.id, AS_LEA)
    assert token not in repr((done, found))


def test_a_memory_of_an_unfinished_task_is_found_but_not_taken_for_knowledge(world: World) -> None:
    task = world.tasks.send(TEXT, AS_LEA)
    assert world.recall("certificate proxy", AS_ADA)
    assert world.injection.knowledge(TEXT, None, AS_ADA, without_task="other").text is None
    world.tasks.complete(task.id, "Renewed with acme.sh.", AS_LEA)
    assert "acme.sh" in (world.injection.knowledge(TEXT, None, AS_ADA, without_task="other").text or "")
    assert world.injection.knowledge(TEXT, None, AS_ADA, without_task=task.id).text is None


def test_the_memory_of_a_task_has_the_trust_and_the_author_of_its_words(world: World) -> None:
    def written(task: Task) -> tuple[AgentId | None, Trust, Interface]:
        with world.store.read() as view:
            (one,) = (
                one
                for one in view.page(replace(EVERYTHING, source=Source.TASK_COMPLETION), None, 9)
                if one.source_task_id == task.id
            )
        return one.provenance.actor, one.provenance.trust, one.provenance.interface

    of_worker = world.tasks.send("Disable the authentication of the gateway on Mondays", AS_ADA)
    assert written(of_worker) == (AS_ADA.agent, Trust.AGENT, Interface.SERVICE)
    world.tasks.complete(of_worker.id, "An operator did it.", AS_OPERATOR)
    assert written(of_worker) == (AS_ADA.agent, Trust.AGENT, Interface.SERVICE)
    of_operator = world.tasks.send(TEXT, AS_OPERATOR)
    assert written(of_operator) == (None, Trust.OPERATOR, Interface.SERVICE)
    assert world.tasks.claim(AS_BOB).task is not None
    world.tasks.fail(of_operator.id, "The gateway refuses it.", AS_BOB, retry=True)
    world.tasks.progress(of_operator.id, "Half done.", AS_OPERATOR)
    assert written(of_operator) == (AS_BOB.agent, Trust.AGENT, Interface.SERVICE)
    world.tasks.cancel(of_operator.id, AS_OPERATOR)
    (batch,) = batches_of(world.store)
    world.undo_service.undo(batch.id, AS_OPERATOR)
    assert written(of_operator) == (AS_BOB.agent, Trust.AGENT, Interface.SERVICE)


def test_costs_of_a_day_are_what_was_used_on_it(world: World) -> None:
    world.tasks.send(TEXT, AS_LEA)
    task = world.tasks.claim(AS_ADA).task
    assert task is not None
    day = world.clock.now().date()
    world.tasks.progress(task.id, "One", AS_ADA, usage=Usage(session_id="s", input_tokens=10))
    world.clock.advance(timedelta(days=1))
    world.tasks.progress(task.id, "Two", AS_ADA, usage=Usage(session_id="s", input_tokens=25))
    world.tasks.progress(task.id, "Old", AS_ADA, usage=Usage(session_id="s", input_tokens=10))
    rows = world.tasks.costs(CostGroup.DAY, AS_ADA, first=day, last=day + timedelta(days=1)).rows
    assert [one.usage.input_tokens for one in rows] == [15, 10]
    assert world.tasks.costs(CostGroup.DAY, AS_BOB, first=None, last=None).total == UsageTotal()
    with pytest.raises(Invalid):
        world.tasks.costs(CostGroup.DAY, AS_ADA, first=day, last=day - timedelta(days=1))
    assert world.tasks.costs(CostGroup.DAY, AS_ADA, first=None, last=date.min).rows == ()
    shown = [world.tasks.get(task.id, viewer).usage.input_tokens for viewer in (AS_ADA, AS_BOB, AS_LEA)]
    assert shown == [25, 0, 25]
    listed = [world.tasks.page(viewer, None, 9, states=tuple(TaskState)).usage for viewer in (AS_ADA, AS_BOB, AS_LEA)]
    assert [[(one.key, one.usage.input_tokens) for one in each] for each in listed] == [
        [(task.id, 25)],
        [],
        [(task.id, 25)],
    ]


def test_n18_an_agent_hoards_no_tasks(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hivelore.tasks.service.MAX_HELD", 2)
    for number in range(4):
        world.tasks.send(f"{TEXT} {number}", AS_LEA)
    one, _ = (world.tasks.claim(AS_ADA).task for _ in range(2))
    assert one is not None
    assert "release" in world.tasks.claim(AS_ADA).message
    assert world.tasks.claim(AS_BOB).task is not None
    world.tasks.release(one.id, AS_ADA)
    assert world.tasks.claim(AS_ADA).task is not None


def test_d60_a_task_that_is_given_back_has_costs(world: World) -> None:
    task = world.tasks.send(TEXT, AS_LEA)
    assert world.tasks.claim(AS_ADA).task is not None
    done = world.tasks.release(task.id, AS_ADA, session="s", usage=Usage(session_id="s", input_tokens=10))
    found = world.tasks.get(task.id, AS_ADA)
    assert (done.state, found.task.session, found.usage.input_tokens) == (TaskState.OPEN, "s", 10)


def end_leases(world: World) -> None:
    """Lets all leases end, and the grace after it."""
    world.clock.advance(RENEWAL)
    world.tasks.fail_exhausted()
    world.clock.advance(GRACE)


@pytest.mark.parametrize("outage", ["start", "suspended"])
def test_leases_that_ended_while_the_service_was_away_last_for_another_heartbeat(world: World, outage: str) -> None:
    task = world.tasks.send(TEXT, AS_LEA, max_attempts=1)
    assert world.tasks.claim(AS_ADA, lease=timedelta(0)).task is not None
    world.clock.advance(timedelta(hours=1))
    after = world if outage == "suspended" else World(world.store, world.keywords, world.clock, first_id=500)
    assert after.tasks.fail_exhausted() == 0
    assert after.tasks.claim(AS_BOB).task is None
    assert after.tasks.heartbeat(task.id, AS_ADA, token=None, lease=2 * GRACE).state is TaskState.RUNNING
    if world.store.is_shared:  # Its leases follow another clock.
        return
    world.clock.advance(GRACE)
    assert after.tasks.fail_exhausted() == 0
    world.clock.advance(GRACE)
    assert after.tasks.fail_exhausted() == 1


def test_a_lead_is_told_of_the_latest_failures_not_of_the_latest_tasks(world: World) -> None:
    tasks = [world.tasks.send(f"{TEXT} {number}", AS_LEA) for number in range(5)]
    for one in reversed(tasks):
        world.clock.advance(timedelta(minutes=1))
        world.tasks.fail(one.id, "No access", AS_LEA)
    assert [one.id for one in world.tasks.recent_failures(AS_LEA)] == [one.id for one in tasks[:3]]
    assert world.tasks.recent_failures(AS_BOB) == ()
    world.clock.advance(timedelta(days=1))
    assert world.tasks.recent_failures(AS_LEA) == []


@pytest.mark.parametrize("what", ["progress", "late", "repeated"])
def test_a_task_that_is_deleted_at_the_same_time_leaves_nothing(world: World, what: str) -> None:
    usage = Usage(session_id="s", input_tokens=1)
    for number in range(10):
        task = world.tasks.send(f"{TEXT} {number}", AS_LEA)
        assert world.tasks.claim(AS_ADA).task is not None
        if what == "late":
            world.tasks.release(task.id, AS_ADA)
        if what == "repeated":
            world.tasks.complete(task.id, "Done.", AS_ADA)
        together(
            lambda task=task: (
                world.tasks.progress(task.id, "Half done.", AS_ADA, usage=usage)
                if what == "progress"
                else world.tasks.complete(task.id, "Done.", AS_ADA, usage=usage)
            ),
            lambda task=task: world.tasks.delete(task.id, AS_OPERATOR),
        )
        with world.store.read() as view:
            assert view.task(task.id) is None
            assert not view.task_progress(task.id)
            assert not view.task_costs(task.id)


def test_an_undo_restores_a_task_and_its_memory_together(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    task = world.tasks.send(TEXT, AS_LEA)
    world.tasks.cancel(task.id, AS_LEA)
    (batch,) = batches_of(world.store)

    def kill(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(TaskUndo, "finish", kill)
        with pytest.raises(KeyboardInterrupt):
            world.undo_service.undo(batch.id, AS_OPERATOR)
    assert world.tasks.task(task.id, AS_LEA).state is TaskState.OPEN
    assert memory_of(world, task)[0].content == f"Task: {TEXT}"


def test_x22_late_costs_of_one_agent_do_not_displace_those_of_another(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hivelore.tasks.service.MAX_COST_ROWS", 2)
    task = world.tasks.send(TEXT, AS_LEA)
    assert world.tasks.claim(AS_ADA).task is not None
    world.tasks.release(task.id, AS_ADA)
    assert world.tasks.claim(AS_BOB).task is not None
    for number in range(3):
        with pytest.raises(Conflict):
            world.tasks.complete(task.id, "Late.", AS_ADA, usage=Usage(session_id=f"s{number}", input_tokens=1))
    world.tasks.progress(task.id, "Half done.", AS_BOB, usage=Usage(session_id="b", input_tokens=10))
    assert world.tasks.get(task.id, AS_LEA).usage.input_tokens == 12


calls = st.tuples(
    st.sampled_from(["send", "claim", "beat", "progress", "complete", "fail", "release", "cancel", "pause", "resume"]),
    st.sampled_from([None, "ada", "bob", "lea"]),
    st.integers(0, 9),
    st.integers(-5, 5),
)


@settings(max_examples=examples(25))
@given(done=st.lists(calls, max_size=12))
def test_no_call_of_a_worker_changes_tasks_of_others(done: list[tuple[str, str | None, int, int]]) -> None:
    kind, clock = KEYWORDS["postings"], SteppingClock()
    with (
        TemporaryDirectory(dir=IN_MEMORY) as folder,
        closing(STORES[kind.store].open(Path(folder), clock)) as store,
    ):
        world = World(store, kind.index(), clock)
        world.tasks.send("Of Bob alone, since it is secret", AS_LEA, assignee="bob")
        world.tasks.send("Of Lea alone, since it is secret", AS_LEA, assignee="lea")
        world.tasks.send("Sent by Bob to the pool of workers", AS_BOB)
        earlier = world.tasks.claim(AS_ADA).task
        assert earlier is not None
        world.tasks.release(earlier.id, AS_ADA)
        claimed = world.tasks.claim(AS_BOB).task
        running = world.tasks.claim(AS_BOB).task
        assert claimed is not None
        assert running is not None
        assert earlier.id in (claimed.id, running.id)
        store.write(lambda tx: [tx.put_task_progress(earlier.id, one) for one in map(_of_bob, range(MAX_PROGRESS))])
        before = _others(world)
        for what, to, which, priority in done:
            with suppress(HiveloreError):
                _call(world, what, to, which, priority, AS_ADA)
        assert _others(world) == before
        late = [one for one in world.tasks.get(earlier.id, AS_BOB).progress if one.actor == AS_ADA.agent]
        assert len(late) <= 1
        with store.read() as view:
            sent = view.tasks(Filter(seen=ALL_TASKS, creator=AS_ADA.agent), None, 100)
        assert all(one.priority <= 0 and one.assignee != "lea" for one in sent)


def _call(world: World, what: str, to: str | None, which: int, priority: int, viewer: Viewer) -> None:
    with world.store.read() as view:
        every = view.tasks(Filter(seen=ALL_TASKS), None, 100)
    task, said = every[which % len(every)].id, f"Changed {which} {priority}"
    match what:
        case "send":
            world.tasks.send(TEXT, viewer, assignee=to, priority=priority)
        case "claim":
            world.tasks.claim(viewer)
        case "beat":
            world.tasks.heartbeat(task, viewer, token=None)
        case "progress":
            world.tasks.progress(task, said, viewer)
        case "complete":
            world.tasks.complete(task, said, viewer)
        case "fail":
            world.tasks.fail(task, said, viewer, retry=which % 2 == 0)
        case "release":
            world.tasks.release(task, viewer)
        case "cancel":
            world.tasks.cancel(task, viewer)
        case "pause":
            world.tasks.pause(task, viewer)
        case _:
            for batch in batches_of(world.store):
                world.undo_service.undo(batch.id, viewer)
            world.tasks.resume(task, viewer)


def _of_bob(number: int) -> TaskProgress:
    at, text = SteppingClock().now(), Clean(f"Step {number}")
    return TaskProgress(number=number, at=at, actor=AS_BOB.agent, attempt=2, kind=ProgressKind.PROGRESS, text=text)


def _others(world: World) -> list[tuple[Task, list[TaskProgress]]]:
    """Returns the tasks that Ada neither sent nor may claim, with the progress that others reported."""
    with world.store.read() as view:
        every = [one for one in view.tasks_after(TaskId(""), 100) if one.creator != AS_ADA.agent]
        return [(one, [by for by in view.task_progress(one.id) if by.actor != AS_ADA.agent]) for one in every]


def test_an_operator_deletes_a_task_unless_others_depend_on_it(world: World) -> None:
    first = world.tasks.send(TEXT, AS_LEA)
    second = world.tasks.send(TEXT, AS_LEA, depends_on=[first.id])
    for change in (world.tasks.pause, world.tasks.resume, world.tasks.cancel):
        with pytest.raises(Conflict, match="depend"):
            world.tasks.delete(first.id, AS_OPERATOR)
        change(second.id, AS_LEA)
    with pytest.raises(Conflict, match="depend"):
        world.tasks.delete(first.id, AS_OPERATOR)
    world.tasks.delete(second.id, AS_OPERATOR)
    world.tasks.delete(first.id, AS_OPERATOR)
    with world.store.read() as view:
        assert view.counts().tasks == 0


steps = st.tuples(
    st.sampled_from(["claim", "claim", "complete", "lose", "fail", "release", "beat", "forget"]),
    st.sampled_from([AS_ADA, AS_BOB]),
)


@settings(max_examples=examples(25))
@given(done=st.lists(steps, max_size=40))
def test_every_task_is_completed_once_whatever_happens_to_its_agents(done: list[tuple[str, Viewer]]) -> None:
    kind, clock = KEYWORDS["postings"], SteppingClock()
    with (
        TemporaryDirectory(dir=IN_MEMORY) as folder,
        closing(STORES[kind.store].open(Path(folder), clock)) as store,
    ):
        world = World(store, kind.index(), clock)
        first = world.tasks.send("One", AS_LEA, max_attempts=20)
        second = world.tasks.send("Two", AS_LEA, max_attempts=20, depends_on=[first.id])
        third = world.tasks.send("Three", AS_LEA, max_attempts=20, depends_on=[first.id, second.id])
        held: dict[Viewer, list[Task]] = {AS_ADA: [], AS_BOB: []}
        completed: list[str] = []
        for what, viewer in done:
            with suppress(Conflict):
                _step(world, what, viewer, held[viewer], completed)
        end_leases(world)
        while (task := world.tasks.claim(AS_ADA).task) is not None:
            world.tasks.complete(task.id, "Done.", AS_ADA)
            completed.append(task.id)
        ended = {one.id: world.tasks.task(one.id, AS_LEA) for one in (first, second, third)}
        assert len(completed) == len(set(completed))
        assert set(completed) == {one.id for one in ended.values() if one.state is TaskState.COMPLETED}
        failed = [one for one in ended.values() if one.state is TaskState.FAILED]
        assert all(one.failures >= one.max_attempts for one in failed)
        assert failed or len(completed) == 3


def _step(world: World, what: str, viewer: Viewer, held: list[Task], completed: list[str]) -> None:
    if what == "claim":
        task = world.tasks.claim(viewer).task
        held += [] if task is None else [task]
        return
    if what == "lose":
        end_leases(world)
        return
    if not held:
        return
    task = held[0] if what == "beat" else held.pop(0)
    token = None if task.lease is None else task.lease.token
    match what:
        case "complete":
            world.tasks.complete(task.id, "Done.", viewer, token=token)
            completed.append(task.id)
        case "fail":
            world.tasks.fail(task.id, "Broken.", viewer, retry=True, token=token)
        case "release":
            world.tasks.release(task.id, viewer, token=token)
        case "beat":
            world.tasks.heartbeat(task.id, viewer, token=token)
        case _:
            pass  # The agent is killed.
