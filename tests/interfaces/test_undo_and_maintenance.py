"""Undo and maintenance over HTTP and by each kind of hive."""

from datetime import UTC, datetime
from typing import Any

import pytest

from hivelore.core.agents import Role
from hivelore.errors import Conflict, Forbidden, HiveloreError, Invalid, NotFound
from hivelore.python.client import Client
from hivelore.python.hive import EmbeddedHive
from hivelore.python.remote import RemoteHive
from hivelore.transfer.jsonl import fingerprint
from support.service import Service
from support.waiting import until
from support.world import AS_OPERATOR

PAST = datetime(2020, 1, 1, tzinfo=UTC)
NOBODY = "00000000-0000-7000-8000-000000000000"
HOSTILE = [
    "",
    " ",
    "nonsense",
    NOBODY,
    "../../etc",
    "'; DROP TABLE batch; --",
    "\u0000",
    "\ud83d\ude00" * 9,
    "ä" * 5_000,
]


@pytest.fixture
def operator(service: Service) -> Client:
    return service.client(service.operator_key)


@pytest.fixture
def hive(operator: Client) -> RemoteHive:
    return RemoteHive(operator)


def remembered(client: Client, content: str, **more: Any) -> str:
    body = {"content": content, "name": content[:40], "scope": "swarm", "source": "manual", **more}
    return client.call("POST", "/api/memory/index", body=body)["memoryIds"][0]


def last(client: Client, memory: str) -> dict[str, Any]:
    return client.call("GET", "/api/batches", query={"memory": memory, "limit": 1})["batches"][0]


def test_an_edit_is_undone_and_the_undo_too(operator: Client, hive: RemoteHive) -> None:
    memory = remembered(operator, "The heron sleeps at noon.")
    before = fingerprint(hive)
    operator.call("PATCH", f"/api/memory/{memory}", body={"content": "The heron flies.", "reason": "saw it"})
    batch = last(operator, memory)
    assert (batch["kind"], batch["changes"], batch["reason"], batch["undoneAt"]) == ("edited", 1, "saw it", None)
    after = fingerprint(hive)
    done = operator.call("POST", "/api/undo", body={"id": batch["id"], "reason": "it did not"})
    assert fingerprint(hive) == before
    assert (done["batch"]["id"], done["memories"]) == (batch["id"], [memory])
    case = operator.call("GET", f"/api/batches/{batch['id'].upper()}")
    assert case["batch"]["undoneAt"] is not None
    assert [one["id"] for one in case["memories"]] == [memory]
    with pytest.raises(Conflict, match="already"):
        operator.call("POST", "/api/undo", body={"id": batch["id"]})
    operator.call("POST", "/api/undo", body={"id": done["by"]})
    assert fingerprint(hive) == after


def test_a_purge_is_previewed_refused_applied_and_undone(operator: Client, hive: RemoteHive) -> None:
    gone = [
        remembered(operator, f"The stork number {number} expires.", expiresAt="2020-01-01T00:00:00Z")
        for number in range(3)
    ]
    before = fingerprint(hive)
    body: dict[str, Any] = {"purgeExpired": True}
    plan = operator.call("POST", "/api/maintenance", body=body)
    assert (plan["applied"], plan["batch"], plan["purged"]) == (False, None, 0)
    assert {one["id"] for one in plan["examples"]} >= set(gone)
    with pytest.raises(Conflict, match="Nothing was done"):
        operator.call("POST", "/api/maintenance", body={**body, "apply": True, "yesDelete": plan["expired"] + 1})
    assert fingerprint(hive) == before
    done = operator.call("POST", "/api/maintenance", body={**body, "apply": True, "yesDelete": plan["expired"]})
    assert done["purged"] == plan["expired"]
    for memory in gone:
        with pytest.raises(NotFound):
            operator.call("GET", f"/api/memory/{memory}")
    operator.call("POST", "/api/undo", body={"id": done["batch"]})
    assert fingerprint(hive) == before
    for memory in gone:
        operator.call("DELETE", f"/api/memory/{memory}")


