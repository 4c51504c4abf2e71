"""REST over real HTTP: response formats, status codes and errors."""

import json
from pathlib import Path
from typing import Any

import pytest

from hivelore.errors import Conflict, Forbidden, Invalid, NotFound, Stale, TooLarge, Unauthenticated
from hivelore.python.client import Client
from support.service import Service

INDEX: dict[str, Any] = {
    "content": "The auth header needs Bearer",
    "name": "auth",
    "scope": "agent",
    "source": "manual",
}


JSON = "Content-Type: application/json\r\n"


@pytest.fixture
def local(service: Service) -> Client:
    return service.client(service.agent_key)


def _index(client: Client, **more: Any) -> str:
    answer = client.call("POST", "/api/memory/index", body={**INDEX, **more})
    (memory,) = answer["memoryIds"]
    return memory


def _raw(service: Service, method: str, path: str, body: bytes = b"", headers: str = "") -> tuple[int, dict[str, Any]]:
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\nConnection: close\r\n{headers}"
    head += f"Authorization: Bearer {service.agent_key}\r\nContent-Length: {len(body)}\r\n\r\n"
    status, answer = service.raw(head.encode() + body)
    return status, json.loads(answer.split(b"\r\n\r\n", 1)[1])


def test_a_text_is_stored_and_found_at_once(local: Client) -> None:
    memory = _index(local, content="The flux capacitor needs 1.21 gigawatts")
    answer = local.call("POST", "/api/memory/search", body={"query": "gigawatts"})
    assert answer["results"][0]["memory"]["id"] == memory
    assert "keywords only" in answer["message"]
    assert answer["path"] == "keywords"
    assert answer["results"][0]["passage"]["content"].startswith("The flux")
    assert "embedding" not in json.dumps(answer["results"])


def test_a_recall_reports_fit_and_omitted_hits(local: Client) -> None:
    for name in ("one", "two"):
        _index(local, content="The tachyon lens wants a quartz mirror", name=name)
    answer = local.call("POST", "/api/memory/search", body={"query": "mirror of the tachyon lens"})
    (hit,) = answer["results"]
    assert (answer["fits"], hit["fits"], hit["alike"]) == (True, True, 1)
    assert 0.5 <= hit["relevance"] <= 1.0
    body = {"query": "mirror for the bathroom in Lisbon, oval, with lights", "onlyFitting": True}
    silent = local.call("POST", "/api/memory/search", body=body)
    assert (silent["fits"], silent["results"]) == (False, [])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("onlyFitting", "yes"),
        ("onlyFitting", 1),
        ("diversity", -0.1),
        ("diversity", 1.1),
        ("diversity", "0.5"),
        ("budget", 49),
        ("budget", 100_001),
        ("budget", 99.5),
    ],
)
def test_an_option_out_of_range_is_refused_by_name(local: Client, field: str, value: Any) -> None:
    with pytest.raises(Invalid) as error:
        local.call("POST", "/api/memory/search", body={"query": "x", field: value})
    assert error.value.field == field


def test_indexing_answers_202_with_one_id_per_document(service: Service) -> None:
    body = json.dumps(INDEX | {"content": "# A\n\n" + "x " * 3_000}).encode()
    status, answer = _raw(service, "POST", "/api/memory/index", body, JSON)
    assert status == 202
    assert answer["queued"] is True
    assert len(answer["memoryIds"]) == 1


@pytest.mark.parametrize("path", ["index", "batch"])
def test_a_star_searches_all_projects_and_is_refused_for_storing(service: Service, path: str) -> None:
    body = {"index": INDEX, "batch": {"memories": [INDEX]}}[path]
    client = service.client(service.agent_key, project="*")
    before = client.call("GET", "/api/memory/stats")
    with pytest.raises(Invalid, match="stands for all projects") as refused:
        client.call("POST", f"/api/memory/{path}", body=body)
    assert refused.value.field == "project"
    assert client.call("GET", "/api/memory/stats") == before


@pytest.mark.parametrize(
    "request_line",
    [b"GET /api/memory?tag=" + b"x" * 70_000 + b" HTTP/1.1", b"HELO example.org", b"GET / HTTP/9.9", b"\0"],
)
def test_invalid_http_gets_a_problem_document(service: Service, request_line: bytes) -> None:
    status, answer = service.raw(request_line + b"\r\nHost: 127.0.0.1\r\n\r\n")
    head, body = answer.split(b"\r\n\r\n", 1)
    problem = json.loads(body)
    assert (status, problem["status"], problem["code"]) == (400, 400, "bad-request")
    assert b"content-type: application/problem+json" in head
    assert "65,535" in problem["detail"]
    assert service.client(None).call("GET", "/health")


