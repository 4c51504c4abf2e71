"""The beginning of an id stands for it at every interface, and never confirms an id that the caller may not see."""

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from hivelore.core.agents import LeadSees, Role
from hivelore.core.ids import proposal_id
from hivelore.core.operation import Call
from hivelore.core.values import replace
from hivelore.errors import Forbidden, HiveloreError, Invalid, NotFound, Proposed
from hivelore.memories.model import MemoryId
from hivelore.memories.operations import INJECT_LEARNING, InjectLearning
from hivelore.python.client import Client
from hivelore.python.hive import EmbeddedHive, Hive
from hivelore.python.remote import RemoteHive
from hivelore.review.model import ProposalKind
from support.proposals import a_proposal
from support.service import Service
from support.world import AS_OPERATOR

SHORT = 18
"""Characters that only one id begins with: the time and some of the random part."""
TIME = 8
"""Characters that ids made within a minute have in common."""


@pytest.fixture
def operator(service: Service) -> Client:
    return service.client(service.operator_key)


@pytest.fixture(params=["embedded", "service"])
def hive(request: pytest.FixtureRequest, service: Service, operator: Client) -> Hive:
    return EmbeddedHive(service.app, AS_OPERATOR) if request.param == "embedded" else RemoteHive(operator)


def proposed(service: Service, hive: Hive, name: str) -> str:
    """Returns the proposal of a new agent to change an operational memory."""
    memory = hive.observe(f"The {name} takes 60s to start", "timing").memory.id
    with pytest.raises(Proposed) as caught:
        service.client(service.add(name)).call("PATCH", f"/api/memory/{memory}", body={"content": f"{name}: 90s"})
    return caught.value.proposal


def put_proposal(service: Service, memory: str) -> str:
    """Stores a proposal to change a memory, and returns its id."""
    with service.app.store.read() as view:
        stored = view.get(MemoryId(memory))
    assert stored is not None
    proposal = a_proposal(stored.memory, kind=ProposalKind.OPERATIONAL, actor=stored.memory.owner)
    proposal = replace(proposal, id=proposal_id(datetime.now(UTC)))
    service.app.store.write(lambda tx: tx.put_proposal(proposal))
    return proposal.id


def error_of(ask: Callable[[str], Any], prefix: str) -> tuple[type[HiveloreError], str]:
    with pytest.raises(HiveloreError) as caught:
        ask(prefix)
    return type(caught.value), str(caught.value)


def test_a_batch_and_its_undo(hive: Hive) -> None:
    memory = hive.remember(f"The heron of {type(hive).__name__} sleeps.", scope="swarm")
    hive.edit(memory.id, content="The heron flies.")
    batch = hive.batches(memory=memory.id).batches[0].id
    assert hive.batch(batch[:SHORT].upper()).batch.id == batch
    undone = hive.undo(batch[:SHORT])
    assert (undone.batch.id, undone.memories) == (batch, (memory.id,))
    hive.edit(memory.id, content="The heron stands.")
    assert hive.undo(memory.id[:SHORT]).memories == (memory.id,)
    hive.drop_batch(batch[:SHORT])
    with pytest.raises(NotFound):
        hive.batch(batch)


def test_a_purged_memory_is_restored(service: Service, hive: Hive, operator: Client) -> None:
    owner = f"owner of {type(hive).__name__}"
    service.add(owner)
    memory = service.remember_expired(owner, f"The avocet slept at the {owner}.")
    operator.call("POST", "/api/maintenance", body={"purgeExpired": True, "apply": True, "yesDelete": 1})
    with pytest.raises(NotFound):
        hive.get(memory)
    assert hive.batches(memory=memory[:SHORT]).batches != ()
    assert hive.undo(memory[:SHORT]).memories == (memory,)
    hive.forget(memory)


