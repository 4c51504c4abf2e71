"""An embedding server that hangs: searches use keywords and say so until it answers again."""

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from hivelore.health.handlers import read_status
from hivelore.models import guarded_embedder
from hivelore.python.client import Client
from support.embedding_server import EmbeddingServer, silence
from support.service import Service
from support.shown import Show
from support.waiting import until

DIMENSION = 64
AT_ONCE = 24


@pytest.fixture
def server() -> Generator[EmbeddingServer]:
    with EmbeddingServer(DIMENSION) as server:
        yield server


@pytest.fixture
def service(tmp_path: Path, server: EmbeddingServer) -> Generator[Service]:
    settings = {"embedding_url": server.base_url, "embedding_model": "m", "embedding_dimensions": DIMENSION}
    with Service(tmp_path / "home", embedder="openai", **settings) as service:
        yield service
        server.close()


def ask(service: Service) -> tuple[float, dict[str, Any]]:
    """Returns the duration in seconds, and the answer."""
    client = Client(service.url, service.agent_key)
    began = monotonic()
    try:
        answer = client.call("POST", "/api/memory/search", body={"query": "kettle"})
    finally:
        client.close()
    return monotonic() - began, answer


def test_searches_use_keywords_at_once_and_say_so(
    service: Service, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch, show: Show
) -> None:
    monkeypatch.setattr(guarded_embedder, "LONGEST_PAUSE", 1.0)
    agent = service.client(service.agent_key)
    agent.call("POST", "/api/memory/batch", body={"memories": [{"content": "The kettle boils."}]})
    until(lambda: read_status(service.app).pending_embeddings == 0)
    assert (ask(service)[1]["path"], read_status(service.app).embedding_outage) == ("hybrid", None)
    server.always = silence
    with ThreadPoolExecutor(AT_ONCE) as pool:
        waited = list(pool.map(ask, [service] * AT_ONCE))
    took = sorted(seconds for seconds, _ in waited)
    assert {(answer["path"], len(answer["results"])) for _, answer in waited} == {("keywords", 1)}
    assert took[-guarded_embedder.FIRST_WAITERS - 1] < 2.5
    assert took[-1] < 5.0
    later, answer = ask(service)
    assert later < 1.0
    assert "did not answer in time" in answer["message"]
    assert "times in a row" in str(read_status(service.app).embedding_outage)
    lines = [f"{AT_ONCE} at once: {took[0]:.2f} to {took[-1]:.2f} s; one after them {later:.3f} s"]
    show("Searches while the embedding server hangs", lines)
    server.always = None
    until(lambda: ask(service)[1]["path"] == "hybrid")
    assert read_status(service.app).embedding_outage is None
