"""Unexpected errors: the caller gets an incident id, and the log has the details under it."""

import json
import re
import socket
from collections.abc import Generator
from contextlib import contextmanager
from threading import current_thread
from typing import Any, Literal

import anyio
import httpx2
import pytest
from mcp import Client as McpClient
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from hivelore.errors import HiveloreError
from hivelore.http import operations
from support.service import Service
from support.waiting import until

TOKEN = "ghp_" + "a1B2" * 9
CAUSE = f"/some/place inside has {TOKEN} and \0 and \ud800"
INSIDE = ("Traceback", ".py", "/some/place", "ghp_", "KeyError", "line ")
"""Details that no caller may see."""
BACKGROUND = ("hivelore-schedule", "hivelore-embedding-queue")
NUMBER = re.compile(r"\d{8}T\d{6}-\d+")


@pytest.fixture(autouse=True)
def keys_stay_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checked keys stay valid, however slow the test is."""
    monkeypatch.setattr(operations, "FRESH_SECONDS", 3_600.0)


@contextmanager
def out_of_order(service: Service) -> Generator[None]:
    """Makes reads of the store raise an unexpected error, except for background workers."""
    store: Any = service.app.store
    read = store.read

    def fail(deadline: float | None = None, **more: Any) -> Any:
        if current_thread().name in BACKGROUND:
            return read(deadline, **more)
        raise KeyError(CAUSE)

    store.read = fail
    try:
        yield
    finally:
        del store.read


def asked(service: Service, method: str, path: str, key: str, body: object = None) -> tuple[int, str, dict[str, Any]]:
    """Returns status, content type and document of an answer."""
    data = b"" if body is None else json.dumps(body).encode()
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\nConnection: close\r\n"
        f"Authorization: Bearer {key}\r\nContent-Type: application/json\r\n"
        f"Accept: application/json, text/event-stream\r\nContent-Length: {len(data)}\r\n\r\n"
    )
    status, answer = service.raw(head.encode() + data)
    top, _, document = answer.partition(b"\r\n\r\n")
    (kind,) = re.findall(rb"content-type: ([^\r;]+)", top)
    return status, kind.decode(), json.loads(document)


def numbered(text: str, log: str) -> str:
    """Returns the incident id in a text without details; the log has it too."""
    (number,) = NUMBER.findall(text)
    assert not [word for word in INSIDE if word in text]
    assert log.count(number) == 1
    return number


@pytest.mark.parametrize("known", [True, False], ids=["key known", "key unknown"])
def test_a_failing_route_answers_with_a_problem_and_an_incident_id(
    service: Service, caplog: pytest.LogCaptureFixture, known: bool
) -> None:
    key = service.add(f"rest {known}")
    if known:
        service.client(key).call("GET", "/api/me")
    with out_of_order(service):
        status, kind, problem = asked(service, "GET", "/api/memory/stats", key)
    assert (status, kind) == (500, "application/problem+json")
    assert (problem["status"], problem["title"], problem["code"]) == (500, "Internal Server Error", "unexpected")
    assert problem["id"] == numbered(problem["detail"], caplog.text)
    assert "service.log" in problem["detail"]
    assert service.client(key).call("GET", "/api/memory/stats")["total"] == 0


def test_the_log_has_the_error_and_its_place_with_secrets_masked(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    with out_of_order(service):
        asked(service, "GET", "/api/memory/whatever-somebody-typed", service.add("logged"))
    assert "KeyError" in caplog.text
    assert "/some/place inside has [" in caplog.text
    assert "test_unexpected_errors.py" in caplog.text
    assert "GET /api/memory/{memoryId}" in caplog.text
    assert TOKEN not in caplog.text
    assert "whatever-somebody-typed" not in caplog.text


def test_two_failures_have_two_incident_ids(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    with out_of_order(service):
        problems = [asked(service, "GET", "/api/me", service.add(f"twice {number}"))[2] for number in range(2)]
    assert len({numbered(one["detail"], caplog.text) for one in problems}) == 2


def test_a_python_client_gets_the_same_text(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    with out_of_order(service), pytest.raises(HiveloreError) as error:
        service.client(service.add("python")).call("GET", "/api/me")
    numbered(str(error.value), caplog.text)


def test_a_failing_tool_answers_with_a_json_rpc_error(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    key = service.add("tool")
    params = {"name": "memory-search", "arguments": {"query": "x"}}
    body = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    asked(service, "POST", "/mcp", key, body)
    with out_of_order(service):
        status, kind, answer = asked(service, "POST", "/mcp", key, body)
    assert (status, kind, answer["id"], answer["error"]["code"]) == (200, "application/json", 7, -32603)
    assert answer["error"]["data"]["id"] == numbered(answer["error"]["message"], caplog.text)
    assert not [word for word in INSIDE if word in json.dumps(answer)]


@pytest.mark.parametrize("method", ["tools/call", "tools/list"])
def test_a_failing_authentication_answers_with_a_json_rpc_error(
    service: Service, caplog: pytest.LogCaptureFixture, method: str
) -> None:
    key = service.add(f"gate {method}")
    with out_of_order(service):
        status, kind, answer = asked(service, "POST", "/mcp", key, {"jsonrpc": "2.0", "id": 7, "method": method})
    assert (status, kind, answer["id"], answer["error"]["code"]) == (500, "application/json", None, -32603)
    assert answer["error"]["data"]["id"] == numbered(answer["error"]["message"], caplog.text)


@pytest.mark.parametrize("era", ["legacy", "auto"])
def test_an_agent_gets_the_same_in_both_protocol_eras(
    service: Service, caplog: pytest.LogCaptureFixture, era: Literal["legacy", "auto"]
) -> None:
    async def run() -> str:
        auth = {"Authorization": f"Bearer {service.agent_key}"}
        async with (
            httpx2.AsyncClient(headers=auth, trust_env=False) as http,
            McpClient(streamable_http_client(f"{service.url}/mcp", http_client=http), mode=era) as client,
        ):
            await client.call_tool("memory-search", {"query": "x"})
            with out_of_order(service), pytest.raises(MCPError) as error:
                await client.call_tool("memory-search", {"query": "x"})
            return str(error.value)

    numbered(anyio.run(run), caplog.text)


def test_a_client_that_leaves_while_it_sends_is_no_error(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    head = (
        f"POST /api/hooks/claude-code HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\n"
        f"Authorization: Bearer {service.agent_key}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
    )
    handled = 'hivelore_requests_total{method="POST",route="/api/hooks/{program}"'
    metrics = f"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\nConnection: close\r\n"
    metrics += f"Authorization: Bearer {service.operator_key}\r\n\r\n"

    def count() -> list[str]:
        return [line for line in service.raw(metrics.encode())[1].decode().splitlines() if line.startswith(handled)]

    before = count()
    with socket.create_connection(("127.0.0.1", service.port)) as connection:
        connection.sendall(head.encode() + b"{")
    until(lambda: count() != before)
    assert caplog.records == []
