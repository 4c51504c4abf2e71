"""A damaged relevance model: it is named in the log, in the status and to whoever asks for it, and not to models."""

import logging
from pathlib import Path

import pytest

from hivelore.health.handlers import read_status
from hivelore.models.onnx import pairs
from support.fences import inside
from support.service import Service
from support.waiting import until

NOTE = "The kettle boils at 96 degrees: the sensor of the kettle is off by four."


def test_a_damaged_relevance_model_is_named_and_searches_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(pairs, "files", {"hivelore.models.onnx": tmp_path}.__getitem__)
    with caplog.at_level(logging.WARNING, "hivelore"), Service(tmp_path / "home", embedder="local") as service:
        until(lambda: read_status(service.app).relevance_outage is not None)
        outage = str(read_status(service.app).relevance_outage)
        assert outage.startswith("The relevance model is damaged: ")
        assert read_status(service.app).ready
        agent = service.client(service.agent_key)
        agent.call("POST", "/api/memory/batch", body={"memories": [{"content": NOTE, "scope": "swarm"}]})
        until(lambda: read_status(service.app).pending_embeddings == 0)
        body = {"query": "at which temperature does the kettle boil?", "project": "*"}
        plain = agent.call("POST", "/api/memory/search", body=body)
        asked = agent.call("POST", "/api/memory/search", body={**body, "rerank": True})
        assert plain["message"] == "1 memory found."
        assert asked["message"] == f"1 memory found. Not reranked: {outage}."
        assert [hit["relevance"] for hit in asked["results"]] == [hit["relevance"] for hit in plain["results"]]
        payload = {"session_id": "s", "hook_event_name": "UserPromptSubmit", "cwd": "/", "prompt": body["query"]}
        answer = agent.call("POST", "/api/hooks/claude-code", body={"id": "e1", "payload": payload})
        injected = inside(answer["hookSpecificOutput"]["additionalContext"])[1]
    assert NOTE in injected
    assert "model" not in injected
    assert f"Searches and prompts go without the relevance model. {outage}." in caplog.messages