def test_one_purged_memory_is_forgotten_and_the_others_are_restored(service: Service, operator: Client) -> None:
    heron, stork = (
        remembered(operator, f"The {bird} expires.", expiresAt="2020-01-01T00:00:00Z") for bird in ("heron", "stork")
    )
    body: dict[str, Any] = {"purgeExpired": True}
    count = operator.call("POST", "/api/maintenance", body=body)["expired"]
    batch = operator.call("POST", "/api/maintenance", body={**body, "apply": True, "yesDelete": count})["batch"]
    with pytest.raises(Forbidden):
        service.client(service.add("wilma")).call("DELETE", f"/api/memory/{heron}")
    operator.call("DELETE", f"/api/memory/{heron.upper()}")
    assert operator.call("GET", "/api/batches", query={"memory": heron})["batches"] == []
    for method, path, more in (("DELETE", f"/api/memory/{heron}", None), ("POST", "/api/undo", {"id": heron})):
        with pytest.raises(NotFound):
            operator.call(method, path, body=more)
    done = operator.call("POST", "/api/undo", body={"id": batch})
    assert (done["forgotten"], stork in done["memories"], heron in done["memories"]) == (1, True, False)
    with pytest.raises(NotFound):
        operator.call("GET", f"/api/memory/{heron}")
    for memory in done["memories"]:
        operator.call("DELETE", f"/api/memory/{memory}")


def test_duplicates_are_proposed_merged_and_separated_again(operator: Client, hive: RemoteHive) -> None:
    older = remembered(operator, "The bittern booms in May.", session="s1")
    newer = remembered(operator, "the bittern  booms in May.", session="s2")
    plan = operator.call("POST", "/api/maintenance", body={"merge": True})
    assert [older, newer] in [[one["older"], one["newer"]] for one in plan["alike"]]
    operator.call("POST", "/api/maintenance", body={"merge": True, "apply": True})
    inbox = operator.call("GET", "/api/review", query={"kind": "duplicate"})["proposals"]
    (proposal,) = [one["id"] for one in inbox if [each["id"] for each in one["memories"]] == [older, newer]]
    before = fingerprint(hive)
    operator.call("POST", f"/api/review/{proposal}/accept")
    assert operator.call("GET", f"/api/memory/{newer}")["supersedes"] == older
    assert operator.call("GET", f"/api/memory/{newer}/history")["supersedes"] == older
    operator.call("POST", "/api/undo", body={"id": last(operator, newer)["id"]})
    assert fingerprint(hive) == before


def test_reindex_and_vacuum_run(operator: Client) -> None:
    remembered(operator, "The curlew calls.")
    done = operator.call("POST", "/api/maintenance", body={"reindex": True, "vacuum": True, "apply": True})
    assert done["done"] == {"reindex": True, "vacuum": True}


def swarm(word: str) -> dict[str, str]:
    return {"content": f"The {word}.", "scope": "swarm"}


def test_many_reindex_requests_within_a_second_lose_no_word(operator: Client) -> None:
    words = [f"curlew{number}" for number in range(15)]
    operator.call("POST", "/api/memory/batch", body={"memories": [swarm(word) for word in words]})

    def found(word: str) -> int:
        return len(operator.call("POST", "/api/memory/search", body={"query": word})["results"])

    for word in words:
        operator.call("POST", "/api/maintenance", body={"reindex": True, "apply": True})
        assert found(word)
    until(lambda: operator.call("GET", "/api/status")["pendingKeywords"] == 0)
    assert operator.call("GET", "/api/check") == {"problems": [], "repairs": [], "failedEmbeddings": 0}
    assert all(found(word) for word in words)


def test_previous_states_can_be_dropped(operator: Client) -> None:
    memory = remembered(operator, "The crane dances.")
    operator.call("PATCH", f"/api/memory/{memory}", body={"content": "The crane stands."})
    batch = last(operator, memory)["id"]
    operator.call("DELETE", f"/api/batches/{batch}")
    for call in (("GET", f"/api/batches/{batch}", None), ("POST", "/api/undo", {"id": batch})):
        with pytest.raises(NotFound):
            operator.call(call[0], call[1], body=call[2])


