"""Declared operations over HTTP and in Python: arguments, headers, errors, metrics, logs and OpenAPI."""

import json
import logging
from collections.abc import Generator
from pathlib import Path
from typing import Annotated, Any

import pytest
from msgspec import Meta

from hivelore.api import registry
from hivelore.core.agents import Interface, Role
from hivelore.core.operation import Call, Lane, Operation, delete, get, patch, post
from hivelore.core.tool import OBJECT, Reply, Tool
from hivelore.core.values import Request, Value
from hivelore.errors import Broken, Forbidden, Invalid, NotFound
from hivelore.http import app as http_app
from hivelore.http import operations as http_operations
from hivelore.mcp import server
from hivelore.python.client import Client
from hivelore.python.hive import EmbeddedHive
from hivelore.python.remote import RemoteHive
from support.service import Service

ID = "0197a3c2-0000-7000-8000-000000000001"


class Find(Request, frozen=True):
    ids: tuple[str, ...] = ()
    limit: Annotated[int, Meta(ge=1, le=9)] = 5


class Named(Request, frozen=True):
    thing: str


class Change(Request, frozen=True):
    thing: str
    text: str | None = None
    version: int | None = None


class Drop(Request, frozen=True):
    ids: tuple[str, ...] = ()


class Report(Value, frozen=True):
    text: str
    version: int = 7


def _declared(name: str, request: Any, http: Any, **more: Any) -> Operation[..., Any]:
    declared: dict[str, Any] = {"response": Report, "lane": Lane.READ, "tag": "tests", "summary": "Tests.", **more}
    return Operation(name=name, request=request, http=http, handler=f"{__name__}:repeat", **declared)


def _version(report: Report) -> int:
    return report.version


def _mode(_: Report) -> str:
    return "recent"


def _reply(report: Report) -> Reply:
    return Reply("Found.", {"report": report, "nothing": None})


FIND = _declared(
    "find",
    Find,
    get("/api/things"),
    retrieval_mode=_mode,
    tool=Tool(
        name="find-things",
        description="Find things.",
        arguments={"ids": "of things", "limit": ""},
        reply=_reply,
        output={"report": OBJECT},
        read_only=True,
    ),
)
LOOK = _declared("look", Named, get("/api/things/{thing}", etag=_version))
REMOVE = _declared(
    "remove",
    Drop,
    None,
    tool=Tool(name="remove-things", description="Remove things.", arguments={"ids": ""}, reply=_reply),
    roles=frozenset({Role.OPERATOR}),
)
COUNT = _declared("count", Find, get("/api/things/count"))
CHANGE = _declared("change", Change, patch("/api/things/{thing}", if_match="version"))
DROP = _declared("drop", Drop, delete("/api/things", body=True), response=type(None))
ADD = _declared(
    "add",
    Find,
    post("/api/things", status=201, headers=(("X-Taken", "1"),)),
    stored=_version,
    roles=frozenset({Role.OPERATOR}),
)
OPERATIONS = (FIND, LOOK, COUNT, CHANGE, DROP, ADD, REMOVE)


def repeat(_app: Any, request: Any, _call: Call) -> Report | None:
    """The handler of all of them: returns the request as a text, nothing for a ``Drop`` of ids."""
    if isinstance(request, Named) and request.thing == "unforeseen":
        raise RuntimeError("unforeseen")
    return None if isinstance(request, Drop) and request.ids else Report(repr(request))


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(http_app, "OPERATIONS", OPERATIONS)
        patched.setattr(server, "OPERATIONS", OPERATIONS)
        with Service(tmp_path_factory.mktemp("home")) as running:
            yield running


@pytest.fixture
def client(service: Service) -> Client:
    return service.client(service.agent_key)


def send(
    service: Service, method: str, path: str, body: bytes = b"", headers: str = "Content-Type: application/json\r\n"
) -> tuple[int, str, dict[str, Any]]:
    """Returns the status, the headers in lower case, and the document."""
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\nConnection: close\r\n{headers}"
    head += f"Authorization: Bearer {service.operator_key}\r\nContent-Length: {len(body)}\r\n\r\n"
    status, answer = service.raw(head.encode() + body)
    top, _, document = answer.partition(b"\r\n\r\n")
    return status, top.decode().lower(), json.loads(document or b"{}")


def metrics(service: Service) -> str:
    return service.raw(
        f"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
        f"Authorization: Bearer {service.operator_key}\r\n\r\n".encode()
    )[1].decode()


def test_a_list_in_the_query_is_the_same_parameter_several_times(client: Client) -> None:
    assert client.call("GET", "/api/things", query={"ids": ["a", "b"], "limit": 2})["text"] == repr(Find(("a", "b"), 2))
    with pytest.raises(Invalid, match="limit is given twice") as refused:
        client.call("GET", "/api/things", query={"limit": ["1", "2"]})
    assert refused.value.field == "limit"


