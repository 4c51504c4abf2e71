"""Decisions about tasks: authority, cycles, costs and texts."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.agents import Agent, AgentId, Interface, Role, Viewer
from hivelore.core.text import Clean
from hivelore.core.values import replace
from hivelore.errors import Conflict, TooLarge
from hivelore.memories.model import Scope, Source
from hivelore.memories.task_completion import OPEN_TASK
from hivelore.tasks.authority import (
    holds,
    may_assign,
    may_manage,
    may_see,
    queue_of,
    queues_for,
    task_visibility,
)
from hivelore.tasks.costs import DailyLimit, reported, rest, share_of_day, total
from hivelore.tasks.dependencies import check_acyclic
from hivelore.tasks.model import COUNTERS, Lease, Task, TaskCost, TaskId, TaskState, Usage, UsageTotal
from hivelore.tasks.task_text import cut, is_trivial, preamble, reminder, task_draft

NOW = datetime(2026, 3, 1, tzinfo=UTC)
ADA, BOB, LEA = AgentId("ada"), AgentId("bob"), AgentId("lea")


def a_viewer(agent: AgentId | None, role: Role = Role.WORKER) -> Viewer:
    return Viewer(role=role, agent=agent, interface=Interface.REST)


AS_ADA, AS_BOB, AS_LEA = a_viewer(ADA), a_viewer(BOB), a_viewer(LEA, Role.LEAD)
AS_OPERATOR = a_viewer(None, Role.OPERATOR)
VIEWERS = (AS_ADA, AS_BOB, AS_LEA, AS_OPERATOR)


def a_task(text: str = "Renew the certificate of the proxy", **fields: object) -> Task:
    known: dict[str, object] = {
        "id": TaskId("t"),
        "text": Clean(text),
        "state": TaskState.OPEN,
        "created_at": NOW,
        "updated_at": NOW,
        "creator": LEA,
        "creator_role": Role.LEAD,
    }
    return Task(**(known | fields))  # type: ignore[arg-type]


agents = st.sampled_from([ADA, BOB, LEA, None])
viewers = st.sampled_from(VIEWERS)


@given(viewer=viewers, creator=agents, assignee=agents)
def test_a_worker_sees_what_it_sent_what_is_its_own_and_the_pool(
    viewer: Viewer, creator: AgentId | None, assignee: AgentId | None
) -> None:
    task = a_task(creator=creator, assignee=assignee)
    seen = may_see(task_visibility(viewer), task)
    if viewer.role is Role.WORKER:
        assert seen == (assignee is None or viewer.agent in (creator, assignee))
    else:
        assert seen


@given(viewer=viewers, creator=agents, role=st.sampled_from(Role), assignee=agents)
def test_an_agent_claims_only_its_own_tasks_and_the_pool_if_their_senders_have_no_fewer_rights(
    viewer: Viewer, creator: AgentId | None, role: Role, assignee: AgentId | None
) -> None:
    if viewer.agent is None:
        return
    may_claim = queue_of(assignee, role) in queues_for(viewer.role, viewer.agent)
    has_rights = viewer.role is Role.WORKER or role is not Role.WORKER
    assert may_claim == (assignee in (None, viewer.agent) and has_rights)


def test_a_worker_assigns_no_task_to_a_lead_and_manages_only_what_it_sent() -> None:
    lea = Agent(id=LEA, name="lea", role=Role.LEAD, created_at=NOW)
    bob = Agent(id=BOB, name="bob", role=Role.WORKER, created_at=NOW)
    assert [may_assign(AS_ADA, one) for one in (lea, bob)] == [False, True]
    assert all(may_assign(AS_LEA, one) for one in (lea, bob))
    assert [may_manage(one, a_task(creator=ADA)) for one in VIEWERS] == [True, False, True, True]


@given(token=st.sampled_from([None, "one", "two"]), viewer=viewers)
def test_a_lease_is_held_by_its_agent_and_token(token: str | None, viewer: Viewer) -> None:
    lease = Lease(token="one", agent=ADA, runner=None, until=NOW)
    assert holds(viewer, lease, token) == (viewer is AS_ADA and token in (None, "one"))
    assert not holds(viewer, None, token)


@given(edges=st.dictionaries(st.integers(0, 8), st.lists(st.integers(0, 8), max_size=4), max_size=9))
def test_a_cycle_is_found_exactly_if_the_task_reaches_itself(edges: dict[int, list[int]]) -> None:
    def read(task: TaskId) -> list[TaskId]:
        return [TaskId(str(one)) for one in edges.get(int(task), ())]

    reached, left = set[int](), list(edges.get(0, ()))
    while left:
        one = left.pop()
        if one not in reached:
            reached.add(one)
            left += edges.get(one, ()) if one else ()
    if 0 in reached:
        with pytest.raises(Conflict):
            check_acyclic(TaskId("0"), read(TaskId("0")), read)
    else:
        check_acyclic(TaskId("0"), read(TaskId("0")), read)


def test_too_many_dependencies_are_refused() -> None:
    with pytest.raises(TooLarge):
        check_acyclic(TaskId("t"), [TaskId("0")], lambda task: [TaskId(str(int(task) + 1))], most=100)


# costs

DAYS = [date(2026, 3, day) for day in (1, 2, 3)]
totals = st.builds(UsageTotal, **{name: st.integers(0, 1000) for name in COUNTERS})


def _store(reports: list[tuple[UsageTotal, int]]) -> dict[date, TaskCost]:
    rows: dict[date, TaskCost] = {}
    for report, day in reports:
        usage = share_of_day(report, rows.values(), DAYS[day])
        rows[DAYS[day]] = TaskCost(
            task=TaskId("t"), attempt=1, session=Clean("s"), day=DAYS[day], agent=ADA, usage=usage
        )
    return rows


@given(reports=st.lists(st.tuples(totals, st.integers(0, 2)), min_size=1, max_size=8), data=st.data())
def test_the_stored_costs_are_the_largest_report_in_any_order_and_with_repetitions(
    reports: list[tuple[UsageTotal, int]], data: st.DataObject
) -> None:
    rows = _store(reports)
    assert total(one.usage for one in rows.values()) == UsageTotal(
        **{name: max(getattr(report, name) for report, _ in reports) for name in COUNTERS}
    )
    again = data.draw(st.sampled_from(reports))
    assert _store([*reports, again]) == rows or again[1] not in [day for _, day in reports]
    assert total(one.usage for one in _store([*reports, again]).values()) == total(one.usage for one in rows.values())


@given(totals, st.lists(totals))
def test_what_is_left_of_a_total_is_never_negative(part: UsageTotal, parts: list[UsageTotal]) -> None:
    assert rest(total([part, *parts]), parts) == part
    assert rest(part, [part, *parts]) == UsageTotal()


def test_money_is_stored_in_millionths() -> None:
    assert reported(Usage(cost_usd=0.1234567)).cost_micros == 123_457


@pytest.mark.parametrize(
    ("limit", "used", "is_over"),
    [
        (DailyLimit(), UsageTotal(input_tokens=10**9, cost_micros=10**12), False),
        (DailyLimit(tokens=10), UsageTotal(input_tokens=4, cache_read_tokens=5), False),
        (DailyLimit(tokens=10), UsageTotal(input_tokens=4, cache_read_tokens=6), True),
        (DailyLimit(tokens=10, percent=50), UsageTotal(input_tokens=4), False),
        (DailyLimit(tokens=10, percent=50), UsageTotal(input_tokens=5), True),
        (DailyLimit(cost_micros=2_000_000), UsageTotal(cost_micros=1_999_999), False),
        (DailyLimit(cost_micros=2_000_000), UsageTotal(cost_micros=2_000_000), True),
    ],
)
def test_a_daily_limit_is_used_up(limit: DailyLimit, used: UsageTotal, is_over: bool) -> None:
    refusal = limit.refusal({ADA: used}, ADA)
    assert (refusal is not None) == is_over
    assert refusal is None or "HIVELORE_TASK_DAILY" in refusal


@given(tokens=st.integers(0, 10**12), others=st.lists(st.integers(0, 10), max_size=4))
def test_one_agent_cannot_use_up_the_daily_limit_of_others(tokens: int, others: list[int]) -> None:
    limit = DailyLimit(tokens=100, percent=50)
    used = {ADA: UsageTotal(input_tokens=tokens)} | {
        AgentId(f"agent {number}"): UsageTotal(output_tokens=one) for number, one in enumerate(others)
    }
    assert limit.refusal(used, AgentId("agent 0")) is None
    assert (limit.refusal(used, ADA) is None) == (tokens < 50)


# texts


def test_the_memory_of_a_task_has_its_texts_and_the_visibility_of_the_task() -> None:
    done = a_task(state=TaskState.COMPLETED, output=Clean("Renewed until June."), progress=Clean("Asked the CA."))
    draft = task_draft(done, NOW)
    assert draft.content == (
        "Completed task: Renew the certificate of the proxy\n\nOutput:\n\nRenewed until June.\n\n"
        "Progress:\n\nAsked the CA."
    )
    assert (draft.source, draft.scope, draft.owner, draft.source_task_id) == (
        Source.TASK_COMPLETION,
        Scope.SWARM,
        None,
        "t",
    )
    failed = task_draft(replace(done, state=TaskState.FAILED, failure=Clean("No access"), assignee=ADA), NOW)
    assert (failed.scope, failed.owner) == (Scope.AGENT, ADA)
    assert "What went wrong:\n\nNo access" in failed.content
    unfinished = task_draft(a_task(), NOW)
    assert unfinished.category == OPEN_TASK


def test_a_trivial_task_leaves_no_memory() -> None:
    done = a_task("Say hi", state=TaskState.COMPLETED, output=Clean("Hi."))
    assert is_trivial(done)
    assert not is_trivial(replace(done, output=Clean("Hi to all who came to the party.")))


@given(text=st.text(), most=st.integers(20, 200))
def test_a_text_is_cut_to_bytes(text: str, most: int) -> None:
    shown = cut(text, most)
    assert shown == text or len(shown.encode()) <= most


def test_a_child_gets_the_progress_of_its_parent() -> None:
    parent = a_task("Set up the server", progress=Clean("Installed nginx."), state=TaskState.PAUSED)
    child = a_task(parent=parent.id, failure=Clean("Disk full"))
    text = preamble(child, parent)
    assert "Set up the server" in text
    assert "Installed nginx." in text
    assert "Disk full" in text
    assert preamble(a_task()) == ""
    assert len(preamble(replace(child, progress=Clean("ü" * 8_000)), replace(parent, text=Clean("x" * 60_000)))) < 8_100


def test_a_reminder_has_id_text_and_last_progress() -> None:
    text = reminder(a_task(progress=Clean("Half done.")))
    assert text == "t: Renew the certificate of the proxy\nLast progress: Half done."
