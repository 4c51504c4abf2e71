"""No secret that comes in through an interface reaches a file of the home folder."""

import json
import logging
import time
from pathlib import Path

import pytest

from hivelore.hooks.aside import put_aside
from support.secret_shapes import Shape, shapes
from support.service import Service

SOME = [shape for index, shape in enumerate(shapes(3)) if index % 4 == 0]


def written(home: Path) -> bytes:
    return b"\n".join(file.read_bytes() for file in home.rglob("*") if file.is_file())


def found_in(data: bytes, texts: list[Shape]) -> list[str]:
    """Names of the shapes whose secret stands there, as it is or as JSON writes it."""
    return [
        shape.name
        for shape in texts
        if any(part.encode() in data or json.dumps(part)[1:-1].encode() in data for part in shape.secrets)
    ]


def asked(service: Service, method: str, path: str, key: str, body: object) -> int:
    data = json.dumps(body).encode()
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\nConnection: close\r\n"
        f"Authorization: Bearer {key}\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    )
    return service.raw(head.encode() + data)[0]


def test_secrets_sent_over_rest_and_by_hooks_are_nowhere_on_disk(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "hivelore")
    with Service(tmp_path) as service:
        key = service.add("worker")
        for index, shape in enumerate(SOME):
            memory = {
                "content": f"note {index}\n{shape.text}",
                "name": f"note {index}",
                "scope": "agent",
                "source": "manual",
            }
            assert asked(service, "POST", "/api/memory/index", key, memory) == 202
        for shape in SOME[:20]:
            payload = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": shape.text}
            hook = {"id": "gh" + "p_" + "a1B2" * 9, "payload": payload}
            assert asked(service, "POST", "/api/hooks/claude-code", key, hook) in (200, 204)
        time.sleep(0.2)
        data = written(tmp_path) + caplog.text.encode()
    data += written(tmp_path)
    assert found_in(data, SOME) == []
    assert b"a1B2a1B2" not in data


def test_secrets_of_events_that_wait_are_masked(tmp_path: Path) -> None:
    for shape in SOME:
        put_aside(tmp_path / "spool", {"id": "1", "payload": {"prompt": shape.text}})
    assert found_in(written(tmp_path), SOME) == []