def test_workers_are_refused_and_leads_undo_shared_changes(service: Service, operator: Client) -> None:
    worker = service.client(service.add("wanda"))
    lead = service.client(service.add("lena", Role.LEAD))
    memory = remembered(worker, "The snipe drums.")
    worker.call("PATCH", f"/api/memory/{memory}", body={"content": "The snipe is silent."})
    for body in ({"id": memory}, {"id": NOBODY}):
        with pytest.raises(Forbidden):
            worker.call("POST", "/api/undo", body=body)
    with pytest.raises(Forbidden):
        worker.call("GET", "/api/batches")
    for client in (worker, lead):
        with pytest.raises(Forbidden):
            client.call("POST", "/api/maintenance", body={"purgeExpired": True})
    lead.call("POST", "/api/undo", body={"id": memory})
    assert operator.call("GET", f"/api/memory/{memory}")["content"] == "The snipe drums."


@pytest.mark.parametrize("which", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_id_is_not_found_and_changes_nothing(hive: RemoteHive, service: Service, which: str) -> None:
    before = fingerprint(hive)
    with pytest.raises((NotFound, Invalid)):
        hive.undo(which)
    for look in (hive.batch, hive.drop_batch):
        with pytest.raises(HiveloreError):
            look(which)
    embedded = EmbeddedHive(service.app, AS_OPERATOR)
    for look in (embedded.undo, embedded.batch, embedded.drop_batch):
        with pytest.raises(HiveloreError):
            look(which)
    assert fingerprint(hive) == before


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"purgeExpired": "yes"},
        {"purgeExpired": True, "yesDelete": "3"},
        {"purgeExpired": True, "yesDelete": True},
        {"purgeExpired": True, "surprise": 1},
        {"merge": True, "apply": True, "yesDelete": 1},
        {"purgeExpired": True, "yesDelete": 1.5},
    ],
    ids=str,
)
def test_an_invalid_plan_is_refused(operator: Client, body: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        operator.call("POST", "/api/maintenance", body=body)


@pytest.mark.parametrize(
    "query", [{"limit": 0}, {"limit": 101}, {"after": "nonsense"}, {"after": "~"}, {"surprise": 1}]
)
def test_an_invalid_page_is_refused(operator: Client, query: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        operator.call("GET", "/api/batches", query=query)


def test_both_hives_give_the_same_answers(service: Service, hive: RemoteHive) -> None:
    embedded = EmbeddedHive(service.app, AS_OPERATOR)
    memory = embedded.remember("The godwit wades.", agent=str(service.app.agents.local_agent().id))
    embedded.edit(memory.id, tags=("bird",))
    embedded.remember("The godwit leaves.", agent=str(service.app.agents.local_agent().id), expires_at=PAST)
    page = embedded.batches(limit=100, memory=memory.id)
    assert hive.batches(limit=100, memory=memory.id) == page
    assert hive.batch(page.batches[0].id) == embedded.batch(page.batches[0].id)
    assert hive.maintain(purge_expired=True, merge=True) == embedded.maintain(purge_expired=True, merge=True)
    done = hive.undo(memory.id, reason="no bird")
    assert done.memories == (memory.id,)
    assert embedded.get(memory.id).tags == ()
    embedded.drop_batch(page.batches[0].id)
    assert page.batches[0] not in hive.batches(memory=memory.id).batches


def test_arguments_of_another_type_are_invalid(service: Service, hive: RemoteHive) -> None:
    for one in (hive, EmbeddedHive(service.app, AS_OPERATOR)):
        wrong: Any = one
        for ask in (
            lambda wrong=wrong: wrong.undo(3),
            lambda wrong=wrong: wrong.undo("x", reason=3),
            lambda wrong=wrong: wrong.batches(limit="3"),
            lambda wrong=wrong: wrong.batch(None),
            lambda wrong=wrong: wrong.drop_batch(b"x"),
            lambda wrong=wrong: wrong.maintain(merge=1),
            lambda wrong=wrong: wrong.maintain(purge_expired=True, yes_delete="3"),
        ):
            with pytest.raises(Invalid):
                ask()
