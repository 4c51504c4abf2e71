"""Requests of the remote embedder, and its reading of a good answer."""

import numpy as np
import pytest

from support.embedders import clean
from support.embedding_server import EmbeddingServer, altered, is_vector_of
from support.remote_embedder import HELLO, KEY, Make


def test_a_request_names_model_dimensions_and_key(server: EmbeddingServer, make: Make) -> None:
    make().embed_documents(clean("hello", "world"))
    (asked,) = server.asked
    assert asked.path == "/v1/embeddings"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.body == {
        "model": "text-embedding-3-small",
        "input": ["hello", "world"],
        "dimensions": 512,
        "encoding_format": "base64",
    }


def test_dimensions_are_not_sent_unless_configured(server: EmbeddingServer, make: Make) -> None:
    make(send_dimensions=False).embed_query(HELLO)
    assert "dimensions" not in server.asked[0].body


def test_a_local_server_is_asked_without_a_key(server: EmbeddingServer, make: Make) -> None:
    make(api_key=None).embed_query(HELLO)
    assert "authorization" not in server.asked[0].headers


def test_newlines_become_spaces(server: EmbeddingServer, make: Make) -> None:
    make().embed_documents(clean("one\ntwo\r\nthree\rfour\n"))
    assert server.asked[0].inputs == ["one two three four"]


def test_queries_and_documents_get_their_prefixes(server: EmbeddingServer, make: Make) -> None:
    embedder = make(query_prefix="search_query: ", document_prefix="search_document: ")
    embedder.embed_query(HELLO)
    embedder.embed_documents([HELLO])
    assert [asked.inputs for asked in server.asked] == [["search_query: hello"], ["search_document: hello"]]


def test_2049_texts_are_two_requests(server: EmbeddingServer, make: Make) -> None:
    vectors = make(dimension=8).embed_documents(clean(*(f"note {number}" for number in range(2_049))))
    assert [len(asked.inputs) for asked in server.asked] == [2_048, 1]
    assert len(vectors) == 2_049
    assert is_vector_of(vectors[2_048], "note 2048")


def test_a_request_stays_within_300_000_tokens(server: EmbeddingServer, make: Make) -> None:
    make(dimension=8).embed_documents(clean(*["x" * 12_000] * 51))  # 6,000 estimated tokens each
    assert [len(asked.inputs) for asked in server.asked] == [50, 1]


def test_a_text_is_cut_at_8191_tokens(server: EmbeddingServer, make: Make) -> None:
    make().embed_documents(clean("x" * 100_000))
    assert server.asked[0].inputs == ["x" * 16_382]


def test_a_proxy_of_the_environment_is_not_used(
    server: EmbeddingServer, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert is_vector_of(make().embed_query(HELLO), "hello")


def test_vectors_are_normalised(server: EmbeddingServer, make: Make) -> None:
    vector = make().embed_query(HELLO)
    assert vector.dtype == np.float32
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-6)


def test_base64_and_float_lists_give_the_same_vector(server: EmbeddingServer, make: Make) -> None:
    embedder = make()
    from_base64 = embedder.embed_query(HELLO)
    server.floats_only = True
    from_floats = embedder.embed_query(HELLO)
    assert from_base64.tobytes() == from_floats.tobytes()


def test_shuffled_answers_are_put_in_order(server: EmbeddingServer, make: Make) -> None:
    server.script(altered(lambda answer: answer["data"].reverse()))
    vectors = make().embed_documents(clean("one", "two", "three"))
    assert [is_vector_of(vector, text) for vector, text in zip(vectors, ("one", "two", "three"), strict=True)] == [
        True
    ] * 3