def test_a_purged_memory_is_forgotten(service: Service, hive: Hive, operator: Client) -> None:
    owner = f"keeper of {type(hive).__name__}"
    keeper, other = (service.client(service.add(name)) for name in (owner, f"other {owner}"))
    memory = service.remember_expired(owner, f"The curlew slept at the {owner}.")
    operator.call("POST", "/api/maintenance", body={"purgeExpired": True, "apply": True, "yesDelete": 1})

    def forget_as_other(one: str) -> None:
        other.call("DELETE", f"/api/memory/{one}")

    unknown = "01a00000-0000-7000"
    kind, text = error_of(forget_as_other, unknown)
    assert error_of(forget_as_other, memory[:SHORT]) == (kind, text.replace(unknown, memory[:SHORT]))
    hive.forget(memory[:SHORT])
    with pytest.raises(NotFound):
        hive.undo(memory)
    with pytest.raises(NotFound):
        keeper.call("DELETE", f"/api/memory/{memory}")


def test_a_proposal(service: Service, hive: Hive) -> None:
    proposal = proposed(service, hive, f"stork of {type(hive).__name__}")
    assert hive.proposal(proposal[:SHORT]).proposal.id == proposal
    assert hive.decide(proposal[:SHORT], "reject").id == proposal


def test_an_agent(service: Service, operator: Client) -> None:
    service.add("grebe")
    whole = next(one["id"] for one in operator.call("GET", "/api/agents")["agents"] if one["name"] == "grebe")
    as_grebe = service.client(service.operator_key, whole[:SHORT].upper())
    assert as_grebe.call("GET", "/api/me")["agentId"] == whole
    as_grebe.call("POST", "/api/memory/batch", body={"memories": [{"content": "The grebe dives."}]})
    (found,) = operator.call("GET", "/api/memory", query={"agentId": whole[:SHORT]})["memories"]
    assert found["content"] == "The grebe dives."
    draft = {"content": "The grebe swims.", "agentId": whole[:SHORT]}
    (stored,) = operator.call("POST", "/api/memory/batch", body={"memories": [draft]})["results"]
    assert stored["memory"]["agentId"] == whole
    assert operator.call("DELETE", f"/api/agents/{whole[:SHORT]}") == {"revoked": 1}
    with pytest.raises(NotFound):
        operator.call("DELETE", f"/api/agents/{whole[:7]}")


def test_the_agent_of_a_key(service: Service) -> None:
    keys = [service.add(name) for name in ("dabchick", "dotterel")]
    ids = [service.client(key).call("GET", "/api/me")["agentId"] for key in keys]
    for given in (ids[0][:SHORT], ids[0].upper()):
        assert service.client(keys[0], given).call("GET", "/api/me")["agentId"] == ids[0]
    with pytest.raises(Forbidden):
        service.client(keys[0], ids[1][:SHORT]).call("GET", "/api/me")


def test_the_agent_that_a_learning_is_for(service: Service) -> None:
    learner = service.client(service.add("learner")).call("GET", "/api/me")["agentId"]
    request = InjectLearning(agent=learner[:SHORT], learning="Run the linter.", category="best-practice")
    assert INJECT_LEARNING.run(service.app, request, Call(viewer=AS_OPERATOR)).owner == learner


def test_an_event(hive: Hive) -> None:
    event = hive.record_event("The backup is late.")
    hive.forget_event(event.id[:SHORT])
    assert event.id not in {one.id for one in hive.events().events}


def test_a_superseded_memory(hive: Hive) -> None:
    kind = type(hive).__name__
    older, old = (hive.remember(f"The gate of {kind} is {state}.", scope="swarm") for state in ("new", "open"))
    new = hive.remember(f"The gate of {kind} is closed.", scope="swarm", supersedes=old.id[:SHORT].upper())
    assert new.supersedes == old.id
    assert hive.edit(new.id, supersedes=older.id[:SHORT]).supersedes == older.id


