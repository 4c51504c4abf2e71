"""The review inbox over HTTP."""

from typing import Any

import pytest

from hivelore.core.agents import Role
from hivelore.errors import Conflict, Forbidden, HiveloreError, Invalid, NotFound, Proposed, Stale
from hivelore.python.client import Client
from support.service import Service


@pytest.fixture
def operator(service: Service) -> Client:
    return service.client(service.operator_key)


def known(operator: Client, observation: str) -> str:
    body = {"observation": observation, "category": "timing", "service": "jellyfin"}
    return operator.call("POST", "/memories", body=body)["memory"]["id"]


def asked(client: Client, method: str, path: str, **body: Any) -> str:
    """Returns the proposal that results from an edit by an agent."""
    with pytest.raises(Proposed, match="was proposed") as caught:
        client.call(method, path, body=body or None)
    return caught.value.proposal


def agent(service: Service, name: str, role: Role = Role.WORKER) -> Client:
    return service.client(service.add(name, role))


def test_an_operator_decides_a_proposal_and_its_worker_sees_it(service: Service, operator: Client) -> None:
    memory, worker = known(operator, "The heron takes 60s to start"), agent(service, "wendy")
    proposal = asked(worker, "PATCH", f"/api/memory/{memory}", content="The heron takes 90s", reason="timed it")
    (waiting,) = worker.call("GET", "/api/review")["proposals"]
    assert (waiting["id"], waiting["kind"], waiting["why"]) == (proposal, "operational", "timed it")
    assert waiting["wanted"] == {"edit": {"content": "The heron takes 90s"}}
    assert waiting["decided"] is None
    with pytest.raises(Forbidden, match="Only operators and leads"):
        worker.call("POST", f"/api/review/{proposal}/accept")
    case = operator.call("GET", f"/api/review/{proposal}")
    assert [one["content"] for one in case["memories"]] == ["The heron takes 60s to start"]
    decided = operator.call("POST", f"/api/review/{proposal}/accept", body={"reason": "right"})
    assert (decided["decided"]["how"], decided["decided"]["reason"]) == ("accepted", "right")
    assert worker.call("GET", f"/api/memory/{memory}")["content"] == "The heron takes 90s"
    assert worker.call("GET", "/api/review")["proposals"] == []
    assert worker.call("GET", "/api/review", query={"status": "decided"})["proposals"] == [decided]


def test_every_change_of_operational_memories_by_an_agent_is_a_proposal(service: Service, operator: Client) -> None:
    memory, worker = known(operator, "The stork takes 60s to start"), agent(service, "will")
    proposals = [
        asked(worker, "PATCH", f"/api/memory/{memory}", scope="agent"),
        asked(worker, "PUT", f"/memories/{memory}", active=False, service=None),
        asked(worker, "DELETE", f"/memories/{memory}"),
    ]
    assert asked(worker, "DELETE", f"/api/memory/{memory}") == proposals[2]
    page = worker.call("GET", "/api/review")
    assert [one["wanted"] for one in page["proposals"]] == [
        {"edit": {"scope": "agent"}},
        {"change": {"active": False, "service": None}},
        {"forget": True},
    ]
    assert page["names"] == {memory: "The stork takes 60s to start"}
    assert page["groups"] == {one: {"memory": memory, "others": 2} for one in proposals}
    operator.call("POST", f"/api/review/{proposals[1]}/accept")
    assert operator.call("GET", f"/memories/{memory}")["active"] is False


def test_an_accepted_deletion_removes_the_proposal(service: Service, operator: Client) -> None:
    memory, worker = known(operator, "The egret takes 60s to start"), agent(service, "wanda")
    proposal = asked(worker, "DELETE", f"/memories/{memory}")
    assert operator.call("POST", f"/api/review/{proposal}/accept")["decided"]["how"] == "accepted"
    for path in (f"/api/memory/{memory}", f"/api/review/{proposal}"):
        with pytest.raises(NotFound):
            worker.call("GET", path)


