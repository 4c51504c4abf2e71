"""A server, and embedders that ask it without pausing between tries."""

from collections.abc import Iterator
from typing import Any

import pytest
import stamina

from hivelore.models.openai.connection import ATTEMPTS
from hivelore.models.openai.provider import OpenAIEmbedder
from hivelore.runtime.clock import SystemClock
from support.embedding_server import EmbeddingServer
from support.remote_embedder import KEY, Make


@pytest.fixture(autouse=True)
def no_pauses() -> Iterator[None]:
    with stamina.set_testing(True, attempts=ATTEMPTS, cap=True):
        yield


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as server:
        yield server


@pytest.fixture
def make(server: EmbeddingServer) -> Iterator[Make]:
    made: list[OpenAIEmbedder] = []

    def make(**changes: Any) -> OpenAIEmbedder:
        usual: dict[str, Any] = {
            "clock": SystemClock(),
            "base_url": server.base_url,
            "api_key": KEY,
            "model": "text-embedding-3-small",
            "dimension": 512,
            "send_dimensions": True,
            "query_timeout": 30.0,
        }
        made.append(OpenAIEmbedder(**usual | changes))
        return made[-1]

    yield make
    for embedder in made:
        embedder.close()