@pytest.mark.parametrize("missing", ["content", "name", "scope", "source"])
def test_a_missing_field_is_named(local: Client, missing: str) -> None:
    with pytest.raises(Invalid) as error:
        local.call("POST", "/api/memory/index", body={name: part for name, part in INDEX.items() if name != missing})
    assert error.value.field == missing


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"scope": "everyone"}, "scope"),
        ({"source": "rumour"}, "source"),
        ({"content": 7}, "content"),
        ({"content": "  "}, "content"),
        ({"content": "a\0b"}, "content"),
        ({"name": ""}, "name"),
        ({"name": "x" * 501}, "name"),
        ({"tags": "one"}, "tags"),
        ({"tags": ["x"] * 3 + [7]}, "tags[3]"),
        ({"owner": "me"}, "owner"),
        ({"createdAt": "yesterday"}, "createdAt"),
        ({"createdAt": "2026-01-01T00:00:00"}, "createdAt"),
        ({"createdAt": "9999-01-01T00:00:00Z"}, "createdAt"),
        ({"category": "x" * 101}, "category"),
    ],
)
def test_a_bad_field_is_named(local: Client, change: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as error:
        _index(local, **change)
    assert error.value.field == field


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b"nonsense"])
def test_invalid_json_is_a_400(service: Service, body: bytes) -> None:
    status, problem = _raw(service, "POST", "/api/memory/index", body, JSON)
    assert (status, problem["status"]) in {(400, 400), (422, 422)}
    assert problem["detail"]


def test_json_without_its_content_type_is_refused_with_the_header_to_send(service: Service) -> None:
    status, problem = _raw(service, "POST", "/api/memory/index", json.dumps(INDEX).encode())
    assert status == 415
    assert "application/json" in problem["detail"]


def test_a_lone_surrogate_in_json_is_refused(service: Service) -> None:
    body = json.dumps(INDEX | {"content": "a\ud800b"}).encode()
    status, problem = _raw(service, "POST", "/api/memory/index", body, JSON)
    assert status in (400, 422)
    assert problem["detail"]


def test_a_body_that_is_too_large_is_refused(local: Client) -> None:
    with pytest.raises(TooLarge, match="Split"):
        _index(local, content="x" * 5_000_000)
    with pytest.raises(TooLarge, match="16 MB"):
        _index(local, content="x" * 17_000_000)


@pytest.mark.parametrize("limit", [0, 51, -1, "ten", 1.5, True])
def test_a_limit_out_of_range_is_refused(local: Client, limit: Any) -> None:
    with pytest.raises(Invalid) as error:
        local.call("POST", "/api/memory/search", body={"query": "x", "limit": limit})
    assert error.value.field == "limit"


@pytest.mark.parametrize("route", ["search", "list"])
def test_searches_and_lists_take_days_and_times_of_creation(local: Client, route: str) -> None:
    made = [
        {"content": f"{route} of day {day}", "createdAt": f"{day}T00:00:00Z"} for day in ("2025-05-01", "2025-05-02")
    ]
    local.call("POST", "/api/memory/batch", body={"memories": made})

    def found(**where: str) -> list[str]:
        if route == "list":
            page = local.call("GET", "/api/memory", query=where)["memories"]
        else:
            body = {"query": f"{route} of day", "onlyFitting": True, **where}
            page = [hit["memory"] for hit in local.call("POST", "/api/memory/search", body=body)["results"]]
        return sorted(one["createdAt"][:10] for one in page if one["content"].startswith(f"{route} of day"))

    assert found(createdAfter="2025-05-02") == ["2025-05-02"]
    assert found(createdBefore="2025-05-02", createdAfter="2025-05-01") == ["2025-05-01"]
    assert found(createdBefore="2025-05-02T00:00:01+00:00") == ["2025-05-01", "2025-05-02"]
    for field, wrong in (("createdAfter", "May"), ("createdBefore", "2025-05-02T00:00"), ("createdBefore", "")):
        with pytest.raises(Invalid) as error:
            found(**{field: wrong})
        assert error.value.field == field
    with pytest.raises(Invalid, match="must be later") as error:
        found(createdAfter="2025-05-02", createdBefore="2025-05-01")
    assert error.value.field == "createdBefore"