def test_whole_ids_are_read_like_their_beginnings(service: Service, hive: Hive, operator: Client) -> None:
    def written(one: str) -> str:
        return f" {one.upper()} "

    kind = type(hive).__name__
    service.add(f"smew of {kind}")
    agent = next(one.id for one in hive.agents() if one.name == f"smew of {kind}")
    as_agent = service.client(service.operator_key, written(agent).strip())
    assert as_agent.call("GET", "/api/me")["agentId"] == agent
    assert hive.list(agent=written(agent)).memories == ()
    memory = hive.remember(f"The smew of {kind} dives.", scope="swarm")
    hive.edit(memory.id, content=f"The smew of {kind} swims.")
    assert hive.get(written(memory.id)).id == memory.id
    batch = hive.batches(memory=written(memory.id)).batches[0].id
    assert hive.batch(written(batch)).batch.id == batch
    proposal = proposed(service, hive, f"gadwall of {kind}")
    assert hive.proposal(written(proposal)).proposal.id == proposal
    hive.forget_event(written(hive.record_event(f"The smew of {kind} is late.").id))


def test_an_external_id_is_preferred_to_the_beginning_of_an_id(operator: Client, hive: Hive) -> None:
    kind = type(hive).__name__
    first = hive.remember(f"The weir of {kind} is high.", scope="swarm")
    draft = {"content": f"The weir of {kind} is low.", "scope": "swarm", "externalId": first.id[:SHORT]}
    named = operator.call("POST", "/api/memory/batch", body={"memories": [draft]})["results"][0]["memory"]
    new = hive.remember(f"The weir of {kind} is gone.", scope="swarm", supersedes=first.id[:SHORT])
    assert new.supersedes == named["id"]


def test_an_ambiguous_beginning_lists_the_ids_and_changes_nothing(hive: Hive) -> None:
    ids: list[str] = []
    while len(ids) < 2 or ids[-1][:TIME] != ids[-2][:TIME]:  # A minute later the beginning is another one.
        memory = hive.remember(f"The tern returns {len(ids)} of {type(hive).__name__}.", scope="swarm")
        hive.edit(memory.id, content=f"The tern leaves {len(ids)} of {type(hive).__name__}.")
        ids.append(memory.id)
    prefix = ids[-1][:TIME]
    asks: list[Callable[[str], Any]] = [
        hive.undo,
        hive.batch,
        hive.drop_batch,
        lambda one: hive.remember("The tern is back.", scope="swarm", supersedes=one),
    ]
    for ask in asks:
        kind, message = error_of(ask, prefix)
        assert (kind, message.startswith(f"Several ids begin with '{prefix}': {prefix}")) == (Invalid, True), message
    assert hive.get(ids[-1]).content.startswith("The tern leaves")


def test_what_a_caller_may_not_see_is_neither_confirmed_nor_counted(tmp_path: Path) -> None:
    with Service(tmp_path, lead_sees=LeadSees.SHARED) as service:
        operator = service.client(service.operator_key)
        ada, eve = (service.client(service.add(name, Role.LEAD)) for name in ("ada", "eve"))
        draft = {"content": "The tin is blue."}
        stored = ada.call("POST", "/api/memory/batch", body={"memories": [draft]})["results"][0]["memory"]["id"]
        ada.call("PATCH", f"/api/memory/{stored}", body={"content": "The tin is red."})
        batch = operator.call("GET", "/api/batches", query={"memory": stored})["batches"][0]["id"]
        proposal = put_proposal(service, stored)
        asks: list[Callable[[str], Any]] = [
            lambda one: eve.call("GET", f"/api/memory/{one}"),
            lambda one: eve.call("POST", "/api/undo", body={"id": one}),
            lambda one: eve.call("GET", f"/api/batches/{one}"),
            lambda one: eve.call("POST", "/api/memory/batch", body={"memories": [{**draft, "supersedes": one}]}),
            lambda one: eve.call("GET", f"/api/review/{one}"),
        ]
        assert ada.call("GET", f"/api/review/{proposal[:SHORT]}")["proposal"]["id"] == proposal
        unknown = "01a00000-0000-7000"
        for ask, prefix in product(asks, (stored[:SHORT], batch[:SHORT], proposal[:SHORT], stored[:TIME])):
            hidden, missing = error_of(ask, prefix), error_of(ask, unknown)
            assert hidden == (missing[0], missing[1].replace(unknown, prefix))