def test_a_second_or_late_decision_explains_what_to_do(service: Service, operator: Client) -> None:
    memory, worker = known(operator, "The ibis takes 60s to start"), agent(service, "walt")
    first, second = (asked(worker, "PATCH", f"/api/memory/{memory}", content=text) for text in ("The ibis", "An ibis"))
    operator.call("POST", f"/api/review/{first}/accept")
    with pytest.raises(Conflict, match="accepted at"):
        operator.call("POST", f"/api/review/{first}/reject")
    with pytest.raises(Stale, match="Reject") as caught:
        operator.call("POST", f"/api/review/{second}/accept")
    assert caught.value.current == 2
    with pytest.raises(Invalid, match="cannot be merged"):
        operator.call("POST", f"/api/review/{second}/merge")
    operator.call("POST", f"/api/review/{second}/reject")


@pytest.mark.parametrize("order", ["harm", "newest", None])
def test_pages_have_a_cursor_for_the_next(service: Service, operator: Client, order: str | None) -> None:
    memory, worker = known(operator, f"The crane takes 60s to start {order}"), agent(service, f"wilma-{order}")
    proposals = [asked(worker, "PATCH", f"/api/memory/{memory}", content=f"Crane {number}") for number in range(5)]
    found: list[str] = []
    after = None
    while True:
        query = {"limit": 2, "after": after, "kind": "operational", "order": order}
        page = worker.call("GET", "/api/review", query=query)
        found += [one["id"] for one in page["proposals"]]
        assert set(page["groups"]) == (set[str]() if order == "newest" else {one["id"] for one in page["proposals"]})
        if (after := page["next"]) is None:
            break
    assert found == (proposals[::-1] if order == "newest" else proposals)


def test_a_proposal_about_a_recalled_memory_is_listed_first(service: Service, operator: Client) -> None:
    worker = agent(service, "wolf")
    memories = [known(operator, f"The {bird} takes 60s to start") for bird in ("dunlin", "curlew")]
    proposals = [asked(worker, "PATCH", f"/api/memory/{memory}", content="It sleeps") for memory in memories]
    assert [one["id"] for one in worker.call("GET", "/api/review")["proposals"]] == proposals
    worker.call("POST", "/api/memory/search", body={"query": "curlew start", "limit": 1})
    service.app.write_buffer.flush()
    assert [one["id"] for one in worker.call("GET", "/api/review")["proposals"]] == proposals[::-1]
    newest = worker.call("GET", "/api/review", query={"status": "all"})
    assert ([one["id"] for one in newest["proposals"]], newest["groups"]) == (proposals[::-1], {})


def test_the_cursor_of_one_order_is_refused_by_the_other(service: Service, operator: Client) -> None:
    memory, worker = known(operator, "The knot takes 60s to start"), agent(service, "wim")
    for number in range(2):
        asked(worker, "PATCH", f"/api/memory/{memory}", content=f"Knot {number}")
    for order, other in (("harm", "newest"), ("newest", "harm")):
        after = worker.call("GET", "/api/review", query={"limit": 1, "order": order})["next"]
        with pytest.raises(Invalid, match="Start again"):
            worker.call("GET", "/api/review", query={"after": after, "order": other})


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/api/review?limit=0", None),
        ("GET", "/api/review?limit=101", None),
        ("GET", "/api/review?status=new", None),
        ("GET", "/api/review?kind=quarrel", None),
        ("GET", "/api/review?after=yesterday", None),
        ("GET", "/api/review?after=yesterday&order=newest", None),
        ("GET", "/api/review?order=oldest", None),
        ("GET", "/api/review?order=harm&status=all", None),
        ("GET", "/api/review?order=harm&status=decided", None),
        ("GET", "/api/review?agent=x", None),
        ("GET", "/api/review/nothing", None),
        ("GET", "/api/review/%00", None),
        ("GET", f"/api/review/{'x' * 5_000}", None),
        ("POST", "/api/review/nothing/accept", None),
        ("POST", "/api/review/nothing/agree", None),
        ("POST", "/api/review/nothing/accept", {"reason": 7}),
        ("POST", "/api/review/nothing/accept", {"because": "x"}),
        ("POST", "/api/review/nothing/accept", {"reason": "x" * 20_000}),
    ],
)
def test_bad_input_is_a_clear_error(operator: Client, method: str, path: str, body: dict[str, Any] | None) -> None:
    with pytest.raises(HiveloreError) as caught:
        operator.call(method, path, body=body)
    assert isinstance(caught.value, Invalid | NotFound)
    assert str(caught.value).endswith(".")