def test_a_fixed_path_wins_over_a_parameter(client: Client) -> None:
    assert client.call("GET", "/api/things/count")["text"] == repr(Find())
    assert client.call("GET", "/api/things/one")["text"] == repr(Named("one"))


def test_a_delete_takes_a_body_or_a_query(client: Client) -> None:
    assert client.call("DELETE", "/api/things")["text"] == repr(Drop())
    assert client.call("DELETE", "/api/things", query={"ids": ["a", "b"]}) is None
    assert client.call("DELETE", "/api/things", body={"ids": ["a"]}) is None
    with pytest.raises(Invalid, match="ids cannot be given here"):
        client.call("DELETE", "/api/things", body={"ids": ["a"]}, query={"ids": ["b"]})


def test_an_argument_in_the_path_is_refused_elsewhere(client: Client) -> None:
    with pytest.raises(Invalid, match="thing cannot be given here"):
        client.call("GET", "/api/things/one", query={"thing": "two"})
    with pytest.raises(Invalid, match="thing cannot be given here"):
        client.call("PATCH", "/api/things/one", body={"thing": "two"})


def test_if_match_fills_the_version_and_nothing_else_does(service: Service, client: Client) -> None:
    changed = client.call("PATCH", "/api/things/one", body={"text": "new"}, version=3)
    assert changed["text"] == repr(Change("one", "new", 3))
    for header, version in (('W/"4"', 4), ("*", None)):
        headers = f"If-Match: {header}\r\nContent-Type: application/json\r\n"
        assert send(service, "PATCH", "/api/things/one", b"{}", headers)[2]["text"] == repr(
            Change("one", None, version)
        )
    status, _, document = send(service, "PATCH", "/api/things/one", b"{}", "If-Match: newest\r\n")
    assert (status, document["field"]) == (422, "If-Match")
    with pytest.raises(Invalid, match="version cannot be given here"):
        client.call("PATCH", "/api/things/one", body={"version": 3})


def test_an_answer_has_its_status_and_headers(service: Service) -> None:
    status, headers, _ = send(service, "POST", "/api/things", b"{}")
    assert (status, "x-taken: 1" in headers) == (201, True)
    assert 'etag: "7"' in send(service, "GET", "/api/things/one")[1]


def test_a_body_that_is_not_json_is_refused_with_a_code(service: Service) -> None:
    for body in (b"{", b"\xff"):
        status, _, document = send(service, "POST", "/api/things", body)
        assert (status, document["code"]) == (400, "not-json")
    status, _, document = send(service, "POST", "/api/things", b"a=b", "Content-Type: text/plain\r\n")
    assert (status, document["code"]) == (415, "not-json")
    status, _, document = send(service, "POST", "/api/things", b'{"limit": 0}')
    assert (status, document["code"], document["field"]) == (422, "invalid", "limit")


def test_arguments_of_a_post_are_not_in_the_query(client: Client) -> None:
    with pytest.raises(Invalid, match="Unknown parameter 'limit'"):
        client.call("POST", "/api/things", body={}, query={"limit": 3})


def test_only_the_roles_of_an_operation_may_call_it(client: Client) -> None:
    with pytest.raises(Forbidden, match="Only an operator"):
        client.call("POST", "/api/things", body={})


def test_these_operations_are_for_operators_or_leads() -> None:
    operators = {one.name for one in registry.OPERATIONS if one.roles == frozenset({Role.OPERATOR})}
    leads = {one.name for one in registry.OPERATIONS if one.roles == frozenset({Role.LEAD, Role.OPERATOR})}
    maintenance = {"maintain", "check", "maintenance_job", "cancel_maintenance"}
    reembedding = {"reembed", "reembed_job", "cancel_reembed"}
    operational = {"forget_operational_memories", "count_decayed"}
    others = {
        "add_agent",
        "reset_agent",
        "revoke_keys",
        "drop_batch",
        "forget_event",
        "check_config",
        "rotate_config_key",
    }
    assert operators == maintenance | reembedding | operational | others
    assert leads == {"inject_learning", "review_proposals"}


def test_metrics_name_the_route_and_count_what_an_operation_did(service: Service, client: Client) -> None:
    send(service, "POST", "/api/things", b"{}")
    client.call("GET", "/api/things")
    client.call("GET", "/api/things/some-name")
    send(service, "PUT", "/api/things/some-name")
    figures = metrics(service)
    assert 'hivelore_requests_total{method="GET",route="/api/things/{thing}",status="200"}' in figures
    assert 'hivelore_requests_total{method="PUT",route="/api/things/{thing}",status="405"}' in figures
    assert "some-name" not in figures
    writes = [line for line in figures.splitlines() if line.startswith("hivelore_writes_total")]
    assert writes[0].endswith((" 7.0", " 14.0", " 21.0"))
    assert 'hivelore_recalls_total{path="recent"}' in figures


