"""Modules that the service loads before its first answer, and after."""

import subprocess
import sys
from pathlib import Path

import pytest

from hivelore.mcp import lazy
from support.service import Service

LIST = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'


def _listed(service: Service) -> tuple[int, bytes]:
    """Returns the response to a request for the list of tools."""
    head = (
        "POST /mcp HTTP/1.1",
        "Host: 127.0.0.1",
        "Connection: close",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        f"Authorization: Bearer {service.agent_key}",
        f"Content-Length: {len(LIST)}",
    )
    return service.raw("\r\n".join((*head, "", "")).encode() + LIST)


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Delays the import of MCP by days."""
    monkeypatch.setattr(lazy, "_QUIET", 1e6)


def test_mcp_is_not_imported_at_the_start() -> None:
    script = "import sys, hivelore.http.server; print(sorted({'mcp', 'httpx2'} & {*sys.modules}))"
    assert subprocess.check_output([sys.executable, "-c", script], text=True).strip() == "[]"


@pytest.mark.usefixtures("unhurried")
def test_an_mcp_request_does_not_wait_for_the_delayed_import(tmp_path: Path) -> None:
    with Service(tmp_path) as service:
        status, answer = _listed(service)
    assert status == 200
    assert b"memory" in answer


@pytest.mark.usefixtures("unhurried")
def test_a_service_without_mcp_requests_ends_without_mcp(tmp_path: Path) -> None:
    with Service(tmp_path) as service:
        assert service.client(None).call("GET", "/health")


def test_an_mcp_request_gets_an_error_if_mcp_cannot_be_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> None:
        raise ImportError("no module named mcp")

    monkeypatch.setattr(lazy, "_imported", broken)
    with Service(tmp_path) as service:
        assert [_listed(service)[0] for _ in range(2)] == [500, 500]
