"""No secret that comes in through an interface reaches a file of the home folder, a table, a log or an export."""

import json
import logging
import time
from pathlib import Path

import pytest

from hivelore.hooks.fallback import spool
from hivelore.memories.model import Json
from hivelore.python.remote import RemoteHive
from hivelore.transfer.jsonl import export
from support.interfaces import OK, McpServer, RestInterface
from support.on_disk import stored, written
from support.postgres import DATABASES, service_on
from support.secret_shapes import Shape, shapes
from support.service import Service

SOME = [shape for index, shape in enumerate(shapes(3)) if index % 4 == 0]


def found_in(data: bytes, texts: list[Shape]) -> list[str]:
    """Returns the names of the shapes whose secret occurs, unchanged or escaped as in JSON."""
    return [
        shape.name
        for shape in texts
        if any(part.encode() in data or json.dumps(part)[1:-1].encode() in data for part in shape.secrets)
    ]


def hook(number: int, text: str) -> dict[str, Json]:
    return {
        "id": f"hook {number}",
        "payload": {"hook_event_name": "UserPromptSubmit", "session_id": f"s{number}", "prompt": text},
    }


@pytest.mark.parametrize("database", DATABASES)
def test_secrets_are_nowhere_in_the_home_the_database_the_logs_or_an_export(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, database: str
) -> None:
    caplog.set_level(logging.DEBUG, "hivelore")
    hook_id = "gh" + "p_" + "a1B2" * 9
    with Service(tmp_path, **(settings := service_on(database))) as service:
        key = service.add("worker")
        rest, mcp = RestInterface(service.port, key), McpServer(service.port, key)
        for index, shape in enumerate(SOME):
            text = f"note {index}\n{shape.text}"
            if index % 3 == 0:
                assert rest.ask("remember", content=text, name=f"note {index}").kind == OK
            elif index % 3 == 1:
                assert mcp.ask("remember", content=text).kind == OK
            else:
                mcp.ask("recall", query=text[:900])
                envelope = hook(index, text) | ({"id": hook_id} if index < 9 else {})
                assert posted(service, "/api/hooks/claude-code", key, envelope) in (200, 204)
        with RemoteHive(service.client(key)) as hive:
            exported = "".join(export(hive)).encode()
        time.sleep(0.2)
        data = written(tmp_path) + stored(settings.get("database")) + caplog.text.encode() + exported
    data += written(tmp_path)
    assert b"note 0" in data
    assert found_in(data, SOME) == []
    assert hook_id.encode() not in data


def posted(service: Service, path: str, key: str, body: object) -> int:
    data = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\nConnection: close\r\n"
        f"Authorization: Bearer {key}\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    )
    return service.raw(head.encode() + data)[0]


def test_secrets_in_spooled_events_are_masked(tmp_path: Path) -> None:
    for number, shape in enumerate(SOME):
        spool(tmp_path / "spool", hook(number, shape.text))
    assert found_in(written(tmp_path), SOME) == []