def test_an_unexpected_error_is_logged_with_its_route(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(Exception, match="log"):
        client.call("GET", "/api/things/unforeseen")
    assert "GET /api/things/{thing}" in caplog.text


def test_a_slow_request_is_logged_with_ids_and_no_contents(
    client: Client, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_operations, "SLOW_REQUEST", 0.0)
    caplog.set_level(logging.WARNING, "hivelore")
    client.call("PATCH", f"/api/things/{ID}", body={"text": "a private text"})
    client.call("GET", "/api/things/private-text-of-somebody")
    first, second = (record.__dict__["fields"] for record in caplog.records)
    assert (first["operation"], first["thing"], first["agent"]) == ("change", ID, second["agent"])
    assert set(second) == {"operation", "seconds", "agent"}
    assert "private" not in f"{first} {second}"


def rpc(service: Service, method: str, **params: Any) -> dict[str, Any]:
    """Returns the result of an MCP request of the agent ``local``."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    headers = "X-Agent-ID: local\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
    return send(service, "POST", "/mcp", body, headers)[2]["result"]


def test_a_tool_shows_the_arguments_that_its_operation_names(service: Service) -> None:
    (tool,) = [one for one in rpc(service, "tools/list")["tools"] if one["name"] == "find-things"]
    assert tool["inputSchema"] == {
        "type": "object",
        "properties": {
            "ids": {"type": "array", "items": {"type": "string"}, "description": "of things"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 9},
        },
        "additionalProperties": False,
    }
    assert tool["outputSchema"]["properties"].keys() == {"report"}


def test_a_tool_runs_its_operation(service: Service) -> None:
    answer = rpc(service, "tools/call", name="find-things", arguments={"ids": ["a"], "limit": None})
    assert answer["structuredContent"]["report"] == {"text": repr(Find(("a",))), "version": 7}
    assert (answer["structuredContent"]["message"], answer["isError"]) == ("Found.", False)
    wrong = rpc(service, "tools/call", name="find-things", arguments={"limit": 10})
    assert (wrong["structuredContent"]["message"], wrong["isError"]) == ("limit must be 1 to 9.", True)


def test_a_tool_is_offered_to_the_roles_of_its_operation(service: Service) -> None:
    assert "remove-things" not in {one["name"] for one in rpc(service, "tools/list")["tools"]}
    assert rpc(service, "tools/call", name="remove-things", arguments={})["isError"]


def test_openapi_describes_where_each_argument_is_given(service: Service) -> None:
    paths = send(service, "GET", "/openapi.json")[2]["paths"]

    def places(path: str, method: str) -> dict[str, str]:
        return {one["name"]: one["in"] for one in paths[path][method]["parameters"] if not one["name"].startswith("X-")}

    assert places("/api/things", "get") == {"ids": "query", "limit": "query"}
    assert places("/api/things/{thing}", "patch") == {"thing": "path", "If-Match": "header"}
    body = paths["/api/things/{thing}"]["patch"]["requestBody"]["content"]["application/json"]["schema"]
    assert set(body["properties"]) == {"text"}
    assert "requestBody" in paths["/api/things"]["delete"]
    assert "204" in paths["/api/things"]["delete"]["responses"]


def test_python_sends_the_same_request_to_a_service(service: Service, client: Client) -> None:
    remote, embedded = (
        RemoteHive(client),
        EmbeddedHive(service.app, service.app.agents.viewer(service.agent_key, Interface.PYTHON)),
    )
    for operation, request in (
        (FIND, Find(("a", "b"), 2)),
        (LOOK, Named("a b?c")),
        (CHANGE, Change("one", "new", 3)),
        (DROP, Drop(("a", "b"))),
    ):
        assert remote.call(operation, request) == embedded.call(operation, request)
        assert remote.call(operation, request) in (None, Report(repr(request)))
    for hive in (remote, embedded):
        with pytest.raises(Invalid, match="limit must be 1 to 9"):
            hive.call(FIND, Find(limit=10))
    with pytest.raises(NotFound, match="The id of the thing is empty"):
        remote.call(LOOK, Named(""))


def test_an_answer_of_another_version_is_an_error_with_advice(client: Client, tmp_path: Path) -> None:
    class Other(Value, frozen=True):
        color: str

    changed = _declared("find", Find, get("/api/things"), response=Other)
    with pytest.raises(Broken, match=r"color is required.*update the older one"):
        RemoteHive(client).call(changed, Find())
