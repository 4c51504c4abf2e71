"""Operational memory over HTTP (C22, C23)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hivelore.errors import Forbidden, Invalid, NotFound, Stale, TooLarge
from hivelore.python.client import Client
from support.fences import inside
from support.service import Service

SLOW = "Takes 60s to start"


@pytest.fixture
def operator(service: Service) -> Client:
    client = service.client(service.operator_key)
    while found := client.call("GET", "/memories", query={"limit": 500})["memories"]:
        client.call("DELETE", "/memories/bulk", body={"ids": [one["id"] for one in found]})
    return client


@pytest.fixture
def local(service: Service) -> Client:
    return service.client(service.agent_key)


def seen(client: Client, observation: str = SLOW, **more: Any) -> dict[str, Any]:
    body = {"observation": observation, "category": "timing", "service": "jellyfin", **more}
    return client.call("POST", "/memories", body=body)


def test_an_observation_becomes_a_memory_and_repetition_raises_confidence(operator: Client, local: Client) -> None:
    first = seen(local, session="run-1")
    assert first["effect"] == "new"
    memory = first["memory"]
    assert (memory["service"], memory["category"], memory["observation"]) == ("jellyfin", "timing", SLOW)
    assert (memory["confidence"], memory["active"], memory["tier"], memory["session"]) == (0.7, True, 1, "run-1")
    again = seen(local, "takes about a minute to start", session="run-2")
    assert (again["effect"], again["memory"]["id"], again["memory"]["confidence"]) == (
        "reinforced",
        memory["id"],
        0.8,
    )
    assert again["memory"]["updatedAt"] == again["memory"]["observedAt"] > memory["updatedAt"]
    other = seen(local, "Takes 10 minutes to start")
    assert (other["effect"], other["about"]) == ("contradicted", [memory["id"]])
    assert other["why"]
    assert operator.call("GET", f"/memories/{memory['id']}")["confidence"] == 0.6


def test_a_timeline_lists_every_change(operator: Client, local: Client) -> None:
    memory = seen(local, session="run-1")["memory"]["id"]
    seen(local, "takes a minute to start", session="run-2")
    operator.call("PUT", f"/memories/{memory}", body={"confidence": 0.95, "reason": "I timed it."})
    history = local.call("GET", f"/memories/{memory}/observations")
    assert [one["kind"] for one in history["observations"]] == ["created", "reinforced", "set"]
    assert [one["text"] for one in history["observations"]] == [SLOW, "takes a minute to start", "I timed it."]
    assert [one["confidence"] for one in history["timeline"]] == [0.7, 0.7, 0.8, 0.8, 0.95, 0.95]
    path = f"/memories/{memory}/observations"
    first = local.call("GET", path, query={"limit": 2})
    last = local.call("GET", path, query={"limit": 2, "after": first["next"]})
    assert first["observations"] + last["observations"] == history["observations"]
    assert first["timeline"] + last["timeline"][:-1] == history["timeline"][:-1]
    assert (len(first["observations"]), last["next"], history["next"]) == (2, None, None)
    for query in ({"limit": 0}, {"limit": 501}, {"after": "nonsense"}, {"after": "2026-01-01~x"}, {"page": 1}):
        with pytest.raises(Invalid):
            local.call("GET", path, query=query)


def ago(days: float) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).isoformat()


def test_a_timeline_shows_decay_and_when_it_became_inactive(operator: Client, local: Client) -> None:
    memory = seen(local, at=ago(54))["memory"]["id"]
    seen(local, "Takes 10 minutes to start")
    timeline = local.call("GET", f"/memories/{memory}/observations")["timeline"]
    assert [(round(one["confidence"], 3), one["active"]) for one in timeline] == [
        (0.7, True),
        (0.7, True),
        (0.357, True),
        (0.157, False),
        (0.157, False),
    ]


@pytest.mark.parametrize(
    ("judgement", "confidence"), [({"active": False, "reason": "fixed in v2"}, 0.7), ({"confidence": 0.0}, 0.0)]
)
def test_a_late_observation_from_before_a_judgement_changes_no_confidence(
    operator: Client, local: Client, judgement: dict[str, Any], confidence: float
) -> None:
    memory = seen(local, at=ago(7))["memory"]["id"]
    operator.call("PUT", f"/memories/{memory}", body=judgement)
    late = seen(local, "takes a minute to start", at=ago(3))["memory"]
    assert (late["id"], late["active"], late["confidence"]) == (memory, False, confidence)
    history = local.call("GET", f"/memories/{memory}/observations")
    assert [one["kind"] for one in history["observations"]][:2] == ["created", "reinforced"]
    assert history["timeline"][-1]["active"] is False
    assert seen(local, "takes a minute to start")["memory"]["active"] is True


def test_an_operator_can_change_every_field(operator: Client, local: Client) -> None:
    made = seen(operator, confidence=1.7, persistent=True)["memory"]
    assert (made["confidence"], made["tier"], made["session"], made["persistent"]) == (1.0, 0, None, True)
    path = f"/memories/{made['id']}"
    assert operator.call("PUT", path, body={"active": False})["active"] is False
    assert local.call("GET", "/memories", query={"status": "inactive"})["memories"][0]["id"] == made["id"]
    assert operator.call("PUT", path, body={"active": True, "service": None})["service"] is None
    edited = operator.call("PUT", path, body={"observation": "Takes 90s to start"})
    assert (edited["observation"], edited["confidence"]) == ("Takes 90s to start", 1.0)
    with pytest.raises(Stale):
        operator.call("PUT", path, body={"observation": "Other"}, version=1)
    assert operator.call("DELETE", path) is None
    with pytest.raises(NotFound):
        operator.call("GET", path)


def test_an_observation_has_the_given_project_and_time(operator: Client, local: Client) -> None:
    for client in (operator, local):
        made = seen(client, "An old one", project=" tv ", at="2020-01-01T00:00:00+01:00", tier=2, session="s")["memory"]
        assert (made["project"], made["createdAt"]) == ("tv", "2019-12-31T23:00:00Z")
        assert (made["observedAt"], made["active"]) == (made["createdAt"], False)
        assert (made["tier"], made["session"]) == ((0, None) if client is operator else (2, "s"))
        operator.call("DELETE", f"/memories/{made['id']}")
        ahead = seen(client, "Not seen yet", at="2999-01-01T00:00:00Z")["memory"]
        assert ahead["createdAt"] < "2999"
        operator.call("DELETE", f"/memories/{ahead['id']}")


def test_an_operator_can_change_the_project(operator: Client, service: Service) -> None:
    path = f"/memories/{seen(operator)['memory']['id']}"
    tv, web = (service.client(service.agent_key, project=name) for name in ("tv", "web"))

    def report() -> list[int]:
        return [client.call("GET", "/api/operational-context")["included"] for client in (tv, web)]

    assert operator.call("PUT", path, body={"project": "tv"})["project"] == "tv"
    assert report() == [1, 0]
    for project in (None, " "):
        operator.call("PUT", path, body={"project": "tv"})
        assert operator.call("PUT", path, body={"project": project})["project"] is None
        assert report() == [1, 1]


def test_a_star_shows_all_projects(operator: Client, service: Service) -> None:
    for project in ("tv", "web", None):
        seen(operator, f"Of {project}", project=project)
    for project, count in (("*", 3), (" * ", 3), (None, 3), ("tv", 2), ("elsewhere", 1)):
        known = operator.call("GET", "/memories", query={"project": project})["memories"]
        report = service.client(service.agent_key, project=project).call("GET", "/api/operational-context")
        assert (len(known), report["included"], report["total"]) == (count, count, count)


def test_agents_cannot_change_or_delete(operator: Client, local: Client) -> None:
    memory = seen(operator)["memory"]["id"]
    for method, path, body in (
        ("PUT", f"/memories/{memory}", {"confidence": 1.0}),
        ("DELETE", f"/memories/{memory}", None),
        ("DELETE", "/memories/bulk", {"ids": [memory]}),
        ("POST", "/memories/decay", None),
        ("POST", "/memories", {"observation": "x", "category": "timing", "confidence": 1.0}),
        ("PATCH", f"/api/memory/{memory}", {"content": "mine now"}),
        ("DELETE", f"/api/memory/{memory}", None),
    ):
        with pytest.raises(Forbidden):
            local.call(method, path, body=body)
    assert operator.call("GET", f"/memories/{memory}")["observation"] == SLOW


def test_many_are_deleted_by_body_or_by_parameters(operator: Client, service: Service) -> None:
    ids = [seen(operator, f"Number {number} says so")["memory"]["id"] for number in range(4)]
    assert operator.call("DELETE", "/memories/bulk", body={"ids": [*ids[:2], "nowhere"]}) == {"deleted": 2}
    head = f"DELETE /memories/bulk?ids={ids[2]}&ids={ids[3]} HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\n"
    status, answer = service.raw(
        f"{head}Authorization: Bearer {service.operator_key}\r\nConnection: close\r\n\r\n".encode()
    )
    assert (status, answer.endswith(b'{"deleted":2}')) == (200, True)
    assert operator.call("GET", "/memories")["memories"] == []
    with pytest.raises(Invalid, match="ids"):
        operator.call("DELETE", "/memories/bulk")


def test_pages_list_all_memories(operator: Client) -> None:
    ids = [seen(operator, f"Number {number} says so")["memory"]["id"] for number in range(5)]
    found: list[str] = []
    after = None
    while True:
        page = operator.call("GET", "/memories", query={"limit": 2, "after": after})
        found += [one["id"] for one in page["memories"]]
        if (after := page["next"]) is None:
            break
    assert found == ids[::-1]


def test_the_context_is_selected_by_service_budget_tier_and_model(operator: Client, local: Client) -> None:
    seen(operator, confidence=0.9)
    seen(operator, "Renew the certificate by hand", service=None, category="maintenance")
    report = local.call("GET", "/api/operational-context")
    assert inside(report["text"])[1].splitlines()[2:] == [
        "### jellyfin",
        "- [timing] Takes 60s to start (confidence: 0.9)",
        "",
        "### general",
        "- [maintenance] Renew the certificate by hand (confidence: 0.7)",
    ]
    assert (report["included"], report["total"]) == (2, 2)
    assert local.call("GET", "/api/operational-context", query={"budget": 0})["text"] == ""
    assert local.call("GET", "/api/operational-context", query={"service": "caddy"})["included"] == 1
    assert local.call("GET", "/api/operational-context", query={"tier": 2, "model": "opus"})["included"] == 2


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"category": "timing"}, Invalid),
        ({"observation": "", "category": "timing"}, Invalid),
        ({"observation": "x"}, Invalid),
        ({"observation": "x", "category": ""}, Invalid),
        ({"observation": "x", "category": "timing", "tier": 0}, Invalid),
        ({"observation": "x", "category": "timing", "service": "s" * 101}, Invalid),
        ({"observation": "x" * 4_001, "category": "timing"}, TooLarge),
        ({"observation": "x", "category": "timing", "confidence": "0.5"}, Invalid),
        ({"observation": "x", "category": "timing", "surely": True}, Invalid),
        ({"observation": "\ud800", "category": "timing"}, Invalid),
        ({"observation": "a\0b", "category": "timing"}, Invalid),
    ],
)
def test_invalid_observations_are_refused_and_not_stored(
    operator: Client, local: Client, body: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        local.call("POST", "/memories", body=body)
    assert operator.call("GET", "/memories")["memories"] == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"observation": " \n"}, "observation"),
        ({"observation": "x" * 4_001}, "observation"),
        ({"observation": "a\0b"}, "observation"),
        ({"category": ""}, "category"),
        ({"category": " "}, "category"),
        ({"category": "x" * 101}, "category"),
        ({"service": "s" * 101}, "service"),
        ({"project": "*"}, "project"),
    ],
)
def test_an_error_names_the_invalid_argument(operator: Client, local: Client, body: dict[str, Any], field: str) -> None:
    known = seen(operator)["memory"]
    for client in (operator, local):
        with pytest.raises(Invalid, match=field) as report:
            seen(client, **({"observation": "Another"} | body))
        assert report.value.field == field
    with pytest.raises(Invalid, match=field) as report:
        operator.call("PUT", f"/memories/{known['id']}", body=body)
    assert report.value.field == field
    assert operator.call("GET", "/memories")["memories"] == [known]


@pytest.mark.parametrize("at", ["2020-01-01T00:00:00", 1_577_836_800, "yesterday", "0001-01-01T00:00:00+14:00"])
def test_an_invalid_time_is_refused(operator: Client, local: Client, at: object) -> None:
    for client in (operator, local):
        with pytest.raises(Invalid) as report:
            seen(client, at=at)
        assert report.value.field == "at"
    assert operator.call("GET", "/memories")["memories"] == []


def test_text_in_every_language_is_stored_unchanged(local: Client, operator: Client) -> None:
    text = "Neustart dauert 60 s — 起動に一分かかる 🚀 <script>alert('x')</script>"
    assert seen(local, text, service="jellyfin-größer")["memory"]["observation"] == text
    assert text in local.call("GET", "/api/operational-context")["text"]
    assert operator.call("GET", "/memories", query={"service": "jellyfin-größer"})["memories"]


def test_an_ordinary_memory_is_not_an_operational_memory(local: Client, operator: Client) -> None:
    plain = local.call(
        "POST", "/api/memory/index", body={"content": "A note.", "name": "note", "scope": "swarm", "source": "manual"}
    )["memoryIds"][0]
    with pytest.raises(NotFound, match="not an operational memory"):
        operator.call("PUT", f"/memories/{plain}", body={"confidence": 1.0})
    assert operator.call("DELETE", "/memories/bulk", body={"ids": [plain]}) == {"deleted": 0}