def test_an_edit_with_an_old_version_is_refused(local: Client) -> None:
    memory = _index(local, content="one", name="stale")
    assert local.call("PATCH", f"/api/memory/{memory}", body={"content": "two"}, version=1)["version"] == 2
    with pytest.raises(Stale) as error:
        local.call("PATCH", f"/api/memory/{memory}", body={"content": "three"}, version=1)
    assert error.value.current == 2
    history = local.call("GET", f"/api/memory/{memory}/history")["versions"]
    assert [(one["version"], one["content"], one["action"]) for one in history] == [
        (1, "one", "created"),
        (2, "two", "edited"),
    ]


def test_only_the_given_fields_change(local: Client) -> None:
    memory = _index(local, content="words", name="before", tags=["kept"])
    after = local.call("PATCH", f"/api/memory/{memory}", body={"name": "after"})
    assert (after["name"], after["content"], after["tags"]) == ("after", "words", ["kept"])
    with pytest.raises(Invalid):
        local.call("PATCH", f"/api/memory/{memory}", body={"version": 7})


def test_chunks_have_their_headings(local: Client) -> None:
    text = "# Setup\n\n" + "Some words. " * 120 + "\n\n## Prerequisites\n\n" + "More words. " * 120
    memory = _index(local, content=text, name="chunks")
    chunks = local.call("GET", f"/api/memory/{memory}/chunks")["chunks"]
    assert [chunk["chunkIndex"] for chunk in chunks] == list(range(len(chunks)))
    assert len(chunks) >= 2
    assert any("Prerequisites" in heading for heading in chunks[-1]["headings"])


def test_a_hit_has_the_headings_of_its_passage(local: Client) -> None:
    text = "# Setup\n\n" + "Some words. " * 120 + "\n\n## Requisites\n\n" + "A theodolite is needed. " * 60
    _index(local, content=text, name="theodolite")
    (hit,) = local.call("POST", "/api/memory/search", body={"query": "theodolite needed", "limit": 1})["results"]
    assert hit["passage"]["headings"] == ["# Setup", "## Requisites"]
    assert hit["passage"]["content"].startswith("A theodolite")


def test_a_search_of_all_projects_prefers_the_current_one(service: Service) -> None:
    for project in ("astrolabe-north", "astrolabe-south"):
        _index(service.client(service.agent_key), content=f"The armillary of {project}.", project=project)
    for project in ("astrolabe-north", "astrolabe-south"):
        client = service.client(service.agent_key, project=project)
        hits = client.call("POST", "/api/memory/search", body={"query": "armillary", "project": "*"})["results"]
        assert [hit["score"]["prior"] for hit in hits] == [0, -0.3]
        assert hits[0]["memory"]["project"] == project
    unknown = service.client(service.agent_key).call("POST", "/api/memory/search", body={"query": "armillary"})
    assert [hit["score"]["prior"] for hit in unknown["results"]] == [0, 0]


def test_a_forgotten_memory_is_not_found(local: Client) -> None:
    memory = _index(local, content="to be forgotten")
    assert local.call("DELETE", f"/api/memory/{memory}") is None
    with pytest.raises(NotFound, match="Search again"):
        local.call("GET", f"/api/memory/{memory}")


def test_pages_list_every_memory_once(local: Client) -> None:
    made = {_index(local, content=f"page {number}", tags=["paged"]) for number in range(5)}
    seen: list[str] = []
    after: str | None = None
    while True:
        page = local.call("GET", "/api/memory", query={"tag": "paged", "limit": 2, "after": after})
        seen += [memory["id"] for memory in page["memories"]]
        after = page["next"]
        if after is None:
            break
    assert len(seen) == 5
    assert set(seen) == made


def test_a_batch_is_all_or_none(local: Client) -> None:
    done = local.call("POST", "/api/memory/batch", body={"memories": [{"content": "b1"}, {"content": "b2"}]})
    assert [one["created"] for one in done["results"]] == [True, True]
    with pytest.raises(Invalid):
        local.call("POST", "/api/memory/batch", body={"memories": [{"content": "never"}, {"content": ""}]})
    assert local.call("POST", "/api/memory/search", body={"query": "never"})["results"][0]["score"]["keyword"] == 0


