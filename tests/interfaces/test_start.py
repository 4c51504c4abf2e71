"""What the service loads before it answers, and what after."""

import subprocess
import sys
from pathlib import Path

import pytest

from hivelore.mcp import lazy
from support.service import Service

LIST = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'


def _listed(service: Service) -> tuple[int, bytes]:
    """The answer to the question which tools there are."""
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
    """The service would load nothing by itself for days."""
    monkeypatch.setattr(lazy, "_QUIET", 1e6)


def test_what_mcp_needs_is_not_imported_with_the_service() -> None:
    script = "import sys, hivelore.http.server; print(sorted({'mcp', 'httpx2'} & {*sys.modules}))"
    assert subprocess.check_output([sys.executable, "-c", script], text=True).strip() == "[]"


@pytest.mark.usefixtures("unhurried")
def test_who_asks_over_mcp_does_not_wait_for_the_quiet_to_end(tmp_path: Path) -> None:
    with Service(tmp_path) as service:
        status, answer = _listed(service)
    assert status == 200
    assert b"memory" in answer


@pytest.mark.usefixtures("unhurried")
def test_a_service_that_nobody_asked_over_mcp_ends_without_it(tmp_path: Path) -> None:
    with Service(tmp_path) as service:
        assert service.client(None).call("GET", "/health")


def test_where_mcp_cannot_be_loaded_those_who_ask_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> None:
        raise ImportError("no module named mcp")

    monkeypatch.setattr(lazy, "_imported", broken)
    with Service(tmp_path) as service:
        assert [_listed(service)[0] for _ in range(2)] == [500, 500]
