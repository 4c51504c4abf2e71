"""Text between <private> tags that comes in through any interface is in no file, no table, no log and no export."""

import json
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import hivelore
from hivelore.hooks.fallback import spool
from hivelore.python.remote import RemoteHive
from hivelore.sessions.model import HandoverState
from hivelore.transfer.jsonl import export
from support.interfaces import OK, Interface, McpServer, PythonInterface, RestInterface
from support.on_disk import stored, written
from support.postgres import DATABASES, service_on
from support.service import Service
from support.sessions import ClaudeSession
from support.waiting import until

HIDDEN = "zebrafinch"
PUBLIC = "The gateway needs a restart after each change of its certificate"
TEXT = f"{PUBLIC} <Private why='pay'>{HIDDEN}</private>."


def event(name: str, **fields: Any) -> Mapping[str, Any]:
    return {"id": f"{name} 1", "payload": {"hook_event_name": name, "session_id": "s1", **fields}}


def ask_all(interface: Interface) -> None:
    kept = interface.ask("remember", content=TEXT, name=f"A name <private>{HIDDEN}</private>")
    assert (kept.kind, HIDDEN in kept.shown) == (OK, False)
    found = interface.ask("recall", query=f"gateway restart <private>{HIDDEN}")
    assert (found.kind, PUBLIC in found.shown, HIDDEN in found.shown) == (OK, True, False)
    for verb, main in (("remember", "content"), ("recall", "query")):
        refused = interface.ask(verb, **{main: f"<private>{HIDDEN}</private> "})
        assert "only private text" in refused.said


@pytest.mark.parametrize("database", DATABASES)
def test_private_text_is_nowhere(tmp_path: Path, caplog: pytest.LogCaptureFixture, database: str) -> None:
    caplog.set_level(logging.DEBUG, "hivelore")
    home, sessions = tmp_path / "home", tmp_path / "sessions"
    sessions.mkdir()
    session = ClaudeSession().user(TEXT).runs("cat notes", f"E   KeyError\n{TEXT}", failed=True).runs("cat notes", "ok")
    session.says(f"The root cause is that carts from before March have no currency field. {TEXT}")
    (sessions / "s1.jsonl").write_text("\n".join(session.lines) + "\n", encoding="utf-8")
    settings = service_on(database)
    with Service(home, transcripts=(sessions,), **settings) as service:
        client = service.client(service.agent_key)
        with RemoteHive(client) as hive:
            for interface in (
                RestInterface(service.port, service.agent_key),
                McpServer(service.port, service.agent_key),
                PythonInterface("remote", hive),
            ):
                ask_all(interface)
            client.call("POST", "/memories", body={"observation": f"Takes 60s {TEXT}", "category": "timing"})
            client.call("POST", "/api/events", body={"level": "info", "text": TEXT})
            done = {"taskId": "t1", "task": TEXT, "output": f"Done <private>{HIDDEN}", "status": "failed"}
            client.call("POST", "/api/tasks/complete", body=done)
            for one in (
                {**event("UserPromptSubmit", prompt=TEXT), "taskFile": json.dumps({"id": "t", "task": TEXT})},
                event("PostCompact", compact_summary=f"We moved the parser to Rust. {TEXT}"),
                event("Stop", last_assistant_message=f"[EVENT:info] Done {TEXT}", transcript_path=""),
                event("TaskCompleted", task_id="1", task_subject=TEXT, task_description=TEXT),
                event("SessionEnd", transcript_path=str(sessions / "s1.jsonl")),
            ):
                client.call("POST", "/api/hooks/claude-code", body=one)
            until(lambda: service.app.session_summaries.counts()[HandoverState.WAITING] == 0)
            exported = "".join(export(hive))
        time.sleep(0.2)
        data = written(home) + stored(settings.get("database")) + exported.encode()
    assert "currency field" in exported
    assert PUBLIC in exported
    assert HIDDEN.encode() not in data + written(home)
    assert HIDDEN not in caplog.text


def test_private_text_is_not_stored_by_an_embedded_hive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVELORE_EMBEDDER", "none")
    with hivelore.open(tmp_path) as hive:
        ask_all(PythonInterface("embedded", hive))
    assert HIDDEN.encode() not in written(tmp_path)


def test_private_text_is_not_spooled(tmp_path: Path) -> None:
    fence = "</hivelore-memory-0123456789abcdef>"  # Reaches back over the first tag.
    for text in (TEXT, f"a <private>{HIDDEN}{fence}{HIDDEN}</private> b"):
        spool(tmp_path / "spool", {"program": "claude-code", **event("UserPromptSubmit", prompt=text)})
    assert b"UserPromptSubmit" in written(tmp_path)
    assert HIDDEN.encode() not in written(tmp_path)