def test_forgetting_a_path_returns_the_count(local: Client) -> None:
    _index(local, content="from a file", sourcePath="/a/b.md")
    assert local.call("DELETE", "/api/memory", query={"sourcePath": "/a/b.md"}) == {"forgotten": 1}
    with pytest.raises(Invalid, match="sourcePath"):
        local.call("DELETE", "/api/memory")


def test_me_describes_the_caller(service: Service, local: Client) -> None:
    me = local.call("GET", "/api/me")
    assert (me["name"], me["role"], me["acting"]) == ("local", "lead", False)
    assert me["limits"]["results"] == 50
    operator = service.client(service.operator_key).call("GET", "/api/me")
    assert (operator["agentId"], operator["role"]) == (None, "operator")


def test_agents_are_added_and_revoked(service: Service) -> None:
    operator = service.client(service.operator_key)
    made = operator.call("POST", "/api/agents", body={"name": "Zed", "role": "worker"})
    zed = service.client(made["key"])
    assert zed.call("GET", "/api/me")["name"] == "Zed"
    assert "keys" not in zed.call("GET", "/api/agents")["agents"][0]
    assert made["key"].rsplit("_", 1)[1] not in json.dumps(operator.call("GET", "/api/agents"))
    with pytest.raises(Forbidden):
        zed.call("POST", "/api/agents", body={"name": "Eve"})
    assert operator.call("DELETE", "/api/agents/Zed") == {"revoked": 1}
    with pytest.raises(Unauthenticated, match="revoked"):
        zed.call("GET", "/api/me")
    back = operator.call("POST", "/api/agents", body={"name": "Zed", "role": "worker"})
    assert back["agent"] == made["agent"]
    assert service.client(back["key"]).call("GET", "/api/me")["name"] == "Zed"
    with pytest.raises(Conflict, match="has a valid key"):
        operator.call("POST", "/api/agents", body={"name": "Zed", "role": "worker"})


def test_only_an_operator_acts_for_another_agent(service: Service, local: Client) -> None:
    identity = "0190c2a4-5f3b-7c11-9d7e-3a5b6c7d8e9f"
    acting = service.client(service.operator_key, agent=identity)
    memory = _index(acting, content="written for a runner's agent")
    assert acting.call("GET", f"/api/memory/{memory}")["agentId"] == identity
    with pytest.raises(Forbidden):
        service.client(service.agent_key, agent=identity).call("GET", "/api/me")
    with pytest.raises(Forbidden):
        _index(local, agentId=identity)


@pytest.mark.parametrize("key", [None, "x", "hl_1_0000000000_" + "0" * 64])
def test_requests_without_a_valid_key_are_refused(service: Service, key: str | None) -> None:
    client = service.client(key)
    for method, path in (("GET", "/api/memory"), ("GET", "/api/me"), ("GET", "/metrics"), ("GET", "/api/status")):
        with pytest.raises(Unauthenticated, match="key"):
            client.call(method, path)


def test_health_needs_no_key_and_shows_no_details(service: Service) -> None:
    assert service.client(None).call("GET", "/health") == {"status": "ok"}


def test_metrics_have_the_prometheus_format(service: Service) -> None:
    head = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    status, answer = service.raw(f"{head}Authorization: Bearer {service.agent_key}\r\n\r\n".encode())
    assert status == 200
    for name in (
        b"hivelore_requests_total",
        b"hivelore_request_seconds_bucket",
        b"hivelore_writes_total",
        b"hivelore_embedding_queue",
    ):
        assert name in answer


def test_reembedding_needs_a_model_and_an_operator(service: Service, local: Client) -> None:
    with pytest.raises(Forbidden):
        local.call("POST", "/api/memory/re-embed")
    with pytest.raises(Conflict, match="HIVELORE_EMBEDDER"):
        service.client(service.operator_key).call("POST", "/api/memory/re-embed")


@pytest.mark.parametrize(
    "path", ["/api/nothing", "/api/memory/", "/api/memory/x/y/z", "/../etc/passwd", "/api/agents/%00"]
)
def test_an_unknown_route_gets_a_problem_document(service: Service, path: str) -> None:
    status, problem = _raw(service, "GET", path)
    assert status in (404, 405)
    assert problem["detail"]


