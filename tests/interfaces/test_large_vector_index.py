"""A service whose vectors exceed the memory limit builds an index in the database and searches it."""

from functools import partial
from pathlib import Path

import pytest

from hivelore.health.handlers import read_status
from hivelore.indexes.vectors.pgvector import PgVectors
from hivelore.runtime import engines, workers
from support.hashing_embedder import HashingEmbedder
from support.postgres import service_on
from support.service import Service
from support.waiting import until


class Embedder(HashingEmbedder):
    outage = None


def test_the_index_is_built_in_the_background(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def embedder(*_: object) -> Embedder:
        return Embedder()

    monkeypatch.setattr(engines, "PgVectors", partial(PgVectors, exact_below=3))
    monkeypatch.setattr(workers, "MAINTAIN_EVERY", 0.02)
    monkeypatch.setattr(engines, "_provider", embedder)
    with Service(tmp_path, vector_memory=0, **service_on("postgres")) as service:
        client = service.client(service.agent_key)
        for word in ("kettle", "lantern", "mill", "nail", "oar"):
            content = f"The {word} is in the shed."
            asked = {"content": content, "name": word, "scope": "swarm", "source": "manual"}
            client.call("POST", "/api/memory/index", body=asked)

        def answered_by() -> object:
            found = client.call("POST", "/api/memory/search", body={"query": "the kettle in the shed"})
            assert found["results"][0]["memory"]["name"] == "kettle"
            return read_status(service.app).vectors

        until(lambda: answered_by() == "pgvector, hnsw")
        assert read_status(service.app).pending_embeddings == 0
