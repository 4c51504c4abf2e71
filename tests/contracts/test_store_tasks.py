"""Every store: tasks, their claims, and what belongs to them."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from itertools import product
from threading import Barrier
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.agents import AgentId, Role
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Conflict, NotFound
from hivelore.search.model import Visibility
from hivelore.storage.ports import MemoryStore, Transaction
from hivelore.tasks.authority import may_see, queues_for
from hivelore.tasks.model import (
    Attempt,
    CostGroup,
    Lease,
    ProgressKind,
    Task,
    TaskChange,
    TaskCost,
    TaskFilter,
    TaskId,
    TaskProgress,
    TaskSession,
    TaskState,
    UsageTotal,
)
from support.batches import a_batch
from support.memories import ADA, BOB, START, instant
from support.stores import Fresh, law
from support.tasks import ALL_TASKS, HOUR, NO_TIME, a_task, claim, put, task_id

LEA = AgentId("lea")
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20).map(Clean)
instants = st.integers(0, 10_000).map(lambda minutes: instant(minutes))
tasks = st.builds(
    Task,
    id=st.integers(1, 9).map(task_id),
    text=texts,
    state=st.sampled_from(TaskState),
    created_at=instants,
    updated_at=instants,
    version=st.integers(1, 9),
    creator=st.sampled_from([ADA, BOB, None]),
    creator_role=st.sampled_from(Role),
    assignee=st.sampled_from([ADA, BOB, None]),
    parent=st.none() | st.integers(1, 9).map(task_id),
    repo=st.none() | texts,
    project=st.none() | texts,
    priority=st.integers(-100, 100),
    tags=st.lists(texts, max_size=3).map(tuple),
    depends_on=st.lists(st.integers(10, 20).map(task_id), unique=True, max_size=3).map(tuple),
    client_id=st.none() | texts,
    attempt=st.integers(0, 9),
    failures=st.integers(0, 9),
    max_attempts=st.integers(1, 9),
    lease=st.none()
    | st.builds(Lease, token=st.just("t"), agent=st.just(ADA), runner=st.none() | texts, until=instants),
    session=st.none() | texts,
    session_agent=st.sampled_from([ADA, BOB, None]),
    reporter=st.sampled_from([ADA, BOB, None]),
    progress=st.none() | texts,
    progress_at=st.none() | instants,
    output=st.none() | texts,
    failure=st.none() | texts,
    finished_at=st.none() | instants,
)


def listed(store: MemoryStore, seen: Visibility = ALL_TASKS, **fields: Any) -> list[TaskId]:
    with store.read() as view:
        return [one.id for one in view.tasks(TaskFilter(seen=seen, **fields), None, 100)]


@law
@given(written=tasks, again=tasks)
def test_a_task_is_read_as_it_was_written(fresh: Fresh, written: Task, again: Task) -> None:
    with fresh() as store:
        put(store, written, replace(again, id=written.id))
        with store.read() as view:
            assert view.task(written.id) == replace(again, id=written.id)
            assert view.tasks_after(TaskId(""), 9) == [replace(again, id=written.id)]
            assert view.task(task_id(99)) is None


def test_two_tasks_of_one_sender_cannot_have_the_same_client_id(store: MemoryStore) -> None:
    put(store, a_task(1, client_id=Clean("c")), a_task(2, client_id=Clean("c"), creator=None))
    with pytest.raises(Conflict):
        put(store, a_task(3, client_id=Clean("c")))
    with store.read() as view:
        assert [view.task_with_client_id(one, Clean("c")) for one in (LEA, None, ADA)] == [
            a_task(1, client_id=Clean("c")),
            a_task(2, client_id=Clean("c"), creator=None),
            None,
        ]


def test_a_task_is_added_once_and_changed_only_while_it_exists(store: MemoryStore) -> None:
    put(store, a_task(1, depends_on=(task_id(2),)))
    with pytest.raises(Conflict):
        store.write(lambda tx: tx.add_task(a_task(1)))
    with pytest.raises(NotFound):
        store.write(lambda tx: tx.change_task(a_task(3, depends_on=(task_id(2),))))
    with store.read() as view:
        assert view.tasks_after(TaskId(""), 9) == [a_task(1, depends_on=(task_id(2),))]


def test_a_change_does_not_bring_back_a_task_that_was_deleted_meanwhile(store: MemoryStore) -> None:
    put(store, a_task())
    found: list[Task | None] = []

    def change(tx: Transaction) -> None:
        found.append(tx.task(task_id(1)))
        if store.is_shared and len(found) == 1:
            with ThreadPoolExecutor(1) as pool:
                pool.submit(store.write, lambda other: other.drop_task(task_id(1))).result()
        if found[-1] is not None:
            tx.change_task(found[-1])

    store.write(change)
    assert found == ([a_task(), None] if store.is_shared else [a_task()])


@pytest.mark.parametrize(
    "seen",
    [
        Visibility(own=own, swarm=swarm, others=others)
        for own in (None, ADA)
        for swarm, others in product((True, False), repeat=2)
    ],
)
def test_lists_and_ids_have_the_visible_tasks_newest_first(store: MemoryStore, seen: Visibility) -> None:
    whose = list(product((ADA, BOB, None), (ADA, BOB, None), (TaskState.OPEN, TaskState.COMPLETED)))
    written = [
        a_task(number, creator=creator, assignee=assignee, state=state)
        for number, (creator, assignee, state) in enumerate(whose, start=1)
    ]
    put(store, *written)
    expected = [one.id for one in written if may_see(seen, one)][::-1]
    assert listed(store, seen) == expected
    completed = {one.id for one in written if one.state is TaskState.COMPLETED}
    done = listed(store, seen, states=(TaskState.COMPLETED,))
    assert done == [one for one in expected if one in completed]
    with store.read() as view:
        assert sorted(view.task_ids_from(seen, "00000000", 100)) == sorted(expected)
        pages = list[TaskId]()
        after = None
        while page := view.tasks(TaskFilter(seen=seen), after, 2):
            pages += [one.id for one in page]
            after = page[-1].created_at, page[-1].id
    assert pages == expected


def test_lists_are_narrowed_and_their_texts_are_short(store: MemoryStore) -> None:
    put(
        store,
        a_task(1, parent=task_id(9), tags=(Clean("a_b"),)),
        a_task(2, repo=Clean("shop"), tags=(Clean("axb"), Clean("50%"), Clean('a","tls","b'))),
        a_task(3, assignee=ADA, text=Clean("x" * 1_000), output=Clean("y" * 1_000)),
        a_task(4, creator=BOB),
    )
    assert listed(store, parent=task_id(9)) == [task_id(1)]
    assert listed(store, repo=Clean("shop")) == [task_id(2)]
    assert listed(store, tag=Clean("a_b")) == [task_id(1)]
    assert listed(store, tag=Clean("50%")) == [task_id(2)]
    assert listed(store, tag=Clean('a","tls","b')) == [task_id(2)]
    assert [listed(store, tag=Clean(other)) for other in ("A_B", "tls", "50", "ax")] == [[], [], [], []]
    assert listed(store, agent=ADA) == [task_id(3)]
    claimed = claim(store, ADA)
    assert claimed is not None
    assert listed(store, agent=ADA) == sorted([task_id(3), claimed.id], reverse=True)
    with store.read() as view:
        assert view.count_held_tasks(ADA, START, 9) == 1
        assert view.count_held_tasks(BOB, START, 9) == 0
    assert listed(store, creator=BOB) == [task_id(4)]
    with store.read() as view:
        long, *_ = view.tasks(TaskFilter(seen=ALL_TASKS, agent=ADA), None, 9)
    assert (len(long.text), len(long.output or "")) == (301, 301)


def test_the_tasks_that_failed_last_come_first_whenever_they_were_sent(store: MemoryStore) -> None:
    ends = {1: instant(9), 2: instant(5), 3: instant(7), 4: instant(7)}
    put(
        store,
        *(a_task(number, state=TaskState.FAILED, finished_at=at) for number, at in ends.items()),
        a_task(5, state=TaskState.COMPLETED, finished_at=instant(9)),
        a_task(6, state=TaskState.OPEN),
    )
    with store.read() as view:
        assert [one.id for one in view.failed_tasks(instant(5), 9)] == [task_id(number) for number in (1, 4, 3)]
        assert [one.id for one in view.failed_tasks(instant(5), 1)] == [task_id(1)]


def test_unfinished_tasks_of_a_sender_are_counted_up_to_a_limit(store: MemoryStore) -> None:
    put(store, *(a_task(number, creator=ADA, state=state) for number, state in enumerate(TaskState, start=1)))
    with store.read() as view:
        assert [view.count_unfinished_tasks(ADA, most) for most in (2, 9)] == [2, 4]
        assert view.count_unfinished_tasks(BOB, 9) == 0
        assert view.count_tasks() == dict.fromkeys(list(TaskState)[:4], 1)


# claims


def test_the_task_of_the_highest_priority_is_claimed_first_then_the_oldest(store: MemoryStore) -> None:
    put(store, a_task(1), a_task(2, priority=5), a_task(3, priority=5), a_task(4, assignee=ADA, priority=1))
    found = [claim(store) for _ in range(5)]
    assert [None if one is None else one.id for one in found] == [*map(task_id, (2, 3, 4, 1)), None]
    first = found[0]
    assert first is not None
    assert first.lease is not None
    assert (first.state, first.attempt, first.failures, first.version) == (TaskState.RUNNING, 1, 0, 2)
    assert (first.lease.token, first.lease.agent, first.lease.runner) == ("token", ADA, None)
    with store.read() as view:
        assert view.task(task_id(2)) == first


def test_agents_claim_from_their_own_queues(store: MemoryStore) -> None:
    put(
        store,
        a_task(1, assignee=BOB),
        a_task(2, creator=BOB, creator_role=Role.WORKER),
        a_task(3),
        a_task(4, state=TaskState.PAUSED),
        a_task(5, state=TaskState.WAITING),
    )
    with store.read() as view:
        assert view.is_claimable(queues_for(Role.LEAD, LEA), START)
    assert [one and one.id for one in (claim(store, LEA, Role.LEAD), claim(store, LEA, Role.LEAD))] == [
        task_id(3),
        None,
    ]
    with store.read() as view:
        assert not view.is_claimable(queues_for(Role.LEAD, LEA), START)
        assert view.is_claimable(queues_for(Role.WORKER, ADA), START)
    assert [one and one.id for one in (claim(store), claim(store))] == [task_id(2), None]
    assert [one and one.id for one in (claim(store, BOB), claim(store, BOB))] == [task_id(1), None]


def test_a_lead_claims_nothing_that_a_worker_assigned_to_it_before(store: MemoryStore) -> None:
    put(store, a_task(1, assignee=LEA, creator=BOB, creator_role=Role.WORKER), a_task(2, assignee=LEA))
    as_lead = [claim(store, LEA, Role.LEAD, lease=NO_TIME) for _ in range(2)]
    assert [one and one.id for one in as_lead] == [task_id(2), task_id(2)]
    assert [one and one.id for one in (claim(store, LEA), claim(store, LEA))] == [task_id(1), task_id(2)]


def test_a_task_whose_lease_ended_is_claimed_again_until_its_attempts_are_used_up(store: MemoryStore) -> None:
    put(store, a_task(max_attempts=2))
    assert claim(store, token="one", lease=NO_TIME) is not None
    with store.read() as view:
        assert not view.exhausted_tasks(START, 9)
    again = claim(store, BOB, token="two", lease=NO_TIME, runner="host")
    assert again is not None
    assert again.lease is not None
    assert (again.attempt, again.failures, again.lease.agent, again.lease.runner) == (2, 1, BOB, "host")
    assert claim(store) is None
    with store.read() as view:
        assert not view.is_claimable(queues_for(Role.WORKER, ADA), START)
        assert view.exhausted_tasks(START, 9) == [task_id(1)]


def test_a_lease_is_renewed_by_its_token_and_never_shortened(store: MemoryStore) -> None:
    put(store, a_task())
    claimed = claim(store, token="one")

    def renew(token: str, lease: timedelta) -> bool:
        return store.write(lambda tx: tx.renew_task_lease(task_id(1), token, START, lease))

    assert not renew("two", HOUR)
    assert renew("one", 2 * HOUR)
    with store.read() as view:
        after = view.task(task_id(1))
        end = view.next_lease_end(queues_for(Role.WORKER, ADA), START)
    assert after is not None
    assert after.lease is not None
    assert claimed is not None
    assert claimed.lease is not None
    assert after.lease.until - claimed.lease.until >= HOUR
    assert end == after.lease.until
    assert after.version == claimed.version
    assert renew("one", NO_TIME)
    with store.read() as view:
        assert view.task(task_id(1)) == after


def test_all_leases_are_extended_and_none_is_shortened(store: MemoryStore) -> None:
    put(store, *map(a_task, (1, 2, 3)))
    long, ended = claim(store, token="two", lease=2 * HOUR), claim(store, token="one", lease=NO_TIME)
    assert ended is not None
    assert long is not None
    store.write(lambda tx: tx.extend_task_leases(START, HOUR))
    with store.read() as view:
        kept, extended, free = map(view.task, map(task_id, (1, 2, 3)))
        assert view.exhausted_tasks(START, 9) == []
        assert view.count_held_tasks(ADA, START, 9) == 2
    assert extended is not None
    assert extended.lease is not None
    assert ended.lease is not None
    assert extended.lease.until - ended.lease.until >= HOUR
    assert (extended.version, extended.lease.token) == (ended.version, "one")
    assert (kept, free) == (long, a_task(3))


def test_a_lease_that_has_ended_is_renewed_unless_another_agent_has_claimed_the_task(store: MemoryStore) -> None:
    put(store, a_task())
    claim(store, token="one", lease=NO_TIME)
    with store.read() as view:
        assert view.next_lease_end(queues_for(Role.WORKER, ADA), START) is None
    assert store.write(lambda tx: tx.renew_task_lease(task_id(1), "one", START, NO_TIME))
    claim(store, BOB, token="two")
    assert not store.write(lambda tx: tx.renew_task_lease(task_id(1), "one", START, HOUR))


def test_concurrent_claims_give_each_task_to_one_agent(store: MemoryStore) -> None:
    put(store, *(a_task(number) for number in range(1, 41)))
    began = Barrier(4)

    def work(number: int) -> Sequence[TaskId]:
        began.wait()
        found: list[TaskId] = []
        while (task := claim(store, AgentId(f"agent {number}"), token=f"{number}")) is not None:
            found.append(task.id)
        return found

    with ThreadPoolExecutor(4) as pool:
        claimed = [task for tasks in pool.map(work, range(4)) for task in tasks]
    assert sorted(claimed) == [task_id(number) for number in range(1, 41)]


# dependencies


def test_a_waiting_task_opens_when_all_its_dependencies_are_completed(store: MemoryStore) -> None:
    put(store, a_task(1), a_task(2), a_task(3, state=TaskState.WAITING, depends_on=(task_id(1), task_id(2))))
    with store.read() as view:
        assert view.unmet_dependencies(task_id(3), 9) == [task_id(1), task_id(2)]
        assert view.unmet_dependencies(task_id(3), 1) == [task_id(1)]
        assert view.waiting_for(task_id(1), TaskId(""), 9) == [task_id(3)]
        assert view.waiting_for(task_id(1), task_id(3), 9) == []
    put(store, a_task(1, state=TaskState.COMPLETED))
    assert not store.write(lambda tx: tx.open_task(task_id(3), instant(9)))
    put(store, a_task(2, state=TaskState.COMPLETED))
    assert store.write(lambda tx: tx.open_task(task_id(3), instant(9)))
    assert not store.write(lambda tx: tx.open_task(task_id(3), instant(9)))
    with store.read() as view:
        opened = view.task(task_id(3))
        assert not view.waiting_for(task_id(1), TaskId(""), 9)
        assert view.is_needed(task_id(2))
        assert not view.is_needed(task_id(3))
    assert opened is not None
    assert (opened.state, opened.updated_at, opened.version) == (TaskState.OPEN, instant(9), 2)


# what belongs to tasks


def a_progress(number: int, kind: ProgressKind = ProgressKind.PROGRESS) -> TaskProgress:
    text = Clean(f"p{number}")
    return TaskProgress(number=number, at=instant(number), actor=ADA, attempt=number, kind=kind, text=text)


def test_late_results_take_no_place_of_progress(store: MemoryStore) -> None:
    put(store, a_task())
    kinds = [ProgressKind.PROGRESS] * 3 + [ProgressKind.LATE] * 3 + [ProgressKind.PROGRESS]
    written = [a_progress(number, kind) for number, kind in enumerate(kinds, start=1)]
    for one in written:
        store.write(lambda tx, one=one: tx.put_task_progress(task_id(1), one, keep=2))
    with store.read() as view:
        assert view.task_progress(task_id(1)) == [written[number - 1] for number in (3, 5, 6, 7)]


def test_only_the_latest_progress_sessions_and_attempts_are_kept(store: MemoryStore) -> None:
    put(store, a_task())
    for number in range(1, 6):
        at = instant(number)
        progress = a_progress(number)
        session = TaskSession(number=number, session=Clean(f"s{number}"), agent=ADA, attempt=1, at=at)
        attempt = Attempt(number=number, token=f"t{number}", agent=ADA, runner=None, at=at)
        store.write(lambda tx, one=progress: tx.put_task_progress(task_id(1), one, keep=3))
        store.write(lambda tx, one=session: tx.put_task_session(task_id(1), one, keep=3))
        store.write(lambda tx, one=attempt: tx.put_attempt(task_id(1), one, keep=3))
    with store.read() as view:
        assert [one.text for one in view.task_progress(task_id(1))] == ["p3", "p4", "p5"]
        assert [one.session for one in view.task_sessions(task_id(1))] == ["s3", "s4", "s5"]
        assert [one.token for one in view.task_attempts(task_id(1))] == ["t3", "t4", "t5"]
        found = view.task_of_session(Clean("s4"), ADA)
        assert found is not None
        assert found.id == task_id(1)
        assert view.task_of_session(Clean("s1"), ADA) is None


def test_a_session_belongs_to_the_task_that_it_worked_on_last(store: MemoryStore) -> None:
    put(store, a_task(1), a_task(2))
    for number, at in ((1, 5), (2, 9)):
        session = TaskSession(number=1, session=Clean("s"), agent=ADA, attempt=1, at=instant(at))
        store.write(lambda tx, number=number, one=session: tx.put_task_session(task_id(number), one))
    with store.read() as view:
        found = view.task_of_session(Clean("s"), ADA)
        assert view.task_of_session(Clean("s"), BOB) is None
    assert found is not None
    assert found.id == task_id(2)


def test_the_changes_of_a_batch_are_dropped_with_it(store: MemoryStore) -> None:
    put(store, a_task(1), a_task(2))
    batch = a_batch()
    changes = [
        TaskChange(task_id(number), TaskState.PAUSED, 3, (Clean("t"),), (task_id(2),), after=number)
        for number in (2, 1)
    ]
    store.write(lambda tx: (tx.put_batch(batch), tx.put_task_changes(batch.id, changes)))
    with store.read() as view:
        assert view.task_changes(batch.id) == changes[::-1]
    store.write(lambda tx: tx.drop_task(task_id(2)))
    with store.read() as view:
        assert view.task_changes(batch.id) == changes[1:]
    store.write(lambda tx: tx.drop_batch(batch.id))
    with store.read() as view:
        assert view.task_changes(batch.id) == []


def a_cost(task: int, attempt: int, day: int, agent: AgentId, money: int, session: str = "s") -> TaskCost:
    usage = UsageTotal(input_tokens=money, output_tokens=1, cost_micros=money)
    when = date(2026, 3, day)
    return TaskCost(task=task_id(task), attempt=attempt, session=Clean(session), day=when, agent=agent, usage=usage)


def test_costs_are_summed_by_task_agent_and_day(store: MemoryStore) -> None:
    put(store, a_task(1), a_task(2))
    costs = [a_cost(1, 1, 1, ADA, 10), a_cost(1, 2, 2, BOB, 20), a_cost(2, 1, 2, ADA, 100), a_cost(2, 1, 3, ADA, 1)]
    for one in (a_cost(1, 1, 1, ADA, 5), *costs):
        store.write(lambda tx, one=one: tx.put_task_cost(one))
    first, last = date(2026, 3, 1), date(2026, 3, 2)
    with store.read() as view:
        assert view.task_costs(task_id(1)) == costs[:2]
        assert view.task_costs(task_id(1), costs[0].agent) == [one for one in costs[:2] if one.agent == costs[0].agent]
        assert view.task_costs(task_id(1), LEA) == []
        both = [task_id(2), task_id(1), task_id(3)]
        for agent, expected in ((None, [(1, 30), (2, 101)]), (ADA, [(1, 10), (2, 101)]), (LEA, [])):
            found = [(one.key, one.usage.cost_micros) for one in view.usage_of_tasks(both, agent)]
            assert found == [(task_id(number), money) for number, money in expected]
        assert view.usage_of_tasks([], None) == []

        def groups(group: CostGroup, agent: AgentId | None = None, limit: int = 9) -> list[tuple[str, int]]:
            rows = view.cost_groups(group, first, last, agent, limit)
            return [(one.key, one.usage.cost_micros) for one in rows]

        assert groups(CostGroup.DAY) == [("2026-03-02", 120), ("2026-03-01", 10)]
        assert groups(CostGroup.AGENT) == [(ADA, 110), (BOB, 20)]
        assert groups(CostGroup.TASK, ADA) == [(task_id(2), 100), (task_id(1), 10)]
        assert groups(CostGroup.TASK, limit=1) == [(task_id(2), 100)]
        assert view.total_cost(first, last, None) == UsageTotal(input_tokens=130, output_tokens=3, cost_micros=130)
        assert view.used_on(date(2026, 3, 3)).cost_micros == 1
        assert view.used_on(date(2026, 3, 9)) == UsageTotal()


def test_old_finished_tasks_are_pruned_unless_others_need_them(store: MemoryStore) -> None:
    done = {"state": TaskState.COMPLETED}
    put(
        store,
        a_task(1, finished_at=instant(3), **done),
        a_task(2, finished_at=instant(2), **done),
        a_task(3, finished_at=instant(1), **done),
        a_task(4, finished_at=instant(9), **done),
        a_task(5, depends_on=(task_id(3),), state=TaskState.FAILED, finished_at=instant(9)),
    )
    store.write(lambda tx: tx.put_task_cost(a_cost(2, 1, 1, ADA, 10)))
    assert store.write(lambda tx: tx.prune_tasks(instant(5), 1)) == 1
    assert listed(store) == [task_id(number) for number in (5, 4, 3, 1)]
    assert store.write(lambda tx: tx.prune_tasks(instant(5), 9)) == 1
    assert listed(store) == [task_id(number) for number in (5, 4, 3)]
    with store.read() as view:
        assert view.task_costs(task_id(2)) == []
        assert view.counts().tasks == 3