def test_the_api_describes_itself(service: Service) -> None:
    paths = service.client(None).call("GET", "/openapi.json")["paths"]
    assert {"/api/memory/index", "/api/memory/search", "/api/memory/{memoryId}", "/api/agents", "/health"} <= set(paths)


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("/api/memory?limt=3", "'limt'"),
        ("/api/memory?=3", "Unknown field"),
        ("/api/memory?tag=a&tag=b", "tag is given twice"),
        ("/api/memory/stats?scope=swarm", "'scope'"),
        ("/api/memory?" + "x" * 5_000, "Unknown field"),
    ],
)
def test_an_unknown_parameter_is_refused(service: Service, path: str, word: str) -> None:
    status, problem = _raw(service, "GET", path)
    assert (status, problem["code"]) == (422, "invalid")
    assert word in problem["detail"]
    assert len(problem["detail"]) < 300


@pytest.mark.parametrize("version", ["x", "", '"', "\u00b2", "9" * 5_000, "-1", "1.5"])
def test_an_invalid_version_is_refused(service: Service, version: str) -> None:
    header = f"If-Match: {version}\r\n"
    head = f"PATCH /api/memory/x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{header}{JSON}"
    head += f"Authorization: Bearer {service.agent_key}\r\nContent-Length: 2\r\n\r\n{{}}"
    status, answer = service.raw(head.encode("latin-1"))
    assert status == 422
    assert b"If-Match" in answer


def test_a_wrong_method_names_the_allowed_ones(service: Service) -> None:
    head = "PUT /api/me HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    status, answer = service.raw(head.encode())
    assert status == 405
    assert b"allow: GET" in answer
    assert b"application/problem+json" in answer


def test_a_disabled_recall_log_gives_no_id_and_logs_nothing(tmp_path: Path) -> None:
    with Service(tmp_path, recall_log_days=0) as service:
        client = service.client(service.agent_key)
        assert client.call("POST", "/api/memory/search", body={"query": "wombat"})["recallId"] is None
        assert client.call("GET", "/api/recalls") == {"recalls": [], "next": None}


TASK: dict[str, Any] = {"taskId": "T-7", "task": "Fix the login of the shop", "output": "The token had expired."}


def test_a_completed_task_is_stored_once_and_updated_by_another_output(service: Service) -> None:
    client = service.client(service.add("tasked"))
    first, again = (client.call("POST", "/api/tasks/complete", body=TASK) for _ in range(2))
    assert [(one["message"], one["created"], one["changed"]) for one in (first, again)] == [
        ("Stored.", True, True),
        ("Nothing changed: it was stored before.", False, False),
    ]
    assert (again["memory"]["id"], again["memory"]["version"]) == (first["memory"]["id"], 1)
    changed = client.call("POST", "/api/tasks/complete", body={**TASK, "status": "failed", "output": "It broke again."})
    assert (changed["message"], changed["created"], changed["memory"]["version"]) == ("Updated.", False, 2)
    assert changed["memory"]["content"].startswith("Failed task: Fix the login of the shop\n\nWhat went wrong:")


def test_a_trivial_task_is_not_stored_and_the_answer_says_so(local: Client) -> None:
    answer = local.call("POST", "/api/tasks/complete", body={"taskId": "1", "task": "Run the tests"})
    message = "Not stored: the task and its output have fewer than 30 characters together."
    assert answer == {"memory": None, "created": False, "changed": False, "message": message}


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"status": "done"}, "status"),
        ({"taskId": ""}, "taskId"),
        ({"taskId": "x" * 501}, "taskId"),
        ({"taskId": " "}, "taskId"),
        ({"task": ""}, "task"),
        ({"task": " "}, "task"),
        ({"output": 1}, "output"),
        ({"project": "*"}, "project"),
    ],
)
def test_an_invalid_task_names_its_field(local: Client, given: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as error:
        local.call("POST", "/api/tasks/complete", body={**TASK, **given})
    assert error.value.field == field


def test_only_an_operator_completes_a_task_for_another_agent(service: Service, local: Client) -> None:
    service.add("other")
    other = service.client(service.operator_key).call("GET", "/api/agents")["agents"][-1]["id"]
    body = {**TASK, "agentId": other}
    with pytest.raises(Forbidden):
        local.call("POST", "/api/tasks/complete", body=body)
    done = service.client(service.operator_key).call("POST", "/api/tasks/complete", body=body)
    assert done["memory"]["agentId"] == other
