"""Long maintenance over HTTP: a job that delays no other request."""

from collections.abc import Generator
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from urllib.parse import quote

import pytest

from hivelore.core.agents import Role
from hivelore.errors import Conflict, Forbidden, NotFound
from hivelore.maintenance import handlers
from hivelore.python.client import Client
from hivelore.python.hive import EmbeddedHive
from hivelore.python.remote import RemoteHive
from support.held_maintenance import Held, held
from support.service import Service
from support.waiting import until
from support.world import AS_OPERATOR

AT = "/api/maintenance"
MERGE: dict[str, Any] = {"merge": True}
NOBODY = "00000000-0000-7000-8000-000000000000"


@pytest.fixture
def operator(service: Service) -> Client:
    return service.client(service.operator_key)


@pytest.fixture
def barrier(service: Service, monkeypatch: pytest.MonkeyPatch) -> Generator[Held]:
    monkeypatch.setattr(handlers, "WAIT", 0.01)
    with held() as barrier:
        yield barrier
        barrier.let_go.set()
        until(lambda: not service.app.maintenance_jobs._running)


def remembered(client: Client, content: str, **more: Any) -> str:
    body = {"content": content, "name": content, "scope": "swarm", "source": "manual", **more}
    return client.call("POST", "/api/memory/index", body=body)["memoryIds"][0]


def begun(operator: Client, barrier: Held, **more: Any) -> dict[str, Any]:
    job = operator.call("POST", AT, body={**MERGE, **more})
    assert barrier.reached.wait(10)
    return job


def ended(operator: Client, job: dict[str, Any]) -> dict[str, Any]:
    def seen() -> dict[str, Any]:
        return operator.call("GET", f"{AT}/{job['id']}")

    until(lambda: seen()["state"] != "running")
    return seen()


def test_a_short_run_is_the_answer_and_a_background_run_is_a_job(operator: Client) -> None:
    plan = operator.call("POST", AT, body=MERGE)
    assert (plan["applied"], "state" in plan) == (False, False)
    job = operator.call("POST", AT, body={**MERGE, "background": True})
    assert (job["kind"], job["result"]) == ("maintenance", None)
    over = ended(operator, job)
    assert (over["state"], over["result"]) == ("done", plan)


def test_a_longer_run_is_a_job_with_progress(operator: Client, barrier: Held) -> None:
    job = begun(operator, barrier)
    assert (job["state"], job["result"]) == ("running", None)
    seen = operator.call("GET", f"{AT}/{job['id']}")
    assert (seen["state"], seen["done"], seen["total"], seen["result"]) == ("running", 3, 10, None)
    assert operator.call("POST", AT, body=MERGE)["id"] == job["id"]
    with pytest.raises(Conflict, match=job["id"]):
        operator.call("POST", AT, body={**MERGE, "apply": True})
    barrier.let_go.set()
    over = ended(operator, job)
    assert (over["state"], over["result"]["applied"]) == ("done", False)
    assert over["done"] == over["total"]


def test_undo_purge_and_check_are_answered_while_it_runs(operator: Client, barrier: Held) -> None:
    """The job continues only after these calls, so a call that waited for it would never end."""
    memory = remembered(operator, "The heron sleeps at noon.")
    gone = remembered(operator, "The stork leaves.", expiresAt="2020-01-01T00:00:00Z")
    operator.call("PATCH", f"/api/memory/{memory}", body={"content": "The heron flies."})
    job = begun(operator, barrier, apply=True)
    operator.call("POST", "/api/undo", body={"id": memory})
    assert operator.call("GET", f"/api/memory/{memory}")["content"] == "The heron sleeps at noon."
    count = operator.call("POST", AT, body={"purgeExpired": True})["expired"]
    done = operator.call("POST", AT, body={"purgeExpired": True, "apply": True, "yesDelete": count})
    assert done["purged"] == count
    assert operator.call("POST", AT, body={"reindex": True, "apply": True})["done"] == {"reindex": True}
    assert operator.call("GET", "/api/check")["problems"] == []
    operator.call("POST", "/api/undo", body={"id": done["batch"]})
    operator.call("DELETE", f"/api/memory/{gone}")
    assert operator.call("GET", f"{AT}/{job['id']}")["state"] == "running"


def test_after_a_cancelled_job_another_can_start(operator: Client, barrier: Held) -> None:
    job = begun(operator, barrier)
    cancelled = operator.call("DELETE", f"{AT}/{job['id']}")
    assert (cancelled["state"], cancelled["result"]) == ("cancelled", None)
    assert operator.call("DELETE", f"{AT}/{job['id']}")["state"] == "cancelled"
    barrier.reached.clear()
    other = begun(operator, barrier, apply=True)
    assert other["id"] != job["id"]
    barrier.let_go.set()
    assert ended(operator, other)["result"]["applied"]


def test_both_hives_wait_for_the_result(service: Service, operator: Client) -> None:
    remembered(operator, "The avocet wades.", session="s1")
    remembered(operator, "the avocet  wades.", session="s2")
    plan = RemoteHive(operator).maintain(merge=True)
    assert plan.alike
    assert EmbeddedHive(service.app, AS_OPERATOR).maintain(merge=True) == plan
    with pytest.raises(Conflict, match="Nothing was done"):
        RemoteHive(operator).maintain(apply=True, merge=True, purge_expired=True, yes_delete=10**12)


def test_an_interrupted_hive_cancels_the_job(
    operator: Client, service: Service, barrier: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    hive = RemoteHive(operator)
    monkeypatch.setattr(hive, "maintenance_job", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        hive.maintain(merge=True)
    with service.app.store.read() as view:
        latest, *_ = view.jobs("maintenance")
    assert latest.state == "cancelled"


@pytest.mark.parametrize("which", [NOBODY, "nonsense", "'; DROP TABLE job; --", "ä" * 500, "\0"])
def test_an_unknown_job_is_not_found(operator: Client, which: str) -> None:
    for method in ("GET", "DELETE"):
        with pytest.raises(NotFound):
            operator.call(method, f"{AT}/{quote(which, safe='')}")


def test_jobs_are_for_operators(service: Service, operator: Client) -> None:
    job = operator.call("POST", AT, body={**MERGE, "background": True})
    ended(operator, job)
    for role in (Role.WORKER, Role.LEAD):
        client = service.client(service.add(f"agent-{role.value}", role))
        for method, path in (("POST", AT), ("GET", f"{AT}/{job['id']}"), ("DELETE", f"{AT}/{job['id']}")):
            with pytest.raises(Forbidden):
                client.call(method, path, body=MERGE if method == "POST" else None)


def test_a_stopping_service_does_not_wait_and_the_next_one_reports_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with held() as barrier:
        with Service(home) as stopping:
            job = stopping.client(stopping.operator_key).call("POST", AT, body={**MERGE, "background": True})
            assert barrier.reached.wait(10)
        with Service(home) as next_one:
            client = next_one.client(next_one.operator_key)
            seen = client.call("GET", f"{AT}/{job['id']}")
            assert (seen["state"], seen["result"]) == ("failed", None)
            assert "Start it again" in seen["error"]
            barrier.let_go.set()
            assert client.call("POST", AT, body=MERGE)["applied"] is False
